"""What the records of the first table say of its claims."""

from collections.abc import Callable

import numpy as np

from foveate.jobs.experiment import Records
from foveate.metrics.focus import focus_and_prediction, saif
from foveate.metrics.intervals import Interval, mean_interval
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.records.record import Array, Record
from foveate.studies.published import cell
from foveate.studies.verdicts import above, below, in_words, verdict_of
from foveate.studies.vr23.table1 import PUBLISHED_PIXELS, Table1Settings
from foveate.studies.vr23.table1.rows import ROWS, Sizes

__all__ = ["deviations", "findings", "relevant_saif", "table1_cells"]


def _known(record: Record) -> tuple[Array, Array]:
    """Focus a_z and probability of the true class of the bags whose relevant segments are known.

    Each (S, n'); the held-out posts of all seeds are the same, and all mosaics are known.
    """
    a_z, p_y = focus_and_prediction(record)
    some = record.final["z"].any(-1).all(0)
    return a_z[:, some], p_y[:, some]


def relevant_saif(record: Record, tau: float = 0.8) -> Array:
    """SAIF in percent over the bags that have relevant segments, one number a seed, shape (S,)."""
    return 100 * saif(*_known(record), tau)


def _accuracy(record: Record) -> Array:
    return 100 * record.last("accuracy")


def _middling(record: Record) -> Array:
    a_z, _ = _known(record)
    return 100 * ((a_z >= 0.2) & (a_z < 0.8)).mean(1)


def _sure(record: Record) -> Array:
    return 100 * (_known(record)[1] >= 0.8).mean(1)


def table1_cells(settings: Table1Settings, records: Records) -> list[Cell]:
    """The table as measured, with what each training cost."""
    cells = []
    for row in settings.rows:
        group, setting = ROWS[row].group, ROWS[row].setting
        for rule in settings.rules(row):
            record = records[f"{row}-{rule}"]
            calls = np.array(record.meta["classifier_calls"], float)
            values = {
                "SAIF %": relevant_saif(record),
                "accuracy %": _accuracy(record),
                "mean a_z": _known(record)[0].mean(1),
                "calls of g, millions": calls / 1e6,
                "CPU s a seed": np.full(1, record.meta["cpu_seconds"] / len(calls)),
            }
            cells += [cell((group, rule, k), setting, v) for k, v in values.items()]
    return cells


def findings(settings: Table1Settings, records: Records) -> list[Finding]:
    """One finding a claim; those on mosaics only where there are mosaics."""
    judge = _Judge(settings, records)
    found = [judge.best(), judge.hybrid(), judge.deliberate()]
    return [*found, *judge.signatures()] if settings.images else found


class _Judge:
    """Compares paradigms row by row over paired seeds."""

    def __init__(self, settings: Table1Settings, records: Records) -> None:
        self.settings, self.records = settings, records
        self.deviation = " ".join(deviations(settings, records)).rstrip(".")

    def gap(self, row: str, one: str, other: str, of: Callable[[Record], Array]) -> Interval:
        """A quantity of one paradigm minus that of another."""
        return mean_interval(of(self.records[f"{row}-{one}"]) - of(self.records[f"{row}-{other}"]))

    def finding(
        self, claim: str, met: list[bool], effect: Interval, measure: str, words: list[str],
        figure: str = "saif",
    ) -> Finding:  # fmt: skip
        said = f"{'; '.join(words)}. {sum(met)} of {len(met)} conditions met."
        return Finding(
            claim, verdict_of(met), *effect, measure, said, figure, self.deviation or "none"
        )

    def best(self) -> Finding:
        """C4: LVML above soft and above hard attention."""
        met, words, effects = [], [], []
        for row in self.settings.rows:
            soft, hard = (self.gap(row, "lvml", k, relevant_saif) for k in ("soft", "hard"))
            met += [above(soft), above(hard)]
            effects.append(soft)
            words.append(f"{_name(row)}: over soft {in_words(soft)}, over hard {in_words(hard)}")
        measure = "SAIF, LVML minus soft in the row where it gains least, points"
        return self.finding("vr23:C4", met, _least(effects), measure, words)

    def hybrid(self) -> Finding:
        """C16: the hybrid gains SAIF over soft attention and keeps its accuracy."""
        met, words, effects = [], [], []
        for row in self.settings.rows:
            gain = self.gap(row, "hybrid", "soft", relevant_saif)
            lost = self.gap(row, "hybrid", "soft", _accuracy)
            met += [above(gain), lost.mean > -1]
            effects.append(gain)
            words.append(f"{_name(row)}: SAIF {in_words(gain)}, accuracy {in_words(lost)}")
        measure = "SAIF, hybrid minus soft in the row where it gains least, points"
        return self.finding("vr23:C16-real", met, _least(effects), measure, words)

    def deliberate(self) -> Finding:
        """C21: the hybrid against random epochs."""
        gains = {r: self.gap(r, "hybrid", "random", relevant_saif) for r in self.settings.rows}
        words = [f"{_name(row)}: SAIF {in_words(gain)}" for row, gain in gains.items()]
        measure = "SAIF, hybrid minus random epochs in the row where it gains least, points"
        met = [above(gain) for gain in gains.values()]
        return self.finding("vr23:C21-real", met, _least(list(gains.values())), measure, words)

    def signatures(self) -> list[Finding]:
        """C1 to C3: where confidence sits."""
        return [
            self.signature("vr23:C1-real", "soft", _sure, ("hard", _middling), above),
            self.signature("vr23:C2-real", "hard", _middling, ("soft", _sure), below),
            self.signature("vr23:C3-real", "lvml", _sure, ("soft", _middling), below),
        ]

    def signature(
        self,
        claim: str,
        rule: str,
        level: Callable[[Record], Array],
        against: tuple[str, Callable[[Record], Array]],
        direction: Callable[[Interval], bool],
    ) -> Finding:
        """A level that a paradigm must reach by itself, and a difference from another."""
        other, compared = against
        met, words, effects = [], [], []
        for row in self.settings.images:
            own = float(level(self.records[f"{row}-{rule}"]).mean())
            gap = self.gap(row, rule, other, compared)
            met += [own >= 80 if level is _sure else own < 10, direction(gap)]
            effects.append(gap)
            words.append(
                f"{_name(row)}: {_WORDS[level]} in {own:.1f} % of bags ({rule}), "
                f"{_WORDS[compared]} {in_words(gap)} points against {other}"
            )
        measure = f"{_WORDS[compared]}, {rule} minus {other} in the first row, points"
        return self.finding(claim, met, effects[0], measure, words, "heat-maps")


