"""Attention on photos: all of it, its top places and random ones, with the box. [pvr22] Figure 1

Each picture is the square that the encoder saw. Attention is up-sampled as it is measured,
bilinearly from the grid to 224 × 224, and laid over the photo pixel by pixel; nothing else smooths
it.
"""

import base64
import io
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import torch

from foveate.charts.palette import ATTENTION, TEXT_COLOUR
from foveate.charts.render import with_rows
from foveate.metrics.boxes import PIXELS, Grid, box_mask, only
from foveate.randomness import generator
from foveate.records.record import Array, Record
from foveate.text.tokens import END, PAD

__all__ = ["overlay", "overlay_chart"]

SIZE = 190  # of a picture, in pixels of the page
STRONGEST = 0.8  # how much of the photo the largest attention covers


def overlay(photo: Array, heat: Array) -> Array:
    """A photo in grey under attention in colour, bytes (224, 224, 3).

    The share of colour at a pixel is .8 × attention ÷ its maximum; where there is none the grey
    photo stays as it is.

    Args:
        photo: Bytes, shape (224, 224, 3).
        heat: Up-sampled attention, shape (224, 224).
    """
    grey = photo @ np.array([0.299, 0.587, 0.114])
    heat_colour = np.array([int(ATTENTION[k : k + 2], 16) for k in (1, 3, 5)])
    share = STRONGEST * (heat / heat.max())[..., None]
    return ((1 - share) * grey[..., None] + share * heat_colour).round().astype(np.uint8)


def overlay_chart(record: Record, tops: Sequence[int], member: int = 0) -> Any:
    """A row of pictures for each shown name: photo, whole attention, top and random places."""
    alpha, photos = record.values["shown"][-1, member], record.final["photo"][0]
    side = round(alpha.shape[-1] ** 0.5)
    grid, k = Grid(side), tops[0]
    random = torch.rand(alpha.shape, generator=generator("captions", "shown places")).numpy()
    rows = []
    for i, photo in enumerate(photos):
        caption = _generated_caption(record, i, member)
        maps = {"full": alpha[i], f"top-{k}": only(alpha[i], k), f"random-{k}": only(random[i], k)}
        boxes = record.final["boxes"][0, i]
        charts = [_picture(photo, boxes, _title(record, i))]
        for name, values in maps.items():
            heat = grid.raised(values)
            text = f"{name}, cosine {_cosine(heat, boxes):.2f}"
            charts.append(_picture(overlay(photo, heat), boxes, [text, _scale_of(values)]))
        rows.append(
            alt.hconcat(*charts, spacing=10).properties(title=_row_title(record, i, caption))
        )
    chart = alt.vconcat(*rows, _legend(), spacing=16)
    words = "Photos with the box of the named object; attention at the name laid over in violet."
    return chart.properties(description=words)


def _cosine(heat: Array, boxes: Array) -> float:
    mask = box_mask(tuple(box) for box in boxes.tolist() if np.isfinite(box).all())
    return float((heat * mask).sum() / np.sqrt((heat**2).sum() * mask.sum()))


def _scale_of(values: Array) -> str:
    return f"largest weight of a place: {values.max():.2g}"


def _title(record: Record, i: int) -> list[str]:
    image = record.meta["shown"][i]
    return [f"“{image['word']}”, its boxes in black", _short(image["licence"])]


def _short(licence: str) -> str:
    return licence.replace(" License", "")


def _row_title(record: Record, i: int, caption: str) -> Any:
    image = record.meta["shown"][i]
    lines = [f"image {image['image_id']}, reference: {image['caption'].strip()}"]
    return alt.TitleParams(
        lines, subtitle=[f"said by the model: {caption}"], fontSize=12, subtitleFontSize=12
    )


def _generated_caption(record: Record, i: int, member: int) -> str:
    ids = record.values["shown_said"][-1, member, i].astype(int).tolist()
    return " ".join(record.meta["words"][k] for k in ids if k not in (PAD, END)) or "nothing"


def _picture(pixels: Array, boxes: Array, title: Sequence[str]) -> Any:
    """An image with boxes drawn over it."""
    axis_style: dict[str, Any] = {"scale": alt.Scale(domain=[0, 1], nice=False), "axis": None}
    # Vega counts upwards, images downwards.
    ends = [
        {"x": x, "x2": x2, "y": 1 - y, "y2": 1 - y2}
        for x, y, x2, y2 in boxes.tolist()
        if np.isfinite(x)
    ]
    image = with_rows(
        alt.Chart()
        .mark_image(width=SIZE, height=SIZE, aspect=False)
        .encode(x=alt.X("x:Q", **axis_style), y=alt.Y("y:Q", **axis_style), url="url:N"),
        [{"x": 0.5, "y": 0.5, "url": _png(pixels)}],
    )
    frame = alt.Chart().encode(
        x=alt.X("x:Q", **axis_style), x2="x2:Q", y=alt.Y("y:Q", **axis_style), y2="y2:Q"
    )
    # White under black, so that the box is seen on dark photos and on light ones.
    lines = [
        with_rows(frame.mark_rect(filled=False, stroke=heat_colour, strokeWidth=width), ends)
        for heat_colour, width in (("#ffffff", 4), (TEXT_COLOUR, 2))
    ]
    head = alt.TitleParams(list(title), fontSize=11, fontWeight="normal", anchor="start", offset=4)
    return alt.layer(image, *lines).properties(width=SIZE, height=SIZE, title=head)


def _legend() -> Any:
    """From no attention to the largest of a picture."""
    steps = 64
    grey = np.full((PIXELS // 16, steps, 3), 150, np.uint8)
    ramp = np.broadcast_to(np.linspace(0, 1, steps), grey.shape[:2])
    rows = [{"x": 0.5, "y": 0.5, "url": _png(overlay(grey, ramp))}]
    axis = alt.Axis(
        values=[0, 0.5, 1], format=".1f", title="attention ÷ its maximum in the picture", grid=False
    )
    bar = (
        alt.Chart()
        .mark_image(width=2 * SIZE, height=14, aspect=False)
        .encode(
            x=alt.X("x:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis),
            y=alt.Y("y:Q", scale=alt.Scale(domain=[0, 1]), axis=None),
            url="url:N",
        )
        .properties(width=2 * SIZE, height=14)
    )
    return with_rows(bar, rows)


def _png(pixels: Array) -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
