"""The command that aligns the words of sentence pairs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from foveate.cli.command_line import this_command
from foveate.cli.commands.words import must_be_writable
from foveate.cli.progress import progress_of

if TYPE_CHECKING:
    from foveate.jobs.align import Aligned
    from foveate.text.corpora import SentencePairs

__all__ = ["align_command"]


def align_command(
    source: Path,
    target: Path,
    /,
    *,
    out: Path,
    method: Literal["ibm1", "attention"] = "ibm1",
    symmetrise: Literal["none", "intersection", "grow"] = "none",
    iterations: int = 5,
    steps: int = 1000,
    seed: int = 0,
    gold: Path | None = None,
    report: Path | None = None,
) -> None:
    """Align the words of sentence pairs; one line of i-j pairs each, source first, from 0.

    Parameters
    ----------
    source
        A file with a sentence on every line; spaces part its words.
    target
        Their translations, line by line.
    out
        The file to write, in Pharaoh format.
    method
        IBM Model 1, or the attention of a small model trained on these pairs.
    symmetrise
        Align both ways and keep what both say, or what grows from it (grow-diag-final-and).
    iterations
        Of IBM Model 1.
    steps
        Of training, for attention.
    seed
        Decides weights and order, for attention.
    gold
        A file of known links to score against: 0-1 is sure, 0?1 or 0-1? possible.
    report
        A page of alignment matrices to write, .html.
    """
    from foveate.jobs.align import AlignPlan, align_pairs, read_gold
    from foveate.metrics.alignment import write_pharaoh
    from foveate.text.corpora.user_files import read_pairs

    plan = AlignPlan(method, symmetrise, iterations, steps, seed)
    must_be_writable(out, report)
    data = read_pairs(source, target)
    known = read_gold(gold, data.train) if gold else None
    with progress_of(quiet=True) as tell:
        if method == "attention":
            _forewarn(data)
        found = align_pairs(data, plan, tell, watch=report is not None)
    if report:
        _alignment_page(report, data, found, known, f"{source.name} and {target.name}", plan.method)
    write_pharaoh(out, found.links)
    print(f"{len(found.links):,} pairs: {out}")
    if known:
        _print_scores(found, *known)
    if report:
        print(f"page: {report}")


def _forewarn(data: "SentencePairs") -> None:
    """One line where co-occurrence does not promise that attention will be learnt."""
    from foveate.text.statistics.cross_fitting import LEAST
    from foveate.text.statistics.diagnosis import diagnose

    if len(data.train) < LEAST:
        return print(f"only {len(data.train)} pairs: too few to learn from", file=sys.stderr)
    words = data.source_vocabulary.words, data.target_vocabulary.words
    found = diagnose(data.train.source, data.train.target, words)
    if found.verdict != "likely":
        print(f"{found.said} {found.reason}", file=sys.stderr)


def _print_scores(found: "Aligned", sure: Any, possible: Any) -> None:
    from foveate.metrics.alignment import alignment_intervals

    scores = alignment_intervals(found.links, sure, possible)
    for name, value in zip(("AER", "precision", "recall"), scores, strict=False):
        ends = "" if value.low is None else f" [{value.low:.3f}, {value.high:.3f}]"
        print(f"{name:<9} {value.mean:.3f}{ends}")


def _alignment_page(
    path: Path,
    data: "SentencePairs",
    found: "Aligned",
    known: tuple[Any, Any] | None,
    name: str,
    method: str,
) -> None:
    from foveate.report.pages.alignments import AlignedPair, write_alignment_page

    pairs = data.train
    sure, possible = known or ([frozenset()] * len(pairs),) * 2
    shown = [
        AlignedPair(
            data.source_vocabulary.decode(pairs.source[row]),
            data.target_vocabulary.decode(pairs.target[row]),
            alpha=[moment[k] for moment in found.shown],  # type: ignore[arg-type]
            sure=sure[row],
            possible=possible[row],
            found=found.links[row],
            number=row + 1,
        )
        for k, row in enumerate(found.rows)
    ]
    ibm1 = method == "ibm1"
    write_alignment_page(
        path,
        shown,
        found.captions,
        title=f"Alignments of {name}",
        lead="Where each target word comes from, as IBM Model 1 learns it."
        if ibm1
        else "Where attention looks for each target word, as the model learns.",
        what="posterior" if ibm1 else "α, attention",
        axis="Iteration" if ibm1 else "Training step",
        setup={name: f"{count:,}" for name, count in data.counts.items() if count},
        command=this_command(),
    )
