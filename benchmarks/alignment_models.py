"""Alignment error rate and time beside fast_align (systran-align) and eflomal, on gold links.

Needs the folder FOVEATE_DATA with word_alignment. Every aligner learns from all sentence pairs of a
set, in lower case, both ways, and is scored on those with gold links after grow-diag-final-and
(fast_align by its own heuristic). fast_align runs with its recommended options: diagonal, tension
optimised, variational Bayes. Times are CPU seconds of learning and aligning; eflomal's include its
child processes and its three samplers. Settings of foveate's models were chosen on the trial pairs
of Hansards and the training pairs of en_cs, so these two are not independent evidence. A call that
takes less than 0.3 seconds is repeated, and the median is given; the first is not counted.
The ratio is fast_align's time over that of foveate's HMM, summed over the sets.
"""

import argparse
import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import eflomal
import pyarrow.parquet as pq
import systran_align

from foveate.metrics.alignment import alignment_scores, read_pharaoh
from foveate.text.corpora.word_alignment import GOLD
from foveate.text.statistics.diagonal import fit_diagonal
from foveate.text.statistics.hmm import fit_hmm
from foveate.text.statistics.ibm1 import fit_ibm1
from foveate.text.statistics.symmetrisation import flipped, grow_diag_final_and
from foveate.text.tokens import Tokens, Vocabulary

LONG, REPEATS = 0.3, 21  # seconds from which a call is timed once; calls of shorter ones
Links = list[set[tuple[int, int]]]
Sides = tuple[list[list[str]], list[list[str]]]


def read(name: str) -> tuple[Sides, Links, Links]:
    folder = Path(os.environ["FOVEATE_DATA"]) / "word_alignment" / GOLD[name]
    rows = [
        row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]
    source, target = (
        [[word.lower() for word in row[column]] for row in rows]
        for column in ("src_tokens", "tgt_tokens")
    )
    sure, possible = (
        [{tuple(link) for link in row[column] or ()} for row in rows]
        for column in ("sure", "possible")
    )
    return (source, target), sure, possible


def encoded(texts: list[list[str]]) -> Tokens:
    vocabulary = Vocabulary.of(texts)
    return Tokens.of(vocabulary.encode(text) for text in texts)


def by_foveate(fit: Callable[..., Any], sides: Sides) -> Links:
    x, y = map(encoded, sides)
    forward, backward = fit(x, y).align(x, y), fit(y, x).align(y, x)
    return grow_diag_final_and(forward, flipped(backward))


def by_fast_align(sides: Sides) -> Links:
    with tempfile.TemporaryDirectory() as folder:
        corpus, forward, backward = (str(Path(folder) / name) for name in "cfb")
        lines = (f"{' '.join(x)} ||| {' '.join(y)}\n" for x, y in zip(*sides, strict=True))
        Path(corpus).write_text("".join(lines))
        systran_align.generate_alignment_probabilities(
            corpus,
            forward,
            backward,
            favor_diagonal=True,
            optimize_tension=True,
            variational_bayes=True,
        )
        aligner = systran_align.Aligner(forward, backward)
        return [
            {tuple(link) for link in aligner.align(x, y)["alignments"]}
            for x, y in zip(*sides, strict=True)
        ]


def by_eflomal(sides: Sides) -> Links:
    with tempfile.TemporaryDirectory() as folder:
        forward, backward = (str(Path(folder) / name) for name in "fb")
        lines = ([" ".join(text) for text in side] for side in sides)
        eflomal.Aligner().align(*lines, links_filename_fwd=forward, links_filename_rev=backward)
        return grow_diag_final_and(read_pharaoh(Path(forward)), read_pharaoh(Path(backward)))


ALIGNERS: dict[str, Callable[[Sides], Links]] = {
    "ibm1": lambda sides: by_foveate(lambda x, y: fit_ibm1(x, y, null=True), sides),
    "ibm1-diagonal": lambda sides: by_foveate(fit_diagonal, sides),
    "hmm": lambda sides: by_foveate(fit_hmm, sides),
    "fast_align": by_fast_align,
    "eflomal": by_eflomal,
}


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(align: Callable[[], Links]) -> tuple[Links, float]:
    """Links, and the CPU seconds of one call: the median of several where they are short."""
    start = cpu_seconds()
    links = align()
    seconds = cpu_seconds() - start
    if seconds > LONG:
        return links, seconds
    spent = []
    for _ in range(REPEATS):
        start = cpu_seconds()
        align()
        spent.append(cpu_seconds() - start)
    return links, median(spent)


def measure(name: str) -> dict[str, dict[str, float]]:
    sides, sure, possible = read(name)
    scored = [k for k in range(len(sure)) if sure[k] or possible[k]]
    results = {}
    for aligner, align in ALIGNERS.items():
        links, seconds = timed(lambda align=align: align(sides))
        parts = ([corpus[k] for k in scored] for corpus in (links, sure, possible))
        results[aligner] = {"aer": alignment_scores(*parts).aer, "seconds": seconds}
    return {"pairs": {"all": len(sure), "scored": len(scored)}, **results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(GOLD), choices=list(GOLD))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = {}
    for name in arguments.sets:
        results[name] = measure(name)
        pairs = results[name]["pairs"]
        if not arguments.json:
            columns = (
                f"{aligner} {value['aer']:.3f} ({value['seconds']:.3f} s)"
                for aligner, value in results[name].items()
                if aligner != "pairs"
            )
            print(f"{name}, {pairs['scored']} of {pairs['all']} pairs: AER {', '.join(columns)}")
    spent = {k: sum(r[k]["seconds"] for r in results.values()) for k in ("fast_align", "hmm")}
    if arguments.json:
        print(json.dumps(results))
    print(f"ratio {spent['fast_align'] / spent['hmm']:.2f}")


if __name__ == "__main__":
    main()
