"""Theory and training on the same axes: gradient flows, and descent that follows them. [vr23]"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from pydantic import Field

from foveate.attention.paradigms import PARADIGMS
from foveate.dynamics import vr23
from foveate.jobs.experiment import EXPERIMENTS, Experiment, Scale, Work
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.settings import AtLeastTwo, Count, NonEmpty, Positive, Settings
from foveate.training.population_descent import descend_population

__all__ = ["FlowSettings", "Flows"]

NAMES = vr23.PARADIGMS


class FlowSettings(Settings):
    """Sizes of the flows and of the descents that follow them."""

    settings: NonEmpty[tuple[AtLeastTwo, AtLeastTwo, Positive]] = (  # (m, C, horizon) [vr23] Fig. 4
        (20, 20, 1000.0),
        (100, 1000, 400_000.0),
    )
    points: AtLeastTwo = 4000
    m: AtLeastTwo = 6  # descent: small enough that the whole population of mosaics is one batch
    C: AtLeastTwo = 5
    until: Positive = 80.0
    steps: Annotated[tuple[Positive, ...], Field(min_length=2)] = (0.8, 0.4, 0.2)
    """Learning rates, halved to see the order."""
    draws: Count = 2000  # random models on which the two laws are checked


@EXPERIMENTS.register("flows")
class Flows(Experiment):
    """Exact flows of the linear-orthogonal setting, gradient descent, and two laws."""

    about = "closed-form gradient flows of the three paradigms, and real descent that follows them"
    criteria: ClassVar[Mapping[str, str]] = {
        "vr23:C14": "Full-batch gradient descent on the population loss, with the library's own "
        "losses, stays within 1 % of the largest value of μ and of ν at the smallest step, for all "
        "three paradigms, and halving the step divides the error by 1.7 to 2.3.",
        "vr23:C15": "In both settings of Figure 4, α·β (attention on the foreground times the "
        "probability of its class) reaches .9 first under LVML, and ν at the horizon is largest "
        "under hard attention.",
        "vr23:C17": "Over random models and bags with one-hot attention, the three losses differ "
        "by less than 1e-9 nats.",
        "vr23:C18": "Over random models and bags, the LVML loss exceeds the hard loss by no more "
        "than 1e-9 nats, and is strictly below it in more than 99 % of draws.",
        "vr23:C19": "In both settings of Figure 4, at the time soft attention first gives half its "
        "weight to the foreground hard attention gives less, and at the horizon both ν and its "
        "rate are larger under hard attention.",
        "vr23:C20": "The final weights of the three descents have a cosine above .999 with each "
        "other, for f and for g, while μ and ν differ by more than 1 % between paradigms.",
    }
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": FlowSettings(points=400, until=10.0, steps=(0.8, 0.4), draws=50),
        "small": FlowSettings(),
        "paper": FlowSettings(
            points=20_000, until=400.0, steps=(0.4, 0.2, 0.1, 0.05), draws=20_000
        ),
    }

    def parts(self, settings: FlowSettings) -> Mapping[str, Work]:
        flows = {
            f"flow-{m}-{C}": partial(_flow_part, settings, m, C, until)
            for m, C, until in settings.settings
        }
        return {
            **flows,
            "descent": partial(_descent_part, settings),
            "laws": partial(_laws_part, settings),
        }


def _flow_part(
    settings: FlowSettings, m: int, C: int, until: float, _: Path, progress: Any
) -> Record:
    """The exact flows on a grid that is even in log time; members are the paradigms."""
    t = np.concatenate([[0.0], np.geomspace(until * 1e-4, until, settings.points - 1)])
    curves = vr23.flow(m, C, t)
    names = ("mu", "nu", "alpha", "beta", "loss")
    values = {k: np.stack([getattr(curves[p], k) for p in NAMES], 1) for k in names}
    nu_dot = [vr23.rates(p, curves[p].mu, curves[p].alpha, C)[1] for p in NAMES]
    values["nu_dot"] = np.stack(nu_dot, 1)
    progress(1, 1)
    return Record(t, values, {}, {"m": m, "C": C, "members": list(NAMES)})


def _descent_part(settings: FlowSettings, _: Path, progress: Any) -> Record:
    """Descents at every step size on the grid of the largest; members are (paradigm, step)."""
    grid = settings.steps[0] * np.arange(round(settings.until / settings.steps[0]) + 1)
    paths = []
    for done, lr in enumerate(settings.steps, 1):
        path = descend_population(settings.m, settings.C, lr, settings.until)
        every = round(settings.steps[0] / lr)
        curves = {k: path[k][::every][: len(grid)].T for k in ("mu", "nu")}
        paths.append({**path, **curves})
        progress(done, len(settings.steps))
    joined = {k: np.stack([path[k] for path in paths], 1) for k in paths[0]}  # (3, steps, …)
    joined = {k: v.reshape(-1, *v.shape[2:]) for k, v in joined.items()}
    members = [(name, lr) for name in NAMES for lr in settings.steps]
    exact = [vr23.exact(name, grid, settings.m, settings.C) for name, _ in members]
    values = {k: joined[k].T for k in ("mu", "nu")}
    values |= {f"exact_{k}": np.stack([e[i] for e in exact], 1) for i, k in enumerate(values)}
    meta = {"members": [list(member) for member in members], "m": settings.m, "C": settings.C}
    return Record(grid, values, {k: joined[k] for k in ("f", "g")}, meta)


def _laws_part(settings: FlowSettings, _: Path, progress: Any) -> Record:
    """Loss differences over random attention, segments, classifiers and labels."""
    rng = generator("laws")
    B, m, d, C = settings.draws, 6, 4, 5

    def draw(*shape: int) -> torch.Tensor:
        return 3 * torch.randn(*shape, generator=rng, dtype=torch.float64)

    x, y, weight = draw(B, m, d), torch.randint(C, (B,), generator=rng), draw(C, d)
    alpha = draw(B, m).softmax(1)
    one_hot = torch.eye(m, dtype=torch.float64)[torch.randint(m, (B,), generator=rng)]
    rules = [PARADIGMS.get(name)() for name in NAMES]
    at_corner = torch.stack([rule.loss(one_hot, x, lambda r: r @ weight.T, y) for rule in rules])
    inside = torch.stack([rule.loss(alpha, x, lambda r: r @ weight.T, y) for rule in rules])
    progress(1, 1)
    final = {"one_hot": at_corner.numpy(), "inside": inside.numpy()}
    return Record(np.zeros(1), {}, final, {"members": list(NAMES)})
