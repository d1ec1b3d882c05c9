"""Fuzz what a user can hand to foveate: files of every layout, flags, TOML and run directories.

Valid files are damaged at random (bits, cuts, repeats, odd values) and read twice; commands get
random flags and settings; commands run on run directories with a damaged file. An input may be
accepted or refused by one sentence. A traceback, a hang, another answer at the second reading, or a
number that differs from that of the undamaged run is a failure. Inputs are drawn in rounds of
2,000, each from its own seed; with a file of figures, a campaign runs in slices. The exit code is
1 after a failure.

    python tools/fuzz_campaign.py                    # 2,000 inputs
    python tools/fuzz_campaign.py --inputs 100000    # a full campaign
    python tools/fuzz_campaign.py --inputs 100000 --figures f.json --minutes 20    # a slice of it
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from campaign_figures import Figures
from foveate.errors import FoveateError
from fuzz_commands import FUZZED, workspace
from fuzz_files import CHANGES, LAYOUTS, damage

ROUND = 2000  # inputs
LONGEST = 30  # seconds of CPU; more is a hang
COMMAND_SHARE = {"flags": 0.04, "toml": 0.02, "run directories": 0.05, "doctor": 0.03}
ACCEPTABLE = {"read", "refused", "accepted"}


class TimeoutReached(BaseException):
    """Raised by the timer; no handler of errors catches it."""


def limited(work: Callable[[], tuple[str, str]]) -> str:
    """Outcome of a function: its own, refused, traceback or hang; failures are printed."""
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    about = ""
    try:
        outcome, about = work()
    except FoveateError:
        outcome = "refused"
    except TimeoutReached:
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
            if file.suffix in CHANGES and generator.random() < 0.5:
                CHANGES[file.suffix](file, generator)
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
    raise TimeoutReached


def fuzz_round(inputs: int, seed: int, folder: Path) -> dict[str, Counter[str]]:
    """Outcomes of one round by kind of input, each from streams of its own."""
    commands = {name: max(1, int(inputs * share)) for name, share in COMMAND_SHARE.items()}
    files = max(1, (inputs - sum(commands.values())) // len(LAYOUTS))
    done = {name: fuzz_layout(name, files, seed) for name in LAYOUTS}
    for name, share in commands.items():
        done[name] = fuzz_command(name, share, seed, folder)
    return done


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; 1 after a traceback, a hang or a silent difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=ROUND, help="over all kinds of input")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--figures", type=Path, help="JSON file to go on from and to renew")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="longest slice")
    chosen = parser.parse_args(arguments)
    figures = Figures.load(chosen.figures and chosen.figures.resolve())
    previous = signal.signal(signal.SIGPROF, _raise_hang)
    end = time.monotonic() + 60 * chosen.minutes
    try:
        with warnings.catch_warnings(), workspace() as folder:
            warnings.simplefilter("ignore")
            while (left := chosen.inputs - figures.total.total()) > 0 and time.monotonic() < end:
                figures.add(fuzz_round(min(left, ROUND), chosen.seed + figures.rounds, folder))
    finally:
        signal.signal(signal.SIGPROF, previous)
    for name, counts in figures.counts.items():
        print(f"{name}: {dict(counts)}")
    print(f"{figures.total.total()} inputs: {dict(figures.total)}")
    return int(bool(set(figures.total) - ACCEPTABLE))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
