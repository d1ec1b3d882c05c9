"""What is said of bags that can be read: descriptions, problems, the command."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from cli.typed import call
from foveate.io.arrays import from_arrays
from foveate.io.check import problems
from foveate.io.description import describe

RNG = np.random.default_rng(0)


def clean(n=12, d=3, **more):
    rng = np.random.default_rng(1)
    bags = [rng.normal(size=(3 + i % 3, d)) for i in range(n)]
    return from_arrays(bags, [i % 2 for i in range(n)], columns=[f"c{k}" for k in range(d)], **more)


def findings(collection):
    return [(p.severity, p.where, p.what) for p in problems(collection)]


def only(collection):
    (one,) = findings(collection)
    return one


def with_columns(column, n=12):
    """Clean bags with one more column, made from (bag, rows before, rows)."""
    rng = np.random.default_rng(1)
    bags, before = [], 0
    for i in range(n):
        m = 3 + i % 3
        bags.append(np.column_stack([rng.normal(size=m), column(i, before, m)]))
        before += m
    return from_arrays(bags, [i % 2 for i in range(n)], columns=["good", "odd"])


def test_a_description_counts():
    collection = from_arrays(
        [np.ones((k, 2)) for k in (1, 2, 6, 3)],
        ["b", "a", "b", "b"],
        relevance=[[1], None, [0, 0, 1, 0, 0, 0], None],
        groups=["p", "p", "q", "q"],
        split=["train", "test", "train", "train"],
        source="here",
    )
    result = describe(collection)
    assert (result.source, result.kind, result.bags, result.segments) == ("here", "features", 4, 12)
    assert result.lengths == (1, 2.5, 6)
    assert result.classes == {"a": 1, "b": 3}
    assert result.imbalance == 3
    assert result.groups == 2
    assert result.splits == {"train": 3, "test": 1}
    assert result.known == 0.5
    assert result.relevant == pytest.approx(2 / 7)
    assert result.columns == ("x0", "x1")
    part = describe(collection.take([1, 3]))
    assert (part.bags, part.segments, part.relevant, part.known) == (2, 5, None, 0.0)
    assert describe(from_arrays([np.ones((2, 2))])).classes == {}


def test_clean_bags_have_no_problems():
    assert findings(clean()) == []
    assert findings(clean(groups=[i // 4 for i in range(12)])) == []
    assert findings(clean(relevance=[[1] + [0] * (2 + i % 3) for i in range(12)])) == []


def test_copies_are_found_regardless_of_their_order():
    rng = np.random.default_rng(2)
    bags = [rng.normal(size=(4, 3)) for _ in range(6)]
    bags[3] = bags[1][::-1].copy()  # labels 1 and 1
    severity, where, what = only(from_arrays(bags, [0, 1, 0, 1, 0, 1]))
    assert (severity, where, what) == ("warning", "bags '1', '3'", "the same content")
    assert only(from_arrays(bags, [0, 1, 1, 0, 0, 1]))[1:] == (
        "bags '1', '3'",
        "the same content under different labels",
    )
    split = ["train", "train", "test", "test", "train", "test"]
    crossing = findings(from_arrays(bags, [0, 1, 0, 1, 0, 1], split=split))
    assert crossing == [("error", "bags '1', '3'", "the same content in more than one split")]
    bags[3] = np.vstack([bags[1], bags[1][:1]])  # one more segment: another bag
    assert findings(from_arrays(bags, [0, 1, 0, 1, 0, 1])) == []


def test_copies_equal_a_plain_search():
    rng = np.random.default_rng(3)
    bags = [rng.integers(0, 2, (rng.integers(2, 4), 2)).astype(float) for _ in range(60)]
    collection = from_arrays(bags, [i % 2 for i in range(60)])
    keys: dict = {}
    for i, bag in enumerate(bags):
        keys.setdefault(tuple(sorted(map(tuple, bag.tolist()))), []).append(i)
    sets = [rows for rows in keys.values() if len(rows) > 1]
    mixed = [rows for rows in sets if len({i % 2 for i in rows}) > 1]
    result = {
        what.partition(" (")[0]: what
        for _, where, what in findings(collection)
        if "content" in what
    }
    assert len(mixed) > 1
    assert (
        f"(and {len(mixed) - 1} more such sets)"
        in result["the same content under different labels"]
    )
    plain = len(sets) - len(mixed)
    assert ("the same content" in result) == (plain > 0)
    if plain > 1:
        assert f"(and {plain - 1} more such sets)" in result["the same content"]


def test_texts_are_copies_only_in_order(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bag,label,text\na,0,one two\nb,1,two one\nc,0,one two\nd,1,three four\n")
    from foveate.io import read_bags

    assert [where for _, where, _ in findings(read_bags(path))] == ["bags 'a', 'c'"]


def test_names_that_come_twice():
    rng = np.random.default_rng(4)
    bags = [rng.normal(size=(3, 2)) for _ in range(6)]
    ids = ["a", "b", "a", "c", "d", "e"]
    assert only(from_arrays(bags, [0, 1, 1, 0, 0, 1], ids=ids)) == (
        "error",
        "bag 'a'",
        "one name for bags with different labels",
    )
    assert only(from_arrays(bags, [0, 1, 0, 1, 0, 1], ids=ids)) == (
        "warning",
        "bag 'a'",
        "one name for several bags",
    )
    split = ["train", "train", "test", "test", "train", "test"]
    for labels in ([0, 1, 0, 1, 0, 1], [0, 1, 1, 1, 0, 0]):
        assert only(from_arrays(bags, labels, ids=ids, split=split)) == (
            "warning",
            "bag 'a'",
            "one name in more than one split, for different bags",
        )


def test_groups_shared_between_splits():
    groups = ["p", "q", "r", "p", "q", "r"] * 2
    split = ["train", "train", "train", "test", "train", "train"] * 2
    assert only(clean(groups=groups, split=split)) == (
        "error",
        "group 'p'",
        "in more than one split: test and train",
    )


@pytest.mark.parametrize(
    ("column", "severity", "what"),
    [
        (lambda i, before, m: np.full(m, 7.0), "warning", "one number throughout"),
        (lambda i, before, m: np.full(m, 5.0 + i % 2), "error", "the label under another name"),
        (lambda i, before, m: np.arange(before, before + m), "warning", "the number of the row"),
        (lambda i, before, m: 1e7 * RNG.normal(size=m), "warning", "numbers above 1,000,000"),
        (
            lambda i, before, m: 1e5 + RNG.normal(size=m),
            "warning",
            "a spread below 0.0001 of the size",
        ),
    ],
)
def test_odd_columns(column, severity, what):
    result = only(with_columns(column))
    assert result[:2] == (severity, "column 'odd'")
    assert result[2].startswith(what)


def test_columns_that_part_the_classes():
    collection = with_columns(lambda i, before, m: np.full(m, 100.0 * (i % 2) + i), n=40)
    assert only(collection)[2].startswith("label given away: one number per bag")
    few = with_columns(lambda i, before, m: np.full(m, 100.0 * (i % 2) + i), n=6)
    assert findings(few) == []  # six bags part by luck once in ten columns
    overlapping = with_columns(lambda i, before, m: np.full(m, float(i)), n=40)
    assert findings(overlapping) == []


def test_columns_are_seen_through_take():
    collection = with_columns(lambda i, before, m: np.full(m, 7.0) if i < 6 else RNG.normal(size=m))
    assert findings(collection) == []
    assert only(collection.take(list(range(6))))[2].startswith("one number throughout")


def test_lengths():
    rng = np.random.default_rng(5)
    bags = [rng.normal(size=(k, 2)) for k in (3, 3, 3, 1, 31, 3)]
    result = findings(from_arrays(bags, [0, 1, 0, 1, 0, 1]))
    assert result == [
        ("warning", "bag '4'", "much longer than the rest: up to 31 segments, the median is 3"),
        ("warning", "bag '3'", "one segment: nothing to choose from (1 of 6 bags)"),
    ]


def test_classes_with_too_little():
    rng = np.random.default_rng(6)
    bags = [rng.normal(size=(3, 2)) for _ in range(24)]
    assert only(from_arrays(bags, ["x"] * 24)) == (
        "error",
        "class 'x'",
        "the only one: two are needed, so add bags of another, or give another --label",
    )
    result = findings(from_arrays(bags, ["x"] * 23 + ["y"]))
    assert [p[:2] for p in result] == [("error", "class 'y'"), ("warning", "class 'y'")]
    assert result[1][2] == "1 bags, class 'x' 23"
    grouped = from_arrays(bags, ["x", "y"] * 12, groups=["a", "b"] * 6 + ["c", "b"] * 6)
    assert only(grouped) == (
        "error",
        "class 'y'",
        "all bags in one group: too few to learn from and to test on",
    )
    assert findings(from_arrays(bags)) == []


def test_uninformative_relevance():
    none = clean(relevance=[[0] * (3 + i % 3) for i in range(12)])
    assert only(none)[2] == "known, but no segment of any bag is relevant"
    every = clean(relevance=[[1] * (3 + i % 3) if i else None for i in range(12)])
    assert only(every)[2] == "every segment of every bag it is known for"


def test_a_million_rows_take_seconds():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(10**6, 8)).astype(np.float32)
    collection = from_arrays(np.split(x, 10_000), [i % 2 for i in range(10_000)])
    begin = time.process_time()
    assert problems(collection) == []
    assert describe(collection).segments == 10**6
    assert time.process_time() - begin < 6


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(8)
    rows = [
        f"s{i},{'uv'[i % 2]},{rng.normal()},{rng.normal()},7" for i in range(8) for _ in range(3)
    ]
    path = tmp_path / "my [own] bags.csv"
    path.write_text("slide,kind,a,b,c\n" + "\n".join(rows) + "\n")
    return path


FLAGS = ("--bag", "slide", "--label", "kind")


def test_the_command_describes_and_warns(table):
    code, out, err = call("check", table, *FLAGS)
    assert (code, err) == (0, "")
    findings = " ".join(out.split())
    for part in (
        "8 of 24 segments",
        "3 to 3, median 3",
        "a row of 3 numbers: a, b, c",
        "u: 4, v: 4",
        "unknown",
    ):
        assert part in findings
    assert "warning column 'c': one number throughout" in findings
    assert "my [own] bags.csv" in findings.replace(" ", " ")
    code, out, err = call("check", table, *FLAGS, "--segment", "a,b")
    assert code == 0
    assert "no problems found" in out


def test_the_command_as_json(table):
    code, out, _ = call("check", table, *FLAGS, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["description"]["classes"] == {"u": 4, "v": 4}
    assert [p["severity"] for p in result["problems"]] == ["warning"]
    assert result["problems"][0]["where"] == "column 'c'"


def test_errors_end_with_code_2(table):
    text = table.read_text().replace("s1,v", "s1,w")
    table.write_text(text)
    code, out, err = call("check", table, *FLAGS)
    assert (code, err) == (2, "")
    assert "error class 'w': one bag" in " ".join(out.split())
    assert call("check", table, *FLAGS, "--json")[0] == 2


def test_what_cannot_be_read_is_one_sentence(table):
    table.write_text(table.read_text().replace(",7\n", ",inf\n", 1))
    code, out, err = call("check", table, *FLAGS)
    assert (code, out) == (2, "")
    assert err == f"foveate: {table}, line 2, column 'c': must be finite, got inf\n"
    code, out, err = call("check", table, *FLAGS, "--json")
    assert (code, err) == (2, "")
    (problem,) = json.loads(out)["problems"]
    assert problem["what"] == f"{table}, line 2, column 'c': must be finite, got inf"
    code, _, err = call("check", table, "--bag", "slyde")
    assert code == 2
    assert "has no column 'slyde'. Did you mean 'slide'?" in err
    assert call("check", table.parent / "none.csv")[2].startswith("foveate: there is nothing at ")


def test_flags_are_parsed_without_imports():
    code = "import sys, foveate.cli.commands.check; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_table_that_was_appended_to_itself_is_noticed():
    rng = np.random.default_rng(2)
    bags = [rng.normal(size=(4, 2)) for _ in range(6)]
    labels = [i % 2 for i in range(6)]
    twice = from_arrays([np.concatenate([bag, bag]) for bag in bags], labels)
    expected = "24 of 48 repeat an earlier one of their bag: are rows stored twice?"
    assert only(twice) == ("warning", "segments", expected)
    assert not findings(from_arrays([np.concatenate([bag, bag[:3]]) for bag in bags], labels))


def test_classes_that_look_alike_are_told_apart():
    names = ["caf\u00e9", "cafe\u0301"]
    bags = [np.random.default_rng(i).normal(size=(3, 2)) for i in range(8)]
    severity, where, _ = only(from_arrays(bags, [names[i % 2] for i in range(8)]))
    assert (severity, where) == ("warning", r"classes 'cafe\u0301', 'caf\xe9'")


def test_one_bag_each_of_several_classes():
    bags = [np.random.default_rng(i).normal(size=(3, 2)) for i in range(6)]
    where = [place for severity, place, _ in findings(from_arrays(bags, list("aabbcd")))]
    assert where == ["classes 'c', 'd'"]
