"""Every column of a table gets a role and a reason; none is left out silently."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.check import problems
from foveate.io.description import describe
from foveate.io.rows import column_names


def table(path, cells, *, name="a", delimiter=",", extra=()):
    """Bags of two rows, labels in turn, a feature x, and a column of the given cells."""
    header = delimiter.join(["bag", "label", "x", name, *(head for head, _ in extra)])
    lines = [header]
    for i, cell in enumerate(cells):
        others = [str(values[i]) for _, values in extra]
        quoted = f'"{cell}"' if delimiter in str(cell) else str(cell)
        row = [f"b{i // 2}", "uv"[i // 2 % 2], str(i * i % 7), quoted, *others]
        lines.append(delimiter.join(row))
    path.write_text("\n".join(lines) + "\n")
    return path


def role(collection, name):
    return next((r.role, r.reason) for r in collection.roles if r.name == name)


def column(collection, name):
    k = collection.columns.index(name)
    values = collection.bag.x.bank[:, k].tolist()
    if collection.missing is None:
        return values
    absent = collection.missing[:, k].tolist()
    return [math.nan if gone else value for gone, value in zip(absent, values, strict=True)]


def test_a_column_whose_first_cell_is_missing_is_a_feature(tmp_path):
    bags = read_bags(table(tmp_path / "t.csv", ["NA", 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]))
    assert bags.columns == ("x", "a")
    np.testing.assert_array_equal(column(bags, "a"), [math.nan, *np.arange(1.5, 8)])
    assert role(bags, "a") == ("feature", "numbers, 1 of 8 missing")


@pytest.mark.parametrize(
    ("cells", "expected", "reason"),
    [
        (["1,5", "2,25", "3", "-4,125"], [1.5, 2.25, 3, -4.125], "numbers, commas read as decimal"),
        (["1.000,5", "2,5", "3", "4"], [1000.5, 2.5, 3, 4], "numbers, commas read as decimal"),
        (["1,000", "2,500,000", "3", "4"], [1e3, 2.5e6, 3, 4], "commas read as thousands marks"),
        (["1,000.5", "12", "3", "4"], [1000.5, 12, 3, 4], "commas read as thousands marks"),
        (["5%", "10 %", "0.5%", "NA"], [0.05, 0.1, 0.005, math.nan], "percentages, divided by 100"),
        (["true", "FALSE", "True", "?"], [1, 0, 1, math.nan], "true and false, read as 1 and 0"),
        (["true", "0", "1", "false"], [1, 0, 1, 0], "true and false, read as 1 and 0"),
    ],
)
def test_numbers_in_other_forms_are_read(tmp_path, cells, expected, reason):
    bags = read_bags(table(tmp_path / "t.csv", cells))
    np.testing.assert_allclose(column(bags, "a"), expected, rtol=1e-6)
    assert role(bags, "a")[0] == "feature"
    assert reason in role(bags, "a")[1]


def test_decimal_commas_of_a_semicolon_table_are_read(tmp_path):
    bags = read_bags(table(tmp_path / "t.csv", ["1,5", "2", "3,25", "4"], delimiter=";"))
    assert column(bags, "a") == [1.5, 2, 3.25, 4]


@pytest.mark.parametrize(
    ("cells", "other", "delimiter", "message"),
    [
        (["1,5", "1,000,000", "3", "4"], [1, 2, 3, 4], ",", r"line 2, column 'a': '1,5' has a dec"),
        (["1", "1,5", "3", "4"], [1.5, 2, 3, 4], ",", r"line 3, column 'a': .* column 'z' has dec"),
        (["1", "1,500", "3", "4"], [1, 2, 3, 4], ";", r"line 3, column 'a': '1,500' may mean 1500"),
        (["5%", "0.5", "3%", "4%"], [1, 2, 3, 4], ",", r"line 3, column 'a': must be a percentage"),
        (["true", "false", "7", "true"], [1] * 4, ",", r"line 4, column 'a': must be true, false"),
        (["1", "2", "high", "4"], [1] * 4, ",", r"line 4, column 'a': must be a number, .*'high'"),
    ],
)
def test_inconsistent_numbers_are_refused_by_row_and_column(
    tmp_path, cells, other, delimiter, message
):
    path = table(tmp_path / "t.csv", cells, delimiter=delimiter, extra=[("z", other)])
    with pytest.raises(FoveateError, match=message):
        read_bags(path)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["2020-01-01", "2020-01-02", "2020-02-01", ""], "times or dates, such as '2020-01-01'"),
        (["2020-01-01T10:30:00Z", "NA", "NA", "NA"], "times or dates, such as '2020-01-01T10"),
        (["12:30", "13:15", "14:00", "15:45"], "times or dates, such as '12:30'"),
        (["red", "blue", "red", "1"], "texts, such as 'red'"),
        (["NA", "", "?", "null"], "every cell is missing"),
    ],
)
def test_a_column_that_is_left_out_is_listed_with_its_reason(tmp_path, cells, reason):
    bags = read_bags(table(tmp_path / "t.csv", cells))
    assert bags.columns == ("x",)
    assert role(bags, "a")[0] == "left out"
    assert reason in role(bags, "a")[1]


def test_every_column_is_listed_once(tmp_path):
    extra = [("group", ["p", "p", "q", "q"]), ("relevance", [0, 1, 0, 0]), ("when", ["1:30"] * 4)]
    bags = read_bags(table(tmp_path / "t.csv", [1, 2, 3, 4], extra=extra))
    assert sorted(r.name for r in bags.roles) == sorted(
        ["bag", "label", "x", "a", "group", "relevance", "when"]
    )
    assert {r.name: r.role for r in bags.roles} == {
        "bag": "bag",
        "label": "label",
        "x": "feature",
        "a": "feature",
        "group": "group",
        "relevance": "relevance",
        "when": "left out",
    }
    assert describe(bags).as_numbers()["roles"][0] == ("bag", "bag", "by its usual name")


def test_a_named_column_must_hold_numbers(tmp_path):
    path = table(tmp_path / "t.csv", ["red", "blue", "red", "blue"])
    with pytest.raises(FoveateError, match=r"line 2, column 'a': must be a number, got 'red'"):
        read_bags(path, segment=["a"])
    with pytest.raises(FoveateError, match="column 'a': every cell is missing"):
        read_bags(table(tmp_path / "t.csv", ["NA"] * 4), segment=["a"])


NUMBERS = [7, 7, 7, 7, 9, 9, 9, 9, 12, 12, 12, 12]


def test_a_suspected_group_is_no_feature(tmp_path):
    bags = read_bags(table(tmp_path / "t.csv", NUMBERS, name="donor"))
    assert bags.columns == ("x",)
    assert "suspected group" in role(bags, "donor")[1]
    found = [p for p in problems(bags) if p.name == "suspected-group"]
    assert [str(p).partition(":")[0] for p in found] == ["column 'donor'"]
    assert "--group donor" in found[0].what
    named = read_bags(tmp_path / "t.csv", segment=["x", "donor"])
    assert named.columns == ("x", "donor")
    grouped = read_bags(tmp_path / "t.csv", group="donor")
    assert grouped.bag.group.tolist() == [0, 0, 1, 1, 2, 2]


def test_patient_id_is_a_group(tmp_path):
    bags = read_bags(table(tmp_path / "t.csv", NUMBERS, name="patient_id"))
    assert bags.columns == ("x",)
    assert role(bags, "patient_id") == ("group", "by its usual name")
    assert bags.bag.group.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_suspected_group_of_texts_is_a_warning(tmp_path):
    texts = [f"P{n}" for n in NUMBERS]
    bags = read_bags(table(tmp_path / "t.csv", texts, name="donor"))
    assert [p.where for p in bags.reading_problems] == ["column 'donor'"]


def test_a_copy_of_the_label_stays_a_feature_that_check_refuses(tmp_path):
    cells = [i // 2 % 2 for i in range(12)]
    bags = read_bags(table(tmp_path / "t.csv", cells, name="target"))
    assert "target" in bags.columns
    assert problems(bags)[0].name == "label-copy"
    assert problems(bags)[0].severity == "error"


def test_columns_of_a_model_are_features_regardless_of_their_values(tmp_path):
    path = table(tmp_path / "t.csv", NUMBERS, name="donor")
    assert read_bags(path, features=["x", "donor"]).columns == ("x", "donor")


HEADERLESS = "0,1,0.5,2\n0,1,0.25,3\n1,0,0.125,4\n1,0,1.5,5\n"


def test_a_table_without_a_header_is_recognised(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(HEADERLESS)
    with pytest.raises(
        FoveateError, match=r"line 1: must name the columns.*--columns.*--no-header"
    ):
        read_bags(path)
    bags = read_bags(path, columns=["bag", "label"])
    assert bags.columns == ("c3", "c4")
    assert bags.bag.y.tolist() == [1, 0]
    assert bags.bag.x.bank.tolist() == [[0.5, 2], [0.25, 3], [0.125, 4], [1.5, 5]]
    same = read_bags(path, header=False, bag="c1", label="c2")
    assert same.bag.x.bank.equal(bags.bag.x.bank)
    path.write_text("s1,sick,0.5\ns1,sick,0.25\ns2,well,1.5\n")
    with pytest.raises(FoveateError, match="if line 1 holds values"):
        read_bags(path)
    assert read_bags(path, columns=["bag", "label", "size"]).columns == ("size",)
    with pytest.raises(FoveateError, match="names 4 columns, the file has 3"):
        read_bags(path, columns=["bag", "label", "size", "more"])


def test_json_and_parquet_columns_are_read_alike(tmp_path):
    rows = [
        {"bag": f"b{i // 2}", "label": "uv"[i // 2 % 2], "x": float(i), "a": a, "v": v}
        for i, (a, v) in enumerate(
            [(None, [1.0, 2.0]), ("1,5", None), ("NA", [3.0, None]), ("2,5", [5.0, 6.0])]
        )
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    for name in ("t.jsonl", "t.parquet"):
        bags = read_bags(tmp_path / name)
        assert bags.columns == ("x", "a", "v[0]", "v[1]")
        np.testing.assert_array_equal(column(bags, "a"), [math.nan, 1.5, math.nan, 2.5])
        np.testing.assert_array_equal(column(bags, "v[1]"), [2, math.nan, math.nan, 6])


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="needs pyarrow 16")
def test_numbers_and_names_in_string_views_are_read(tmp_path):
    view = pa.string_view()
    frame = pa.table(
        {
            "bag": pa.array(["a", "a", "b", "b"]).cast(view),
            "label": pa.array(["u", "u", "v", "v"]).cast(view),
            "x": pa.array(["1", "2.5", "NA", "4"]).cast(view),
        }
    )
    pq.write_table(frame, tmp_path / "t.parquet")
    bags = read_bags(tmp_path / "t.parquet")
    assert bags.classes == ("u", "v")
    np.testing.assert_array_equal(column(bags, "x"), [1, 2.5, math.nan, 4])


def test_parquet_times_and_nested_columns_are_listed(tmp_path):
    import datetime

    day = datetime.datetime(2020, 1, 1)
    frame = pa.table(
        {
            "bag": ["a", "a", "b", "b"],
            "label": [0, 0, 1, 1],
            "x": [1.0, 2.0, 3.0, 4.0],
            "when": [day] * 4,
            "flag": [True, False, None, True],
            "names": [["u"], ["v"], [], None],
        }
    )
    pq.write_table(frame, tmp_path / "t.parquet")
    bags = read_bags(tmp_path / "t.parquet")
    assert bags.columns == ("x", "flag")
    assert role(bags, "when")[1].startswith("times or dates")
    assert role(bags, "names")[1].startswith("texts")


def test_a_header_of_many_columns(tmp_path):
    names = [f"f{i}" for i in range(100_000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n")
    assert list(column_names(tmp_path / "t.csv")) == names
    (tmp_path / "t.csv").write_text(",".join([*names, "f99999"]) + "\n")
    with pytest.raises(FoveateError, match="two columns 'f99999'"):
        column_names(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_that_pandas_writes_is_no_feature(tmp_path, name):
    lines = [f"{i},b{i // 3},{'uv'[i // 15]},{i * i % 7}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join([f"{name},bag,label,x", *lines]))
    bags = read_bags(tmp_path / "t.csv")
    assert bags.columns == ("x",)
    assert role(bags, name) == ("left out", "the number of the row")
    assert read_bags(tmp_path / "t.csv", segment=[name, "x"]).columns == (name, "x")


def test_a_bag_that_is_named_like_a_missing_value_is_a_warning(tmp_path):
    names = ["NA", "a", "b", "c"]
    lines = [f"{names[i // 3]},{'uv'[i // 3 % 2]},{i * i % 7}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["bag,label,x", *lines]))
    warnings = {p.name: p.where for p in problems(read_bags(tmp_path / "t.csv"))}
    assert warnings["missing-names"] == "bag 'NA'"


def test_an_ignored_column_is_not_read_whatever_it_is_called(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"b{i},{'uv'[i % 2]},g{i // 3},{1 - j},{i + j}" for i in range(6) for j in (0, 1)]
    path.write_text("\n".join(["bag,label,group,relevant,x", *rows]))
    whole = read_bags(path)
    assert whole.groups == ("g0", "g1")
    assert whole.known is not None
    assert role(whole, "relevant") == ("relevance", "by its usual name")
    bags = read_bags(path, ignore=("group", "relevant"))
    assert bags.columns == ("x",)
    assert bags.bag.group is None
    assert bags.known is None
    assert role(bags, "group") == ("left out", "given by --ignore")
    named = read_bags(path, segment=("relevant", "x"))
    assert named.columns == ("relevant", "x")
    assert named.known is None


def test_a_column_that_is_ignored_must_exist_in_bags_to_learn_from(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bag,label,x\na,u,1\nb,v,2\n")
    with pytest.raises(FoveateError, match="has no column 'gruop'"):
        read_bags(path, ignore=("gruop",), labelled=True)
    assert read_bags(path, ignore=("gruop",), labelled=False).columns == ("x",)
    np.savez(tmp_path / "a.npz", x=np.ones((4, 2)), offsets=[0, 3, 4], y=["u", "v"])
    with pytest.raises(FoveateError, match="--ignore is for tables"):
        read_bags(tmp_path / "a.npz", ignore=("x",))
