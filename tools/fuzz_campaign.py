"""Fuzz what a user can hand to foveate: files of every layout, flags, TOML and run directories.

Valid files are damaged at random (bits, cuts, repeats, odd values) and read twice; commands get
random flags and settings; commands run on run directories with a damaged file. An input may be
accepted or refused by one sentence. A traceback, a hang, another answer at the second reading, or a
number that differs from that of the undamaged run is a failure. Prints figures; the exit code is 1
after a failure.

    python tools/fuzz_campaign.py                    # 2,000 inputs
    python tools/fuzz_campaign.py --inputs 100000    # a full campaign
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from foveate.errors import FoveateError
from fuzz_commands import FUZZED, workspace
from fuzz_files import LAYOUTS, change_hdf5, damage

LONGEST = 30  # seconds of CPU; more is a hang
COMMAND_SHARE = {"flags": 0.04, "toml": 0.02, "run directories": 0.04}
ACCEPTABLE = {"read", "refused", "accepted"}


class Hang(BaseException):
    """Raised by the timer; no handler of errors catches it."""


def limited(work: Callable[[], tuple[str, str]]) -> str:
    """Outcome of a function: its own, refused, traceback or hang; failures are printed."""
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    about = ""
    try:
        outcome, about = work()
    except FoveateError:
        outcome = "refused"
    except Hang:
        outcome, about = "hang", traceback.format_exc()
    except Exception:
        outcome, about = "traceback", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if outcome not in ACCEPTABLE:
        print(f"{outcome}: {about}", flush=True)
    return outcome


def fuzz_layout(name: str, inputs: int, seed: int) -> Counter[str]:
    """Outcomes of reading damaged files of one layout."""
    generator = np.random.default_rng([seed, *name.encode()])
    layout, counts = LAYOUTS[name], Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = layout.write(Path(folder))

        def read() -> tuple[str, str]:
            same = layout.read(path) == layout.read(path)
            return ("read" if same else "different"), str(path)

        if limited(read) != "read":
            raise SystemExit(f"the valid {name} file is not read")
        files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.is_file())
        copy = Path(folder) / "undamaged"
        for _ in range(inputs):
            file = files[int(generator.integers(len(files)))]
            shutil.copy(file, copy)
            if file.suffix == ".h5" and generator.random() < 0.5:
                change_hdf5(file, generator)
            else:
                file.write_bytes(damage(file.read_bytes(), generator))
            counts[limited(read)] += 1
            shutil.copy(copy, file)
    return counts


def fuzz_command(name: str, inputs: int, seed: int, folder: Path) -> Counter[str]:
    """Outcomes of commands with random arguments, or on damaged runs."""
    generator = np.random.default_rng([seed, *name.encode()])
    counts: Counter[str] = Counter()
    for _ in range(inputs):

        def work() -> tuple[str, str]:
            command = ""
            outcome, command = FUZZED[name](folder, generator)
            return outcome, command

        counts[limited(work)] += 1
    return counts


def _raise_hang(*_: object) -> None:
    raise Hang


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; 1 after a traceback, a hang or a silent difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=2000, help="over all kinds of input")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    previous = signal.signal(signal.SIGPROF, _raise_hang)
    total: Counter[str] = Counter()
    commands = {name: max(1, int(chosen.inputs * share)) for name, share in COMMAND_SHARE.items()}
    files = (chosen.inputs - sum(commands.values())) // len(LAYOUTS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in LAYOUTS:
                total += _print(name, fuzz_layout(name, max(1, files), chosen.seed))
            with workspace() as folder:
                for name, inputs in commands.items():
                    total += _print(name, fuzz_command(name, inputs, chosen.seed, folder))
    finally:
        signal.signal(signal.SIGPROF, previous)
    print(f"{sum(total.values())} inputs: {dict(total)}")
    return int(bool(set(total) - ACCEPTABLE))


def _print(name: str, counts: Counter[str]) -> Counter[str]:
    print(f"{name}: {dict(counts)}", flush=True)
    return counts


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
