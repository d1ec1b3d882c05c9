"""Tables of bags: what is read of them, in every form."""

import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.io import read_bags

from .table_files import write

FORMS = ["csv", "tsv", "csv.gz", "jsonl", "parquet"]


def contents(collection):
    """Segments of each bag without padding, by plain loops."""
    bag = collection.bag
    return [
        [bag.x.bank[int(j)].tolist() for j, exists in zip(row, mask, strict=True) if exists]
        for row, mask in zip(bag.x.index, bag.mask, strict=True)
    ]


def single(values):
    return np.array(values, np.float32).tolist()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_bags(tmp_path, form):
    collection = read_bags(write(tmp_path / f"t.{form}"), places=("px", "py"))
    assert collection.ids == ("s2", "s1", "s3")
    assert collection.classes == ("sick", "well")
    assert collection.columns == ("a", "b")
    assert collection.kind == "features"
    assert collection.labelled
    assert collection.bag.y.tolist() == [0, 1, 0]
    assert contents(collection) == [
        single([[0.5, 1], [0.1, 3]]),
        single([[-1.25, 2]]),
        single([[1e-30, 4]]),
    ]
    assert collection.bag.z.tolist() == [[True, False], [False, False], [False, False]]
    assert collection.known.tolist() == [True, True, False]
    assert collection.groups == ("p1", "p2")
    assert collection.bag.group.tolist() == [0, 1, 0]
    assert collection.places.tolist() == [[0, 0], [8, 0], [0, 8], [8, 8]]
    assert collection.split is None
    assert collection.words is None
    assert collection.source == str(tmp_path / f"t.{form}")


def test_ragged_is_padded_is_one_by_one(tmp_path):
    collection = read_bags(write(tmp_path / "t.csv"))
    dense, mask = collection.bag.dense(), collection.bag.mask
    padded = [dense[i][mask[i]].tolist() for i in range(3)]
    alone = [contents(collection.take([i]))[0] for i in range(3)]
    assert padded == contents(collection) == alone
    back = collection.take(torch.tensor([2, 0]))
    assert back.ids == ("s3", "s2")
    assert contents(back) == [contents(collection)[2], contents(collection)[0]]
    assert back.known.tolist() == [False, True]
    assert (
        collection.take(collection.bag.y == 0).ids
        == ("s2", "s3")
        == collection.take(slice(0, 3, 2)).ids
    )
    assert collection.take(np.array([True, False, True])).ids == ("s2", "s3")
    assert len(collection.take([])) == 0


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["10", "9", "2"], ("2", "9", "10")),
        (["b", "10", "9"], ("10", "9", "b")),
        ([1, 0, 1], ("0", "1")),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_classes_are_in_order(tmp_path, form, labels, classes):
    rows = [[f"s{i}", label, 1.0] for i, label in enumerate(labels)]
    collection = read_bags(write(tmp_path / f"t.{form}", ["bag", "label", "a"], rows))
    assert collection.classes == classes
    assert [collection.classes[y] for y in collection.bag.y] == [str(label) for label in labels]


def test_given_classes_fix_the_order_and_refuse_others(tmp_path):
    path = write(tmp_path / "t.csv")
    collection = read_bags(path, classes=("well", "dead", "sick"))
    assert collection.classes == ("well", "dead", "sick")
    assert collection.bag.y.tolist() == [2, 0, 2]
    with pytest.raises(
        FoveateError, match=r"t.csv, line 3: 'well' is none of the classes sick, dead"
    ):
        read_bags(path, classes=("sick", "dead"))


def test_labels_are_optional_unless_required(tmp_path):
    path = write(tmp_path / "t.csv", ["bag", "a"], [["s", 1], ["s", 2]])
    collection = read_bags(path)
    assert (collection.labelled, collection.classes, collection.bag.y.tolist()) == (False, (), [0])
    with pytest.raises(FoveateError, match="has no column 'label'"):
        read_bags(path, labelled=True)
    with pytest.raises(FoveateError, match="has no column 'diagnosis'"):
        read_bags(path, label="diagnosis")
    assert not read_bags(path, label="diagnosis", relevance="z", labelled=False).labelled
    whole = write(tmp_path / "u.csv")
    left_out = read_bags(whole, labelled=False)
    assert not left_out.labelled
    assert left_out.columns == ("a", "b", "px", "py")
    empty = write(tmp_path / "e.csv", ["bag", "label", "a"], [["s", "", 1], ["t", "", 2]])
    assert not read_bags(empty).labelled


def test_named_columns_win(tmp_path):
    header = ["slide", "label", "y", "a", "b", "group"]
    path = write(tmp_path / "t.csv", header, [["s", "u", "v", 1, 2, 3], ["t", "u", "w", 4, 5, 6]])
    collection = read_bags(path, bag="slide", label="y", segment=("b", "group"))
    assert collection.columns == ("b", "group")
    assert collection.classes == ("v", "w")
    assert collection.bag.group is None
    assert contents(collection) == [[[2, 3]], [[5, 6]]]


