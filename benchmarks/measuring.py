"""CPU time of interleaved runs, and the last line that every benchmark prints."""

import json
import statistics
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any


def parser(about: str | None) -> ArgumentParser:
    """A parser with the option ``--json``, which every benchmark has."""
    arguments = ArgumentParser(description=about)
    arguments.add_argument("--json", action="store_true", help="print all numbers as JSON")
    return arguments


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call, all threads."""
    start = time.process_time()
    work()
    return time.process_time() - start


def interleaved(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each task in turn, after one run that is not counted."""
    for work in tasks.values():
        work()
    turns = [{name: cpu_seconds(work) for name, work in tasks.items()} for _ in range(repeats)]
    return {name: [turn[name] for turn in turns] for name in tasks}


def compare(seconds: Mapping[str, list[float]], ours: str, other: str) -> dict[str, Any]:
    """Medians, spread and the ratio other ÷ ours."""
    ratios = [b / a for a, b in zip(seconds[ours], seconds[other], strict=True)]
    return {
        "ratio": statistics.median(seconds[other]) / statistics.median(seconds[ours]),
        "spread": [min(ratios), max(ratios)],
        "seconds": {name: statistics.median(values) for name, values in seconds.items()},
        "repeats": len(ratios),
    }


def finish(what: str, numbers: Mapping[str, Any], as_json: bool) -> None:
    """Print the numbers and, as the last line, the ratio; or everything as one line of JSON."""
    if as_json:
        print(json.dumps({"what": what, **numbers}))
        return
    for name, value in numbers.get("seconds", {}).items():
        print(f"{what}: {name} {value:.4g} CPU s")
    print(f"ratio {numbers['ratio']:.2f}")
