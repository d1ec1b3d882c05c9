"""A collection as one safetensors file, for workers that cannot read the user's files."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from torch import Tensor

from foveate.bags.bag import Bag
from foveate.bags.mapped import file_of, map_bank
from foveate.bags.segments import Mosaics, shared_bank, tensors_of
from foveate.io.collection import Collection
from foveate.records.record import load_checkpoint, save_checkpoint

__all__ = ["load_collection", "save_collection"]

NOT_STORED = ("bag", "roles", "reading_problems")  # stored by its tensors, or in the manifest
OF_BAG = ("y", "z", "mask", "group", "weight")
NAMES = [field.name for field in fields(Collection) if field.name not in NOT_STORED]


def save_collection(path: Path, collection: Collection) -> None:
    """Write everything of a collection that training reads.

    A bank that lies in a mapped file is not written again: the file is named.

    Args:
        path: The file.
        collection: The bags.
    """
    bag = collection.bag
    shared, stored = shared_bank(bag.x) is not None, tensors_of(bag.x)
    tensors = dict(zip(("bank", "index") if shared else ("x",), stored, strict=True))
    values = {name: getattr(bag, name) for name in OF_BAG}
    values |= {name: getattr(collection, name) for name in NAMES}
    tensors |= {name: value for name, value in values.items() if isinstance(value, Tensor)}
    meta = {k: v for k, v in values.items() if k not in tensors}
    if shared and (file := file_of(bag.bank)) is not None:
        del tensors["bank"]
        meta["bank_file"] = str(file)
    save_checkpoint(path, tensors, meta)


def load_collection(path: Path) -> Collection:
    """Read what :func:`save_collection` wrote."""
    tensors, meta = load_checkpoint(path)
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in meta.items()
    } | tensors
    if "bank_file" in values:
        values["bank"] = map_bank(Path(values["bank_file"]))
    x = values["x"] if "x" in values else Mosaics(values["bank"], values["index"])
    bag = Bag(x, *(values[name] for name in OF_BAG))
    return Collection(bag, **{name: values[name] for name in NAMES})
