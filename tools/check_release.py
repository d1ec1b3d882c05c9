"""Build sdist and wheel, install the wheel in a clean environment and try it.

Usage: ``python tools/check_release.py [FOLDER]`` in the root of the repository; the files are
written to FOLDER (dist), which must not hold files of another version. In the environment of the
wheel it runs ``foveate demo``, ``foveate doctor`` and the installation of shell completion. Prints
the sizes, and stops where docs/start.md states others.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = ("foveate/py.typed", "foveate/data/examples/birds.csv", "foveate/lab/pages/index.html")
STATED = {
    "wheel": r"wheel; source distribution \| ([\d.]+ [MG]B)",
    "sdist": r"wheel; source distribution \| [\d.]+ MB; ([\d.]+ [MG]B)",
    "foveate": r"installed foveate,[^|]*\| ([\d.]+ [MG]B)",
    "torch": r"PyTorch [^|]*\| ([\d.]+ [MG]B)",
    "all packages": r"all packages [^|]*\| ([\d.]+ [MG]B)",
}
TOLERANCE = 0.1  # of a size that docs/start.md states


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
        _check_completion(Path(python).with_name("foveate"), Path(folder))
        sizes = {"wheel": wheel.stat().st_size, "sdist": sdist.stat().st_size}
        for name, pattern in {"foveate": "foveate", "torch": "torch", "all packages": "*"}.items():
            sizes[name] = _size(Path(folder, "clean").glob(f"lib/python*/site-packages/{pattern}"))
    print(", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))
    _check_sizes(sizes, (ROOT / "docs" / "start.md").read_text("utf-8"))


def _environment(path: Path) -> str:
    """A new virtual environment; its interpreter."""
    venv.create(path, with_pip=True)
    return str(path / "bin" / "python")


def _check_content(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    if missing := [name for name in NEEDED if name not in names]:
        raise SystemExit(f"{wheel.name} lacks {missing[0]}")


def _check_completion(program: Path, home: Path) -> None:
    """Install the completion of bash into an empty home folder; it must complete a command."""
    _run(str(program), "--install-completion", "--shell", "bash", HOME=str(home))
    script = home / ".local/share/bash-completion/completions/foveate"
    test = (
        f"source {script}; COMP_WORDS=(foveate doc); COMP_CWORD=1; _foveate; echo ${{COMPREPLY[0]}}"
    )
    result = subprocess.run(["bash", "-c", test], capture_output=True, text=True, check=True)
    if result.stdout.strip() != "doctor":
        raise SystemExit(f"bash completes 'foveate doc' by {result.stdout.strip()!r}, not 'doctor'")


def _check_sizes(sizes: Mapping[str, int], page: str) -> None:
    """Measured sizes must be those of the page, within the tolerance."""
    for name, pattern in STATED.items():
        match = re.search(pattern, page)
        if match is None:
            raise SystemExit(f"docs/start.md states no size of {name}")
        number, unit = match[1].split()
        stated = float(number) * {"MB": 1e6, "GB": 1e9}[unit]
        if abs(sizes[name] / stated - 1) > TOLERANCE:
            raise SystemExit(f"docs/start.md states {match[1]} for {name}: it needs an update")


def _run(*words: str, cwd: Path | None = None, **variables: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(words, cwd=cwd, check=True, env=environment | variables)


def _size(paths: Iterable[Path]) -> int:
    return sum(
        file.lstat().st_size
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.is_file()
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
