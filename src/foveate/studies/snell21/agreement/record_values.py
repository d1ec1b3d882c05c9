"""Numbers of the paper's tables from the record of a data set. [snell21] Tables 1–7, 9"""

import numpy as np
from numpy.typing import NDArray

from foveate.metrics.agreement import contextual
from foveate.records.published import Cell
from foveate.records.record import Record
from foveate.studies.published import cell
from foveate.studies.snell21.agreement.comparison import (
    CHOOSING,
    FAIR,
    PAPER,
    REPORTING,
    TAU,
)
from foveate.studies.snell21.agreement.published import (
    AGREEMENT,
    COLUMNS,
    PERFORMANCE,
    RANDOM,
    title,
)
from foveate.types import FloatArray

__all__ = [
    "agreement_cells",
    "chosen",
    "context",
    "excess",
    "fall",
    "frozen_best",
    "number",
    "random",
    "rise",
    "top_performance",
]

BY_TAU = ", Kendall's τ"
MEASURED = {PAPER: AGREEMENT, FAIR: f"{AGREEMENT}, fair ties", TAU: f"{AGREEMENT}{BY_TAU}"}
PERFORMANCES = {"partner_accuracy": PERFORMANCE, "partner_bleu": "BLEU-4"}


def chosen(record: Record) -> NDArray[np.int64]:
    """The checkpoint of each seed that maximises A(α, β_uf(τ)) on the choosing half, shape (S,)."""
    best: NDArray[np.int64] = record.values["alpha_uf"][:, :, CHOOSING, FAIR].argmax(0)
    return best


def number(record: Record, name: str, part: int = REPORTING, measure: int = FAIR) -> FloatArray:
    """A quantity of each seed, shape (S,).

    Values of β_uf are those at the chosen checkpoint, all others those at the end.

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


def random(record: Record, part: int = REPORTING) -> FloatArray:
    """The random level, shape (S,)."""
    return np.asarray(record.final["random"][:, part])


def excess(record: Record, name: str, part: int = REPORTING) -> FloatArray:
    """A quantity minus the random level, with fair ties, shape (S,)."""
    return number(record, name, part) - random(record, part)


def frozen_best(record: Record) -> FloatArray:
    """The best A(α_fr(τ), α), its checkpoint chosen on the other half, shape (S,)."""
    values = record.values["frozen_alpha"][:, :, :, FAIR]
    return _at(values[:, :, REPORTING], values[:, :, CHOOSING].argmax(0))


def rise(record: Record) -> FloatArray:
    """A(α, β_uf(τ)) at the chosen checkpoint minus that at the start, shape (S,)."""
    return number(record, "alpha_uf") - record.values["alpha_uf"][0, :, REPORTING, FAIR]


def fall(record: Record) -> FloatArray:
    """A(α, β_uf(τ)) at the chosen checkpoint minus that at the end, shape (S,)."""
    return number(record, "alpha_uf") - record.values["alpha_uf"][-1, :, REPORTING, FAIR]


def context(
    record: Record,
    name: str,
    performance: str = "partner_accuracy",
    part: int = REPORTING,
    measure: int = FAIR,
) -> FloatArray:
    """Contextual agreement ξ of a quantity in each seed, shape (S,).

    Args:
        record: Of a data set.
        name: A key of :data:`COLUMNS`.
        performance: ``partner_accuracy``, or ``partner_bleu`` at the checkpoints that have one.
        part: Which of the sets.
        measure: Which of the measures of agreement.
    """
    level = number(record, name, part, measure)
    curve = record.values["alpha_alpha"][:, :, part, measure]
    return np.array(
        [
            contextual(level[s], curve[reached, s], p[reached]).performance
            for s, (p, reached) in enumerate(_performances(record, performance, part))
        ]
    )


def top_performance(
    record: Record, performance: str = "partner_accuracy", part: int = REPORTING
) -> FloatArray:
    """ξ*, the performance at the end of training, shape (S,)."""
    return np.array([p[reached][-1] for p, reached in _performances(record, performance, part)])


def _performances(
    record: Record, performance: str, part: int
) -> list[tuple[FloatArray, NDArray[np.bool_]]]:
    values = record.values[performance]
    columns = values if values.ndim == 2 else values[:, :, part]
    return [(column, np.isfinite(column)) for column in columns.T]


def _at(values: FloatArray, when: NDArray[np.int64]) -> FloatArray:
    """Values (T, S) at one time for each seed, shape (S,)."""
    return np.asarray(values[when, np.arange(values.shape[1])])


def agreement_cells(data: str, record: Record) -> list[Cell]:
    """The numbers of one data set as cells of a table: Tables 1 to 5.

    Agreement with ties as published, with fair ties, and as Kendall's τ; ξ by accuracy and, for
    sentence pairs, by BLEU, each with agreement and with τ.

    Args:
        data: The data set.
        record: Its record.
    """
    group = title(data)
    cells = []
    for measure, name in MEASURED.items():
        cells += [
            cell((group, COLUMNS[key], name), "", number(record, key, measure=measure))
            for key in COLUMNS
            if key in record.values or key in record.final
        ]
        if measure != TAU:  # whose random level is 0
            cells.append(cell((group, RANDOM, name), "", random(record)))
    for performance, title_of in PERFORMANCES.items():
        if performance not in record.values:
            continue
        for measure, ending in ((FAIR, ""), (TAU, BY_TAU)):
            value = context(record, "alpha_uf", performance, measure=measure)
            cells.append(cell((group, "ξ(α, β_uf)", f"{title_of}{ending}"), "", value))
        cells.append(cell((group, "ξ*", title_of), "", top_performance(record, performance)))
    return cells
