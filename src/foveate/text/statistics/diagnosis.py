r"""Will attention be learnt? Co-occurrence statistics of a corpus before any training.

While attention is uniform a model learns words from the count table C alone, and attention then
goes to the positions whose words say most for the output: what counts is how :math:`C_{x_l,y_t}`
differs over the positions l of one sentence. [snell21] Sec. 2.3, 4

**The statistic.** :math:`r_{t,l} = \mathrm{Trans}(y_t|x_l)` over its mean in the sentence. A
mixture of permutations knows each sentence's word set (its table is not flat) and still has r = 1
everywhere. Trans, not the centred counts :math:`C_{i,o} - \bar C_i` of the first gradient step:
those vary over positions with how frequent words are, whatever the output, so that much of their
variance is left with the targets permuted (``foveate reproduce diagnosis`` measures it). On copy
tasks, where all words are as frequent, both say the same.

**Chance.** A table of few sentences is never flat. So r is read off two tables that share no
sentence with the measured one or with each other, and noise averages out:
*information* is :math:`\tfrac12 \overline{(r - 1)(r' - 1)}` in nats an output word, *lift*
:math:`r'` at the position where r is largest, less 1: how much more the word that co-occurrence
points at is worth than the sentence's average. A word counts in full once it has been seen more
often than five times (the old rule for tables of counts); below, it is drawn to r = 1. The same
with the targets permuted among sentences is the control.

**The decision** wants both: information beyond the control by three of its standard deviations and
beyond every control; and a lift that stands out from a network's random start. Before any training
β varies over the positions of a sentence too, by chance: by 0.3 % of its mean in the translation
model of the paper, 3 % in its copy model, 4 to 6 % in its classifier, whatever their sizes (a test
measures it). Below the least of these no network can tell words from its own noise; above the
largest all can; between, the network and its seed decide. None of the three numbers was fitted to
an outcome of training.

Limitation: order is ignored. Words related only by their position are as flat as any other
(the paper's permutations are copied position by position, and fail). And co-occurrence starts
attention but does not guarantee that the model can determine the position: the permutation function
has the table of 40-of-60 and is not learnt. [snell21] Sec. 6.2
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from foveate.errors import FoveateError
from foveate.records.json_values import to_json
from foveate.text.statistics.cross_fitting import Crossing, Measurement
from foveate.text.statistics.decision import NOTHING, START, Verdict, decide
from foveate.text.statistics.examples import Example, InformativeWord, examples, informative_words
from foveate.text.tokens import Tokens
from foveate.types import Array

__all__ = ["CONTROLS", "SMOOTHING", "Diagnosis", "diagnose"]


CONTROLS = 20
SMOOTHING = 5.0  # occurrences


@dataclass(frozen=True)
class Diagnosis:
    """Co-occurrence statistics of a corpus and the decision.

    Args:
        verdict: "likely", "may be" or "unlikely".
        reason: Why, in a sentence or two.
        advice: What to do.
        sentences: Number of all pairs.
        counted: Pairs in the tables.
        measured: Pairs they were read off for.
        information: Nats an output word, less the control's mean.
        control: Information of each control, shape (K,).
        z: Information in standard deviations of the control.
        p: p-value of the information by permutation, at least 1/(K + 1).
        lift: How much more the word that co-occurrence points at is worth, less the control's mean.
        control_lift: Lift of each control, shape (K,).
        table: Information of the table, half of χ² between words and outputs.
        table_control: The same of each control, shape (K,).
        without: Share of sentences with no more information than one of their controls.
        by_sentence: Information of each measured sentence, shape (m,).
        by_sentence_control: The same of the first control.
        words: The words that carry most information.
        examples: A few sentences, from much to little information.
    """

    verdict: Verdict
    reason: str
    advice: tuple[str, ...]
    sentences: int
    counted: int
    measured: int
    information: float
    control: Array
    z: float
    p: float
    lift: float
    control_lift: Array
    table: float
    table_control: Array
    without: float
    by_sentence: Array
    by_sentence_control: Array
    words: tuple[InformativeWord, ...]
    examples: tuple[Example, ...]

    @property
    def summary(self) -> str:
        """The prediction as a sentence."""
        verb = "may be" if self.verdict == "may be" else f"is {self.verdict} to be"
        return f"Attention {verb} learnt."

    def as_json(self) -> dict[str, Any]:
        """All numbers, for machines."""
        plain = {name: to_json(value) for name, value in self.__dict__.items()}
        return {"summary": self.summary, **plain, "start": list(START)}


def diagnose(
    source: Tokens,
    target: Tokens,
    words: tuple[Sequence[str], Sequence[str]],
    *,
    seed: int = 0,
    controls: int = CONTROLS,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> Diagnosis:
    """Say whether co-occurrence can start the learning of attention.

    Args:
        source: Input texts, 30 at least.
        target: Output texts, one for each input; labels as :func:`label_targets`.
        words: Words of input and output by their ids; their numbers are the sizes of the tables.
        seed: Decides folds, samples and controls.
        controls: Number of permutations.
        report: Called as ``report(done, total)``.
    """
    if controls < CONTROLS:
        raise FoveateError(f"{CONTROLS} controls are needed at least, got {controls}")
    size = (len(words[0]), len(words[1]))
    crossing = Crossing(source, target, size, "diagnosis", seed, smoothing=SMOOTHING)
    tables = crossing.tables(crossing.order(0))
    measured = crossing.measure(crossing.order(0), tables)
    true, control_runs = _measure(measured, tables, crossing.kappa), list[_Measured]()
    for number in range(1, controls + 1):
        order = crossing.order(number)
        permuted = crossing.tables(order)
        control_runs.append(_measure(crossing.measure(order, permuted), permuted, crossing.kappa))
        report(number, controls)
    control, lifts, flat = (np.array([one[k] for one in control_runs]) for k in range(3))
    information, z, p = _compare_to_control(true.information, control)
    table, table_z, _ = _compare_to_control(true.table, flat)
    lift = true.lift - float(lifts.mean())
    best_control = np.max([one.by_sentence for one in control_runs], 0)
    decision = decide(information, z, p, lift, float(lifts.std(ddof=1)), table, table_z)
    return Diagnosis(
        **decision._asdict(),
        sentences=len(source),
        counted=len(crossing.source),
        measured=len(crossing.measured),
        information=information,
        control=control,
        z=z,
        p=p,
        lift=lift,
        control_lift=lifts,
        table=table,
        table_control=flat,
        without=float((true.by_sentence <= best_control + NOTHING).mean()),
        by_sentence=true.by_sentence,
        by_sentence_control=control_runs[0].by_sentence,
        words=informative_words(crossing, measured, tables, words),
        examples=examples(crossing, measured, true.by_sentence, words),
    )


class _Measured(NamedTuple):
    """One order of the targets: information, lift, the table's information; by sentence."""

    information: float
    lift: float
    table: float
    by_sentence: Array


