"""Posts in the layout of the hub, the odd ones included, and the real files where there are any."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from foveate.data import DATASETS
from foveate.data.hatexplain import CLASSES, MAX_TOKENS, read_posts
from foveate.errors import FoveateError
from real_data import data_folder


def post(name, words, labels, *rationales):
    posts = {"label": list(labels), "annotator_id": [-1] * 3, "target": [["None"]] * 3}
    return {
        "id": name,
        "annotators": posts,
        "rationales": [list(marks) for marks in rationales],
        "post_tokens": words.split(),
    }


TRAIN = [
    post("a", "b a a", (0, 2, 0), (0, 1, 0), (0, 1, 1)),
    post("b", "c a", (1, 1, 2)),
    post("c", "d a b", (2, 0, 2), (1, 0, 0), (0, 0, 0), (1, 1, 0)),
    post("long", "a b", (0, 0, 0), (0, 1), (1, 1, 1)),
]
TEST = [post("t", "new b a", (2, 1, 1), (0, 1, 0)), post("u", "a", (2, 2, 2), (1,), (0,))]


def write(folder, **splits):
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{split}-00000-of-00001.parquet")
    return folder


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path))
    return write(tmp_path / "hatexplain", train=TRAIN, test=TEST)


def test_most_annotators_and_at_least_half_of_the_rationales(stored):
    posts = read_posts(stored).splits
    assert [p.label for p in posts["train"]] == [0, 1, 2, 0]
    assert [p.label for p in posts["test"]] == [1, 2]
    marked = {p.name: p.marked for group in posts.values() for p in group}
    assert marked == {
        "a": (False, True, True),
        "b": (False, False),  # nobody marked anything
        "c": (True, False, False),
        "long": (True, True),
        "t": (False, True, False),
        "u": (True,),
    }


def test_the_first_annotator_has_the_first_label_and_the_first_rationale(stored):
    posts = read_posts(stored, "first").splits
    assert [p.label for p in posts["train"]] == [0, 1, 2, 0]
    assert [p.label for p in posts["test"]] == [2, 2]
    assert posts["train"][0].marked == (False, True, False)
    assert posts["train"][3].marked == (False, True)


def test_a_rationale_longer_than_its_post_is_named_and_its_post_kept(stored):
    for annotators in ("majority", "first"):
        posts = read_posts(stored, annotators)
        assert posts.notes == (
            "post long: rationale 2 has 3 marks for 2 tokens; the rest is cut off",
        )
        assert posts.splits["train"][3].words == ("a", "b")


def test_a_rationale_shorter_than_its_post_is_named_too(tmp_path):
    odd = [post("short", "a b c", (0, 0, 0), (1,))]
    posts = read_posts(write(tmp_path, train=odd, test=TEST))
    assert posts.splits["train"][0].marked == (True, False, False)
    assert posts.notes == (
        "post short: rationale 1 has 1 marks for 3 tokens; tokens without one are unmarked",
    )


def test_words_are_those_of_training_the_frequent_ones_first(stored):
    assert read_posts(stored).words == ("", "a", "b", "c", "d")


def test_bags_hold_ids_marks_and_masks(stored):
    bag = DATASETS.get("hatexplain")().load("test", n=2, m=4, seed=0)
    assert bag.x.bank.tolist() == [0, 1, 2, 3, 4]
    assert bag.x.index.tolist() == [[0, 2, 1, 0], [1, 0, 0, 0]]  # "new" is in no training post
    assert bag.mask.tolist() == [[True, True, True, False], [True, False, False, False]]
    assert bag.z.tolist() == [[False, True, False, False], [True, False, False, False]]
    assert bag.y.tolist() == [1, 2]


def test_what_is_cut_off_is_named(stored):
    bag = DATASETS.get("hatexplain-first")().load("train", n=4, m=2, seed=0)
    assert bag.x.index.tolist() == [[2, 1], [3, 1], [4, 1], [1, 2]]
    message = "post a has 3 tokens; those after the first 2 are cut off"
    assert read_posts(stored).cut_at(2)[0] == message
    assert len(read_posts(stored).cut_at(2)) == 3
    assert read_posts(stored).cut_at(3) == ()


def test_the_seed_chooses_among_posts_and_all_of_them_are_the_same_for_every_seed(stored):
    data = DATASETS.get("hatexplain")()
    every = [data.load("train", n=4, m=3, seed=seed) for seed in range(2)]
    assert torch.equal(every[0].x.index, every[1].x.index)
    some = [data.load("train", n=2, m=3, seed=seed).x.index.tolist() for seed in range(8)]
    assert some[0] == data.load("train", n=2, m=3, seed=0).x.index.tolist()
    assert len({str(chosen) for chosen in some}) > 1
    rows = every[0].x.index.tolist()
    assert all(row in rows for chosen in some for row in chosen)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (post("x", "a", (0, 1, 2)), r"row 0, post x: must have a majority label, got \[0, 1, 2\]"),
        (post("x", "a", (0, 3, 3)), "row 0, post x: labels must be 0 hatespeech, .*, got 3"),
        (post("x", "a", ()), "post x: must have a label, got none"),
        (post("x", "", (0, 0, 0)), "row 0, post x: must have a token, got none"),
        (post("x", "a", (0, 0, 0), (2,)), "post x: rationale 1: marks must be 0 or 1, got 2"),
    ],
)
def test_what_cannot_be_read_is_named_with_file_and_row(tmp_path, row, message):
    write(tmp_path, train=[row, *TRAIN], test=TEST)
    with pytest.raises(FoveateError, match=message):
        read_posts(tmp_path)


def test_files_that_are_missing_cut_or_of_another_kind(tmp_path, stored):
    with pytest.raises(FoveateError, match=r"has no file test-\*\.parquet"):
        read_posts(write(tmp_path / "half", train=TRAIN))
    torn = write(tmp_path / "torn", train=TRAIN, test=TEST)
    file = torn / "train-00000-of-00001.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(
        FoveateError, match=r"train-00000-of-00001\.parquet is not a complete Parquet"
    ):
        read_posts(torn)
    other = write(tmp_path / "other", train=[{"id": "a", "text": "b"}], test=TEST)
    with pytest.raises(FoveateError, match="has no column 'annotators'; its columns are id, text"):
        read_posts(other)
    with pytest.raises(FoveateError, match="hatexplain has 4 train posts, got n = 5"):
        DATASETS.get("hatexplain")().load("train", n=5, m=3, seed=0)


@pytest.mark.data
def test_the_real_posts():
    posts = read_posts(data_folder("hatexplain"))
    counts = {split: Counter(p.label for p in group) for split, group in posts.splits.items()}
    assert counts == {
        "train": {0: 4748, 1: 6251, 2: 4384},
        "validation": {0: 593, 1: 781, 2: 548},
        "test": {0: 594, 1: 782, 2: 548},
    }
    assert posts.notes == (
        "post 24439295_gab: rationale 2 has 48 marks for 47 tokens; the rest is cut off",
    )
    assert len(posts.words) == 24_992
    assert len(posts.cut_at(MAX_TOKENS)) == 5
    test = DATASETS.get("hatexplain")().load("test", n=1_924, m=MAX_TOKENS, seed=0)
    # Normal posts have no rationale, and one post has three that agree nowhere.
    assert int(test.z.any(1).sum()) == 1_924 - 782 - 1
    assert CLASSES[int(test.y.mode().values)] == "normal"
