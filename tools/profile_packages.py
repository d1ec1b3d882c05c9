"""Count the files and packages that one command executes, and package pairs that call both ways.

Usage, with the source tree to measure on the Python path::

    PYTHONPATH=src python tools/profile_packages.py
    PYTHONPATH=src python tools/profile_packages.py --list race digits --epochs 2 --seeds 2

A profile hook (:func:`sys.setprofile`) sees every call of a Python function. Code that runs during
an import is not counted. A package is a folder or module directly below ``foveate``. Two packages
are a mutual pair if each calls the other, also by a callback or through another library.
"""

import argparse
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import foveate
from foveate.cli import main

DEFAULT = ["race", "digits", "--seeds", "2", "--epochs", "2", "--n", "100", "--n-test", "50"]


class CallCounter:
    """Counts calls between files below a folder.

    Args:
        root: The folder of the package.
    """

    def __init__(self, root: Path) -> None:
        self.root = str(root) + "/"
        self.calls: Counter[tuple[str, str]] = Counter()
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """The profile hook."""
        if event != "call" or (callee := self.file_of(frame)) is None:
            return
        caller: str | None = None
        above: FrameType | None = frame
        while above is not None:
            if above.f_code.co_name == "<module>" and self.file_of(above) is not None:
                return  # called by an import
            if caller is None and above is not frame:
                caller = self.file_of(above)  # the nearest, also through another library
            above = above.f_back
        self.files.add(callee)
        if caller is not None:
            self.calls[caller, callee] += 1

    def file_of(self, frame: FrameType) -> str | None:
        """The file of a frame relative to the root; None outside."""
        name = frame.f_code.co_filename
        inside = name.startswith(self.root) and name.endswith(".py")
        return name[len(self.root) :] if inside else None

    def packages(self) -> set[str]:
        """Packages of the executed files."""
        return {package_of(file) for file in self.files}

    def mutual_pairs(self) -> set[tuple[str, str]]:
        """Pairs of packages in which each calls the other."""
        edges = {(package_of(a), package_of(b)) for a, b in self.calls}
        return {(a, b) for a, b in edges if a < b and (b, a) in edges}


def package_of(file: str) -> str:
    """The folder or module directly below the root.

    Example:
        >>> package_of("training/stack/members.py"), package_of("errors.py")
        ('training', 'errors')
    """
    return Path(file).parts[0].removesuffix(".py")


def measure(command: list[str]) -> CallCounter:
    """Run a foveate command in a temporary folder under the profile hook."""
    counter = CallCounter(Path(foveate.__file__).parent)
    with tempfile.TemporaryDirectory() as folder:
        threading.setprofile(counter)
        sys.setprofile(counter)
        try:
            main([*command, "--out", str(Path(folder) / "run")])
        except SystemExit as stop:
            if stop.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return counter


def run() -> None:
    """Print the three numbers, and with ``--list`` what they count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print files, packages and pairs")
    args, command = parser.parse_known_args()
    counter = measure(command or DEFAULT)
    packages, pairs = sorted(counter.packages()), sorted(counter.mutual_pairs())
    if args.list:
        print(*sorted(counter.files), sep="\n", file=sys.stderr)
        print(*packages, sep="\n", file=sys.stderr)
        print(*(f"{a} <-> {b}" for a, b in pairs), sep="\n", file=sys.stderr)
    print(f"{len(counter.files)} files, {len(packages)} packages, {len(pairs)} mutual pairs")


if __name__ == "__main__":
    run()
