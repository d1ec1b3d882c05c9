"""Share of a race's time that checksums and directory syncs take.

Run: python benchmarks/checksum_cost.py
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foveate.jobs.race import Race, start_race
from foveate.records import record, runs

MOST = 0.02  # share of the race


def timed(function: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """The function, with its seconds added to a list."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*arguments, **keywords)
        finally:
            spent.append(time.perf_counter() - start)

    return call


def main() -> None:
    """Race on digits with a checkpoint every second, then read everything back."""
    spent: list[float] = []
    for module in (record, runs):
        for name in dir(module):
            if name.startswith(("seal_", "verify_")) or name == "sync_folder":
                setattr(module, name, timed(getattr(module, name), spent))
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        settings = Race(data="digits", seeds=3, epochs=60, save_seconds=1.0)
        run = start_race(settings, out=Path(folder) / "race")
        run.records()
    total = time.perf_counter() - start
    share = sum(spent) / total
    print(f"{sum(spent):.3f} s of {total:.1f} s in {len(spent)} calls: {100 * share:.2f} %")
    if share > MOST:
        raise SystemExit(f"checksums take more than {100 * MOST:g} % of a race")


if __name__ == "__main__":
    main()