def _measure(measured: Measurement, tables: Sequence[sparse.csr_array], kappa: float) -> _Measured:
    within = measured.information
    by_sentence = measured.by_sentence(within)
    return _Measured(
        _round(float(within.mean())),
        _round(float(measured.lift.mean())),
        _round(_table_information(tables, kappa)),
        np.where(np.abs(by_sentence) < NOTHING, 0.0, by_sentence),
    )


def _table_information(tables: Sequence[sparse.csr_array], kappa: float) -> float:
    r"""Half of χ² between words and outputs, of every two tables, the mean.

    With :math:`\rho = \mathrm{Trans}(o|i)/p_o`, drawn to 1 by κ, this is
    :math:`\tfrac12 \sum_{i,o} p_i\, p_o\, (\rho_{i,o} - 1)(\rho'_{i,o} - 1)`, in which the sum over
    all o, counted or not, has a closed form.
    """
    table = tables[0] + tables[1] + tables[2]
    total, frequent = table.sum(1), table.sum(0)
    p_i, p_o = total / table.sum(), frequent / table.sum()
    inverse = sparse.diags_array(1 / np.where(p_o > 0, p_o, 1.0))
    values = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        one, other = tables[a], tables[b]
        n, m = one.sum(1), other.sum(1)
        explained = one.multiply(other @ inverse).sum(1)
        values.append(float((p_i * (explained - n * m) / ((n + kappa) * (m + kappa))).sum()) / 2)
    return float(np.mean(values))


def _compare_to_control(value: float, control: Array) -> tuple[float, float, float]:
    """A value beyond its control's mean, in its standard deviations, and the p-value."""
    excess = value - float(np.mean(control))
    spread = max(float(np.std(control, ddof=1)), NOTHING)
    reached = int((control >= value - NOTHING).sum())
    return excess, excess / spread, (1 + reached) / (1 + len(control))


def _round(value: float) -> float:
    return 0.0 if abs(value) < NOTHING else value
