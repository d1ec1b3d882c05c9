"""Readers in a file of weights, with their vocabulary and classes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from foveate.errors import FoveateError
from foveate.records.record import load_checkpoint, save_checkpoint
from foveate.text.loop import built
from foveate.text.models.reader import Reader
from foveate.text.tokens import MARKS, Vocabulary

__all__ = ["StoredReader", "load_reader", "save_reader"]

KIND = "foveate reader"


class StoredReader(NamedTuple):
    """A trained reader, its vocabulary and the names of its classes."""

    model: Reader
    vocabulary: Vocabulary
    classes: tuple[str, ...]


def save_reader(path: Path, model: Reader, vocabulary: Vocabulary, classes: Sequence[str]) -> None:
    """Write a reader as safetensors, with vocabulary and classes in the metadata.

    Args:
        path: The file.
        model: The reader.
        vocabulary: Its words.
        classes: Names of its classes.
    """
    sizes = {"embedding": model.table.shape[1], "d": model.focus[0].out_features}
    meta = {
        "kind": KIND,
        "sizes": sizes,
        "words": list(vocabulary.words[len(MARKS) :]),
        "classes": list(classes),
    }
    save_checkpoint(path, dict(model.state_dict()), meta)


def load_reader(path: Path) -> StoredReader:
    """Read a reader that :func:`save_reader` wrote."""
    tensors, meta = load_checkpoint(path)
    if meta.get("kind") != KIND:
        raise FoveateError(f"{path} holds no reader: write one with foveate read")
    vocabulary, classes = Vocabulary(meta["words"]), tuple(meta["classes"])
    make = partial(Reader, len(vocabulary), classes=len(classes), **meta["sizes"])
    model = built(make, "stored reader")  # does not touch torch's global generator
    assert isinstance(model, Reader)
    model.load_state_dict(tensors)
    return StoredReader(model.eval(), vocabulary, classes)
