import json
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.errors import FoveateError
from foveate.userdata.split import PARTS, held_out, keep_split, resumed_split, split_bags

from .made import numbers


@given(st.integers(20, 90), st.integers(0, 5), st.booleans())
def test_parts_are_disjoint_whole_stratified_and_keep_groups(n, seed, groups):
    collection = numbers(n, groups=groups)
    split = split_bags(collection, seed)
    rows = [split.rows(part) for part in PARTS]
    assert sorted(torch.cat(rows).tolist()) == list(range(n))
    if groups:
        held = [set(collection.bag.group[part].tolist()) for part in rows]
        assert not held[0] & held[1]
        assert not held[0] & held[2]
        assert not held[1] & held[2]
    else:
        assert [
            abs(len(part) - n * share) <= 2
            for part, share in zip(rows, (0.6, 0.2, 0.2), strict=True)
        ] == [True] * 3
    shares = [float(collection.bag.y[part].double().mean()) for part in rows]
    assert max(abs(share - 1 / 3) for share in shares) < 0.35


def test_the_seed_decides():
    a, b, c = (split_bags(numbers(), seed).test.tolist() for seed in (0, 0, 1))
    assert a == b != c


def test_a_named_split_wins():
    split = split_bags(numbers(split=["Train", "val", "test", "train"] * 15))
    assert split.train.tolist() == [i for i in range(60) if i % 4 in (0, 3)]
    assert split.validation.tolist() == list(range(1, 60, 4))
    assert split.test.tolist() == list(range(2, 60, 4))
    assert split.how == "as the data say"


def test_without_validation_bags_some_are_drawn_from_training():
    names = ["train" if i < 40 else "test" for i in range(60)]
    split = split_bags(numbers(split=names))
    assert split.test.tolist() == list(range(40, 60))
    assert sorted([*split.train.tolist(), *split.validation.tolist()]) == list(range(40))
    assert len(split.validation) == 10


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["train", "tset"] * 30,
            "the split of bag bag 1 is one of train, validation, test; got 'tset'",
        ),
        (["train", "val"] * 30, "names no test bags"),
        (["test", "val"] * 30, "names no training bags"),
        (
            ["test" if i % 3 == 2 else ("train", "val")[i % 2] for i in range(60)],
            "no training bag has the class 'yes'",
        ),
    ],
)
def test_splits_that_cannot_be(names, sentence):
    with pytest.raises(FoveateError, match=sentence):
        split_bags(numbers(split=names))


@pytest.mark.parametrize("groups", [False, True])
@given(seed=st.integers(0, 5))
def test_copies_of_a_bag_are_never_parted(groups, seed):
    """Bags 0, 20 and 40 are one text, and with groups whatever stands beside them comes along."""
    whole = numbers(60, groups=groups)
    rows = torch.arange(60)
    rows[[20, 40]] = 0
    bag = whole.bag
    same = Bag(Mosaics(bag.x.bank, bag.x.index[rows]), bag.y, None, bag.mask[rows], bag.group)
    split = split_bags(replace(whole, bag=same), seed)
    parts = {i: part for part in PARTS for i in split.rows(part).tolist()}
    linked = [0, 1, 20, 21, 40, 41] if groups else [0, 20, 40]
    assert len({parts[i] for i in linked}) == 1
    assert sorted(parts) == list(range(60))


def test_held_out_bags_are_found_by_their_rows_not_by_names(tmp_path):
    """Tables of training and test bags that are both numbered from 0."""
    sides = ["train"] * 30 + ["test"] * 10
    ids = [str(i) for i in [*range(30), *range(10)]]
    collection = replace(numbers(40), ids=tuple(ids), split=tuple(sides))
    split = split_bags(collection)
    keep_split(split, collection.ids, tmp_path)
    test = held_out(collection, tmp_path)
    assert test.split == ("test",) * 10
    assert test.bag.y.tolist() == collection.bag.y[30:].tolist()


def test_a_resumed_run_reads_its_split_back(tmp_path):
    collection = numbers(40)
    keep_split(split_bags(collection, 3), collection.ids, tmp_path)
    assert resumed_split(tmp_path, collection, 3).as_rows() == split_bags(collection, 3).as_rows()


def test_a_split_drawn_by_an_older_version_is_kept(tmp_path):
    collection = numbers(40)
    rows = {"train": [*range(24)], "validation": [*range(24, 32)], "test": [*range(32, 40)]}
    names = {part: [collection.ids[i] for i in own] for part, own in rows.items()}
    text = json.dumps({"how": "drawn, by class", **names, "rows": rows})
    (tmp_path / "split.json").write_text(text)
    split = resumed_split(tmp_path, collection, 0)
    assert split.as_rows() == rows
    assert split.method == "scikit-learn"
    keep_split(split, collection.ids, tmp_path)
    assert resumed_split(tmp_path, collection, 0).as_rows() == rows


def test_a_split_that_differs_from_its_draw_is_refused(tmp_path):
    collection = numbers(40)
    keep_split(split_bags(collection, 1), collection.ids, tmp_path)
    with pytest.raises(FoveateError, match="differs from the split that seed 0 draws"):
        resumed_split(tmp_path, collection, 0)


def test_a_missing_split_is_drawn_again_only_before_training(tmp_path):
    collection = numbers(40)
    assert resumed_split(tmp_path, collection, 2).as_rows() == split_bags(collection, 2).as_rows()
    (tmp_path / "soft").mkdir()
    (tmp_path / "soft" / "record.npz").touch()
    with pytest.raises(FoveateError, match=r"split.json is missing although soft is trained"):
        resumed_split(tmp_path, collection, 2)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda kept: kept["rows"]["test"].append(kept["rows"]["train"][0]), "one part only"),
        (lambda kept: kept["rows"]["test"].append(999), "damaged"),
        (lambda kept: kept["rows"].pop("test"), "damaged"),
        (lambda kept: kept["test"].reverse(), "names other bags"),
    ],
)
def test_a_damaged_split_is_refused(tmp_path, change, sentence):
    collection = numbers(40)
    keep_split(split_bags(collection), collection.ids, tmp_path)
    kept = json.loads((tmp_path / "split.json").read_text())
    (tmp_path / "split.json").write_text(json.dumps({**kept, "how": "otherwise"}))
    with pytest.raises(FoveateError, match="checksum does not match"):
        resumed_split(tmp_path, collection)
    del kept["checksum"]
    change(kept)
    (tmp_path / "split.json").write_text(json.dumps(kept))
    with pytest.raises(FoveateError, match=sentence):
        resumed_split(tmp_path, collection)
