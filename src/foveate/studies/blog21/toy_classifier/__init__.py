"""The two-token classifier of the blog: word knowledge before attention. [blog21]"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foveate.dynamics import blog21
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.findings import Finding
from foveate.records.published import Cell
from foveate.records.record import Record
from foveate.settings import AtLeastTwo, Positive, Settings
from foveate.studies.blog21.toy_classifier.published import PUBLISHED, toy_cells
from foveate.studies.published import Reproduction
from foveate.studies.verdicts import verdict_of

__all__ = ["ToyClassifier", "ToySettings"]


class ToySettings(Settings):
    """Horizon and resolution of the flows."""

    until: Positive = 4.0  # not specified in the blog; p has passed 1 long before
    points: AtLeastTwo = 400
    K: Positive = 10.0  # scale of the low-loss start; the blog says "arbitrarily low"
    wrong: Positive = 10.0  # [blog21] β₀ = 10, β₁ = −10
    gentle: Positive = 1.0  # a wrong start whose return can be seen under the softmax gate
    long: Positive = 30.0  # horizon for the return


@EXPERIMENTS.register("toy-classifier")
class ToyClassifier(Reproduction):
    """Closed form, numerical flow, three starts; free attention and softmax-gated attention."""

    published = PUBLISHED
    about = "the blog's two-token classifier: three starts, free and softmax-gated attention"
    criteria: ClassVar[Mapping[str, str]] = {
        "blog21:B1": "From β₀ = β₁ = 0, p = ½ the difference β₁ − β₀ has moved by more than ½ "
        "before p has moved by ½ of its way to 1, p reaches 1 (free) and .99 (gated), and the "
        "closed form agrees with the numerical flow to 1e-8.",
        "blog21:B2": "From β₀ = 10, β₁ = −10, p = ½ attention falls at first, free and gated; the "
        "blog's remark that the bounded version ends the same is met if the gated p ends below ½ "
        "where the free p does.",
        "blog21:B3": "With β₀ = −K, β₁ = 3K, p = ½ the loss is −2K for every K, with uniform "
        "attention, to rounding.",
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": ToySettings(points=60),
        "small": ToySettings(),
        "paper": ToySettings(points=4000),
    }

    def parts(self, settings: ToySettings) -> Mapping[str, Work]:
        return {"starts": partial(_starts, settings), "long-run": partial(_long_run, settings)}

    def cells(self, settings: ToySettings, records: Records) -> list[Cell]:
        return toy_cells(records)

    def differs(self, settings: ToySettings, records: Records) -> list[str]:
        return ["The equations are of free attention; the softmax-gated flow is ours."]

    def findings(self, settings: ToySettings, records: Records) -> list[Finding]:
        record, long_run = records["starts"], records["long-run"]
        return [
            _uniform(record, long_run),
            _wrong_start(settings, record, long_run),
            _low_loss_start(settings, record),
        ]


NAMES = ("beta0", "beta1", "p")
STARTS, GATES = ("uniform", "wrong", "low_loss"), ("free", "gated")
MEMBERS = [(start, gate) for start in STARTS for gate in GATES]


def _starts(settings: ToySettings, _: Path, progress: Any) -> Record:
    """The three starts under both gates; ``exact`` holds the closed form of the free flow."""
    tau = np.linspace(0, settings.until, settings.points)
    begin = blog21.starts(settings.K) | {"wrong": (settings.wrong, -settings.wrong, 0.5)}
    paths = [
        np.stack(blog21.numerical(tau, begin[name], gated=kind == "gated"))
        for name, kind in MEMBERS
    ]
    exact = [np.stack(blog21.exact(tau, begin[name])) for name, _ in MEMBERS]
    values = {k: np.stack([path[i] for path in paths], 1) for i, k in enumerate(NAMES)}
    values |= {f"exact_{k}": np.stack([path[i] for path in exact], 1) for i, k in enumerate(NAMES)}
    values["loss"] = values["p"] * (values["beta0"] - values["beta1"])
    progress(1, 1)
    return Record(tau, values, {}, {"members": [list(member) for member in MEMBERS]})


def _long_run(settings: ToySettings, _: Path, progress: Any) -> Record:
    """The gated flow for long enough to reach its end: a uniform and a slightly wrong start."""
    tau = np.linspace(0, settings.long, settings.points)
    begin = [(0.0, 0.0, 0.5), (settings.gentle, -settings.gentle, 0.5)]
    paths = [np.stack(blog21.numerical(tau, start, gated=True)) for start in begin]
    values = {k: np.stack([path[i] for path in paths], 1) for i, k in enumerate(NAMES)}
    progress(1, 1)
    return Record(tau, values, {}, {"members": ["uniform", "gently wrong"]})


def _uniform(record: Record, long_run: Record) -> Finding:
    free = MEMBERS.index(("uniform", "free"))
    p, s = record.values["p"][:, free], (record.values["beta1"] - record.values["beta0"])[:, free]
    first = bool(record.t[np.argmax(s > 0.5)] < record.t[np.argmax(p > 0.75)])
    gap = max(
        float(np.abs(record.values[k] - record.values[f"exact_{k}"])[:, free].max()) for k in NAMES
    )
    gap /= float(np.abs(p).max())
    gated = long_run.values["p"][-1, 0]
    parts = [first, bool(p[-1] >= 1), bool(gated >= 0.99), gap < 1e-8]
    return Finding(
        "blog21:B1",
        "holds" if all(parts) else "holds in part" if any(parts) else "does not hold",
        float(record.t[np.argmax(p >= 1)]),
        None,
        None,
        "time at which the free p reaches 1",
        f"β₁ − β₀ passes ½ before p passes ¾. The free p is {p[-1]:.3g} at τ = {record.t[-1]:g}, "
        f"the gated p {gated:.4f} at τ = {long_run.t[-1]:g}; closed form and numerical flow "
        f"differ by {gap:.1e} relative to the largest p.",
        "uniform",
    )


def _wrong_start(settings: ToySettings, record: Record, back: Record) -> Finding:
    free, gated = (MEMBERS.index(("wrong", kind)) for kind in ("free", "gated"))
    p = record.values["p"]
    decreases = [bool(p[1, free] < 0.5), bool(p[1, gated] < 0.5)]
    same = bool(p[-1, free] < 0.5) == bool(p[-1, gated] < 0.5)
    turn = back.values["p"][:, 1]
    below_half = bool(turn[-1] < 0.5)  # from a start so close that the end is reached
    return Finding(
        "blog21:B2",
        verdict_of([all(decreases), same, below_half]),
        float(p[-1, gated]),
        None,
        None,
        "gated p at the end",
        f"p falls at once in both. By τ = {record.t[-1]:g} the free p is {p[-1, free]:.3g} and "
        f"runs to −∞; the gated p is {p[-1, gated]:.2e}, close to 0. But the gate keeps p "
        f"positive, so a gated model turns round in the end: from β = ±{settings.gentle:g} it is "
        f"down to {turn.min():.3f} and back at {turn[-1]:.3f} by τ = {back.t[-1]:g}. That the "
        "bounded version ends the same holds on short horizons only.",
        "wrong",
        "The criterion names one start. That the gentler one, followed for longer, must end below "
        "½ as well was added when it had been seen to turn round; without it the verdict is "
        "'holds'.",
    )


def _low_loss_start(settings: ToySettings, record: Record) -> Finding:
    loss = record.values["loss"][0, MEMBERS.index(("low_loss", "free"))]
    losses = [blog21.loss(-K, 3 * K, 0.5) / K for K in (1.0, 10.0, 1e3, 1e6)]
    exact = all(abs(value + 2) < 1e-12 for value in losses)
    return Finding(
        "blog21:B3",
        "holds" if exact else "does not hold",
        float(loss),
        None,
        None,
        f"loss at K = {settings.K:g} with p = ½",
        "The loss is −2K for K = 1, 10, 10³ and 10⁶, with the attention uniform.",
        "low_loss",
    )
