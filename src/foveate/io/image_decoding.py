"""Encoded images as arrays of bytes."""

import io

import numpy as np
from numpy.typing import NDArray

__all__ = ["decode_image"]

GREY, COLOUR = ("1", "L", "LA"), ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "LAB")


def decode_image(raw: bytes | None, formats: list[str]) -> tuple[NDArray[np.uint8], str]:
    """An encoded image as bytes, (H, W) if grey and (H, W, 3) if coloured, and its format.

    Args:
        raw: The image file.
        formats: Pillow's names of the formats to try, in order.
    """
    from PIL import Image

    if raw is None:
        raise ValueError("no bytes")
    with Image.open(io.BytesIO(raw), formats=formats) as image:
        if image.mode not in GREY + COLOUR:
            raise ValueError(f"mode {image.mode} is not 8 bits a channel")
        mode = "L" if image.mode in GREY else "RGB"
        decoded = np.asarray(image if image.mode == mode else image.convert(mode))
        return decoded, image.format or ""
