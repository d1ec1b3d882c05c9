"""The gallery: kept bags, and what each paradigm looks at and says, in pictures and words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from foveate.charts.palette import label
from foveate.metrics.focus import focus_true
from foveate.records.record import Array, Record
from foveate.records.runs import Run
from foveate.report.drawing.segments import PRINTED, Sight, draw, kind_of
from foveate.report.outcomes import class_names

__all__ = ["Row", "View", "gallery", "verdict"]

MEMBER = 0  # whose held-out bags were kept


@dataclass(frozen=True)
class View:
    """How one paradigm sees a bag.

    Args:
        paradigm: Its name.
        picture: The bag with its attention, as SVG.
        says: The predicted class and its probability.
        verdict: See :func:`verdict`.
        right: Whether the prediction is.
        focused: Whether the focus is; None where nobody knows.
    """

    paradigm: str
    picture: Markup
    says: str
    verdict: str
    right: bool
    focused: bool | None


@dataclass(frozen=True)
class Row:
    """One kept bag.

    Args:
        bag: Its place among the held-out bags.
        truth: The name of its class.
        picture: The bag alone, as SVG.
        kind: How its segments are drawn.
        views: One per paradigm.
    """

    bag: int
    truth: str
    picture: Markup
    kind: str
    views: Sequence[View]


def gallery(run: Run, records: Mapping[str, Record], prefix: str = "run") -> list[Row]:
    """The kept bags of a run, one row each; none where the run has kept none.

    Args:
        run: The run.
        records: Its records.
        prefix: What ids begin with, different for every run of a page.
    """
    kept = run.gallery()
    if not kept or not records or not len(kept["rows"]):
        return []
    segments = kept["segments"]
    kind = kind_of(segments)
    axes = tuple(range(segments.ndim - 1))
    low, high = (segments.min(axes), segments.max(axes)) if segments.ndim == 3 else (0, 0)
    found = []
    for bag, own in zip(kept["rows"].tolist(), segments, strict=True):
        sight = Sight(own, f"{prefix}-bag-{bag}", np.asarray(low), np.asarray(high))
        found.append(_row(run, records, sight, bag, kind))
    return found


def verdict(right: bool, focused: bool | None, even: bool = False) -> str:
    """What to make of an answer, in words.

    Args:
        right: Whether the most probable class is the true one.
        focused: Whether the relevant segment scores highest; None where nobody knows.
        even: Whether all segments get the same attention, so that there is no focus to judge.
    """
    if not right:
        return "wrong"
    if focused is None:
        return "right"
    if even:
        return "right, without any focus"
    return "right for the right reason" if focused else "right for the wrong reason"


def _row(run: Run, records: Mapping[str, Record], sight: Sight, bag: int, kind: str) -> Row:
    first = next(iter(records.values()))
    truth = int(_own(first, "y", bag))
    names = class_names(run, first.final["log_p"].shape[-1])
    z = _own(first, "z", bag) if "z" in first.final else None
    mask = _own(first, "mask", bag) if "mask" in first.final else None
    seen = replace(sight, z=z, mask=mask)
    ringed = [f"segment {j + 1}" for j in seen.relevant]
    alone = f"Bag {bag}" + (f", relevant: {', '.join(ringed)}" if ringed else "")
    views = [_view(name, record, seen, bag, names, kind) for name, record in records.items()]
    return Row(bag, names[truth], Markup(draw(seen, kind, alone)), kind, views)


def _view(
    paradigm: str, record: Record, sight: Sight, bag: int, names: Sequence[str], kind: str
) -> View:
    alpha = _own(record, "alpha", bag).astype(float)
    p = np.exp(_own(record, "log_p", bag).astype(float))
    said = int(p.argmax())
    right = said == int(_own(record, "y", bag))
    focused = None
    if sight.z is not None:
        s = _own(record, "s", bag)
        focused = bool(focus_true(s[None], sight.z[None], _rows(sight.mask))[0])
    there = alpha[sight.present]
    return View(
        paradigm,
        Markup(draw(sight.attending(alpha), kind, _words(paradigm, sight, alpha))),
        f"{names[said]} ({100 * p[said]:.1f} %)",
        verdict(right, focused, even=bool(np.ptp(there) < 1e-6)),
        right,
        focused,
    )


def _words(paradigm: str, sight: Sight, alpha: Array) -> str:
    order = sorted(sight.present, key=lambda j: -alpha[j])
    top = [j for j in order if alpha[j] >= PRINTED] or order[:1]
    told = [
        f"{alpha[j]:.2f} on segment {j + 1}{' (relevant)' if j in sight.relevant else ''}"
        for j in top
    ]
    return f"{label(paradigm)}: attention {', '.join(told)}"


def _own(record: Record, name: str, bag: int) -> Array:
    """A bag's entry for the member whose bags were kept; members may share y, z and mask."""
    own: Array = record.final[name][MEMBER, bag]
    return own


def _rows(mask: Array | None) -> Array | None:
    return None if mask is None else mask[None]
