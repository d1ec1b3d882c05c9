"""Where a user's bags were read from, and whether they are still the same."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from foveate.bags.mapped import row_blocks
from foveate.bags.segments import tensors_of
from foveate.errors import FoveateError
from foveate.io.collection import Collection
from foveate.records.runs import Run
from foveate.types import PartProgress

__all__ = ["Origin", "fingerprint", "read_again"]


@dataclass(frozen=True)
class Origin:
    """A path and the flags that say what its columns are."""

    path: Path
    columns: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The entry of the manifest."""
        return {"path": str(self.path.resolve()), "columns": self.columns}

    def read(self, **keywords: Any) -> Collection:
        """The bags; of one label of multi-label bags where the columns have "of_label"."""
        from foveate.io import read_bags

        columns = {**self.columns, **keywords}
        name = columns.pop("of_label", None)
        if name is None:
            return read_bags(self.path, **columns)
        bags = read_bags(self.path, **{**columns, "classes": None})
        return bags if bags.labels is None else bags.of_label(name)


def read_again(
    origin: dict[str, Any] | None,
    run: Run,
    report: PartProgress | None = None,
    classes: Sequence[str] | None = None,
) -> Collection:
    """The bags that a manifest names; a relative path is relative to the run directory.

    Args:
        origin: The origin in the manifest.
        run: The run.
        report: Called as ``report("reading", done, total)``.
        classes: The classes of the run, one of which may be called "none".
    """
    if origin is None:
        raise FoveateError(f"{run.name} was fitted from Python: give its bags to resume_fit")
    if report is not None:
        report("reading", 0, 1)
    columns = {**origin["columns"], "classes": classes}
    collection = Origin(run.path / origin["path"], columns).read(labelled=True)
    if report is not None:
        report("reading", 1, 1)
    return collection


def fingerprint(collection: Collection) -> str:
    """SHA-256 of everything in a collection that a fit uses."""
    whole = hashlib.sha256()
    bag = collection.bag
    for part in (*tensors_of(bag.x), bag.y, bag.z, bag.mask, bag.group, collection.known):
        _add(whole, part)
    for more in (collection.missing, collection.labels, bag.weight):
        if more is not None:
            _add(whole, more)
    listed = (collection.ids, collection.classes, collection.columns, collection.words or ())
    for names in (*listed, *([collection.label_names] if collection.label_names else [])):
        whole.update("\x1f".join(names).encode() + b"\x1e")
    whole.update("\x1f".join(collection.split or ()).encode())
    return whole.hexdigest()


def _add(whole: Any, part: Tensor | None) -> None:
    if part is None:
        whole.update(b"none")
        return
    whole.update(f"{part.dtype} {tuple(part.shape)}".encode())
    for block in row_blocks(part.contiguous().view(-1)):
        whole.update(block.view(torch.uint8).numpy())
