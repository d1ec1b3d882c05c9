"""Tables of bags that cannot be read: file, line, column and reason are named."""

import pytest

from foveate.errors import FoveateError
from foveate.io import read_bags

from .table_files import HEADER, ROWS, write


def changed(row, column, value):
    """The table with one cell changed."""
    rows = [[*own] for own in ROWS]
    rows[row][HEADER.index(column)] = value
    return rows


@pytest.mark.parametrize(
    ("row", "column", "value", "output"),
    [
        (1, "b", "nan", r"line 3, column 'b': is missing"),
        (1, "b", "-inf", r"line 3, column 'b': must be finite, got -inf"),
        (1, "b", "1e39", r"line 3, column 'b': must be at most 3.403e\+38 in size, got 1e\+39"),
        (1, "b", "", r"line 3, column 'b': is missing"),
        (2, "a", "cat", r"line 4, column 'a': must be a number, as 3 cells .* are, got 'cat'"),
        (2, "a", "1_0", r"line 4, column 'a': must be a number, as 3 cells .* are, got '1_0'"),
        (2, "label", "", r"line 4, column 'label': must be one .* 's2', got a missing value after"),
        (
            2,
            "label",
            "well",
            r"'label': must be one for all rows of bag 's2', got 'well' after 'sick' in line 2",
        ),
        (2, "group", "p9", r"line 4, column 'group': must be one for all rows of bag 's2'"),
        (0, "bag", "", r"line 2, column 'bag': is missing"),
        (
            2,
            "relevance",
            "0.5",
            r"line 4, column 'relevance': relevance must be a whole number .* got '0.5'",
        ),
        (2, "relevance", "-1", r"column 'relevance': relevance must be a whole number .* got '-1'"),
        (
            2,
            "relevance",
            "yes",
            r"column 'relevance': relevance must be a whole number .* got 'yes'",
        ),
    ],
)
def test_a_bad_cell_is_named(tmp_path, row, column, value, output):
    path = write(tmp_path / "t.csv", rows=changed(row, column, value))
    with pytest.raises(FoveateError, match=output) as caught:
        read_bags(path, missing="refuse")
    assert str(caught.value).startswith(f"{path}, line ")
    assert "\n" not in str(caught.value)


def test_row_17_of_parquet_is_named(tmp_path):
    rows = [["s", 0, 1.0, float(i)] for i in range(30)]
    rows[16][3] = rows[20][3] = float("nan")
    path = write(tmp_path / "t.parquet", ["bag", "label", "a", "b"], rows)
    with pytest.raises(FoveateError) as caught:
        read_bags(path, missing="refuse")
    message = f"{path}, row 17, column 'b': is missing (the first of 2 such cells)"
    assert str(caught.value) == message
    rows[16][3] = None
    with pytest.raises(FoveateError, match=r"row 17, column 'b': is missing"):
        read_bags(write(path, ["bag", "label", "a", "b"], rows), missing="refuse")
    assert read_bags(path).missing_cells() == {"b": 2}


def test_a_cut_parquet_file_is_named(tmp_path):
    path = write(tmp_path / "t.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FoveateError, match=r"t.parquet is not a complete Parquet file"):
        read_bags(path)


def test_column_names_of_a_parquet_file_that_are_no_utf8_are_one_sentence(tmp_path):
    path = write(tmp_path / "t.parquet", ["bag", "label", "name"], [["s", 0, 1.0], ["t", 1, 2.0]])
    path.write_bytes(path.read_bytes().replace(b"name", b"nam\xec"))
    with pytest.raises(FoveateError, match=r"t.parquet is not a complete Parquet file"):
        read_bags(path)


def test_damage_in_the_middle_of_a_parquet_file_is_named(tmp_path):
    rows = [["s", 0, float(i)] for i in range(5000)]
    path = write(tmp_path / "t.parquet", ["bag", "label", "a"], rows)
    raw = bytearray(path.read_bytes())
    raw[4:600] = b"\xff" * 596
    path.write_bytes(raw)
    with pytest.raises(FoveateError, match=r"t.parquet"):
        read_bags(path)


def test_files_that_hold_no_table_are_named(tmp_path):
    for name, text, output in (
        ("a.csv", "", "line 1: must name the columns, is empty"),
        ("b.csv", "bag,label,a\n", "has no rows"),
        ("c.csv", "bag,label,a\ns,0\n", "line 2: must have 3 columns as line 1 has, got 2"),
        ("d.jsonl", '{"bag": 1\n', "line 1: not JSON"),
        ("e.csv", "bag,label,c\ns,0,red\n", "has no column of numbers"),
        ("f.csv", "label,a\n0,1\n", "has no column 'bag'"),
        ("g.txt", "x", "is none of what is read"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(FoveateError, match=output):
            read_bags(tmp_path / name)
    with pytest.raises(FoveateError, match="there is nothing at"):
        read_bags(tmp_path / "missing.csv")


def test_unknown_columns_bring_a_hint(tmp_path):
    path = write(tmp_path / "t.csv")
    for given_name in (
        {"relevance": "relevence"},
        {"segment": ("relevence",)},
        {"places": ("relevence",)},
    ):
        with pytest.raises(
            FoveateError, match=r"no column 'relevence'. Did you mean 'relevance'\?"
        ):
            read_bags(path, **given_name)
    with pytest.raises(FoveateError, match=r"column 'label': is the bag, label"):
        read_bags(path, segment=("a", "label"))
    with pytest.raises(FoveateError, match=r"give --text or --segment, not both"):
        read_bags(path, segment=("a",), text="note")
    with pytest.raises(FoveateError, match=r"column 'note': must be a number, got 'x'"):
        read_bags(path, places=("note",))


def test_texts_that_are_none_are_named(tmp_path):
    header = ["bag", "label", "text"]
    path = write(tmp_path / "t.csv", header, [["a", 0, "word"], ["b", 1, ""]])
    with pytest.raises(FoveateError, match=r"line 3, column 'text': the text is empty"):
        read_bags(path)
    with pytest.raises(FoveateError, match=r"line 3, column 'text': the text is empty"):
        read_bags(path, tokens=False)
    marked = write(tmp_path / "m.csv", [*header, "relevance"], [["a", 0, "two words", "1"]])
    with pytest.raises(
        FoveateError, match=r"line 2, column 'relevance': must mark the 2 words of the text, got 1"
    ):
        read_bags(marked)
