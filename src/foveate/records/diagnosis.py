"""Checks of a run directory: checksums, versions, split, missing and left-over files."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from foveate.errors import FoveateError
from foveate.records.checksums import has_checksum, read_json
from foveate.records.locking import leftovers
from foveate.records.record import load_arrays, load_checkpoint
from foveate.records.runs import MANIFEST, Run, versions

__all__ = ["Symptom", "examine_run", "remove_damaged"]

FINDINGS_LIST = re.compile(rb"\s*\[")  # findings of version 0.1 are a list without a checksum
READERS: dict[str, Callable[[Path], Any]] = {
    ".npz": load_arrays,
    ".safetensors": load_checkpoint,
    ".json": lambda path: FINDINGS_LIST.match(path.read_bytes()) or read_json(path),
}
RECOMPUTED = (
    "checkpoint.safetensors",
    "findings.json",
    "gallery.npz",
    "preparation.safetensors",
    "training_summary.json",
)
WITHOUT_CHECKSUMS = "0.1."  # versions whose files have none
OF_A_PART = ("record.npz", "weights.safetensors")


@dataclass(frozen=True)
class Symptom:
    """Something about a run that the user should know.

    Args:
        severity: "damage" if results are wrong or lost, "note" otherwise.
        where: The file or entry.
        what: What is the matter, and what to do.
    """

    severity: Literal["damage", "note"]
    where: str
    what: str


def examine_run(run: Run) -> list[Symptom]:
    """Everything that is wrong with a run's files, damage first."""
    files = _files(run)
    symptoms = [
        *_damaged(files),
        *_missing(run),
        *_split(run),
        *_unverified(run, files),
        *_versions(run),
        *_leftovers(run),
    ]
    return sorted(symptoms, key=lambda symptom: symptom.severity != "damage")


def remove_damaged(run: Run) -> list[Path]:
    """Delete damaged files that ``foveate resume`` computes again; of a part, its whole result.

    Returns:
        The deleted files.
    """
    removed: list[Path] = []
    for file in _files(run):
        if _fault(file) is None:
            continue
        if file.name in RECOMPUTED:
            removed.append(file)
        elif file.name in OF_A_PART:
            removed += [path for name in OF_A_PART if (path := file.parent / name).exists()]
    for file in dict.fromkeys(removed):
        file.unlink()
    return list(dict.fromkeys(removed))


def _files(run: Run) -> list[Path]:
    """Files of the run and its parts that hold numbers; the manifest was read before."""
    return sorted(
        path
        for path in run.path.rglob("*")
        if path.suffix in READERS and not path.name.startswith(".") and path.name != MANIFEST
    )


def _fault(file: Path) -> str | None:
    try:
        READERS[file.suffix](file)
    except FoveateError as error:
        return str(error)
    return None


def _damaged(files: list[Path]) -> list[Symptom]:
    return [Symptom("damage", str(f), fault) for f in files if (fault := _fault(f)) is not None]


def _missing(run: Run) -> list[Symptom]:
    if not run.done:
        unfinished = [name for name in run.manifest["parts"] if not run.has(name)]
        what = (
            f"not finished ({', '.join(unfinished) or 'the summary'}): 'foveate resume' continues"
        )
        return [Symptom("note", str(run.path), what)]
    return [
        Symptom(
            "damage", f"{run.path / name}", "its record is missing: 'foveate resume' computes it"
        )
        for name in run.manifest["parts"]
        if not run.has(name)
    ]


def _split(run: Run) -> list[Symptom]:
    """Faults of split.json, of a run that divides bags into parts."""
    if "split" not in run.manifest.get("sizes", {}) or (run.path / "folds.json").exists():
        return []
    file = run.path / "split.json"
    try:
        content = read_json(file)
        rows = [row for part in content["rows"].values() for row in part]
    except FileNotFoundError:
        what = "is missing: which bags were test bags is unknown; restore it, or fit again"
        return [Symptom("damage", str(file), what)]
    except FoveateError:
        return []  # named with the other files
    except (KeyError, TypeError, AttributeError) as error:
        return [Symptom("damage", str(file), str(error))]
    if len(set(rows)) != len(rows):
        return [Symptom("damage", str(file), "a bag is in more than one part")]
    what = "drawn by scikit-learn, whose draw differs between versions; it is kept as it is"
    return [] if "method" in content else [Symptom("note", str(file), what)]


def _unverified(run: Run, files: list[Path]) -> list[Symptom]:
    """Files without a checksum: expected in a run of an older version, damage in others."""
    sound = [file for file in files if _fault(file) is None]
    without = [file for file in (run.path / MANIFEST, *sound) if not has_checksum(file)]
    if not without:
        return []
    version = str(run.manifest.get("versions", {}).get("foveate", ""))
    if version.startswith(WITHOUT_CHECKSUMS):
        what = f"{len(without)} files have no checksum (written by an older version): not verified"
        return [Symptom("note", str(run.path), what)]
    what = f"has no checksum, although version {version or 'unknown'} writes one: edited or damaged"
    return [Symptom("damage", str(file), what) for file in without]


def _versions(run: Run) -> list[Symptom]:
    parts: Mapping[str, Mapping[str, str]] = run.manifest.get("part_versions") or {
        "the run": run.manifest.get("versions", {})
    }
    current = versions()
    symptoms = []
    for name, stored in parts.items():
        differ = [
            f"{p} {v} (here {current[p]})" for p, v in stored.items() if current.get(p, v) != v
        ]
        if differ:
            what = f"computed with other versions: {', '.join(differ)}"
            symptoms.append(Symptom("note", name, what))
    return symptoms


def _leftovers(run: Run) -> list[Symptom]:
    files = leftovers(run.path)
    if not files:
        return []
    first = files[0].name
    what = f"{len(files)} temporary files of killed writes, first {first}: --clean removes them"
    return [Symptom("note", str(run.path), what)]
