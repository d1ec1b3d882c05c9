"""The command that tries an installation, and the description of this machine for the doctor."""

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["demo_command", "print_installation"]

LITTLE_DISK = 2 << 30  # bytes

REQUIRED = ("torch", "numpy", "scipy", "scikit-learn", "pydantic", "altair", "vl-convert-python")
EXTRAS = {
    "lab": ("fastapi", "uvicorn"),
    "text": ("tokenizers", "sacrebleu"),
    "hub": ("huggingface_hub",),
    "scale": ("distributed",),
    "hdf5": ("h5py",),
    "onnx": ("onnx", "onnxruntime", "onnxscript"),
}


def demo_command(*, out: Path | None = None) -> None:
    """Train five paradigms on mosaics of digits and write a report; the same as 'make demo'.

    Parameters
    ----------
    out
        The run directory; a new one under runs/ unless given.
    """
    from foveate.cli.commands.races import race_command

    race_command("digits", out=out)


def print_installation() -> None:
    """Print versions, optional packages, folders, threads and free disk, with what to do."""
    from foveate import __version__
    from foveate.records.runs import cache_directory, runs_folder

    print(f"foveate {__version__}, Python {platform.python_version()}, {platform.platform()}")
    missing = []
    for name in REQUIRED:
        try:
            print(f"  {name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    for extra, modules in EXTRAS.items():
        absent = [name for name in modules if find_spec(name) is None]
        state = f"not installed: pip install 'foveate[{extra}]'" if absent else "installed"
        print(f"  extra {extra}: {state}")
    print(f"data: {_data_folder()}")
    print(f"runs: {runs_folder()}")
    print(f"weights of the image encoder: {_weights()}")
    print(f"threads: {_threads()}")
    for name, folder in (("runs", runs_folder()), ("cache", cache_directory())):
        print(f"free disk for {name}: {_free(folder)}")
    if missing:
        print(f"foveate: required packages are missing: {', '.join(missing)}", file=sys.stderr)
        raise SystemExit(2)


def _weights() -> str:
    from foveate.models.efficientnet import weights_file

    return str(weights_file() or "not found; tiles of images are read without an encoder")


def _threads() -> str:
    import torch

    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    hint = f"; set OMP_NUM_THREADS={cores}, more threads than cores are slow"
    return f"{threads}, cores: {cores}{hint if threads > cores else ''}"


def _free(folder: Path) -> str:
    existing = next(p for p in (folder.resolve(), *folder.resolve().parents) if p.exists())
    free = shutil.disk_usage(existing).free
    warning = "; too little for a long run: delete old runs" if free < LITTLE_DISK else ""
    return f"{free / 1e9:,.1f} GB at {existing}{warning}"


def _data_folder() -> str:
    """The folder of data sets, or what happens without one."""
    folder = os.environ.get("FOVEATE_DATA")
    if folder is None:
        return "FOVEATE_DATA is not set; data sets are downloaded from the Hugging Face hub"
    return folder if Path(folder).is_dir() else f"{folder} (FOVEATE_DATA) is not a folder"
