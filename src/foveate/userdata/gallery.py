"""Bags for the gallery: attention, evidence and contents as arrays."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foveate.records.record import Array, load_arrays, save_arrays

if TYPE_CHECKING:
    from torch import Tensor

    from foveate.bags.bag import Bag
    from foveate.io.collection import Collection
    from foveate.trust.explanation import Explained
    from foveate.trust.segment_maps import MapKind
    from foveate.userdata.fitted import Explainer, FittedModel

__all__ = ["GalleryBag", "gallery_bags", "load_gallery", "pick_gallery_bags", "save_gallery"]

MAX_BAGS = 6  # test bags in the report of a fit
MAX_GALLERY_SEGMENTS = 400  # segments of a bag whose contents are kept for the report


@dataclass(frozen=True)
class GalleryBag:
    """One bag with the outputs of a fitted model.

    Args:
        id: Its name.
        kind: What a segment is: features, text, image or series.
        p: Calibrated probabilities of the classes, shape (C,).
        truth: Its class; None where it is not known.
        alpha: Attention on its segments, shape (m,).
        evidence: Signed evidence, shape (m, C), from
            :func:`~foveate.trust.segment_maps.signed_map`.
        null: Attention on the null segment; None where there is none.
        values: Its segments as the user gave them, shape (m, *); None for text.
        words: Their texts, kind "text".
        places: Their coordinates, shape (m, k).
        z: Which are relevant, shape (m,), where that is known.
        map: The map by which segments are ranked (:mod:`foveate.trust.segment_maps`).
    """

    id: str
    kind: str
    p: Array
    truth: int | None
    alpha: Array
    evidence: Array
    null: float | None = None
    values: Array | None = None
    words: tuple[str, ...] | None = None
    places: Array | None = None
    z: Array | None = None
    map: str = "attention"

    @property
    def ranking(self) -> Array:
        """What ranks the segments: the map for the predicted class, shape (m,)."""
        from foveate.trust.segment_maps import posterior

        if self.map == "attention":
            return self.alpha
        values = posterior(self.alpha, self.evidence) if self.map == "posterior" else self.evidence
        ranks: Array = values[:, int(self.p.argmax())]
        return ranks


def gallery_bags(
    fitted: "Explainer",
    collection: "Collection",
    bag: "Bag",
    explained: "Explained",
    rows: Sequence[int],
    kind: "MapKind | None" = None,
) -> list[GalleryBag]:
    """The bags at ``rows`` with all that a page draws of them.

    Args:
        fitted: The models.
        collection: The bags as the user gave them.
        bag: The same bags as the models read them.
        explained: What the models make of them.
        rows: Which.
        kind: The map that ranks segments; the default one unless given.
    """
    from foveate.trust.segment_maps import DEFAULT_MAP, signed_map

    kind = kind or DEFAULT_MAP
    p, signed = fitted.probabilities(explained), signed_map(explained, kind)
    first, bags = int(fitted.null), collection.bag
    gallery = []
    for row in rows:
        mask, z = (None if part is None else part[row] for part in (bags.mask, bags.z))
        at = _rows_of_bank(bags, row, mask)
        known = collection.known is None or bool(collection.known[row])
        gallery.append(
            GalleryBag(
                collection.ids[row],
                collection.kind,
                p[row],
                _label(collection, bag, row),
                explained.alpha[row][first:],
                signed[row][first:],
                float(explained.alpha[row][0]) if first else None,
                None if collection.words is not None else _values(collection, at),
                None if collection.words is None else tuple(collection.words[i] for i in at),
                None if collection.places is None else collection.places[at].numpy(),
                None if z is None or not known else (z if mask is None else z[mask]).numpy(),
                kind,
            )
        )
    return gallery


def pick_gallery_bags(
    fitted: "FittedModel", collection: "Collection", bag: "Bag"
) -> list[GalleryBag]:
    """A few bags for a report: mistakes first, then the most confident of each class in turn."""
    explained = fitted.explain(bag)
    p, y = fitted.probabilities(explained), bag.y.numpy()
    short = np.array([len(alpha) <= MAX_GALLERY_SEGMENTS for alpha in explained.alpha])
    wrong = np.flatnonzero((p.argmax(1) != y) & short)[: MAX_BAGS // 3]
    sure = np.argsort(-p[np.arange(len(y)), y], kind="stable")
    by_class = [[i for i in sure if y[i] == c and short[i] and i not in wrong]
                for c in range(p.shape[1])]  # fmt: skip
    turn = [
        row
        for rank in range(MAX_BAGS)
        for class_rows in by_class
        for row in class_rows[rank : rank + 1]
    ]
    rows = [int(i) for i in (*wrong, *turn)][:MAX_BAGS]
    return gallery_bags(fitted, collection, bag, explained, rows)


def save_gallery(path: Path, gallery: Sequence[GalleryBag]) -> None:
    """Write bags as NPZ, atomically."""
    arrays: dict[str, Any] = {}
    metadata = []
    for k, bag in enumerate(gallery):
        for name in ("p", "alpha", "evidence", "values", "places", "z"):
            if (value := getattr(bag, name)) is not None:
                arrays[f"{k}/{name}"] = value
        metadata.append(
            {n: getattr(bag, n) for n in ("id", "kind", "truth", "null", "words", "map")}
        )
    arrays["told"] = np.frombuffer(json.dumps(metadata).encode(), np.uint8)
    save_arrays(path, arrays)


def load_gallery(path: Path) -> list[GalleryBag]:
    """Read the file of :func:`save_gallery`; an empty list if there is none."""
    if not path.exists():
        return []
    arrays = load_arrays(path)
    metadata = json.loads(arrays.pop("told").tobytes())
    gallery = []
    for k, words in enumerate(metadata):
        values: dict[str, Any] = {
            name.partition("/")[2]: v for name, v in arrays.items() if name.startswith(f"{k}/")
        }
        text = None if words["words"] is None else tuple(words["words"])
        gallery.append(GalleryBag(**{**words, "words": text}, **values))
    return gallery


def _rows_of_bank(bag: "Bag", row: int, mask: "Tensor | None") -> list[int]:
    rows: list[int] = (bag.index[row] if mask is None else bag.index[row][mask]).tolist()
    return rows


def _label(collection: "Collection", bag: "Bag", row: int) -> int | None:
    known = collection.label_known
    if not collection.labelled or (known is not None and not bool(known[row])):
        return None
    return int(bag.y[row])


def _values(collection: "Collection", rows: list[int]) -> Array:
    """Numbers of some segments as the user gave them, NaN where missing."""
    values = collection.bag.bank[rows]
    if collection.missing is not None:
        values = values.masked_fill(collection.missing[rows], float("nan"))
    return values.numpy()
