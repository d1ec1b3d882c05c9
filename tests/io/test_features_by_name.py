"""Columns that describe bags, under whatever name, never become features without a word."""

import json

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.check import problems

BAGS, ROWS = 12, 3
BAG = np.repeat(np.arange(BAGS), ROWS)


def columns(**more):
    """Columns of a table of bags of three rows with one feature x; those given are added."""
    x = np.random.default_rng(0).normal(size=BAGS * ROWS).round(3)
    names = {"bag": [f"b{i}" for i in BAG], "label": ["uv"[i % 2] for i in BAG], "x": x.tolist()}
    return names | {name: list(values) for name, values in more.items()}


def write(path, **more):
    table = columns(**more)
    lines = [
        ",".join(table),
        *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def warnings(bags):
    """Sentences of the warnings by the column that they name."""
    return {problem.where: problem.what for problem in problems(bags)}


@pytest.mark.parametrize(
    ("first", "second", "role"),
    [
        ("relevance", "inst_labels", "relevance"),
        ("relevance", "relevant", "relevance"),
        ("label", "Label", "label"),
        ("bag", "bag_id", "bag"),
        ("group", "patient", "group"),
    ],
)
def test_a_second_column_of_a_role_is_no_feature(first, second, role, tmp_path):
    """Relevance is what attention is to find; as a feature it gives the answer away."""
    marks = np.arange(BAGS * ROWS) % ROWS == 0
    values = {"relevance": marks * 1, "label": BAG % 2, "bag": BAG, "group": BAG // 2}[role]
    given = {second: values} | ({first: values} if role in ("relevance", "group") else {})
    bags = read_bags(write(tmp_path / "t.csv", **given))
    assert bags.columns == ("x",)
    assert warnings(bags)[f"column '{second}'"].startswith(
        f"left out: the {role} is column '{first}'"
    )


def test_a_column_named_like_a_role_that_the_user_gives_to_another_is_no_feature(tmp_path):
    path = write(tmp_path / "t.csv", grade=BAG % 3, mark=BAG % 2)
    text = path.read_text().replace("label", "diagnosis", 1).replace("grade", "label", 1)
    path.write_text(text.replace("mark", "relevance", 1))
    bags = read_bags(path, label="diagnosis", relevance="relevance", segment=["x", "label"])
    assert bags.columns == ("x", "label")
    assert read_bags(path, label="diagnosis").columns == ("x",)


def test_the_exact_name_of_a_role_is_preferred(tmp_path):
    path = write(tmp_path / "t.csv", LABEL=BAG % 3)
    header, *rows = path.read_text().splitlines()
    names = header.split(",")
    path.write_text("\n".join([",".join([names[3], *names[:3]]), *(
        ",".join([row.split(",")[3], *row.split(",")[:3]]) for row in rows
    )]))  # fmt: skip
    assert read_bags(path).classes == ("u", "v")


def test_a_number_that_differs_in_every_bag_is_no_feature(tmp_path):
    """A number of the slide or the patient, one per bag, would be learnt by heart."""
    path = write(tmp_path / "t.csv", slide=7 * BAG + 1000, size=BAG + 0.5)
    bags = read_bags(path)
    assert bags.columns == ("x", "size")
    assert "another in every bag" in warnings(bags)["column 'slide'"]
    assert read_bags(path, segment=["x", "slide"]).columns == ("x", "slide")
    assert read_bags(path, features=["x", "slide"]).columns == ("x", "slide", "size")


def test_a_column_that_counts_the_rows_of_each_bag_is_a_warning(tmp_path):
    path = write(tmp_path / "t.csv", tile=np.arange(BAGS * ROWS) % ROWS + 1)
    assert warnings(read_bags(path))["column 'tile'"].startswith("the number of the row in its bag")
    path = write(tmp_path / "t.csv", tile=(np.arange(BAGS * ROWS) + 1) % 5)
    assert "column 'tile'" not in warnings(read_bags(path))


def test_groups_and_bags_that_differ_by_spelling_are_a_warning(tmp_path):
    """Bags of P1 and p1 may be drawn for training and for testing."""
    group = [f"{'Pp'[i % 2]}{i // 2}" for i in BAG]
    bags = read_bags(write(tmp_path / "t.csv", group=group))
    said = warnings(bags)["groups 'P0', 'p0'"]
    assert said.endswith("are they one? (and 5 more such sets)")
    table = columns()
    table["bag"] = [f"{'Bb'[i % 2]}{i // 2}" for i in BAG]
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    assert "bags 'B0', 'b0'" in warnings(read_bags(tmp_path / "t.parquet"))


@pytest.mark.parametrize("kind", [pa.binary(), pa.dictionary(pa.int8(), pa.binary())])
def test_names_in_bytes_are_those_in_text(kind, tmp_path):
    table = columns()
    for name in ("bag", "label"):
        cells = pa.array([cell.encode() for cell in table[name]])
        table[name] = cells.cast(kind) if kind == pa.binary() else cells.dictionary_encode()
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    bags = read_bags(tmp_path / "t.parquet")
    assert (bags.classes, bags.ids[0]) == (("u", "v"), "b0")


def test_names_in_bytes_of_arrays_are_those_in_text(tmp_path):
    table = columns()
    arrays = {name: np.array(table[name], "S") for name in ("bag", "label")}
    x = np.array(table["x"])[:, None]
    np.savez(tmp_path / "t.npz", x=x, columns=np.array([b"x"]), **arrays)
    bags = read_bags(tmp_path / "t.npz")
    assert (bags.classes, sorted(bags.ids)[0], bags.columns) == (("u", "v"), "b0", ("x",))


def test_a_nested_column_called_translation_is_left_out(tmp_path):
    """Only pairs of sentences are taken out of such a column."""
    table = columns(translation=[{"y": 1.0}] * (BAGS * ROWS))
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    lines = [
        json.dumps(dict(zip(table, row, strict=True))) for row in zip(*table.values(), strict=True)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    for name in ("t.parquet", "t.jsonl"):
        bags = read_bags(tmp_path / name)
        assert bags.columns == ("x",)
        assert ("translation", "left out") in [role[:2] for role in bags.roles]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((4, 3, 0))}, r"must have shape \(segments, numbers\), got \(3, 0\)"),
        ({"columns": np.array(["a", "a"])}, "names of columns must differ, got 'a' twice"),
    ],
)
def test_arrays_without_numbers_or_names_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "t.npz", **{"x": np.ones((4, 3, 2)), "y": np.arange(4) % 2, **arrays})
    with pytest.raises(FoveateError, match=message):
        read_bags(tmp_path / "t.npz")


