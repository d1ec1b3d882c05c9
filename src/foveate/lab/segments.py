"""The segments of a bag, drawn anew from the data set, and what the classifier says of each."""

import base64
from functools import lru_cache
from typing import Any

import numpy as np

from foveate.errors import FoveateError
from foveate.records.record import Array
from foveate.records.runs import Run

__all__ = ["pack_segments", "segments_of"]


def segments_of(run: Run, parts: list[str], member: int, bag: int) -> dict[str, Any]:
    """Segments and evidence of one held-out bag, or a sentence that says why there are none.

    Args:
        run: A run.
        parts: Its finished parts.
        member: Whose bags.
        bag: Which of them.

    Returns:
        ``segments`` as :func:`pack_segments`; ``evidence``, for each part the class
        probabilities that g gives every segment by itself, (m, C). Else ``missing``.
    """
    try:
        readings = {part: _read(str(run.path), part, member) for part in parts}
        rows = next(iter(readings.values()))[0].take(slice(bag, bag + 1))
        evidence = {
            part: _evidence(model, record, bag) for part, (record, model) in readings.items()
        }
    except (FoveateError, OSError) as error:
        reason = str(error).replace(f"{run.path}/", "")
        return {"missing": f"the bags cannot be drawn again: {reason}"}
    return {"segments": pack_segments(_stored(rows)[0]), "evidence": evidence}


def pack_segments(segments: Array) -> dict[str, Any]:
    """Segments (m, *) as a browser takes them: bytes of pictures, or plain numbers.

    Example:
        >>> pack_segments(np.zeros((2, 2)))["kind"], pack_segments(np.zeros((3, 1, 8, 8)))["shape"]
        ('point', [8, 8, 1])
    """
    from foveate.report.drawing.segments import kind_of

    kind = kind_of(segments[None])
    if kind != "image":
        return {"kind": kind, "values": segments.reshape(len(segments), -1)}
    pictures = segments[:, None] if segments.ndim == 3 else segments
    pixels = np.moveaxis(pictures, 1, -1)
    if pixels.dtype != np.uint8:
        low, high = float(pixels.min()), float(pixels.max())
        pixels = (255 * (pixels - low) / ((high - low) or 1.0)).astype(np.uint8)
    code = base64.b64encode(np.ascontiguousarray(pixels).tobytes()).decode()
    return {"kind": kind, "shape": list(pixels.shape[1:]), "m": len(pixels), "bytes": code}


@lru_cache(maxsize=8)
def _read(path: str, part: str, member: int) -> tuple[Any, Any]:
    """The held-out bags of a member and its trained model."""
    from foveate.jobs.job import open_job
    from foveate.records.runs import open_run

    run = open_run(path)
    stack, bags = open_job(run).reopen_part(run, part)
    return bags[member], stack.member(member)


def _evidence(model: Any, bags: Any, row: int) -> Array:
    """What g says of every segment by itself, (m, C); NaN where g reads whole bags."""
    import torch

    from foveate.bags.segments import dense

    bag = bags.take(slice(row, row + 1))
    with torch.no_grad():
        h = dense(model.attend(bag.x, bag.mask, bag.z).h)[0]
        try:
            logits = model.g(h)
        except RuntimeError:  # g reads the concatenated bag, never a segment
            return np.full((bag.m, 1), np.nan)
    probabilities: Array = logits.softmax(-1).double().numpy()
    return probabilities


def _stored(bag: Any) -> Array:
    """Segments as they are stored, (n, m, *): pictures stay bytes."""
    from foveate.bags.segments import stored

    rows: Array = stored(bag.x).numpy()
    return rows