def test_lists_in_cells_are_wide_columns(tmp_path):
    rows = [["s", 0, [1.0, 2.0], 3.0], ["s", 0, [4.0, 5.0], 6.0]]
    for form in ("jsonl", "parquet"):
        collection = read_bags(write(tmp_path / f"t.{form}", ["bag", "label", "v", "w"], rows))
        assert collection.columns == ("v[0]", "v[1]", "w")
        assert contents(collection) == [[[1, 2, 3], [4, 5, 6]]]
        short = write(
            tmp_path / f"s.{form}", ["bag", "label", "v"], [["s", 0, [1.0, 2.0]], ["s", 0, [4.0]]]
        )
        with pytest.raises(FoveateError, match=r"(line|row) 2, column 'v': must hold 2 numbers"):
            read_bags(short)


def test_one_row_per_bag_is_cut_into_words(tmp_path):
    rows = [["a", "pos", "Good film!", "1 0 0"], ["b", "neg", "Bad.", ""]]
    collection = read_bags(write(tmp_path / "t.csv", ["bag", "label", "text", "relevance"], rows))
    assert collection.kind == "text"
    assert collection.words == ("good", "film", "!", "bad", ".")
    assert collection.bag.x.bank.tolist() == [[0]] * 5
    assert collection.bag.x.bank.dtype == torch.int64
    assert collection.bag.mask.sum(1).tolist() == [3, 2]
    assert collection.bag.z[0].tolist() == [True, False, False]
    assert collection.known.tolist() == [True, False]
    assert collection.columns == ()


def test_tokens_given_as_lists_are_kept(tmp_path):
    rows = [["a", 0, ["Good", "film"], [0, 1]], ["b", 1, ["No"], None]]
    for form in ("jsonl", "parquet"):
        collection = read_bags(
            write(tmp_path / f"t.{form}", ["bag", "label", "text", "relevance"], rows)
        )
        assert collection.words == ("Good", "film", "No")
        assert collection.bag.z.tolist() == [[False, True], [False, False]]
        assert collection.known.tolist() == [True, False]


def test_texts_without_a_bag_column_are_bags_by_line(tmp_path):
    collection = read_bags(write(tmp_path / "t.csv", ["text", "label"], [["a b", 0], ["c", 1]]))
    assert collection.ids == ("2", "3")
    assert collection.words == ("a", "b", "c")


def test_lines_of_several_files_have_unique_names(tmp_path):
    for split, rows in (("train", [["a b", 0], ["c", 1]]), ("test", [["d", 1], ["e", 0]])):
        write(tmp_path / f"{split}.csv", ["text", "label"], rows)
    collection = read_bags(tmp_path)
    assert collection.ids == ("test.csv:2", "test.csv:3", "train.csv:2", "train.csv:3")
    assert collection.split == ("test", "test", "train", "train")
    assert collection.words == ("d", "e", "a", "b", "c")


def test_many_rows_per_bag_are_sentences(tmp_path):
    rows = [["d1", 0, "One here.", 1], ["d2", 1, "Two.", 0], ["d1", 0, "Three", 0]]
    path = write(tmp_path / "t.csv", ["bag", "label", "text", "relevance"], rows)
    collection = read_bags(path)
    assert collection.words == ("One here.", "Three", "Two.")
    assert collection.bag.z.tolist() == [[True, False], [False, False]]
    with pytest.raises(FoveateError, match=r"line 4: .* bag 'd1' has more"):
        read_bags(path, tokens=True)
    whole = write(tmp_path / "u.csv", ["bag", "label", "text"], [["d1", 0, "One here."]])
    assert read_bags(whole, tokens=False).words == ("One here.",)


def test_windows_in_time_are_a_series(tmp_path):
    rows = [["s", 0, 0, 5, 1.0], ["s", 0, 5, 10, 2.0]]
    collection = read_bags(
        write(tmp_path / "t.csv", ["bag", "label", "start", "end", "v"], rows),
        places=("start", "end"),
    )
    assert collection.kind == "series"
    assert collection.places.tolist() == [[0, 5], [5, 10]]
    assert collection.columns == ("v",)


