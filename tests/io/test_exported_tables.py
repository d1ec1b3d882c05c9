"""Tables as spreadsheets and other programs export them are read exactly or refused."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.check import problems
from foveate.userdata.source import fingerprint

NUMBERS = (1042.5, -7.25, 12345.5, 0.5, -1042.75, 3.0, 999.5, 1000.25)


def table(path, cells, *, separator=",", header="bag,label,a", end=""):
    """Four bags of two rows whose column a holds the cells."""
    lines = [f"b{i // 2},{'uv'[i // 2 % 2]},".replace(",", separator) for i in range(8)]
    rows = [line + cell for line, cell in zip(lines, cells, strict=True)]
    text = "\n".join([header.replace(",", separator), *rows])
    path.write_text(text + "\n" + end, encoding="utf-8")
    return path


def values(path):
    return read_bags(path).bag.bank[:, 0].tolist()


def marked(number, mark, point="."):
    return f"{number:,}".replace(".", "|").replace(",", mark).replace("|", point)


@pytest.mark.parametrize("mark", ["\u00a0", "\u202f", "\u2009", "'", "\u2019"])
@pytest.mark.parametrize("point", [".", ","])
def test_marks_between_thousands_are_read(mark, point, tmp_path):
    cells = [marked(number, mark, point) for number in NUMBERS]
    assert values(table(tmp_path / "t.csv", cells, separator=";")) == list(NUMBERS)


def test_a_typographic_minus_is_read(tmp_path):
    cells = [str(number).replace("-", "\u2212") for number in NUMBERS]
    assert values(table(tmp_path / "t.csv", cells)) == list(NUMBERS)


def test_a_plain_space_between_digits_is_refused(tmp_path):
    path = table(tmp_path / "t.csv", ["1 042.5", "2", "3", "4", "5", "6", "7", "8"])
    with pytest.raises(FoveateError, match=r"line 2, column 'a': must be a number, .* '1 042\.5'"):
        read_bags(path)


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_a_comma_that_may_be_either_is_refused(separator, tmp_path):
    cells = ["1,125", "2,250", "3", "4,500", "5", "6,125", "7", "8"]
    path = table(tmp_path / "t.csv", cells, separator=separator)
    with pytest.raises(FoveateError, match=r"line 2, column 'a': '1,125' may mean 1125 or 1\.125"):
        read_bags(path)
    path = table(tmp_path / "t.csv", [*cells[:7], "8,5"], separator=separator)
    assert values(path)[:2] == [1.125, 2.25]


def test_spaces_around_names_of_columns_are_no_part_of_them(tmp_path):
    assert read_bags(table(tmp_path / "t.csv", "12345678", header=" bag , label,a ")).columns == (
        "a",
    )
    cells = [f"{i},{i}" for i in range(8)]
    with pytest.raises(FoveateError, match="has two columns 'a'"):
        read_bags(table(tmp_path / "t.csv", cells, header="bag,label,a,a "))


def test_empty_lines_are_ignored_at_the_end_only(tmp_path):
    path = table(tmp_path / "t.csv", "12345678", end="\n\n")
    assert values(path) == list(range(1, 9))
    path.write_text(path.read_text() + "b9,u,1\n")
    with pytest.raises(FoveateError, match="line 10: is empty: remove the line"):
        read_bags(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sep=;\nbag;label;a\n", "line 1: must name the columns, is 'sep=;': remove the line"),
        ("bag,label,a,,\nb,u,1,,\n", "has two columns '': name them"),
    ],
)
def test_what_spreadsheets_add_is_refused_with_advice(text, message, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(FoveateError, match=message):
        read_bags(tmp_path / "t.csv")


def test_a_column_of_numbers_and_texts_is_left_out_with_a_warning(tmp_path):
    cells = [f"{i}.5,{'high' if i % 2 else i}" for i in range(8)]
    bags = read_bags(table(tmp_path / "t.csv", cells, header="bag,label,a,b"))
    assert bags.columns == ("a",)
    (warning,) = (problem for problem in problems(bags) if problem.name == "mixed-column")
    assert "4 of 8 cells are numbers" in str(warning)


@pytest.mark.parametrize("name", ["__index_level_0__", "Unnamed: 0", "Unnamed: 0.1"])
def test_an_index_of_pandas_is_no_feature(name, tmp_path):
    columns = {"bag": [f"b{i // 2}" for i in range(8)], "label": ["u", "u", "v", "v"] * 2}
    index = [5, 3, 40, 7, 0, 12, 9, 2]
    parquet.write_table(pa.table({**columns, "a": NUMBERS, name: index}), tmp_path / "t.parquet")
    bags = read_bags(tmp_path / "t.parquet")
    assert bags.columns == ("a",)
    assert ("an index as pandas stores it", name) in [(r.reason, r.name) for r in bags.roles]
    assert read_bags(tmp_path / "t.parquet", segment=["a", name]).columns == ("a", name)


def test_two_values_of_one_key_are_refused(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"bag": "b", "label": "u", "a": 1, "a": 2}\n')
    with pytest.raises(FoveateError, match=r"line 1: not JSON \(two values 'a'\)"):
        read_bags(tmp_path / "t.jsonl")


def test_labels_of_one_number_are_similar(tmp_path):
    path = table(tmp_path / "t.csv", "12345678")
    path.write_text(path.read_text().replace("b0,u", "b0,1").replace("b2,u", "b2,1.0"))
    assert "similar-labels" in [problem.name for problem in problems(read_bags(path))]
    assert read_bags(path, merge_labels=True).classes == ("1", "v")


def test_tables_of_different_columns_are_refused(tmp_path):
    for name, columns in (("test", {}), ("train", {"b": NUMBERS})):
        rows = {"bag": list("aabbccdd"), "label": list("uuvvuuvv"), "a": NUMBERS, **columns}
        parquet.write_table(pa.table(rows), tmp_path / f"{name}.parquet")
    message = r"test\.parquet has no column 'b', which .*train\.parquet has"
    with pytest.raises(FoveateError, match=message):
        read_bags(tmp_path)


def test_a_number_after_a_point_is_no_ending_of_a_name(tmp_path):
    (tmp_path / "features").mkdir()
    for name in ("slide", "other"):
        np.save(tmp_path / "features" / f"{name}.npy", np.ones((2, 3)))
    (tmp_path / "labels.csv").write_text("bag,label\nslide.1,u\nslide.2,v\nother.svs,u\n")
    with pytest.raises(FoveateError, match="has no row for 'slide'"):
        read_bags(tmp_path)
    (tmp_path / "labels.csv").write_text("bag,label\nslide.a,u\nslide.b,v\nother.svs,u\n")
    with pytest.raises(FoveateError, match="has no row for 'slide'"):
        read_bags(tmp_path)


def test_a_page_of_parquet_that_was_damaged_is_noticed(tmp_path):
    path = tmp_path / "t.parquet"
    rows = {"bag": list("aabbccdd") * 50, "label": list("uuvvuuvv") * 50}
    numbers = np.random.default_rng(0).normal(size=400)
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(pa.table({**rows, "a": numbers}), path, **options)
    assert fingerprint(read_bags(path))
    content = bytearray(path.read_bytes())
    content[content.index(numbers[200].tobytes()) + 3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(FoveateError, match="is not a complete Parquet file"):
        read_bags(path)
