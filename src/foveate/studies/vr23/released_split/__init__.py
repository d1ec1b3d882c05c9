"""The effect of the released split of images on SAIF and accuracy. [vr23] Table 1, released code

The released code cuts training and test mosaics from the same images. Each model is trained once
and measured on mosaics of test images (the clean split) and on new mosaics of its training images
(the released split), the latter apart by whether their relevant image was in a training mosaic.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from foveate.attention.paradigms import PARADIGMS
from foveate.bags.bag import Bag
from foveate.data import DATASETS, Split
from foveate.data.files.hub import missing
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale
from foveate.models.focus import FCAM
from foveate.models.nets import pair
from foveate.records.published import Cell, PublishedTable
from foveate.settings import AtLeastTwo, Count, NonEmpty, Positive, Settings, one_of
from foveate.studies.trials import Trial, TrialStudy
from foveate.studies.vr23.released_split.causes import CAUSES
from foveate.studies.vr23.table1.published import PUBLISHED as TABLE1
from foveate.training.plan import Plan

__all__ = ["GROUPS", "ReleasedSplit", "ReleasedSplitSettings"]

GROUPS = {"cifar10-features": "CIFAR10", "cifar100-features": "CIFAR100", "digits": "Digits"}
"""What Table 1 calls a data set."""
RULES = ("soft", "hard", "lvml", "hybrid")


class ReleasedSplitSettings(Settings):
    """Data sets, paradigms and training settings."""

    data: NonEmpty[Annotated[str, one_of(GROUPS)]] = ("cifar10-features", "cifar100-features")
    rules: NonEmpty[Annotated[str, one_of(RULES)]] = RULES
    m: AtLeastTwo = 5
    n: Count = 30_000  # [vr23] Sec. 5: the share of images that is seen depends on it
    n_test: Count = 10_000  # not specified in [vr23]
    epochs: Count = 60
    batch: Count = 256  # [vr23] released code
    lr: Positive = 1e-3
    switch: Positive = 0.8  # not specified in [vr23]
    seeds: Count = 2


@EXPERIMENTS.register("released-split")
class ReleasedSplit(TrialStudy):
    """Soft, hard, LVML and hybrid attention on the clean split and on the released one."""

    published = PublishedTable(
        "vr23 Table 1 over features: clean and released split of the images",
        "[vr23] Table 1, on the released split",
        {key: value for key, value in TABLE1.numbers.items() if key[0].startswith("CIFAR")},
    )
    causes = CAUSES
    about = "SAIF and accuracy on mosaics of test images and on mosaics of the training images"
    long = True
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": ReleasedSplitSettings(data=("digits",), n=40, n_test=30, epochs=2, batch=20),
        "small": ReleasedSplitSettings(),
        "paper": ReleasedSplitSettings(epochs=150, seeds=5),
    }

    def trials(self, settings: ReleasedSplitSettings) -> dict[str, Trial]:
        return {
            f"{data}-{rule}": _trial(settings, data, rule)
            for data in settings.data
            for rule in settings.rules
        }

    def cells(self, settings: ReleasedSplitSettings, records: Records) -> list[Cell]:
        from foveate.studies.vr23.released_split.cells import released_split_cells

        return released_split_cells(settings, records)

    def differs(self, settings: ReleasedSplitSettings, records: Records) -> list[str]:
        from foveate.studies.vr23.released_split.cells import deviations

        return deviations(settings, records)

    def runnable(self, settings: ReleasedSplitSettings) -> tuple[Settings, dict[str, str]]:
        images = {data: data.removesuffix("-features") for data in settings.data}
        reasons = missing(
            {data: (name, f"uoft-cs/{name}") for data, name in images.items() if name != data}
        )
        present = tuple(data for data in settings.data if data not in reasons)
        absent = {f"{GROUPS[data]} m={settings.m}": reason for data, reason in reasons.items()}
        return settings.model_copy(update={"data": present}), absent


def _trial(settings: ReleasedSplitSettings, data: str, rule: str) -> Trial:
    """One training of all seeds, measured on both splits."""
    source = DATASETS.get(data)()
    plan = Plan(
        epochs=settings.epochs,
        batch=settings.batch,
        lr=settings.lr,
        every=max(settings.epochs // 4, 1),
    )

    def load(split: Split, seed: int) -> Bag:
        n = settings.n if split == "train" else settings.n_test
        return source.load(split, n=n, m=settings.m, seed=seed)

    def released(seed: int) -> Bag:
        other = source.with_split("released")
        return other.load("test", n=settings.n_test, m=settings.m, seed=seed)

    def build(train: Bag) -> FCAM:
        f, g, layer = pair("mlp", train.segment_shape, len(source.classes))
        return FCAM(f, g, layer=layer)

    paradigm = PARADIGMS.get(rule).from_settings(switch=settings.switch)
    return Trial(load, build, paradigm, settings.seeds, plan, released=released)
