"""Mosaics of MNIST digits."""

from foveate.data import DATASETS, Dataset, Recipe
from foveate.data.files.hub import locate
from foveate.data.image_mosaics import image_dataset, read_banks, read_split

__all__ = ["mnist"]


@DATASETS.register("mnist")
def mnist() -> Dataset:
    """Digits 0, 1, 2 among the digits 3 to 9, on MNIST's split."""
    return image_dataset(
        "mnist",
        lambda split, seed: read_split(locate("mnist", "ylecun/mnist"), split, seed),
        banks=lambda: read_banks(locate("mnist", "ylecun/mnist")),
        foreground=(0, 1, 2),
        classes=("0", "1", "2"),
        about="28×28 handwritten digits; 0, 1, 2 are foreground, 3 to 9 background",
        recipe=Recipe(m=20, n=5000, n_test=2000, net="mlp", epochs=60, batch=200, lr=1e-3),
    )
