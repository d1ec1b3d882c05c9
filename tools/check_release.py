"""Build sdist and wheel, install the wheel in a clean environment and try it.

Usage: ``python tools/check_release.py [FOLDER]`` in the root of the repository; the files are
written to FOLDER (dist). Prints the sizes that docs/start.md states.
"""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = ("foveate/py.typed", "foveate/data/examples/birds.csv", "foveate/lab/pages/index.html")


def main(target: Path) -> None:
    """Build, install and try; an error stops.

    Args:
        target: The folder of the files.
    """
    target = target.resolve()
    with tempfile.TemporaryDirectory() as folder:
        builder, python = _environment(Path(folder) / "build"), _environment(Path(folder) / "clean")
        _run(builder, "-m", "pip", "install", "--quiet", "build")
        _run(builder, "-m", "build", "--outdir", str(target), str(ROOT))
        (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
        _check_content(wheel)
        constraints = str(ROOT / "constraints.txt")
        _run(python, "-m", "pip", "install", "--quiet", "-c", constraints, str(wheel))
        for words in (["--version"], ["demo", "--out", "demo"], ["doctor"]):
            _run(python, "-m", "foveate", *words, cwd=Path(folder))
        size = {name: _size(Path(folder, "clean").glob(f"lib/python*/site-packages/{name}"))
                for name in ("foveate", "torch", "*")}  # fmt: skip
    print(f"wheel {_mega(wheel.stat().st_size)}, sdist {_mega(sdist.stat().st_size)}, installed: "
          f"foveate {_mega(size['foveate'])}, torch {_mega(size['torch'])}, "
          f"all packages {_mega(size['*'])}")  # fmt: skip


def _environment(path: Path) -> str:
    """A new virtual environment; its interpreter."""
    venv.create(path, with_pip=True)
    return str(path / "bin" / "python")


def _check_content(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    if missing := [name for name in NEEDED if name not in names]:
        raise SystemExit(f"{wheel.name} lacks {missing[0]}")


def _run(*words: str, cwd: Path | None = None) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(words, cwd=cwd, check=True, env=environment)


def _size(paths: Iterable[Path]) -> int:
    return sum(
        file.lstat().st_size
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.is_file()
    )


def _mega(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
