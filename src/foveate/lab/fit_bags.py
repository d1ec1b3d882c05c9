"""The test bags of a fit: which are right for the wrong reason, and what changes when edited."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.errors import FoveateError
from foveate.lab.segments import pack_segments
from foveate.records.record import Array, load_arrays
from foveate.records.runs import Run

if TYPE_CHECKING:
    from torch import Tensor

    from foveate.bags.bag import Bag
    from foveate.io.collection import Collection
    from foveate.trust.explanation import Explained
    from foveate.userdata.fitted import Fitted

__all__ = ["AUDIT", "FitBags", "bag_detail", "bag_list", "edited_bag", "open_fit_bags"]

MAX_SEGMENTS = 400  # of a bag whose segments are drawn and removed in turn
MAX_ADDED = 20
AUDIT = "audit.npz"  # of a fit: which segments of its test bags are evidence, by the auditor
ATTENDED = 0.9  # share of attention that the attended segments have


@dataclass(frozen=True)
class FitBags:
    """The test bags of a fit as one of its paradigms reads them.

    Args:
        fitted: The models.
        collection: The test bags as the user gave them.
        bag: The same bags as the models read them, a null segment first where there is one.
        explained: Attention, evidence and log-probabilities.
        p: Calibrated probabilities, shape (n, C).
        doubt: How likely the segment with most attention is no evidence, from 0 to 1,
            shape (n,); NaN for bags of a class without evidence.
    """

    fitted: "Fitted"
    collection: "Collection"
    bag: "Bag"
    explained: "Explained"
    p: Array
    doubt: Array

    @property
    def first(self) -> int:
        """Index of the first segment that is the user's."""
        return int(self.fitted.preparation.null)


def open_fit_bags(run: Run, paradigm: str, absent: Sequence[str] = ()) -> FitBags:
    """The test bags of a finished fit; kept in memory while its manifest stays the same.

    Args:
        run: The fit.
        paradigm: One of its paradigms.
        absent: Classes that mean that nothing is there.
    """
    changed = (run.path / "manifest.json").stat().st_mtime_ns
    return _opened(str(run.path), paradigm, tuple(absent), changed)


@lru_cache(maxsize=8)
def _opened(path: str, paradigm: str, absent: tuple[str, ...], _changed: int) -> FitBags:
    from foveate.userdata.ensemble import load_fitted
    from foveate.userdata.fitted import Fitted

    fitted = load_fitted(path, paradigm)
    assert isinstance(fitted, Fitted)  # the lab fits with one split
    collection = _test_bags(path)
    bag = fitted.bags(collection)
    explained = fitted.explain(bag)
    p = fitted.probabilities(explained)
    doubt = _audited_doubt(fitted, explained)
    if doubt is None:
        doubt = _doubt(fitted, bag, explained, p)
    gone = [fitted.classes.index(name) for name in absent if name in fitted.classes]
    doubt[np.isin(p.argmax(1), gone)] = np.nan
    return FitBags(fitted, collection, bag, explained, p, doubt)


@lru_cache(maxsize=4)
def _test_bags(path: str) -> "Collection":
    from foveate.records.runs import open_run
    from foveate.userdata.source import read_again
    from foveate.userdata.split import held_out

    run = open_run(path)
    data = run.manifest.get("data") or {}
    return held_out(read_again(data.get("origin"), run), run.path)


def bag_list(bags: FitBags) -> list[dict[str, Any]]:
    """A line for every test bag: the most doubtful right answers first, then wrong ones."""
    classes, labelled = bags.fitted.classes, bags.collection.labelled
    rows = []
    for i, name in enumerate(bags.collection.ids):
        predicted = int(bags.p[i].argmax())
        truth = int(bags.bag.y[i]) if labelled else None
        alpha = bags.explained.alpha[i][bags.first :]
        doubt = float(bags.doubt[i])
        rows.append(
            {
                "row": i,
                "id": name,
                "truth": None if truth is None else classes[truth],
                "says": classes[predicted],
                "p": round(float(bags.p[i, predicted]), 4),
                "right": None if truth is None else predicted == truth,
                "doubt": None if np.isnan(doubt) else round(doubt, 4),
                "segments": len(alpha),
                "top": int(alpha.argmax()),
                "top_attention": round(float(alpha.max()), 4),
            }
        )
    return sorted(rows, key=lambda r: (r["right"] is False, -(r["doubt"] or 0.0), r["row"]))


