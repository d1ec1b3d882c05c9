"""The gallery of a race: stored bags with the attention and prediction of each paradigm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from foveate.charts.palette import label
from foveate.metrics.focus import focus_true
from foveate.records.record import Array, Record
from foveate.records.runs import Run
from foveate.report.drawing.segments import MIN_PRINTED, BagDrawing, draw, kind_of
from foveate.report.outcomes import class_names

__all__ = ["Row", "View", "gallery", "verdict"]

MEMBER = 0  # the seed whose held-out bags are stored


@dataclass(frozen=True)
class View:
    """Attention and prediction of one paradigm on one bag.

    Args:
        paradigm: Its name.
        picture: The bag with attention, as SVG.
        prediction: The predicted class and its probability.
        verdict: See :func:`verdict`.
        correct: Whether the prediction is correct.
        focused: Whether the relevant segment scores highest; None if it is not known.
    """

    paradigm: str
    picture: Markup
    prediction: str
    verdict: str
    correct: bool
    focused: bool | None


@dataclass(frozen=True)
class Row:
    """One stored bag.

    Args:
        bag: Its index among the held-out bags.
        truth: The name of its class.
        picture: The bag without attention, as SVG.
        kind: How its segments are drawn.
        views: One per paradigm.
    """

    bag: int
    truth: str
    picture: Markup
    kind: str
    views: Sequence[View]


def gallery(run: Run, records: Mapping[str, Record], prefix: str = "run") -> list[Row]:
    """The stored bags of a run, one row each; empty if the run stored none.

    Args:
        run: The run.
        records: Its records.
        prefix: Prefix of ids, unique for each run of a page.
    """
    stored = run.gallery()
    if not stored or not records or not len(stored["rows"]):
        return []
    segments = stored["segments"]
    kind = kind_of(segments)
    axes = tuple(range(segments.ndim - 1))
    low, high = (segments.min(axes), segments.max(axes)) if segments.ndim == 3 else (0, 0)
    rows = []
    for bag, values in zip(stored["rows"].tolist(), segments, strict=True):
        drawing = BagDrawing(values, f"{prefix}-bag-{bag}", np.asarray(low), np.asarray(high))
        rows.append(_row(run, records, drawing, bag, kind))
    return rows


def verdict(correct: bool, focused: bool | None, even: bool = False) -> str:
    """A prediction and its focus in words.

    Args:
        correct: Whether the most probable class is the true one.
        focused: Whether the relevant segment scores highest; None if it is not known.
        even: Whether all segments get the same attention, so that there is no focus.
    """
    if not correct:
        return "wrong"
    if focused is None:
        return "right"
    if even:
        return "right, without any focus"
    return "right for the right reason" if focused else "right for the wrong reason"


def _row(run: Run, records: Mapping[str, Record], drawing: BagDrawing, bag: int, kind: str) -> Row:
    first = next(iter(records.values()))
    truth = int(_entry(first, "y", bag))
    names = class_names(run, first.final["log_p"].shape[-1])
    z = _entry(first, "z", bag) if "z" in first.final else None
    mask = _entry(first, "mask", bag) if "mask" in first.final else None
    drawing = replace(drawing, z=z, mask=mask)
    marked = [f"segment {j + 1}" for j in drawing.relevant]
    description = f"Bag {bag}" + (f", relevant: {', '.join(marked)}" if marked else "")
    views = [_view(name, record, drawing, bag, names, kind) for name, record in records.items()]
    return Row(bag, names[truth], Markup(draw(drawing, kind, description)), kind, views)


def _view(
    paradigm: str, record: Record, drawing: BagDrawing, bag: int, names: Sequence[str], kind: str
) -> View:
    alpha = _entry(record, "alpha", bag).astype(float)
    p = np.exp(_entry(record, "log_p", bag).astype(float))
    predicted = int(p.argmax())
    correct = predicted == int(_entry(record, "y", bag))
    focused = None
    if drawing.z is not None:
        s = _entry(record, "s", bag)
        focused = bool(focus_true(s[None], drawing.z[None], _with_batch_axis(drawing.mask))[0])
    present = alpha[drawing.present]
    return View(
        paradigm,
        Markup(draw(drawing.with_attention(alpha), kind, _description(paradigm, drawing, alpha))),
        f"{names[predicted]} ({100 * p[predicted]:.1f} %)",
        verdict(correct, focused, even=bool(np.ptp(present) < 1e-6)),
        correct,
        focused,
    )


def _description(paradigm: str, drawing: BagDrawing, alpha: Array) -> str:
    order = sorted(drawing.present, key=lambda j: -alpha[j])
    top = [j for j in order if alpha[j] >= MIN_PRINTED] or order[:1]
    texts = [
        f"{alpha[j]:.2f} on segment {j + 1}{' (relevant)' if j in drawing.relevant else ''}"
        for j in top
    ]
    return f"{label(paradigm)}: attention {', '.join(texts)}"


def _entry(record: Record, name: str, bag: int) -> Array:
    """The array entry of one bag for the seed whose bags are stored."""
    entry: Array = record.final[name][MEMBER, bag]
    return entry


def _with_batch_axis(mask: Array | None) -> Array | None:
    return None if mask is None else mask[None]
