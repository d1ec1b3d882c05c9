"""The signatures of the paradigms on real images, and what a deliberate switch is worth. [vr23]"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from foveate.data import DATASETS
from foveate.jobs.experiment import EXPERIMENTS, Experiment, Records, Scale, Work
from foveate.metrics.focus import focus_and_prediction
from foveate.metrics.intervals import Interval, mean_interval
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.records.findings import Finding
from foveate.records.record import Array, Record
from foveate.settings import AtLeastTwo, Count, NonEmpty, Positive, Settings
from foveate.studies.verdicts import above, below, verdict_of
from foveate.training.loop import fit
from foveate.training.plan import Plan

__all__ = ["SignatureSettings", "Signatures"]

RULES = ("soft", "hard", "lvml", "hybrid", "random")
DEVIATION = (
    "mosaics of 8×8 digits with multilayer perceptrons, Adam 1e-3, instead of CIFAR-10 with "
    "convolutional networks; test mosaics from images never trained on; fixed heat-map edges and "
    "each paradigm's own inference"
)


class SignatureSettings(Settings):
    """Mosaics of digits of two lengths, the same model under five ways to train."""

    seeds: Count = 10
    lengths: NonEmpty[AtLeastTwo] = (5, 20)  # [vr23] Table 1 has both
    n: Count = 2000
    n_test: Count = 1000
    epochs: Count = 40
    batch: Count = 200
    lr: Positive = 1e-3


@EXPERIMENTS.register("signatures")
class Signatures(Experiment):
    """Where confidence sits at the end of training; the hybrid against soft and against chance."""

    about = "how confident focus and prediction end, by paradigm; what the hybrid is worth"
    criteria: ClassVar[Mapping[str, str]] = {
        "vr23:C1": "For every m: under soft attention at least 80 % of held-out bags have a "
        "probability of the true class of .8 or more, and the share of bags with a middling focus "
        "(.2 ≤ a_z < .8) is above hard attention's, with an interval over seeds that excludes 0.",
        "vr23:C2": "For every m: under hard attention fewer than 10 % of bags have a middling "
        "focus, and the share of confident predictions (p ≥ .8) is below soft attention's, with "
        "an interval that excludes 0.",
        "vr23:C3": "For every m: under LVML at least 80 % of bags have p ≥ .8, and the share with "
        "a middling focus is below soft attention's, with an interval that excludes 0.",
        "vr23:C16": "For every m: SAIF of the hybrid minus SAIF of soft attention is above 0 with "
        "an interval over paired seeds that excludes 0, and accuracy falls by less than 1 point.",
        "vr23:C21": "For every m: SAIF of the hybrid minus SAIF of random epochs, with equal "
        "numbers of epochs and paired seeds, is above 0 with an interval that excludes 0.",
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": SignatureSettings(seeds=2, lengths=(5,), n=100, n_test=50, epochs=2),
        "small": SignatureSettings(),
        "paper": SignatureSettings(seeds=30, n=10_000, n_test=10_000, epochs=150),
    }

    def parts(self, settings: SignatureSettings) -> Mapping[str, Work]:
        return {
            f"{rule}-m{m}": partial(_train, settings, rule, m)
            for m in settings.lengths
            for rule in RULES
        }

    def findings(self, settings: SignatureSettings, records: Records) -> list[Finding]:
        return [
            _signature(settings, records, "vr23:C1", "soft", "hard", confident=True, more=True),
            _hard_signature(settings, records),
            _signature(settings, records, "vr23:C3", "lvml", "soft", confident=True, more=False),
            _gain(settings, records, "vr23:C16", "soft"),
            _gain(settings, records, "vr23:C21", "random"),
        ]


def _train(settings: SignatureSettings, rule: str, m: int, checkpoint: Path, tell: Any) -> Record:
    data, seeds = DATASETS.get("digits")(), range(settings.seeds)
    train = [data.load("train", n=settings.n, m=m, seed=seed) for seed in seeds]
    test = [data.load("test", n=settings.n_test, m=m, seed=seed) for seed in seeds]

    def build() -> FCAM:
        f, g, layer = pair("mlp", train[0].segment_shape, len(data.classes))
        return FCAM(f, g, layer=layer)

    plan = Plan(epochs=settings.epochs, batch=settings.batch, lr=settings.lr)
    return fit(build, train, test, rule, seeds=seeds, plan=plan, checkpoint=checkpoint, report=tell)


def _middling(record: Record) -> Array:
    a_z, _ = focus_and_prediction(record)
    return ((a_z >= 0.2) & (a_z < 0.8)).mean(1)


def _sure(record: Record) -> Array:
    return (focus_and_prediction(record)[1] >= 0.8).mean(1)


def _signature(
    settings: SignatureSettings,
    records: Records,
    claim: str,
    rule: str,
    other: str,
    *,
    confident: bool,
    more: bool,
) -> Finding:
    """Confident predictions, and more or fewer middling focuses than under another paradigm."""
    parts, words, effects = [], [], []
    for m in settings.lengths:
        own, theirs = records[f"{rule}-m{m}"], records[f"{other}-m{m}"]
        sure = float(_sure(own).mean())
        gap = mean_interval(100 * (_middling(own) - _middling(theirs)))
        parts += [(sure >= 0.8) == confident, above(gap) if more else below(gap)]
        effects.append(gap)
        words.append(
            f"m = {m}: {100 * sure:.0f} % of bags predicted with p ≥ .8, middling focus in "
            f"{100 * _middling(own).mean():.1f} % ({rule}) and "
            f"{100 * _middling(theirs).mean():.1f} % ({other})"
        )
    return _finding(
        claim, parts, effects[-1], words, f"middling focus, {rule} minus {other}, points"
    )


def _hard_signature(settings: SignatureSettings, records: Records) -> Finding:
    parts, words, effects = [], [], []
    for m in settings.lengths:
        hard, soft = records[f"hard-m{m}"], records[f"soft-m{m}"]
        middling = float(_middling(hard).mean())
        gap = mean_interval(100 * (_sure(hard) - _sure(soft)))
        parts += [middling < 0.1, below(gap)]
        effects.append(gap)
        words.append(
            f"m = {m}: middling focus in {100 * middling:.1f} % of bags; predictions with p ≥ .8 "
            f"in {100 * _sure(hard).mean():.1f} % (hard), {100 * _sure(soft).mean():.1f} % (soft)"
        )
    return _finding("vr23:C2", parts, effects[-1], words, "p ≥ .8, hard minus soft, points")


def _gain(settings: SignatureSettings, records: Records, claim: str, other: str) -> Finding:
    """SAIF of the hybrid over another way to train, on the same seeds."""
    parts, words, effects = [], [], []
    for m in settings.lengths:
        hybrid, theirs = records[f"hybrid-m{m}"], records[f"{other}-m{m}"]
        gain = mean_interval(100 * (hybrid.last("saif") - theirs.last("saif")))
        lost = mean_interval(100 * (hybrid.last("accuracy") - theirs.last("accuracy")))
        parts.append(above(gain))
        if other == "soft":
            parts.append(lost.mean > -1)
        effects.append(gain)
        words.append(f"m = {m}: SAIF {_points(gain)} points, accuracy {lost.mean:+.1f}")
    return _finding(claim, parts, effects[-1], words, f"SAIF, hybrid minus {other}, points")


def _points(value: Interval) -> str:
    if value.low is None or value.high is None:
        return f"{value.mean:+.1f}"
    return f"{value.mean:+.1f} [{value.low:+.1f}, {value.high:+.1f}]"


def _finding(
    claim: str, parts: list[bool], effect: Interval, words: list[str], measure: str
) -> Finding:
    figure = "heat-maps" if claim in ("vr23:C1", "vr23:C2", "vr23:C3") else "gains"
    said = "; ".join(words) + ". The effect given is that of the longest bags."
    return Finding(claim, verdict_of(parts), *effect, measure, said, figure, DEVIATION)