def bag_detail(bags: FitBags, row: int, *, removal: bool = True) -> dict[str, Any]:
    """Everything a page draws of one bag: contents, attention, evidence, effect of removal.

    Args:
        bags: The test bags.
        row: Which bag.
        removal: Whether to read the bag again without each of its segments.
    """
    from foveate.userdata.gallery import gallery_bags

    if not 0 <= row < len(bags.collection):
        raise FoveateError(f"there is no test bag {row}: there are {len(bags.collection)}")
    content = gallery_bags(bags.fitted, bags.collection, bags.bag, bags.explained, [row])[0]
    used = _used_segments(content.alpha)
    predicted = int(content.p.argmax())
    fall = None
    if removal:
        fall = content.p[predicted] - _removed_in_turn(bags, row, used)[:, predicted]
    return {
        "id": content.id,
        "kind": content.kind,
        "classes": list(bags.fitted.classes),
        "columns": list(bags.collection.columns),
        "truth": None if content.truth is None else bags.fitted.classes[content.truth],
        "says": bags.fitted.classes[predicted],
        "p": content.p,
        "null": content.null,
        "segments": used,
        "left_out": len(content.alpha) - len(used),
        "alpha": content.alpha[used],
        "evidence": content.evidence[used],
        "removal": fall,
        "z": None if content.z is None else content.z[used],
        "places": None if content.places is None else content.places[used],
        "words": None if content.words is None else [content.words[j] for j in used],
        "content": None if content.values is None else pack_segments(content.values[used]),
    }


def edited_bag(
    bags: FitBags, row: int, removed: Sequence[int], added: Sequence[tuple[int, int]]
) -> dict[str, Any]:
    """The reading of a bag without some of its segments and with segments of other bags.

    Args:
        bags: The test bags.
        row: Which bag.
        removed: Numbers of segments to leave out, from 0.
        added: Bag and segment number of segments to add.

    Returns:
        ``p`` (C,), ``alpha`` by segment number with null where removed, ``added`` (k,).
    """
    from foveate.bags.bag import pad

    if len(added) > MAX_ADDED:
        raise FoveateError(f"at most {MAX_ADDED} segments can be added, got {len(added)}")
    segments = _segments_of(bags, row)
    remaining = [j for j in range(len(segments)) if j < bags.first or j - bags.first not in removed]
    if len(remaining) == bags.first and not added:
        raise FoveateError("a bag needs a segment: leave one in")
    parts = [segments[remaining]]
    for other, segment in added:
        rows = _segments_of(bags, other)
        if not 0 <= segment < len(rows) - bags.first:
            raise FoveateError(f"bag {other} has no segment {segment}")
        parts.append(rows[segment + bags.first][None])
    import torch

    explained = bags.fitted.explain(pad([torch.cat(parts)], bags.bag.y[row : row + 1]))
    alpha: list[float | None] = [None] * (len(segments) - bags.first)
    for k, j in enumerate(remaining):
        if j >= bags.first:
            alpha[j - bags.first] = float(explained.alpha[0][k])
    p = bags.fitted.probabilities(explained)[0]
    return {
        "p": p,
        "says": bags.fitted.classes[int(p.argmax())],
        "alpha": alpha,
        "added": explained.alpha[0][len(remaining) :],
    }


def _used_segments(alpha: Array) -> list[int]:
    """Segments that are drawn: all, or those with most attention, in their order."""
    if len(alpha) <= MAX_SEGMENTS:
        return list(range(len(alpha)))
    top = np.argsort(-alpha, kind="stable")[:MAX_SEGMENTS]
    return sorted(int(j) for j in top)


