"""Which runs there are: names to folders, found by looking; a request's name is only looked up."""

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.lab.bundled import BUNDLED
from foveate.lab.server.responses import not_found
from foveate.records.record import Record
from foveate.records.runs import MANIFEST, Run, open_run, runs_folder

__all__ = ["all_runs", "is_bundled", "load_record", "part_record", "run_by_name", "run_entries"]

EXAMPLES = "examples"


def _folders() -> dict[str, Path]:
    """All folders with a manifest, in the folder of runs and one below it, by name.

    Runs that come with the package are listed under ``examples/``.
    """
    folders = {f"{EXAMPLES}/{path.name}": path for path in _inside(BUNDLED / "runs")}
    for path in _inside(runs_folder()):
        if (path / MANIFEST).exists():
            folders[path.name] = path
        else:
            below = (inner for inner in _inside(path) if (inner / MANIFEST).exists())
            folders |= {f"{path.name}/{inner.name}": inner for inner in below}
    return folders


def _inside(folder: Path) -> list[Path]:
    try:
        return [p for p in sorted(folder.iterdir()) if p.is_dir() and not p.name.startswith(".")]
    except OSError:
        return []


def run_entries() -> list[dict[str, Any]]:
    """What the list shows of every run, newest first; a broken one says what is wrong with it.

    Bundled examples come last.
    """
    rows = [_entry(name, path) for name, path in _folders().items()]
    rows.sort(key=lambda row: str(row.get("created", "")), reverse=True)
    return sorted(rows, key=lambda row: bool(row.get("bundled")))


def _entry(name: str, path: Path) -> dict[str, Any]:
    try:
        manifest = open_run(path).manifest
    except FoveateError as error:
        return {"name": name, "broken": str(error)}
    summary = {key: manifest[key] for key in ("kind", "label", "status", "created", "parts")}
    config = manifest["config"]
    return {
        "name": name,
        "bundled": path.is_relative_to(BUNDLED),
        **summary,
        "seconds": manifest.get("seconds", 0.0),
        "seeds": len(manifest.get("seeds", [])),
        "scale": config.get("scale", ""),
        "data": config.get("data", ""),
    }


def all_runs() -> list[Run]:
    """All runs that can be opened."""
    runs = []
    for path in _folders().values():
        with suppress(FoveateError):
            runs.append(open_run(path))
    return runs


def run_by_name(name: str) -> Run:
    """The run that is listed under a name; anything else is not there, whatever it spells."""
    path = _folders().get(name)
    if path is None:
        raise not_found("there is no such run")
    return open_run(path)


def is_bundled(run: Run) -> bool:
    """Whether a run comes with the package, so that nothing may be written into it."""
    return run.path.is_relative_to(BUNDLED)


def part_record(run: Run, part: str) -> Record:
    """The record of a part that the manifest names and that is finished."""
    if part not in run.manifest["parts"] or not run.has(part):
        raise not_found("the run has no such part, or it is not finished")
    return load_record(run.path / part / "record.npz")


def load_record(path: Path) -> Record:
    """A record from disk, kept in memory while its file stays the same."""
    stat = path.stat()
    return _cached_record(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=12)
def _cached_record(path: Path, _changed: int, _size: int) -> Record:
    return Record.load(path)
