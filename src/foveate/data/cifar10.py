"""CIFAR10-SDC: mosaics of CIFAR-10 images. [pvr22] Sec. 6.1, [vr23] Sec. 2.4"""

from foveate.data import DATASETS, Dataset, Recipe
from foveate.data.files.hub import locate
from foveate.data.image_mosaics import image_dataset, read_banks, read_split

__all__ = ["cifar10"]


@DATASETS.register("cifar10")
def cifar10() -> Dataset:
    """The first three classes among the other seven; test mosaics are cut from test images.

    [vr23] Sec. 2.4. The released code cuts both from training images.
    """
    return image_dataset(
        "cifar10",
        lambda split, seed: read_split(locate("cifar10", "uoft-cs/cifar10"), split, seed),
        banks=lambda: read_banks(locate("cifar10", "uoft-cs/cifar10")),
        foreground=(0, 1, 2),
        classes=("airplane", "automobile", "bird"),
        about="32×32 photographs; airplane, automobile, bird are foreground, 7 classes background",
        recipe=Recipe(
            m=5,  # [vr23] figures 1 to 3
            n=10_000,  # [vr23] figures 1 to 3; Table 1 has 30,000
            n_test=10_000,  # [pvr22] Sec. 6.1; not specified in [vr23]
            net="vr23",
            epochs=150,  # [vr23] released code, as the next three
            batch=256,
            lr=0.05,
            optimizer="sgd",
        ),
    )
