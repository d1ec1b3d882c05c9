"""Findings from the numbers of the second table."""

from collections.abc import Iterable

from foveate.jobs.experiment import Records
from foveate.metrics.intervals import Interval, difference_interval, mean_interval
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.records.record import Array
from foveate.studies.published import paired, seed_values
from foveate.studies.pvr22.table2 import LAYERS, VARIANTS, Table2Settings
from foveate.studies.pvr22.table2.cells import data_groups, deviations, table2_cells
from foveate.studies.verdicts import (
    Outcome,
    at_least,
    at_most,
    combine,
    in_words,
    tally_text,
    within,
)

__all__ = ["decide_claims", "findings"]

SPARSER = ("entropy", "sparsemax", "spherical", "hard")
GAIN = 10.0  # points that C6 and C13 claim
SMALL = 5.0  # points of FT within which C6 claims that entropy regularisation stays
HEADROOM = 2.0  # points of FT that the oracle must lie above softmax to leave room for a gain


def findings(settings: Table2Settings, records: Records) -> list[Finding]:
    """One finding per claim; none without images, which most claims are about."""
    return (
        [] if settings.images is None else decide_claims(settings, table2_cells(settings, records))
    )


def decide_claims(settings: Table2Settings, cells: Iterable[Cell]) -> list[Finding]:
    """The findings from measured cells alone, those of stored results included.

    Args:
        settings: Their data sets, images among them, and sizes; there are no findings with some of
            the variants only.
        cells: The table as measured.
    """
    if set(settings.variants) != set(VARIANTS):
        return []
    criteria = _Criteria(settings, cells)
    return [
        criteria.sparse_maps(),
        criteria.last_layer(),
        criteria.hard(),
        criteria.sparsity(),
        criteria.gaussians(),
    ]


