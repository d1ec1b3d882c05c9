"""Make the results that the lab brings along: python tools/bundle_lab.py [name ...]."""

import sys

import torch

from foveate.lab.bundled import BUNDLED, LARGEST, write_bundled_json
from foveate.lab.explorable import build_explorable


def explorable() -> None:
    """The trainings of the interactive explanation."""
    write_bundled_json("explorable", build_explorable())


PARTS = {"explorable": explorable}


def main(names: list[str]) -> None:
    """Make the named results, or all, and print the total size."""
    torch.set_num_threads(1)
    for name in names or PARTS:
        PARTS[name]()
    total = sum(path.stat().st_size for path in BUNDLED.rglob("*") if path.is_file())
    print(f"bundled results: {total / 1e6:.1f} MB of at most {LARGEST / 1e6:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
