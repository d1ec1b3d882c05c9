"""Run directories: a manifest and a folder per part; every file is written atomically.

::

    RUN/manifest.json               config, seeds, versions, commit, sizes, time, status
    RUN/<part>/record.npz           what was measured
    RUN/<part>/weights.safetensors  the trained members
    RUN/<part>/checkpoint.safetensors  while the part is being trained
    RUN/gallery.npz                 a few held-out bags to look at
    RUN/report.html
"""

import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from foveate.errors import FoveateError
from foveate.records.checksums import advice, seal_json, verify_json
from foveate.records.locking import lock_temporary, remove_abandoned
from foveate.records.record import UMASK, Array, Record, load_arrays, sync_folder, write_atomically

__all__ = [
    "Run",
    "cache_directory",
    "create_run",
    "list_runs",
    "open_run",
    "runs_folder",
    "versions",
]

MANIFEST = "manifest.json"
KINDS: dict[str, Any] = {
    **dict.fromkeys(("kind", "label", "status", "created"), str),
    **dict.fromkeys(("parts", "seeds"), list),
    **dict.fromkeys(("config", "versions", "resolved", "sizes"), dict),
    "seconds": (int, float),
}
DEFAULTS: dict[str, Any] = {
    "seeds": [],
    "versions": {},
    "resolved": {},
    "sizes": {},
    "seconds": 0.0,
}
LONGEST_NAME = 80  # letters of a label in the name of a run directory
VERSIONED_PACKAGES = ("foveate", "torch", "numpy", "scikit-learn")


@dataclass(frozen=True)
class Run:
    """A run on disk.

    Args:
        path: Its directory.
        manifest: The entries of its manifest.
    """

    path: Path
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.path.name

    @property
    def done(self) -> bool:
        """Whether every part of it is finished."""
        return self.manifest["status"] == "done"

    def is_a(self, kind: str) -> bool:
        """Whether the run is of a kind."""
        return bool(self.manifest["kind"] == kind)

    def must_be(self, kind: str) -> None:
        """Raise an error unless the run is of a kind."""
        if not self.is_a(kind):
            raise FoveateError(f"{self.path} is a {self.manifest['kind']}, not a {kind}")

    def part(self, name: str) -> Path:
        """The folder of one part, created if necessary."""
        folder = self.path / name
        _make(folder)
        return folder

    def has(self, name: str) -> bool:
        """Whether a part is finished: its record is the last thing written."""
        return (self.path / name / "record.npz").exists()

    def record(self, name: str) -> Record:
        """The record of one part."""
        return Record.load(self.path / name / "record.npz")

    def records(self) -> dict[str, Record]:
        """The records of all finished parts, in the order of the manifest."""
        return {name: self.record(name) for name in self.manifest["parts"] if self.has(name)}

    def gallery(self) -> dict[str, Array]:
        """The held-out bags that are stored for display; empty if there are none."""
        path = self.path / "gallery.npz"
        if not path.exists():
            return {}
        return load_arrays(path)

    def update(self, **changes: Any) -> "Run":
        """The run with some entries of its manifest changed, on disk too."""
        manifest = {**self.manifest, **changes}
        write_atomically(self.path / MANIFEST, seal_json(manifest, indent=2))
        return Run(self.path, manifest)


def runs_folder() -> Path:
    """The default folder of runs: ``$FOVEATE_RUNS``, else ``runs`` in the working directory."""
    return Path(os.environ.get("FOVEATE_RUNS", "runs"))


