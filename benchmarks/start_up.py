"""CPU seconds of ``import foveate``, ``foveate --help`` and ``foveate runs``.

The time of starting Python is included in the last two and subtracted from the first. The least of
several processes counts. The ratio is the bound over the time: at least 1 if the bound is met.
"""

import os
import resource
import subprocess
import sys
import tempfile

import measuring

BOUNDS = {"import": 0.03, "help": 0.15, "runs": 0.25}
CODE = {
    "nothing": ["-c", "pass"],
    "import": ["-c", "import foveate"],
    "help": ["-m", "foveate", "--help"],
    "runs": ["-m", "foveate", "runs"],
}


def child_seconds(arguments: list[str], folder: str) -> float:
    """CPU seconds of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"FOVEATE_RUNS": folder}
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    arguments = measuring.parser(__doc__)
    arguments.add_argument("--command", choices=tuple(BOUNDS), default="help")
    arguments.add_argument("--repeats", type=int, default=7)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = [child_seconds(CODE[options.command], folder) for _ in range(options.repeats)]
        start = min(child_seconds(CODE["nothing"], folder) for _ in range(options.repeats))
    shift = start if options.command == "import" else 0.0
    bound, seconds = BOUNDS[options.command], min(times) - shift
    numbers = {
        "ratio": bound / seconds,
        "spread": sorted((bound / (max(times) - shift), bound / seconds)),
        "seconds": {options.command: seconds, "bound": bound},
        "repeats": options.repeats,
    }
    measuring.finish(f"foveate {options.command}", numbers, options.json)


if __name__ == "__main__":
    main()