class _Criteria:
    """Compares variants over paired seeds.

    Args:
        settings: Which data sets there are, and their sizes.
        cells: The table as measured.
    """

    def __init__(self, settings: Table2Settings, cells: Iterable[Cell]) -> None:
        self.values, self.groups = seed_values(cells), data_groups(settings)
        self.images = " ".join(deviations(settings, "images"))
        self.both = f"{self.images} {' '.join(deviations(settings, 'points'))}"

    def of(self, data: str, name: str, layer: str, measure: str) -> Array:
        """One value a seed, shape (S,)."""
        group, setting = self.groups[data]
        return self.values[f"{group}, {layer} layer", setting, name, measure]

    def gain(
        self, measure: str, one: tuple[str, str], other: tuple[str, str], data: str = "images"
    ) -> Interval:
        """A measure of one (variant, layer) minus that of another, over paired seeds."""
        return mean_interval(paired(self.of(data, *one, measure), self.of(data, *other, measure)))

    def headroom(self, layer: str) -> float:
        """How far the oracle's FT lies above softmax's, points."""
        return self.gain("FT %", ("oracle", layer), ("softmax", layer)).mean

    def finding(
        self, claim: str, outcomes: list[Outcome], effect: Interval, measure: str,
        words: list[str], figure: str,
    ) -> Finding:  # fmt: skip
        text = f"{'; '.join(words)}. {tally_text(outcomes)}"
        deviation = (self.both if figure == "gaussians" else self.images).rstrip(".")
        return Finding(claim, combine(outcomes), *effect, measure, text, figure, deviation)

    def sparse_maps(self) -> Finding:
        """C6: sparsemax and spherical softmax raise FT, entropy regularisation does not."""
        gains = {
            name: self.gain("FT %", (name, "zeroth"), ("softmax", "zeroth"))
            for name in ("sparsemax", "spherical", "entropy")
        }
        deep = self.gain("FT %", ("sparsemax", "last"), ("softmax", "last"))
        headroom = self.headroom("zeroth")
        outcomes: list[Outcome] = [
            at_least(gains[name], GAIN)
            if headroom >= GAIN or at_most(gains[name]) == "met"
            else "untestable"
            for name in ("sparsemax", "spherical")
        ]
        outcomes += [within(gains["entropy"], SMALL), at_most(deep)]
        words = [
            f"FT over softmax at the zeroth layer, {k}: {in_words(v)}" for k, v in gains.items()
        ]
        words.append(f"sparsemax at the last layer: {in_words(deep)}")
        words.append(f"the oracle at the zeroth layer: {headroom:+.1f}")
        measure = "FT, sparsemax minus softmax at the zeroth layer, points"
        return self.finding("pvr22:C6", outcomes, gains["sparsemax"], measure, words, "focus")

    def last_layer(self) -> Finding:
        """C7: the last layer raises FT."""
        gains = {
            name: self.gain("FT %", (name, "last"), (name, "zeroth"))
            for name in ("softmax", "entropy", "sparsemax", "spherical")
        }
        outcomes = [at_least(gains[name]) for name in ("softmax", "entropy")]
        words = [f"FT, last minus zeroth layer, {k}: {in_words(v)}" for k, v in gains.items()]
        measure = "FT of softmax, last minus zeroth layer, points"
        return self.finding("pvr22:C7", outcomes, gains["softmax"], measure, words, "focus")

    def hard(self) -> Finding:
        """C8: hard attention raises FT at a cost in accuracy."""
        outcomes: list[Outcome] = []
        words, effects = [], []
        for layer in LAYERS:
            focus, accuracy = (
                self.gain(measure, ("hard", layer), ("softmax", layer))
                for measure in ("FT %", "accuracy %")
            )
            headroom = self.headroom(layer)
            testable = headroom >= HEADROOM or at_most(focus) == "met"
            outcomes += [at_least(focus) if testable else "untestable", at_most(accuracy)]
            effects.append(focus)
            words.append(
                f"{layer} layer: FT {in_words(focus)} (oracle {headroom:+.1f}), accuracy "
                f"{in_words(accuracy)}"
            )
        measure = "FT, hard minus softmax at the zeroth layer, points"
        return self.finding("pvr22:C8", outcomes, effects[0], measure, words, "focus")

    def sparsity(self) -> Finding:
        """C11: the variants lower NNZ and Ent."""
        outcomes: list[Outcome] = []
        words, effects = [], []
        for name in SPARSER:
            count, bits = (
                self.gain(measure, (name, "zeroth"), ("softmax", "zeroth"))
                for measure in ("NNZ", "Ent, bits")
            )
            outcomes += [at_most(count), at_most(bits)]
            effects.append(bits)
            words.append(f"{name}: NNZ {in_words(count, 2)}, Ent {in_words(bits, 2)}")
        largest = max(effects, key=lambda bits: bits.mean)
        measure = "Ent minus softmax's at the zeroth layer, bits, the variant that lowers it least"
        return self.finding("pvr22:C11", outcomes, largest, measure, words, "sparsity")

    def gaussians(self) -> Finding:
        """C13: on the Gaussians the last layer adds more, and hard attention does much worse."""
        outcomes: list[Outcome] = []
        words, effects = [], []
        for name in ("softmax", "entropy"):
            gains = [
                self.of(data, name, "last", "FT %") - self.of(data, name, "zeroth", "FT %")
                for data in ("points", "images")
            ]
            more = difference_interval(*gains)
            outcomes.append(at_least(more))
            effects.append(more)
            words.append(
                f"{name}: the last layer adds {gains[0].mean():+.1f} points of FT on the Gaussians "
                f"and {gains[1].mean():+.1f} on images, difference {in_words(more)}"
            )
        for layer in LAYERS:
            fall = self.gain("FTPT %", ("hard", layer), ("softmax", layer), "points")
            outcomes.append(at_most(fall, -GAIN))
            words.append(
                f"hard minus softmax on the Gaussians, {layer} layer: FTPT {in_words(fall)}"
            )
        measure = "what the last layer adds to FT of softmax, Gaussians minus images, points"
        return self.finding("pvr22:C13", outcomes, effects[0], measure, words, "gaussians")