def test_splits_come_from_a_column_or_from_files(tmp_path):
    rows = [["a", 0, 1.0, "train"], ["b", 1, 2.0, "test"], ["a", 0, 3.0, "train"]]
    collection = read_bags(write(tmp_path / "t.csv", ["bag", "label", "v", "split"], rows))
    assert collection.split == ("train", "test")
    folder = tmp_path / "parts"
    folder.mkdir()
    write(folder / "train-0.csv", ["bag", "label", "v"], [["a", 0, 1.0]])
    write(folder / "train-1.csv", ["bag", "label", "v"], [["a", 0, 3.0]])
    write(folder / "test.csv", ["bag", "label", "v"], [["a", 1, 2.0]])
    collection = read_bags(folder)
    assert sorted(zip(collection.ids, collection.split, contents(collection), strict=True)) == [
        ("a", "test", [[2.0]]),
        ("a", "train", [[1.0], [3.0]]),
    ]
    assert collection.take([0]).split == collection.split[:1]
    (folder / "test.csv").unlink()
    alone = read_bags(folder)
    assert (alone.split, alone.ids, contents(alone)) == (None, ("a",), [[[1.0], [3.0]]])
    write(folder / "others.csv", ["bag", "label", "v"], [["a", 1, 2.0]])
    with pytest.raises(FoveateError, match="holds several tables"):
        read_bags(folder)


@st.composite
def tables(draw):
    wide = draw(st.integers(1, 3))
    number = st.floats(-1e30, 1e30, width=64)
    bags = draw(
        st.lists(
            st.lists(st.lists(number, min_size=wide, max_size=wide), min_size=1, max_size=4),
            min_size=1,
            max_size=5,
        )
    )
    flags = [
        draw(st.none() | st.lists(st.booleans(), min_size=len(bag), max_size=len(bag)))
        for bag in bags
    ]
    order = draw(st.permutations([(i, j) for i, bag in enumerate(bags) for j in range(len(bag))]))
    return bags, flags, order


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), form=st.sampled_from(["csv", "parquet"]))
def test_ragged_tables_round_trip(tmp_path, table, form):
    bags, marks, order = table
    wide = len(bags[0][0])
    header = ["bag", "label", "relevance", *(f"c{k}" for k in range(wide))]
    rows = [
        [f"b{i}", i % 2, "" if marks[i] is None else int(marks[i][j]), *bags[i][j]]
        for i, j in order
    ]
    path = tmp_path / f"t.{form}"
    if form == "parquet":
        columns = [[None if c == "" else c for c in column] for column in zip(*rows, strict=True)]
        columns[2] = pa.array(columns[2], pa.int64())
        pq.write_table(pa.table(dict(zip(header, columns, strict=True))), path)
    else:
        write(path, header, rows)
    collection = read_bags(path)
    seen = list(dict.fromkeys(i for i, _ in order))
    assert collection.ids == tuple(f"b{i}" for i in seen)
    assert [collection.classes[y] for y in collection.bag.y] == [str(i % 2) for i in seen]
    places = [[j for k, j in order if k == i] for i in seen]
    expected = [
        single([bags[i][j] for j in own_rows]) for i, own_rows in zip(seen, places, strict=True)
    ]
    assert contents(collection) == expected
    if any(mark is not None for mark in marks):
        assert collection.known.tolist() == [marks[i] is not None for i in seen]
        for i, z, own_rows in zip(seen, collection.bag.z, places, strict=True):
            marked = [bool(marks[i] and marks[i][j]) for j in own_rows]
            assert z.tolist() == marked + [False] * (collection.bag.m - len(marked))
    else:
        assert collection.known is None
        assert collection.bag.z is None


def test_a_hundred_thousand_rows_take_seconds(tmp_path):
    rng = np.random.default_rng(0)
    n, path = 100_000, tmp_path / "t.csv"
    bag = rng.integers(0, 500, n)
    values = rng.integers(-(10**6), 10**6, (n, 4)) / 2**10
    text = "\n".join(
        f"b{b},{b % 3},{v[0]!r},{v[1]!r},{v[2]!r},{v[3]!r}"
        for b, v in zip(bag, values.tolist(), strict=True)
    )
    path.write_text(f"bag,label,a,b,c,d\n{text}\n")
    reports = []
    begin = time.process_time()
    collection = read_bags(path, report=lambda *report: reports.append(report))
    assert time.process_time() - begin < 6
    assert len(collection) == 500
    names = [f"b{b}" for b in bag]
    assert [collection.ids.index(name) for name in dict.fromkeys(names)] == list(range(500))
    row = collection.ids.index("b7")
    expected = values[bag == 7].astype(np.float32)
    assert np.array_equal(
        collection.bag.x.bank[collection.bag.x.index[row][collection.bag.mask[row]]].numpy(),
        expected,
    )
    assert reports[-1] == ("rows", n, n)
    assert [done for _, done, _ in reports] == sorted(done for _, done, _ in reports)


def test_a_key_that_only_later_lines_have_is_a_column(tmp_path):
    lines = [
        {"bag": "s1", "label": "a", "x": 0.5},
        {"bag": "s2", "label": "b", "x": 1.5, "relevance": 0},
        {"bag": "s2", "label": "b", "x": 2.5, "relevance": 1},
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_bags(path).bag.z.tolist() == [[False, False], [False, True]]
