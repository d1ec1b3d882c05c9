"""Maps and layers: sparsity of attention and FT. [pvr22] Sec. 5, 6"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from foveate.attention.paradigms import Hard, Paradigm, Soft, WithEntropy
from foveate.bags.bag import Bag
from foveate.data import DATASETS, ImageSplit
from foveate.data.files.hub import locate
from foveate.errors import FoveateError
from foveate.jobs.experiment import EXPERIMENTS, Records, Scale
from foveate.models.focus import FCAM, AttentionModel
from foveate.models.nets import pair
from foveate.models.oracle import Oracle, OracleModel
from foveate.records.published import Cell
from foveate.settings import AtLeastTwo, Count, NonEmpty, Positive, Settings, one_of
from foveate.studies.pvr22.table2.causes import CAUSES
from foveate.studies.pvr22.table2.criteria import CRITERIA, REVISIONS
from foveate.studies.pvr22.table2.published import PUBLISHED
from foveate.studies.trials import Trial, TrialStudy
from foveate.training.plan import Plan

__all__ = ["LAYERS", "VARIANTS", "Sizes", "Table2", "Table2Settings", "Variant"]


class Variant(NamedTuple):
    """A row of the table: the map of scores to attention, and the paradigm."""

    map: str
    rule: Paradigm


VARIANTS = {
    "softmax": Variant("softmax", Soft()),
    "entropy": Variant("softmax", WithEntropy(Soft(), 0.005)),  # [pvr22] released code
    "sparsemax": Variant("sparsemax", Soft()),
    "spherical": Variant("spherical", Soft()),
    "hard": Variant("softmax", Hard()),
    "oracle": Variant("softmax", Oracle()),
}
LAYERS = ("zeroth", "last")


class Sizes(Settings):
    """Size of one data set and its training settings."""

    data: str
    net: str
    n: Count
    n_test: Count
    epochs: Count
    batch: Count
    lr: Positive
    stop_below: Positive
    seeds: Count


class Table2Settings(Settings):
    """Mosaics of images and the appendix's Gaussians, six variants at two layers."""

    m: AtLeastTwo = 9  # [pvr22] Sec. 6.1
    images: Sizes | None
    points: Sizes
    variants: NonEmpty[Annotated[str, one_of(VARIANTS)]] = tuple(VARIANTS)
    """Names in :data:`VARIANTS`; claims are judged with all of them only."""
    seeds: Count | None = None
    """Seeds of both data sets, in place of their own numbers."""
    split: ImageSplit = "clean"
    """With "released", models are read on mosaics of their training images too, where there are."""

    def of(self, data: str) -> Sizes:
        """The sizes of "images" or "points"."""
        sizes: Sizes = getattr(self, data)
        return sizes.model_copy(update={} if self.seeds is None else {"seeds": self.seeds})

    @property
    def sets(self) -> tuple[str, ...]:
        """Which of the two there are."""
        return ("points",) if self.images is None else ("images", "points")


GAUSSIANS = Sizes(
    data="gaussians",
    net="gaussians",
    n=3000,  # [pvr22] appendix, as the next five
    n_test=3000,
    epochs=2500,
    batch=250,
    lr=1e-3,
    stop_below=0.01,
    seeds=10,  # the appendix has one
)
CIFAR = Sizes(
    data="cifar10",
    net="pvr22",
    n=30_000,  # [pvr22] Sec. 6.1, as all that follows
    n_test=10_000,
    epochs=50,
    batch=250,
    lr=5e-4,
    stop_below=0.05,
    seeds=3,
)


def _changed(sizes: Sizes, **changes: Any) -> Sizes:
    return Sizes(**(sizes.model_dump() | changes))


@EXPERIMENTS.register("table2")
class Table2(TrialStudy):
    """softmax, entropy, sparsemax, spherical and hard attention, and an oracle, at two layers."""

    published = PUBLISHED
    causes = CAUSES
    about = (
        "accuracy, FT and sparsity of five kinds of attention at two layers, as in pvr22 Table 2"
    )
    long = True
    criteria = CRITERIA
    revisions = REVISIONS
    scales: ClassVar[Mapping[Scale, Settings]] = {
        "smoke": Table2Settings(
            images=Sizes(data="digits", net="mlp", n=40, n_test=30, epochs=2, batch=20, lr=1e-3,
                         stop_below=0.05, seeds=2),
            points=_changed(GAUSSIANS, n=40, n_test=30, epochs=2, batch=20, seeds=2),
        ),
        "small": Table2Settings(
            # The published networks take a day; features carry the comparison in minutes.
            images=_changed(CIFAR, data="cifar10-features", net="mlp", n=5000, n_test=5000,
                            epochs=8, lr=3e-4, seeds=4),
            # All mosaics, but five times the published rate for a twelfth of the epochs.
            points=_changed(GAUSSIANS, epochs=200, lr=5e-3, seeds=8),
        ),
        "paper": Table2Settings(images=CIFAR, points=GAUSSIANS),
    }  # fmt: skip

    def trials(self, settings: Table2Settings) -> dict[str, Trial]:
        return {
            f"{data}-{name}-{layer}": _trial(settings, data, VARIANTS[name], layer)
            for data in settings.sets
            for layer in LAYERS
            for name in settings.variants
        }

    def cells(self, settings: Table2Settings, records: Records) -> list[Cell]:
        from foveate.studies.pvr22.table2.cells import table2_cells

        return table2_cells(settings, records)

    def cell_figures(self, cells: Sequence[Cell]) -> Mapping[str, Any]:
        from foveate.studies.pvr22.table2.figures import cell_figures

        return cell_figures(cells)

    def differs(self, settings: Table2Settings, records: Records) -> list[str]:
        from foveate.studies.pvr22.table2.cells import deviations, image_counts

        texts = [text for data in settings.sets for text in deviations(settings, data)]
        return [*texts, *image_counts(settings, records)]

    def runnable(self, settings: Table2Settings) -> tuple[Settings, dict[str, str]]:
        if settings.images is None or not settings.images.data.startswith("cifar10"):
            return settings, {}
        try:
            locate("cifar10", "uoft-cs/cifar10")
        except FoveateError as error:
            left = Table2Settings(**(settings.model_dump() | {"images": None}))
            return left, {f"CIFAR-10, {layer} layer": str(error) for layer in LAYERS}
        return settings, {}


def _trial(settings: Table2Settings, data: str, variant: Variant, layer: str) -> Trial:
    sizes = settings.of(data)
    source = DATASETS.get(sizes.data)()

    def bags(split: Any, seed: int) -> Bag:
        n = sizes.n if split == "train" else sizes.n_test
        return source.load(split, n=n, m=settings.m, seed=seed)

    def build(train: Bag) -> AttentionModel:
        f, g, phi = pair(sizes.net, train.segment_shape, len(source.classes), layer)
        model = FCAM(f, g, variant.map, phi)
        return OracleModel(model) if isinstance(variant.rule, Oracle) else model

    def released(seed: int) -> Bag:
        return source.with_split("released").load("test", n=sizes.n_test, m=settings.m, seed=seed)

    plan = Plan(epochs=sizes.epochs, batch=sizes.batch, lr=sizes.lr, stop_below=sizes.stop_below)
    both = settings.split == "released" and source.released is not None
    return Trial(bags, build, variant.rule, sizes.seeds, plan, released=released if both else None)
