"""The command that checks a run, or this machine."""

import os
import shutil
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

from foveate.cli.flags import Flag, Json

if TYPE_CHECKING:
    from foveate.records.diagnosis import Symptom

__all__ = ["doctor_command"]

EXTRAS = {
    "h5py": "HDF5 files (pip install 'foveate[hdf5]')",
    "onnx": "export to ONNX (pip install 'foveate[onnx]')",
    "onnxruntime": "export to ONNX (pip install 'foveate[onnx]')",
    "onnxscript": "export to ONNX (pip install 'foveate[onnx]')",
    "distributed": "--workers and --cluster (pip install 'foveate[scale]')",
    "fastapi": "the lab (pip install 'foveate[lab]')",
    "uvicorn": "the lab (pip install 'foveate[lab]')",
    "huggingface_hub": "data sets of the hub (pip install 'foveate[hub]')",
    "sacrebleu": "scores of translations (pip install 'foveate[text]')",
    "tokenizers": "pieces of words (pip install 'foveate[text]')",
}
LITTLE_DISK = 2 << 30  # bytes


def doctor_command(
    run: Path | None = None, /, *, clean: Flag = False, repair: Flag = False, as_json: Json = False
) -> None:
    """Check a run (checksums, versions, split, files of interrupted writes), or this machine.

    Parameters
    ----------
    run
        The run directory, or its name under runs/; this machine is checked unless given.
    clean
        Remove temporary files that killed processes left in the run.
    repair
        Delete damaged files that 'foveate resume' can compute again.
    as_json
        Print the result as JSON.
    """
    if run is None:
        _print_machine(as_json=as_json)
        return
    from foveate.records.diagnosis import examine_run, remove_damaged
    from foveate.records.locking import lock_run, remove_leftovers
    from foveate.records.runs import open_run

    opened = open_run(run)
    if clean or repair:
        with lock_run(opened.path):
            removed = remove_leftovers(opened.path)
            removed += remove_damaged(opened) if repair else []
        for path in removed:
            print(f"removed {path}")
    symptoms = examine_run(opened)
    _print_run(opened.path, symptoms, as_json=as_json)
    if any(symptom.severity == "damage" for symptom in symptoms):
        raise SystemExit(2)


def _print_run(path: Path, symptoms: "list[Symptom]", *, as_json: bool) -> None:
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps({"run": str(path), "symptoms": [asdict(s) for s in symptoms]}))
        return
    for symptom in symptoms:
        text = symptom.what if symptom.what.startswith(symptom.where) else ""
        print(f"{symptom.severity}: {text or f'{symptom.where}: {symptom.what}'}")
    if not any(symptom.severity == "damage" for symptom in symptoms):
        print(f"{path}: no damage found")


def _print_machine(*, as_json: bool) -> None:
    entries = _machine()
    if as_json:
        import json

        print(json.dumps(dict(entries)))
        return
    for name, text in entries:
        print(f"{name}: {text}")


def _machine() -> list[tuple[str, str]]:
    """Versions, extras, weights, data folders, threads and free disk, with what to do."""
    import torch

    from foveate.models.efficientnet import weights_file
    from foveate.records.runs import cache_directory, runs_folder, versions

    entries = [(name, version) for name, version in versions().items()]
    for package, purpose in EXTRAS.items():
        entries.append((package, _installed(package) or f"not installed; needed for {purpose}"))
    weights = weights_file()
    entries.append(
        ("image encoder", str(weights) if weights else "no weights found; images use no encoder")
    )
    data = os.environ.get("FOVEATE_DATA")
    entries.append(("data folder", _folder(data, "set FOVEATE_DATA, or data sets are downloaded")))
    entries.append(("runs", str(runs_folder().resolve())))
    entries.append(("cache", str(cache_directory())))
    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    hint = "; OMP_NUM_THREADS=1 avoids oversubscription" if threads > cores else ""
    entries.append(("threads", f"{threads} of {cores} cores{hint}"))
    for name, folder in (("runs", runs_folder()), ("cache", cache_directory())):
        entries.append((f"free disk for {name}", _free(folder)))
    return entries


def _installed(package: str) -> str | None:
    try:
        import_module(package)
        return metadata.version(package)
    except ImportError:
        return None


def _folder(path: str | None, hint: str) -> str:
    if not path:
        return f"not set; {hint}"
    return path if Path(path).is_dir() else f"{path} does not exist; {hint}"


def _free(folder: Path) -> str:
    existing = next(p for p in (folder.resolve(), *folder.resolve().parents) if p.exists())
    free = shutil.disk_usage(existing).free
    warning = "; runs may fail to be written" if free < LITTLE_DISK else ""
    return f"{free / 1e9:,.1f} GB at {existing}{warning}"
