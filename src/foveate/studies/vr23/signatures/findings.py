"""Findings from the records of the signatures."""

from collections.abc import Callable
from functools import partial

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.faults import dead_focus
from foveate.metrics.focus import focus_and_prediction
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Finding
from foveate.records.record import Array, Record
from foveate.studies.published import paired
from foveate.studies.verdicts import Outcome, at_least, at_most, combine, in_words, tally_text
from foveate.studies.vr23.signatures import PUBLISHED, SignatureSettings
from foveate.studies.vr23.table1.cells import middle_share

__all__ = ["findings"]

LOSS = 1.0  # points of accuracy that "no cost" allows
COMPARED = {
    "vr23:C1": ("soft", (("hard", 1, False), ("hard", 0, True), ("lvml", 0, True))),
    "vr23:C2": ("hard", (("soft", 0, False), ("soft", 1, True), ("lvml", 1, True))),
    "vr23:C3": ("lvml", (("soft", 0, False), ("hard", 1, False))),
}
"""Paradigm of each claim, and what its share is compared with: paradigm, axis (0 focus, 1
prediction), and whether it must be larger."""
AXES = ("middle focus", "middle prediction")


def findings(settings: SignatureSettings, records: Records) -> list[Finding]:
    """One finding per claim; a seed with a dead focus network enters no comparison."""
    criteria = _Criteria(settings, records)
    return [
        *(criteria.signature(claim) for claim in COMPARED),
        criteria.gain("vr23:C16", "soft"),
        criteria.gain("vr23:C21", "random-matched"),
    ]


class _Criteria:
    """Compares paradigms over paired seeds.

    Args:
        settings: Data set, sizes and training.
        records: One per paradigm and number of segments.
    """

    def __init__(self, settings: SignatureSettings, records: Records) -> None:
        self.settings, self.records = settings, records

    def gap(self, one: str, other: str, m: int, measure: Callable[[Record], Array]) -> Interval:
        """A measure of one paradigm minus that of another, in points."""
        values = (
            100 * _focus_trained(self.records[f"{rule}-m{m}"], measure) for rule in (one, other)
        )
        difference = paired(*values)
        return mean_interval(difference) if len(difference) else Interval(np.nan, None, None)

    def signature(self, claim: str) -> Finding:
        """C1 to C3: shares of bags in the middle of the heat map."""
        rule, against = COMPARED[claim]
        outcomes: list[Outcome] = []
        words, effects = [], []
        for m in self.settings.lengths:
            for other, axis, more in against:
                gap = self.gap(rule, other, m, partial(_middle, axis=axis))
                outcomes.append(at_least(gap) if more else at_most(gap))
                effects.append(gap)
                words.append(f"m = {m}: {AXES[axis]}, {rule} minus {other} {in_words(gap)}")
        other, axis, _ = against[0]
        measure = f"{AXES[axis]}, {rule} minus {other} with m = {self.settings.lengths[0]}, points"
        return self.finding(claim, outcomes, effects[0], measure, words, "heat-maps")

    def gain(self, claim: str, other: str) -> Finding:
        """C16 and C21: SAIF of the hybrid over another way to train."""
        outcomes: list[Outcome] = []
        words, effects = [], []
        for m in self.settings.lengths:
            saif, accuracy = (
                self.gap("hybrid", other, m, partial(_last, key=key))
                for key in ("saif", "accuracy")
            )
            outcomes.append(at_least(saif))
            if other == "soft":
                outcomes.append("met" if accuracy.mean > -LOSS else "missed")
            effects.append(saif)
            words.append(f"m = {m}: SAIF {in_words(saif)} points, accuracy {accuracy.mean:+.1f}")
        measure = f"SAIF, hybrid minus {other} with m = {self.settings.lengths[-1]}, points"
        return self.finding(claim, outcomes, effects[-1], measure, words, "gains")

    def finding(
        self,
        claim: str,
        outcomes: list[Outcome],
        effect: Interval,
        measure: str,
        words: list[str],
        figure: str,
    ) -> Finding:
        text = f"{'; '.join(words)}. {tally_text(outcomes)}{self.dead()}"
        verdict, deviation = combine(outcomes), _deviation(self.settings)
        return Finding(claim, verdict, *effect, measure, text, figure, deviation)

    def dead(self) -> str:
        """How many seeds of which paradigms have a dead focus network, as a sentence."""
        counts = {name: int(_dead(record).sum()) for name, record in self.records.items()}
        parts = [f"{name} {count}" for name, count in counts.items() if count]
        return f" Dead seeds, in no comparison: {', '.join(parts)}." if parts else ""


def _dead(record: Record) -> Array:
    """Which seeds have a dead focus network, shape (S,)."""
    seeds = record.meta.get("seeds", range(len(record.last("accuracy"))))
    return np.isin(seeds, dead_focus(record) if "s" in record.final else [])


def _focus_trained(record: Record, measure: Callable[[Record], Array]) -> Array:
    """A measure, one number a seed, NaN for dead seeds, shape (S,)."""
    return np.where(_dead(record), np.nan, measure(record))


def _last(record: Record, key: str) -> Array:
    """A measure at the end of training, shape (S,)."""
    return record.last(key)


def _middle(record: Record, axis: int) -> Array:
    """Share of bags in the middle columns (axis 0) or rows (axis 1) of the heat map, (S,)."""
    return middle_share(focus_and_prediction(record)[axis])


def _deviation(settings: SignatureSettings) -> str:
    reading = "fixed heat-map edges and each paradigm's own inference"
    images = "test mosaics from images never trained on"
    if settings.data == "digits":
        return (
            "mosaics of 8×8 digits with multilayer perceptrons, Adam 1e-3, instead of CIFAR-10 "
            f"with convolutional networks; {images}; {reading}"
        )
    if settings.model_copy(update={"seeds": PUBLISHED.seeds}) == PUBLISHED:
        return f"{images}; {reading}"
    return (
        f"{settings.n:,} mosaics, {settings.optimizer} {settings.lr:g} with batches of "
        f"{settings.batch} for {settings.epochs} epochs, instead of {PUBLISHED.n:,}, SGD "
        f"{PUBLISHED.lr:g}, {PUBLISHED.batch} and {PUBLISHED.epochs}; {images}; {reading}"
    )
