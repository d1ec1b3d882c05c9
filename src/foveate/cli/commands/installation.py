"""Commands that try and describe an installation: demo, doctor."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["demo_command", "doctor_command"]

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


def doctor_command() -> None:
    """Describe the installation: versions, optional packages, folders; exit code 2 on a fault."""
    from foveate import __version__
    from foveate.records.runs import runs_folder

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
    print(f"cores: {os.cpu_count()}")
    if missing:
        print(f"foveate: required packages are missing: {', '.join(missing)}", file=sys.stderr)
        raise SystemExit(2)


def _data_folder() -> str:
    """The folder of data sets, or what happens without one."""
    folder = os.environ.get("FOVEATE_DATA")
    if folder is None:
        return "FOVEATE_DATA is not set; data sets are downloaded from the Hugging Face hub"
    return folder if Path(folder).is_dir() else f"{folder} (FOVEATE_DATA) is not a folder"
