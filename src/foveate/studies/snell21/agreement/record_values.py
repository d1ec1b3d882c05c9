"""From the record of a data set to the numbers of the paper's tables. [snell21] Tables 1–7, 9"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from foveate.metrics.agreement import contextual
from foveate.records.record import Record
from foveate.studies.snell21.agreement.comparison import CHOOSING, FAIR, REPORTING

__all__ = [
    "COLUMNS",
    "RECORDED",
    "chosen",
    "context",
    "excess",
    "fall",
    "frozen_best",
    "number",
    "random",
    "rise",
    "title",
    "top_performance",
]

Numbers = NDArray[np.float64]

COLUMNS: Mapping[str, str] = {
    "alpha_uf": "A(α, β_uf)",
    "uf_px": "A(β_uf, β_px)",
    "delta_uf": "A(Δ, β_uf)",
    "alpha_beta": "A(α, β)",
    "uf_trans": "A(β_uf, Trans)",
    "alpha_alpha": "A(α_A, α_B)",
}
"""Quantities of a table: the paper's four, the count table in place of the proxy, two seeds."""

RECORDED: Mapping[str, Mapping[str, float]] = {
    "imdb": {"alpha_uf": 0.526, "uf_px": 0.816, "delta_uf": 0.616},
    "sst": {"alpha_uf": 0.199, "uf_px": 0.336, "delta_uf": 0.225},
    "amazon": {"alpha_uf": 0.520, "uf_px": 0.768},
    "multi30k": {"alpha_uf": 0.310, "uf_px": 0.344, "delta_uf": 0.271, "alpha_alpha": 0.775},
    "news-commentary-en-nl": {"alpha_uf": 0.347, "uf_px": 0.391, "alpha_beta": 0.602},
}
"""Numbers of the authors' own notebooks, with ties in the paper's form."""

_TITLES = {
    "sst": "SST",
    "newsgroups": "20 Newsgroups",
    "ag_news": "AG News",
    "imdb": "IMDB",
    "amazon": "Amazon",
    "yelp": "Yelp",
    "sms": "SMS",
    "multi30k": "Multi30k",
    "iwslt14": "IWSLT'14",
    "keywords": "keyword toy",
}


def title(name: str) -> str:
    """How a data set is called in figures."""
    return _TITLES.get(name, name)


def chosen(record: Record) -> NDArray[np.int64]:
    """The checkpoint of each seed that maximises A(α, β_uf(τ)) on the choosing half, shape (S,)."""
    best: NDArray[np.int64] = record.values["alpha_uf"][:, :, CHOOSING, FAIR].argmax(0)
    return best


def number(record: Record, name: str, part: int = REPORTING, measure: int = FAIR) -> Numbers:
    """A quantity of each seed, shape (S,).

    What is said of β_uf is read at the chosen checkpoint, all else at the end.

    Args:
        record: Of a data set.
        name: A key of :data:`COLUMNS`, or ``alpha_beta_other``.
        part: Which of the sets.
        measure: Which of the measures.
    """
    if name == "alpha_beta":
        return np.asarray(record.final[name][:, part, measure])
    values = record.values[name][:, :, part, measure]
    return _at(values, chosen(record)) if "uf" in name.split("_") else values[-1]


def random(record: Record, part: int = REPORTING) -> Numbers:
    """The random level, shape (S,)."""
    return np.asarray(record.final["random"][:, part])


def excess(record: Record, name: str, part: int = REPORTING) -> Numbers:
    """How far a quantity is above the random level, with fair ties, shape (S,)."""
    return number(record, name, part) - random(record, part)


def frozen_best(record: Record) -> Numbers:
    """The best A(α_fr(τ), α), its checkpoint chosen on the other half, shape (S,)."""
    values = record.values["frozen_alpha"][:, :, :, FAIR]
    return _at(values[:, :, REPORTING], values[:, :, CHOOSING].argmax(0))


def rise(record: Record) -> Numbers:
    """By how much A(α, β_uf(τ)) at the chosen checkpoint exceeds that at the start, shape (S,)."""
    return number(record, "alpha_uf") - record.values["alpha_uf"][0, :, REPORTING, FAIR]


def fall(record: Record) -> Numbers:
    """By how much A(α, β_uf(τ)) at the chosen checkpoint exceeds that at the end, shape (S,)."""
    return number(record, "alpha_uf") - record.values["alpha_uf"][-1, :, REPORTING, FAIR]


def context(
    record: Record, name: str, performance: str = "partner_accuracy", part: int = REPORTING
) -> Numbers:
    """Contextual agreement ξ of a quantity in each seed, with fair ties, shape (S,).

    Args:
        record: Of a data set.
        name: A key of :data:`COLUMNS`.
        performance: ``partner_accuracy``, or ``partner_bleu`` at the checkpoints that have one.
        part: Which of the sets.
    """
    level = number(record, name, part)
    curve = record.values["alpha_alpha"][:, :, part, FAIR]
    return np.array(
        [
            contextual(level[s], curve[there, s], p[there]).performance
            for s, (p, there) in enumerate(_performances(record, performance, part))
        ]
    )


def top_performance(
    record: Record, performance: str = "partner_accuracy", part: int = REPORTING
) -> Numbers:
    """ξ*, the performance at the end of training, shape (S,)."""
    return np.array([p[there][-1] for p, there in _performances(record, performance, part)])


def _performances(
    record: Record, performance: str, part: int
) -> list[tuple[Numbers, NDArray[np.bool_]]]:
    values = record.values[performance]
    columns = values if values.ndim == 2 else values[:, :, part]
    return [(column, np.isfinite(column)) for column in columns.T]


def _at(values: Numbers, when: NDArray[np.int64]) -> Numbers:
    """Values (T, S) at one time for each seed, shape (S,)."""
    return np.asarray(values[when, np.arange(values.shape[1])])