def cache_directory() -> Path:
    """``$FOVEATE_CACHE``, else ``foveate`` in the user's cache directory."""
    if folder := os.environ.get("FOVEATE_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foveate"


def create_run(path: Path | None, kind: str, label: str, **entries: Any) -> Run:
    """A new run directory with its manifest, created atomically.

    Args:
        path: Where; None chooses a free name in :func:`runs_folder`.
        kind: Kind of the run ("race").
        label: Part of the name ("digits").
        entries: Further entries of the manifest.
    """
    manifest = {
        "kind": kind,
        "label": label,
        "status": "running",
        "created": datetime.now(UTC).isoformat(timespec="microseconds"),
        "versions": versions(),
        "commit": _commit(),
        **entries,
    }
    target = _free_name(kind, label) if path is None else Path(path)
    try:
        in_use = target.exists() and (not target.is_dir() or any(target.iterdir()))
    except OSError as error:
        raise FoveateError(f"cannot make {str(target)[:80]}…: {error.strerror}") from None
    if in_use:
        remedy = "go on with 'foveate resume'" if (target / MANIFEST).exists() else "choose another"
        raise FoveateError(f"{target} is not empty: {remedy}")
    _make(target.parent)
    remove_abandoned(target)
    try:
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise FoveateError(f"cannot write in {target.parent}: {error.strerror}") from None
    handle = os.open(fresh, os.O_RDONLY | os.O_CLOEXEC)
    lock_temporary(handle)
    try:
        fresh.chmod(0o777 & ~UMASK)
        Run(fresh, {}).update(**manifest)
        os.replace(fresh, target)
        sync_folder(target.parent)
    except BaseException as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if isinstance(error, OSError):
            raise FoveateError(f"cannot make {target}: {error.strerror}") from None
        raise
    finally:
        os.close(handle)
    return Run(target, manifest)


def open_run(path: Path | str) -> Run:
    """The run at ``path``, or by its name in :func:`runs_folder`.

    Example:
        >>> open_run("no-such-run")
        Traceback (most recent call last):
            ...
        foveate.errors.FoveateError: ...
    """
    folder = Path(path)
    try:
        if not folder.exists() and (runs_folder() / folder).exists():
            folder = runs_folder() / folder
    except OSError as error:
        name = str(path)[:80]
        raise FoveateError(f"there is no run directory {name}…: {error.strerror}") from None
    if not folder.is_dir():
        raise FoveateError(f"there is no run directory {path}")
    file = folder / MANIFEST
    try:
        manifest = verify_json(file, json.loads(file.read_text("utf-8")))
        entries = {**DEFAULTS, **manifest}
        wrong = [key for key, kind in KINDS.items() if not isinstance(entries.get(key), kind)]
    except FileNotFoundError:
        raise FoveateError(f"{folder} is not a run: it has no {MANIFEST}") from None
    except FoveateError:
        raise
    except (ValueError, TypeError, OSError, AttributeError) as error:
        raise FoveateError(f"{file} is damaged: {error}{advice(file)}") from None
    if wrong:
        raise FoveateError(f"{file} is damaged: its entry '{wrong[0]}' is missing or invalid")
    return Run(folder, manifest)


def list_runs(folder: Path | None = None) -> list[Run]:
    """All runs in a folder, newest first; other folders are skipped."""
    folder = folder or runs_folder()
    if not folder.is_dir():
        return []
    runs = []
    for path in folder.iterdir():
        if path.is_dir() and (path / MANIFEST).exists() and not path.name.startswith("."):
            try:
                runs.append(open_run(path))
            except FoveateError:
                continue
    return sorted(runs, key=lambda run: run.manifest["created"], reverse=True)


def _free_name(kind: str, label: str) -> Path:
    stem = f"{kind}-{Path(label).stem[:LONGEST_NAME]}-{datetime.now():%Y%m%d-%H%M%S}"
    names = [stem, *(f"{stem}-{k}" for k in range(2, 1000))]
    return next(path for name in names if not (path := runs_folder() / name).exists())


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FoveateError(f"cannot make the folder {folder}: {error.strerror}") from None


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    packages = {name: metadata.version(name) for name in VERSIONED_PACKAGES}
    return {"python": platform.python_version(), **packages}


def _commit() -> str | None:
    """The commit of the source tree that runs, where it is one."""
    package = Path(__file__).parent
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=package,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None
