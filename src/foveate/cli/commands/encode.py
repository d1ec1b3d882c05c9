"""The command that runs a frozen encoder over images."""

import time
from pathlib import Path
from typing import Literal

from foveate.cli.flags import Device, Overwrite
from foveate.cli.outputs import check_outputs
from foveate.report.progress import progress_of
from foveate.settings import use_device

__all__ = ["encode_command"]


def encode_command(
    images: str,
    /,
    *,
    encoder: str = "efficientnet-lite0",
    weights: Path | None = None,
    side: int | None = None,
    grid: Literal["block10", "block15", "head"] | None = None,
    dtype: Literal["float16", "float32"] = "float16",
    label: str | None = None,
    out: Path | None = None,
    device: Device = None,
    overwrite: Overwrite = False,
) -> None:
    """Run a frozen encoder over images and store their features.

    Parameters
    ----------
    images
        A data set by name, or a path: a Parquet folder, an NPZ file, a folder of image files.
    encoder
        efficientnet-lite0, or any torch module by import path: package.module:factory.
    weights
        The encoder's weights; those in the folder FOVEATE_DATA/weights unless given.
    side
        Pixels per side that images are resized to; 128 by default.
    grid
        Keep a grid of features in place of one vector: after block 10, block 15, or the head.
    dtype
        Number type of the stored features.
    label
        Label column of a Parquet folder.
    out
        The file; of a data set in the cache, of a path NAME-features.npz here unless given.
    """
    from foveate.data import DATASETS
    from foveate.data.features.datasets import cached_file
    from foveate.data.features.encoders import find_encoder
    from foveate.data.features.encoding import SIDE, Sizes, encode
    from foveate.data.features.image_sources import find_pictures
    from foveate.data.files.feature_files import read_encoded

    sizes = Sizes(SIDE if side is None else side, dtype)
    chosen, pictures = find_encoder(encoder, weights, grid), find_pictures(images, label)
    if out is None and images in DATASETS:
        out = cached_file(pictures, chosen, sizes)  # in the cache, whose files are replaceable
    else:
        out = out or Path(f"{Path(pictures.name).stem}-features.npz")
        check_outputs(out, inputs=(Path(images),), overwrite=overwrite)
    start = time.monotonic()
    with use_device(device), progress_of() as report:
        encode(pictures, chosen, out, sizes, lambda done, total: report("images", done, total))
    seconds, x = time.monotonic() - start, read_encoded(out).x
    shape = "×".join(str(length) for length in x.shape[1:])
    size = out.stat().st_size / 1e6
    print(f"{out}: {len(x):,} images, {shape} features, {size:.1f} MB, {seconds:.0f} s")
