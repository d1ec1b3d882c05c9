"""The signatures of the paradigms on real images, and the effect of the hybrid's switch. [vr23]"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from foveate.attention.paradigms import PARADIGMS
from foveate.data import DATASETS
from foveate.jobs.experiment import EXPERIMENTS, Experiment, Scale, Work
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.records.record import Record
from foveate.settings import AtLeastTwo, Count, NonEmpty, Positive, Settings
from foveate.studies.vr23.signatures.criteria import CRITERIA, REVISIONS
from foveate.studies.vr23.table1.rows import MatchedRandomEpochs
from foveate.training.loop import fit
from foveate.training.plan import Plan
from foveate.types import StepProgress

__all__ = ["SignatureSettings", "Signatures"]

RULES = ("soft", "hard", "lvml", "hybrid", "random-matched")
NETS = {"digits": "mlp", "cifar10": "vr23"}  # f and g by data set; [vr23] released code


class SignatureSettings(Settings):
    """Mosaics of one data set and the same model under five paradigms."""

    data: Literal["digits", "cifar10"] = "digits"
    seeds: Count = 10
    lengths: NonEmpty[AtLeastTwo] = (5, 20)  # [vr23] Table 1 has both
    n: Count = 2000
    n_test: Count = 1000
    epochs: Count = 40
    batch: Count = 200
    lr: Positive = 1e-3
    optimizer: Literal["sgd", "adam"] = "adam"


PUBLISHED = SignatureSettings(
    data="cifar10",
    seeds=1,  # [vr23] Figure 1 shows one; --seeds for more
    lengths=(5,),  # [vr23] Figure 1, as the next
    n=10_000,
    n_test=10_000,  # not specified in [vr23]
    epochs=150,  # [vr23] released code, as all that follows
    batch=256,
    lr=0.05,
    optimizer="sgd",
)


@EXPERIMENTS.register("signatures")
class Signatures(Experiment):
    """Confidence at the end of training; the hybrid against soft and random epochs."""

    about = "how confident focus and prediction end, by paradigm; what the hybrid is worth"
    criteria = CRITERIA
    revisions = REVISIONS
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": SignatureSettings(seeds=2, lengths=(5,), n=100, n_test=50, epochs=2),
        "small": SignatureSettings(),
        "paper": PUBLISHED,
    }

    def parts(self, settings: SignatureSettings) -> Mapping[str, Work]:
        return {
            f"{rule}-m{m}": partial(_train, settings, rule, m)
            for m in settings.lengths
            for rule in RULES
        }


def _train(
    settings: SignatureSettings, rule: str, m: int, checkpoint: Path, progress: StepProgress
) -> Record:
    """Train all seeds of one paradigm on mosaics of m segments."""
    data, seeds = DATASETS.get(settings.data)(), range(settings.seeds)
    train = [data.load("train", n=settings.n, m=m, seed=seed) for seed in seeds]
    test = [data.load("test", n=settings.n_test, m=m, seed=seed) for seed in seeds]

    def build() -> FCAM:
        f, g, layer = pair(NETS[settings.data], train[0].segment_shape, len(data.classes))
        return FCAM(f, g, layer=layer)

    plan = Plan(
        epochs=settings.epochs,
        batch=settings.batch,
        lr=settings.lr,
        optimizer=settings.optimizer,
    )
    paradigm = MatchedRandomEpochs() if rule == "random-matched" else PARADIGMS.get(rule)()
    return fit(
        build, train, test, paradigm, seeds=seeds, plan=plan, checkpoint=checkpoint, report=progress
    )