def _segments_of(bags: FitBags, row: int) -> "Tensor":
    """The segments of a bag as the models read them, without padding, shape (m, *)."""
    from foveate.bags.segments import stored

    if not 0 <= row < len(bags.collection):
        raise FoveateError(f"there is no test bag {row}: there are {len(bags.collection)}")
    one = bags.bag.take(slice(row, row + 1))
    rows = stored(one.x)[0]
    return rows if one.mask is None else rows[one.mask[0]]


def _removed_in_turn(bags: FitBags, row: int, segments: Sequence[int]) -> Array:
    """Probabilities with one segment removed, one row a segment, shape (k, C)."""
    import torch

    mask = _mask(bags.bag)[row]
    places = mask.nonzero().flatten()[bags.first :]
    if len(places) < 2:
        return np.repeat(bags.p[row][None], len(segments), 0)
    variants = bags.bag.take(torch.full((len(segments),), row))
    masks = mask.repeat(len(segments), 1)
    masks[torch.arange(len(segments)), places[list(segments)]] = False
    explained = bags.fitted.explain(replace(variants, mask=masks), with_evidence=False)
    return bags.fitted.probabilities(explained)


def _mask(bag: "Bag") -> "Tensor":
    import torch

    return torch.ones(bag.shape, dtype=torch.bool) if bag.mask is None else bag.mask


def _doubt(fitted: "Fitted", bag: "Bag", explained: "Explained", p: Array) -> Array:
    r"""How little the answer rests on the attended segments, from labels and predictions alone.

    .. math:: 1 - p_{attended}(\hat y)\,(1 - b_{\hat y})\,(1 - \tfrac12 p_{rest}(\hat y))

    with the probability of the answer from the attended segments alone, from the rest of the bag,
    and :math:`b` from the segment with least attention in bags of other classes.
    """
    import torch

    mask, first = _mask(bag), int(fitted.preparation.null)
    attended, least = torch.zeros_like(mask), torch.zeros_like(mask)
    for row, alpha in enumerate(explained.alpha):
        places = mask[row].nonzero().flatten()[first:]
        attended[row, places[_attended(alpha[first:])]] = True
        least[row, places[int(alpha[first:].argmin())]] = True
    rest = mask & ~attended
    rest[~rest.any(1)] = mask[~rest.any(1)]
    alone, without, lowest = (
        fitted.probabilities(fitted.explain(replace(bag, mask=part), with_evidence=False))
        for part in (attended, rest, least)
    )
    answer, rows, y = p.argmax(1), np.arange(len(p)), bag.y.numpy()
    background = np.array(
        [lowest[y != c, c].mean() if (y != c).any() else 0.0 for c in range(p.shape[1])]
    )
    reasons = alone[rows, answer] * (1 - background[answer]) * (1 - 0.5 * without[rows, answer])
    doubt: Array = 1 - reasons
    return doubt


def _audited_doubt(fitted: "Fitted", explained: "Explained") -> Array | None:
    """Probability that the top segment is no evidence, by the auditor; None if it did not run.

    The auditor sees bags and labels alone (:mod:`foveate.trust.auditor`), so that a wrong answer,
    whose evidence is of another class, has no value here that means anything.
    """
    path = fitted.run.path / AUDIT
    if not path.exists():
        return None
    audited = load_arrays(path)
    doubt: Array = np.full(len(explained.alpha), np.nan)
    for row, a in zip(audited["rows"], audited["a"], strict=True):
        doubt[row] = 1 - a[int(explained.alpha[row].argmax())]
    return doubt


def _attended(alpha: Array) -> Array:
    """The fewest segments with most of the attention, at most half of the bag.

    Example:
        >>> _attended(np.array([0.05, 0.5, 0.42, 0.03])).tolist()
        [1, 2]
    """
    order = np.argsort(-alpha, kind="stable")
    count = int(np.searchsorted(np.cumsum(alpha[order]), ATTENDED * alpha.sum())) + 1
    return np.sort(order[: max(1, min(count, len(alpha) // 2))])
