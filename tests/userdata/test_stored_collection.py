"""A stored collection equals the one that was saved."""

import pytest

from foveate.userdata.source import fingerprint
from foveate.userdata.stored_collection import load_collection, save_collection

from .made import numbers, texts, tiles


@pytest.mark.parametrize(
    "collection", [numbers(relevance=True, groups=True), numbers(labelled=False), texts(), tiles()]
)
def test_a_stored_collection_is_read_back_whole(collection, tmp_path):
    save_collection(tmp_path / "bags.safetensors", collection)
    stored = load_collection(tmp_path / "bags.safetensors")
    assert fingerprint(stored) == fingerprint(collection)
    for name in ("ids", "classes", "columns", "kind", "words", "source", "groups", "split"):
        assert getattr(stored, name) == getattr(collection, name)
    if collection.places is not None:
        assert stored.places.equal(collection.places)
