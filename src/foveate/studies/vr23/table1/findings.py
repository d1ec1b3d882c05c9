"""Findings from the numbers of the first table."""

from collections.abc import Iterable, Sequence

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.studies.published import SeedValues, paired, seed_values
from foveate.studies.verdicts import Outcome, at_least, at_most, combine, in_words, tally_text
from foveate.studies.vr23.table1 import Table1Settings
from foveate.studies.vr23.table1.cells import deviations, table1_cells
from foveate.studies.vr23.table1.rows import ROWS

__all__ = ["decide_claims", "findings"]

HEADROOM = 2.0  # points of SAIF that the oracle must lie above a paradigm to leave room for a gain
LOSS = 1.0  # points of accuracy that "no cost" allows
SAIF, ACCURACY = "SAIF %", "accuracy %"
FOCUS, PREDICTION = "middle focus %", "middle prediction %"


def findings(settings: Table1Settings, records: Records) -> list[Finding]:
    """One finding per claim; those on mosaics only where there are mosaics."""
    cells = table1_cells(settings, records)
    deviation = " ".join(deviations(settings, records)).rstrip(".")
    return decide_claims(settings, cells, deviation)


def decide_claims(
    settings: Table1Settings, cells: Iterable[Cell], deviation: str = "none"
) -> list[Finding]:
    """The findings from measured cells alone, those of stored results included.

    Args:
        settings: Which rows there are; no claim is judged with some of the paradigms only.
        cells: The table as measured.
        deviation: What differs from the published set-up.
    """
    if settings.paradigms:
        return []
    criteria = _Criteria(settings.rows, seed_values(cells), deviation or "none")
    results = [criteria.best(), criteria.hybrid(), criteria.deliberate()]
    if settings.images and criteria.has(settings.images[0], "soft", FOCUS):
        results += criteria.signatures(settings.images)
    return [result for result in results if result is not None]


class _Criteria:
    """Compares paradigms row by row over paired seeds.

    Args:
        rows: The rows of the table.
        values: Every measure, seed by seed.
        deviation: What differs from the published set-up.
    """

    def __init__(self, rows: Sequence[str], values: SeedValues, deviation: str) -> None:
        self.rows, self.values, self.deviation = rows, values, deviation

    def has(self, row: str, rule: str, measure: str) -> bool:
        """Whether something was measured."""
        return (ROWS[row].group, ROWS[row].setting, rule, measure) in self.values

    def gap(self, row: str, one: str, other: str, measure: str) -> Interval:
        """A measure of one paradigm minus that of another, over seeds that are alive in both."""
        group, setting = ROWS[row].group, ROWS[row].setting
        both = (self.values[group, setting, rule, measure] for rule in (one, other))
        difference = paired(*both)
        return mean_interval(difference) if len(difference) else Interval(np.nan, None, None)

    def gain(self, row: str, one: str, other: str) -> tuple[Outcome, Interval]:
        """A gain in SAIF and whether it is met, where the oracle leaves room for one."""
        gain = self.gap(row, one, other, SAIF)
        if self.gap(row, "oracle", other, SAIF).mean < HEADROOM:
            return "untestable", gain
        return at_least(gain), gain

    def finding(
        self, claim: str, outcomes: list[Outcome], effect: Interval, measure: str,
        words: list[str], figure: str = "saif",
    ) -> Finding:  # fmt: skip
        text = f"{'; '.join(words)}. {tally_text(outcomes)}"
        return Finding(claim, combine(outcomes), *effect, measure, text, figure, self.deviation)

    def best(self) -> Finding:
        """C4: LVML above soft and above hard attention."""
        outcomes, words, effects = [], [], []
        for row in self.rows:
            (one, soft), (two, hard) = (self.gain(row, "lvml", k) for k in ("soft", "hard"))
            outcomes += [one, two]
            effects.append(soft)
            words.append(
                f"{_name(row)}: over soft {in_words(soft)}{_mark(one)}, over hard "
                f"{in_words(hard)}{_mark(two)}"
            )
        measure = "SAIF, LVML minus soft in the row where it gains least, points"
        return self.finding("vr23:C4", outcomes, _least(effects), measure, words)

    def hybrid(self) -> Finding:
        """C16: the hybrid gains SAIF over soft attention and keeps its accuracy."""
        outcomes, words, effects = [], [], []
        for row in self.rows:
            outcome, gain = self.gain(row, "hybrid", "soft")
            cost = self.gap(row, "hybrid", "soft", ACCURACY)
            outcomes += [outcome, at_least(cost, -LOSS)]
            effects.append(gain)
            words.append(
                f"{_name(row)}: SAIF {in_words(gain)}{_mark(outcome)}, accuracy {in_words(cost)}"
            )
        measure = "SAIF, hybrid minus soft in the row where it gains least, points"
        return self.finding("vr23:C16-real", outcomes, _least(effects), measure, words)

    def deliberate(self) -> Finding | None:
        """C21: the hybrid against as many hard epochs at random places."""
        rows = [row for row in self.rows if self.has(row, "random-matched", SAIF)]
        if not rows:
            return None
        outcomes, words, effects = [], [], []
        for row in rows:
            outcome, gain = self.gain(row, "hybrid", "random-matched")
            outcomes.append(outcome)
            effects.append(gain)
            words.append(f"{_name(row)}: SAIF {in_words(gain)}{_mark(outcome)}")
        measure = "SAIF, hybrid minus random epochs in the row where it gains least, points"
        return self.finding("vr23:C21-real", outcomes, _least(effects), measure, words)

    def signatures(self, rows: Sequence[str]) -> list[Finding]:
        """C1 to C3: the middle rows and columns of the heat map."""
        soft = [("hard", PREDICTION, False), ("hard", FOCUS, True), ("lvml", FOCUS, True)]
        hard = [("soft", FOCUS, False), ("soft", PREDICTION, True), ("lvml", PREDICTION, True)]
        lvml = [("soft", FOCUS, False), ("hard", PREDICTION, False)]
        return [
            self.signature("vr23:C1-real", rows, "soft", soft),
            self.signature("vr23:C2-real", rows, "hard", hard),
            self.signature("vr23:C3-real", rows, "lvml", lvml),
        ]

    def signature(
        self, claim: str, rows: Sequence[str], rule: str, against: list[tuple[str, str, bool]]
    ) -> Finding:
        """Shares of bags in the middle of the heat map, above or below another paradigm's."""
        outcomes, words, effects = [], [], []
        for row in rows:
            for other, measure, more in against:
                gap = self.gap(row, rule, other, measure)
                outcomes.append(at_least(gap) if more else at_most(gap))
                effects.append(gap)
                words.append(
                    f"{_name(row)}: {measure.removesuffix(' %')}, {rule} minus {other} "
                    f"{in_words(gap)}"
                )
        other, name, _ = against[0]
        measure = f"{name.removesuffix(' %')}, {rule} minus {other} in the first row, points"
        return self.finding(claim, outcomes, effects[0], measure, words, "heat-maps")


def _mark(outcome: Outcome) -> str:
    return " (no headroom)" if outcome == "untestable" else ""


def _least(gains: list[Interval]) -> Interval:
    return min(gains, key=lambda gain: gain.mean)


def _name(row: str) -> str:
    setting = ROWS[row].setting
    return ROWS[row].group + (f" ({setting})" if setting else "")
