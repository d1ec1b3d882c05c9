"""Train one condition, examine it without its relevance, then look at the truth."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from foveate.attention.paradigms import PARADIGMS
from foveate.metrics.focus import focus_true
from foveate.metrics.ranks import ranks
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.records.record import Array, Record
from foveate.studies.beyond.trust_validation.sets import SETS, Condition
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.trust.examine import examined_marks
from foveate.trust.subject import Reading, Stacked

if TYPE_CHECKING:
    from foveate.bags.bag import Bag
    from foveate.studies.beyond.trust_validation import ValidationSettings

__all__ = ["train_and_examine"]


def train_and_examine(
    settings: "ValidationSettings",
    condition: Condition,
    checkpoint: Path,
    tell: Callable[[int, int], None],
) -> Record:
    """The marks of every seed and class, and beside them the truth that they must foretell.

    A seed decides bags, order and weights; ``ft`` is by attention, which is what is shown to people
    (under the spherical map f ranks differently).
    """
    own, seeds = SETS[condition.data], range(settings.seeds)
    data = own.data()
    n = min(own.n, settings.n)
    train = [data.load("train", n=n, m=own.m, seed=seed) for seed in seeds]
    test = [data.load("test", n=settings.n_test, m=own.m, seed=seed) for seed in seeds]
    shape, classes = train[0].segment_shape, len(data.classes)

    def build() -> FCAM:
        f, g, layer = pair(own.net, shape, classes)
        return FCAM(f, g, condition.map, layer)

    plan = Plan(
        epochs=max(1, round(own.epochs * settings.epochs)),
        batch=own.batch,
        lr=own.lr,
        optimizer=own.optimizer,  # type: ignore[arg-type]
        every=10_000,
    )
    record = fit(
        build,
        train,
        test,
        condition.paradigm,
        seeds=seeds,
        plan=plan,
        checkpoint=checkpoint,
        report=tell,
    )
    subject = Stacked(record.trained, PARADIGMS.get(condition.paradigm)())
    sight = subject.look(test)
    final = {**examined_marks(subject, test, classes, sight), **_truth(sight, test, classes)}
    meta = {"set": condition.data, "role": own.role, "m": own.m, "classes": list(data.classes)}
    how = {"paradigm": condition.paradigm, "map": condition.map, "seeds": list(seeds)}
    return Record(np.zeros(1), {}, final, {**meta, **how})


def _truth(sight: Reading, test: "list[Bag]", classes: int) -> dict[str, Array]:
    """What the relevance says of every member and class, shape (S, C) each.

    ``ft``: FT by attention. ``rank``: where the relevant segment stands among the scores of its
    bag, from 0 (lowest) to 1. ``background``: probability of the class by g on background.
    """
    z, y = (np.stack([np.asarray(getattr(bag, name)) for bag in test]) for name in ("z", "y"))
    of = y[..., None] == np.arange(classes)
    count = np.maximum(of.sum(1), 1)
    focused = focus_true(sight.alpha, z)
    rank = ((ranks(sight.s) - 1) * z).sum(-1) / (z.shape[-1] - 1)
    return {
        "ft": (focused[..., None] & of).sum(1) / count,
        "rank": (rank[..., None] * of).sum(1) / count,
        "background": np.stack(
            [p[~own].mean(0) for p, own in zip(sight.segment_p, z, strict=True)]
        ),
    }
