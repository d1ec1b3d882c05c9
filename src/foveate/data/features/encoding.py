"""Encode images with a frozen encoder into one file, in parts, so that it can be resumed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from foveate.data.features.encoders import Encoder
from foveate.data.features.feature_parts import Parts
from foveate.data.features.image_sources import Pictures
from foveate.data.files.feature_files import image_digest, read_manifest
from foveate.errors import FoveateError
from foveate.settings import current_device
from foveate.types import StepProgress

__all__ = ["DEFAULT_SIZES", "SIDE", "Sizes", "encode", "request", "squared"]

# A linear probe on 1,000 CIFAR-10 training images, read on 500 others (mean of four draws, standard
# deviation .01 to .03), and images a second of one core: 64 px .61 at 490, 96 px .70 at 260, 128 px
# .75 at 130, 160 px .78 at 68, 224 px .81 at 33. At 128 the whole of CIFAR-10 takes seven minutes;
# 224 gains six points for four times as long. Bilinear in place of bicubic at 128: .73.
SIDE = 128
BATCH = 32  # images at a time: larger batches leave the cache and are slower
PART = 512  # images between two saves: some seconds of work
VERSION = 1  # increased when the same request gives other features


@dataclass(frozen=True)
class Sizes:
    """Image size and number type of the features.

    Args:
        side: Images are resized to squares with this many pixels per side.
        dtype: Number type of the stored features.
    """

    side: int = SIDE
    dtype: Literal["float16", "float32"] = "float16"

    def __post_init__(self) -> None:
        if self.side < 1:
            raise FoveateError(f"side must be at least 1 pixel, got {self.side}")


DEFAULT_SIZES = Sizes()


def encode(
    pictures: Pictures,
    encoder: Encoder,
    out: Path,
    sizes: Sizes = DEFAULT_SIZES,
    report: StepProgress | None = None,
) -> Path:
    """Write the features of all images to ``out``; :mod:`~foveate.data.files.feature_files`.

    Killed at any moment and called again, it resumes and ends with the same bytes. A file that
    already has the requested content is not changed.

    Args:
        pictures: The images.
        encoder: What encodes them.
        out: The file to write.
        sizes: Size of the images, number type of the features.
        report: Called as ``report(images done, images)``.
    """
    expected = request(pictures, encoder, sizes)
    if out.exists():
        return _check_manifest(out, expected)
    if not pictures.rows:
        raise FoveateError(f"{pictures.name} holds no images")
    batch_encoder = _BatchEncoder(encoder.build(), encoder.name, sizes)
    try:
        parts = Parts(out, expected)
        _fill(parts, pictures, batch_encoder, report)
        parts.join(_labels(pictures))
    except (FoveateError, OSError):
        if out.exists():  # another process has written it meanwhile
            return _check_manifest(out, expected)
        raise
    return out


def request(pictures: Pictures, encoder: Encoder, sizes: Sizes) -> dict[str, Any]:
    """Everything that determines the features; the manifest of the file."""
    return {
        "version": VERSION,
        "images": {"name": pictures.name, "digest": pictures.digest, "rows": pictures.rows},
        "encoder": {"name": encoder.name, "layer": encoder.layer, "weights": encoder.weights},
        "resize": "bicubic with antialiasing, the whole image squeezed to a square",
        **asdict(sizes),
    }


def squared(images: Sequence[Tensor], side: int) -> Tensor:
    """Images as colour squares in [0, 1], shape (N, 3, side, side), by antialiased bicubics.

    The image is resized without cropping, so that a box keeps its relative position.

    Args:
        images: Bytes (C, H, W) of any sizes, C one or three.
        side: Pixels per side.
    """
    if len({image.shape for image in images}) > 1:
        return torch.cat([squared([image], side) for image in images])
    x = torch.stack(list(images)).float().div_(255)
    if x.shape[2:] != (side, side):
        x = F.interpolate(x, (side, side), mode="bicubic", antialias=True).clamp_(0, 1)
    return x.expand(-1, 3, -1, -1)


@dataclass(frozen=True)
class _BatchEncoder:
    """A network that encodes batches, with its name for error messages."""

    network: nn.Module
    name: str
    sizes: Sizes

    @cached_property
    def device(self) -> torch.device:
        """Where images are encoded; the network is moved there."""
        device = current_device()
        self.network.to(device)
        return device

    @torch.inference_mode()
    def features(self, images: Sequence[Tensor], start: int) -> NDArray[Any]:
        """Features of some images, the first of which is row ``start`` of all."""
        batches = []
        for first in range(0, len(images), BATCH):
            h = self._called(
                squared(images[first : first + BATCH], self.sizes.side).to(self.device)
            )
            h = h.cpu().to(getattr(torch, self.sizes.dtype))
            finite = h.isfinite().flatten(1).all(1)
            if not bool(finite.all()):
                row = start + first + int((~finite).nonzero()[0])
                raise FoveateError(
                    f"encoder '{self.name}': the features of image {row} are not finite in "
                    f"{self.sizes.dtype}"
                )
            batches.append(h.contiguous().numpy())
        return np.concatenate(batches)

    def _called(self, x: Tensor) -> Tensor:
        try:
            h = self.network(x)
        except (RuntimeError, TypeError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise FoveateError(
                f"encoder '{self.name}' cannot take images of shape {tuple(x.shape)}: {reason}"
            ) from None
        if not isinstance(h, Tensor) or h.dim() < 2 or len(h) != len(x):
            received = f"shape {tuple(h.shape)}" if isinstance(h, Tensor) else type(h).__name__
            raise FoveateError(
                f"encoder '{self.name}' must give a row of features an image, got {received} for "
                f"{len(x)} images"
            )
        return h


def _fill(
    parts: Parts, pictures: Pictures, working: _BatchEncoder, report: StepProgress | None
) -> None:
    """Encode what is not encoded yet, a part at a time."""
    done = parts.rows
    images = pictures.read(done)
    while part := list(islice(images, PART)):
        digests = np.stack([image_digest(image.numpy()) for image in part])
        parts.add(working.features(part, done), digests)
        done += len(part)
        if report is not None:
            report(done, pictures.rows)
    if done != pictures.rows:
        raise FoveateError(f"{pictures.name} must hold {pictures.rows} images, got {done}")


def _labels(pictures: Pictures) -> dict[str, NDArray[Any]]:
    arrays = {
        "y": pictures.y,
        "test": pictures.test,
        "names": pictures.names or None,
        "path": pictures.paths or None,
    }
    return {name: np.asarray(value) for name, value in arrays.items() if value is not None}


def _check_manifest(out: Path, expected: dict[str, Any]) -> Path:
    """The existing file, if its manifest is the expected one."""
    if read_manifest(out) != expected:
        raise FoveateError(
            f"{out} is there already and holds something else: remove it or choose another --out"
        )
    Parts.discard(out)  # of a process that was killed just after it had joined them
    return out