_WORDS: dict[Callable[[Record], Array], str] = {_sure: "p ≥ .8", _middling: "middling focus"}


def _least(gains: list[Interval]) -> Interval:
    return min(gains, key=lambda gain: gain.mean)


def _name(row: str) -> str:
    setting = ROWS[row].setting
    return ROWS[row].group + (f" ({setting})" if setting else "")


def deviations(settings: Table1Settings, records: Records) -> list[str]:
    """What differs from the published set-up, in sentences, and what is odd in the data."""
    text = [
        "Test mosaics are cut from test images only; each paradigm is read by its own inference; "
        "every paradigm has the same number of epochs, and its classifier calls and seconds stand "
        "beside it."
    ]
    for kind in ("cifar10", "cifar100"):
        if any(ROWS[row].data == f"{kind}-features" for row in settings.rows):
            text.append(_over_features(kind, settings))
    if "pixels" in settings.sizes and any(ROWS[row].setting == "pixels" for row in settings.rows):
        text += _over_pixels(settings.sizes["pixels"])
    if any(row.startswith("cifar100") for row in settings.rows):
        text.append("The CIFAR-100 here may be a subset of the published one.")
    for number, kind in ((1, "words"), (2, "context")):
        if any(row.startswith(f"hatexplain-{number}") for row in settings.rows):
            text.append(_of_posts(number, kind, settings))
    notes = dict.fromkeys(n for r in records.values() for n in r.meta.get("notes", ()))
    return [*text, *(f"Data: {note}." for note in notes)]


def _over_features(kind: str, settings: Table1Settings) -> str:
    own = dict(settings.sizes)[kind]  # type: ignore[index]
    return (
        f"{kind}: {own.n:,} mosaics of frozen features, f and g of one hidden layer of 64, Adam "
        f"{own.lr:g} for {own.epochs} epochs, in place of 30,000 mosaics of pixels with "
        "convolutional networks, SGD .05 for 150."
    )


def _over_pixels(own: Sizes) -> list[str]:
    """A sentence where sizes or training are not the published ones."""
    if own == PUBLISHED_PIXELS:
        return []
    return [
        f"Pixels, with the published networks: {own.n:,} mosaics, {own.optimizer} {own.lr:g} with "
        f"batches of {own.batch} for {own.epochs} epochs, in place of 30,000 mosaics, SGD .05 with "
        "batches of 256 for 150."
    ]


def _of_posts(number: int, kind: str, settings: Table1Settings) -> str:
    own = dict(settings.sizes)[kind]  # type: ignore[index]
    text = (
        f"HateXplain-{number}: vocabulary of the training posts alone; SAIF over test posts that "
        f"have a rationale; {own.n:,} training posts, {own.optimizer} {own.lr:g} for {own.epochs} "
        "epochs (published: SGD for 550)."
    )
    if number == 2:
        text += " The hybrid keeps soft attention's rate; nothing goes around the self-attention."
    return text
