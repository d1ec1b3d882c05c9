"""The command that aligns the words of sentence pairs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from foveate.cli.app import this_command
from foveate.cli.flags import Overwrite
from foveate.cli.outputs import check_outputs
from foveate.report.progress import progress_of

if TYPE_CHECKING:
    from foveate.jobs.align import Aligned
    from foveate.text.corpora import SentencePairs
    from foveate.text.corpora.gold_links import GoldLinks

__all__ = ["align_command"]


def align_command(
    source: Path,
    target: Path,
    /,
    *,
    out: Path,
    method: Literal["ibm1", "ibm1-diagonal", "hmm", "attention"] = "ibm1",
    symmetrise: Literal["none", "intersection", "grow"] = "none",
    iterations: int | None = None,
    null: bool = False,
    steps: int = 1000,
    seed: int = 0,
    model: Path | None = None,
    layer: int | None = None,
    head: int | None = None,
    gold: Path | None = None,
    report: Path | None = None,
    overwrite: Overwrite = False,
) -> None:
    """Align the words of sentence pairs; one line of i-j pairs each, source first, from 0.

    Parameters
    ----------
    source
        A file with a sentence on every line; words are separated by spaces.
    target
        Their translations, line by line.
    out
        The file to write, in Pharaoh format.
    method
        IBM Model 1; the same with a prior for the diagonal, as fast_align; a hidden Markov model,
        the most accurate; or the attention of a small network trained on these pairs.
    symmetrise
        Align both ways and keep the links of both, or what grows from them (grow-diag-final-and).
    iterations
        Iterations of ibm1, ibm1-diagonal and hmm; 5 unless given, 4 of hmm.
    null
        Give ibm1 a NULL word, for target words without a source; the other two always have one.
    steps
        Training steps, for attention.
    seed
        Seed of weights and order, for attention.
    model
        The folder of an encoder–decoder of the transformers library (Marian, BART, T5), for
        attention; a small network is trained unless given.
    layer
        Which decoder layer of --model, from 0; the mean over all unless given.
    head
        Which head of --model, from 0; the mean over all unless given.
    gold
        A file of links to score against, one line for each pair: 0-1 is sure, 0?1 or 0-1?
        possible. Pairs with an empty line have no gold and are not scored.
    report
        A page of alignment matrices to write, .html.
    """
    from foveate.jobs.align import AlignPlan, align_pairs
    from foveate.metrics.alignment import write_pharaoh
    from foveate.text.corpora.gold_links import read_gold_links
    from foveate.text.corpora.user_files import read_pairs

    plan = AlignPlan(method, symmetrise, iterations, null, steps, seed, model, layer, head)
    check_outputs(out, report, inputs=(source, target, gold), overwrite=overwrite)
    data = read_pairs(source, target)
    links = read_gold_links(gold, data.train) if gold else None
    with progress_of(quiet=True) as progress:
        if method == "attention" and model is None:
            _warn_if_unlikely(data)
        aligned = align_pairs(data, plan, progress, examples=report is not None)
    if report:
        name = f"{source.name} and {target.name}"
        symmetrised = symmetrise != "none"
        _alignment_page(report, data, aligned, links, name, method, symmetrised=symmetrised)
    write_pharaoh(out, aligned.links)
    print(f"{len(aligned.links):,} pairs: {out}")
    if links:
        _print_scores(aligned, links)
    if report:
        print(f"page: {report}")


def _warn_if_unlikely(data: "SentencePairs") -> None:
    """One line where co-occurrence does not predict that attention will be learnt."""
    from foveate.text.statistics.cross_fitting import LEAST
    from foveate.text.statistics.diagnosis import diagnose

    if len(data.train) < LEAST:
        return print(f"only {len(data.train)} pairs: too few to learn from", file=sys.stderr)
    words = data.source_vocabulary.words, data.target_vocabulary.words
    diagnosis = diagnose(data.train.source, data.train.target, words)
    if diagnosis.verdict != "likely":
        print(f"{diagnosis.summary} {diagnosis.reason}", file=sys.stderr)


def _scores(aligned: "Aligned", gold: "GoldLinks") -> list[tuple[str, str]]:
    """AER, precision and recall of the links, with 95 % intervals."""
    from foveate.metrics.alignment import alignment_intervals

    scores = alignment_intervals(*map(gold.select, (aligned.links, gold.sure, gold.possible)))
    rows = []
    for name, value in zip(("AER", "precision", "recall"), scores, strict=False):
        ends = "" if value.low is None else f" [{value.low:.3f}, {value.high:.3f}]"
        rows.append((name, f"{value.mean:.3f}{ends}"))
    return rows


def _print_scores(aligned: "Aligned", gold: "GoldLinks") -> None:
    scored = len(gold.select(aligned.links))
    if scored < len(aligned.links):
        print(f"scored on the {scored:,} of {len(aligned.links):,} pairs that have gold links")
    for name, value in _scores(aligned, gold):
        print(f"{name:<9} {value}")


MODELS = {"ibm1": "IBM Model 1", "ibm1-diagonal": "the diagonal model", "hmm": "the HMM"}


def _results(aligned: "Aligned", gold: "GoldLinks | None") -> list[tuple[str, str, str]]:
    """The numbers of a page: name, value, meaning."""
    rows = [("pairs", f"{len(aligned.links):,}", ""),
            ("links", f"{sum(map(len, aligned.links)):,}", "in all pairs")]  # fmt: skip
    if gold is None:
        return rows
    meanings = {
        "AER": "alignment error rate, lower is better",
        "precision": "links that are possible gold links",
        "recall": "sure gold links that were found",
    }
    return [*rows, *((name, value, meanings[name]) for name, value in _scores(aligned, gold))]


def _alignment_page(
    path: Path,
    data: "SentencePairs",
    aligned: "Aligned",
    gold: "GoldLinks | None",
    name: str,
    method: str,
    *,
    symmetrised: bool,
) -> None:
    import numpy as np

    from foveate.report.next_steps import align_steps
    from foveate.report.pages.alignments import AlignedPair, write_alignment_page

    pairs, none = data.train, frozenset[tuple[int, int]]()
    examples = [
        AlignedPair(
            data.source_vocabulary.decode(pairs.source[row]),
            data.target_vocabulary.decode(pairs.target[row]),
            alpha=np.stack([table[k] for table in aligned.tables]),
            sure=gold.sure[row] if gold else none,
            possible=gold.possible[row] if gold else none,
            predicted=aligned.links[row],
            number=row + 1,
        )
        for k, row in enumerate(aligned.rows)
    ]
    counting = method in MODELS
    write_alignment_page(
        path,
        examples,
        aligned.captions,
        title=f"Alignments of {name}",
        lead=f"Where each target word comes from, as {MODELS[method]} learns it."
        if counting
        else "Where attention looks for each target word, as the model learns.",
        what="posterior" if counting else "α, attention",
        axis="Iteration" if counting else "Training step",
        results=_results(aligned, gold),
        steps=align_steps(method, symmetrised=symmetrised, gold=gold is not None),
        setup={name: f"{count:,}" for name, count in data.counts.items() if count},
        command=this_command(),
    )