def test_a_second_array_of_a_role_is_listed(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(4, 3, 2)), np.arange(4) % 2
    np.savez(tmp_path / "t.npz", X=0 * x, x=x, y=y, labels=1 - y)
    bags = read_bags(tmp_path / "t.npz")
    np.testing.assert_allclose(bags.bag.bank.numpy(), x.reshape(-1, 2), rtol=1e-6)
    assert bags.bag.y.tolist() == y.tolist()
    left_out = {role.name: role.reason for role in bags.roles if role.role == "left out"}
    assert left_out == dict.fromkeys(("X", "labels"), "another array has its role")


def test_arrays_of_hdf5_are_listed_and_relevance_must_exist(tmp_path):
    for i in range(4):
        with h5py.File(tmp_path / f"b{i}.h5", "w") as file:
            file["features"], file["marks"] = np.full((2, 2), i), np.array([0, 1])
    lines = ["slide,label", *(f"b{i},{'uv'[i % 2]}" for i in range(4))]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    roles = {role.name: role.role for role in read_bags(tmp_path).roles}
    assert roles["features"] == "feature"
    assert roles["marks"] == "left out"
    assert bool(read_bags(tmp_path, relevance="marks").known.all())
    with pytest.raises(FoveateError, match="no bag has an array 'mark' of relevance"):
        read_bags(tmp_path, relevance="mark")


def test_files_of_the_system_beside_tables_are_no_tables(tmp_path):
    for name in ("train.csv", "test.csv"):
        write(tmp_path / name)
    for name in ("._train.csv", "~$test.csv"):
        (tmp_path / name).write_bytes(b"\0\5\x16\7")
    assert set(read_bags(tmp_path).split) == {"train", "test"}


def test_a_split_of_one_part_is_a_warning(tmp_path):
    bags = read_bags(write(tmp_path / "t.csv", split=["test"] * (BAGS * ROWS)))
    assert warnings(bags)["split"] == "'test' throughout: parts are drawn as if there were none"
    bags = read_bags(write(tmp_path / "t.csv", split=["train"] * (BAGS * ROWS)))
    assert "split" not in warnings(bags)


def test_a_table_with_bars_between_cells_is_refused_with_advice(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bag|label|x\na|u|1\n")
    with pytest.raises(FoveateError, match=r"separated by commas, semicolons or tabs, got '\|'"):
        read_bags(path)


@pytest.mark.parametrize("key", ["bag", "label", "x", "note"])
def test_half_of_a_character_in_json_is_refused(key, tmp_path):
    """Such a text cannot be written to any file of a run."""
    row = {"bag": "b", "label": "u", "x": 1.0}
    row = {**row, key: "\ud83d"} if key != "x" else {**row, "x\ud83d": 1.0}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(FoveateError, match=r"line 1: '\\ud83d' is half of a character"):
        read_bags(tmp_path / "t.jsonl")
    (tmp_path / "t.jsonl").write_text('{"bag": "\\ud83d\\ude00", "label": "u", "x": 1}\n')
    assert read_bags(tmp_path / "t.jsonl").ids == ("😀",)


def test_half_of_a_character_in_arrays_is_escaped(tmp_path):
    y = np.array(["\ud83d", "v"] * 4)
    np.savez(tmp_path / "t.npz", x=np.ones((8, 2, 2)), y=y)
    assert read_bags(tmp_path / "t.npz").classes == ("\\ud83d", "v")


def test_true_is_not_1(tmp_path):
    """Python's True equals 1: two bags would be one, and a class would have either name."""
    cells = [True, 1, False, 0]
    lines = [json.dumps({"bag": cell, "label": cell, "x": 1}) for cell in cells]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    bags = read_bags(tmp_path / "t.jsonl")
    assert bags.ids == ("true", "1", "false", "0")
    assert bags.classes == ("0", "1", "false", "true")


def test_json_that_is_one_array_is_refused_with_advice(tmp_path):
    (tmp_path / "t.json").write_text('[{"bag": "b"}]')
    with pytest.raises(FoveateError, match=r"must be one object .* per line, got a list"):
        read_bags(tmp_path / "t.json")
    (tmp_path / "t.json").write_text('[\n{"bag": "b"}\n]')
    with pytest.raises(FoveateError, match="write one object per line, not an array"):
        read_bags(tmp_path / "t.json")
