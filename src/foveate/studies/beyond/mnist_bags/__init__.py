"""MNIST-bags: the standard task of multiple-instance learning, under every paradigm and ABMIL."""

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import ClassVar, Literal

from foveate.data.files.hub import locate
from foveate.errors import FoveateError
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale, Work
from foveate.records.published import Cell, PublishedTable
from foveate.settings import AtLeastTwo, Count, NonNegative, Positive, Settings
from foveate.studies.beyond.mnist_bags.training import trained
from foveate.studies.published import Reproduction, cell

__all__ = ["METHODS", "MnistBags", "MnistBagsSettings"]

METHODS = ("soft", "hard", "lvml", "hybrid", "witness", "abmil")


class MnistBagsSettings(Settings):
    """Sizes and rates; the source is Ilse et al. 2018 and, where it says so, their released code.

    Soft attention is their model, with two logits in place of one.
    """

    data: Literal["mnist-bags", "digits-bags"] = "mnist-bags"
    bags: tuple[Count, ...] = (50, 100, 150, 200, 300, 400, 500)  # Sec. 4.2
    """Numbers of training bags."""
    n_test: Count = 1000  # Sec. 4.2
    m: AtLeastTwo = 10  # Sec. 4.2
    """Mean size of a bag."""
    seeds: Count = 5
    encoder: Literal["lenet", "mlp"] = "lenet"
    features: Count = 500  # released code: L
    attention: Count = 128  # released code: D
    epochs: Count = 20  # released code, as the next three
    batch: Count = 1
    lr: Positive = 5e-4
    weight_decay: NonNegative = 1e-4


@EXPERIMENTS.register("mnist-bags")
class MnistBags(Reproduction):
    """One architecture, one rate, one number of epochs; only loss and inference differ.

    torchmil's ABMIL is trained on the same bags in the same order where torchmil is installed.
    """

    published = PublishedTable("MNIST-bags: every paradigm beside torchmil's ABMIL")
    about = "MNIST-bags: bag AUC and segment AUROC of every paradigm beside torchmil's ABMIL"
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": MnistBagsSettings(
            data="digits-bags", bags=(30,), n_test=40, m=4, seeds=2, encoder="mlp",
            features=8, attention=4, epochs=2, batch=10, lr=1e-2,
        ),
        "small": MnistBagsSettings(
            bags=(100, 500), encoder="mlp", features=64, attention=32, epochs=40, batch=10, lr=1e-3
        ),
        "paper": MnistBagsSettings(),
    }  # fmt: skip

    def parts(self, settings: MnistBagsSettings) -> Mapping[str, Work]:
        methods = METHODS if find_spec("torchmil") else METHODS[:-1]
        return {
            f"{name}-{n}": partial(trained, settings, name, n)
            for n in settings.bags
            for name in methods
        }

    def cells(self, settings: MnistBagsSettings, records: Records) -> list[Cell]:
        return [
            cell((f"{r.meta['bags']} training bags", r.meta["method"], measure), "", scale * v)
            for r in records.values()
            for measure, scale, v in (
                ("bag AUC", 1, r.final["bag_auc"]),
                ("segment AUROC", 1, r.final["segment_auroc"]),
                ("pointing %", 100, r.final["pointing"]),
            )
        ]

    def runnable(self, settings: MnistBagsSettings) -> tuple[Settings, dict[str, str]]:
        try:
            if settings.data == "mnist-bags":
                locate("mnist", "ylecun/mnist")
        except FoveateError as error:
            return settings.model_copy(update={"bags": ()}), {"MNIST-bags": str(error)}
        return settings, {}
