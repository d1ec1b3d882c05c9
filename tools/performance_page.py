"""Make docs/performance.md from the stored run of the benchmarks, benchmarks/results.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED, PAGE = ROOT / "benchmarks" / "results.json", ROOT / "docs" / "performance.md"
INTRODUCTION = """# Performance

Made by `tools/performance_page.py` from the stored run `benchmarks/results.json`; `make bench`
runs all commands at small size, `python benchmarks/all.py --store benchmarks/results.json --resume`
stores a new run and goes on where one was interrupted; rows of `benchmarks/all.py` that are missing
here were not part of it.
CPU time, medians of interleaved runs; the ratio is the time of the other program over
that of foveate, so above 1 foveate is faster. Where a row compares with a bound, the ratio is the
bound over what was measured.
"""
LIMITS = """
## What limits the rows that are not met in every run

**One seed of the smallest model against JAX.** A step on error mode 1 has 250 bags of 9 points of
the plane: 14 calls of torch for loss and gradient (0.8–2 µs each) and 2 for the optimiser, 20 µs
together, 30 µs for the first step of an epoch. JAX takes 30 µs with everything. An epoch of 12
steps takes 360 µs at least, of which 245 µs are steps: the rest is paid once an epoch, mostly by
calls whose code and data are not in the cache (choosing and turning the bags 50 µs, their order 20,
labels 11, losses and counts 14). With many other programs on the processor the ratio varied between
runs: .80, .94 and 1.36. JAX runs an epoch as one compiled loop; preparing it takes 1.4 to 1.9 CPU
seconds, which are not counted. From eight seeds on the arithmetic decides.

**Large bags against torchmil.** A bag of 1,000 × 512 takes 3.9 ms in training, measuring included.
The two matrix products take 2.75 of them, the two passes for the mixture and the gradient of
attention .25, measuring .3; the rest are passes over the hidden layer and calls of a few
microseconds each. Bags are views of the stored ones; preparing each as a batch of its own took .3
ms more, until it was done for all bags of a step at once. Ragged bags, which are stored as rows
of a bank, still pay it.

**Start-up.** `--help` spends two thirds of its time importing cyclopts and rich, which also draw
it; `runs` imports numpy too. On a processor shared with other programs both exceed their bounds at
times.

**Growth in seeds.** The stored slope is from two epochs of a few hundredths of a second; by the
fastest of many epochs, which the benchmark takes now, it was .98.

**Bags larger than memory** are converted once to one file of single precision, and standardised to
a second one that is removed after the fit: twice their size must be free in the cache folder
(`FOVEATE_CACHE`). The row above is small; `python benchmarks/streamed_fit.py` fits 20 GB. With
`--bags 500 --segments 2000`, 2 GB, the peak was 1,034 MB, and an epoch took as much CPU time per
bag as in memory. The ratio above is wall time; in three runs with other programs it was .62, .96
and .97, that of CPU time .82 to .92. Pages of the files are released after every 128 MB that are
read, so that the peak is decided by the libraries (330 MB), by sorting a sample of 65,536 segments
for the medians, and by the bags of a step. 20 GB were not measured: a fit was stopped after 40
minutes with 30 other programs running.

**Two Dask workers** need two idle cores, which were never free; the row was not stored.

**Not measured here.** On a GPU nothing was measured: the tests use a second device that computes on
the CPU.
"""


def page(stored: Mapping[str, Any]) -> str:
    """The page as Markdown.

    Args:
        stored: What ``benchmarks/all.py`` stored.
    """
    machine = stored["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    lines = [
        INTRODUCTION,
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['threads']} thread "
        f"per program; Python {machine['python']}; {versions}. {_runs(stored['rows'])}",
        "",
        "| work | ratio | spread | goal | |",
        "|---|---|---|---|---|",
        *map(_row, stored["rows"]),
        *_memory(stored["rows"]),
        LIMITS,
        "## Commands",
        "",
        *(f"- {row['work']}: `{row['command']}`" for row in stored["rows"]),
    ]
    return "\n".join(lines) + "\n"


def _runs(rows: list[Mapping[str, Any]]) -> str:
    """When the rows were measured, whether with the same code, and the load of the machine."""
    dated = [row for row in rows if "date" in row]
    if not dated:
        return "All rows are from an earlier run."
    days, loads = sorted({row["date"] for row in dated}), [row["load"] for row in dated]
    sources = len({row.get("source") for row in rows})
    text = f"Measured on {' and '.join(days)}, load {min(loads):g} to {max(loads):g}"
    if len(dated) < len(rows):
        return f"{text}; {len(rows) - len(dated)} of {len(rows)} rows are from an earlier run."
    return f"{text}, all with the same code." if sources == 1 else f"{text}, code changed between."


def _row(row: Mapping[str, Any]) -> str:
    if "error" in row:
        return f"| {row['work']} | – | – | {row['goal']:g} | not run: {row['error']} |"
    numbers = row["numbers"]
    low, high = numbers.get("spread", (None, None))
    spread = "–" if low is None else f"{low:.3g} … {high:.3g}"
    met = "met" if numbers["ratio"] >= row["goal"] else "not met"
    peak = numbers.get("peak_mb")
    work = f"{row['work']}; peak {peak:,.0f} MB" if isinstance(peak, float) else row["work"]
    return f"| {work} | {numbers['ratio']:.3g} | {spread} | {row['goal']:g} | {met} |"


def _memory(rows: list[Mapping[str, Any]]) -> list[str]:
    """Growth of time and of peak memory."""
    grown = [row["numbers"] for row in rows if "memory_slope" in row.get("numbers", {})]
    if not grown:
        return []
    head = ["", "| | slope of time | slope of peak memory | peak MB by size |", "|---|---|---|---|"]
    return head + [
        f"| {numbers['what']} | {numbers['slope']:.2f} | {numbers['memory_slope']:.2f} | "
        + ", ".join(f"{size}: {mb:.0f}" for size, mb in numbers["peak_mb"].items())
        + " |"
        for numbers in grown
    ]


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(STORED.read_text())))
