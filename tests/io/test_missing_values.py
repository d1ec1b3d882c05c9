"""Missing values of features and labels, and labels that differ by spelling only."""

import numpy as np
import pytest

from foveate.errors import FoveateError
from foveate.io import read_bags
from foveate.io.arrays import from_arrays
from foveate.io.check import problems
from foveate.io.description import describe

TOKENS = ["nan", "NaN", "NA", "na", "N/A", "n/a", "?", "None", "none", "null", "NULL", "", " "]


def write(path, labels, cells=None):
    cells = cells or [str(i) for i in range(2 * len(labels))]
    rows = [f"b{i // 2},{labels[i // 2]},{i * i % 5},{cells[i]}" for i in range(2 * len(labels))]
    path.write_text("bag,label,x,a\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("token", TOKENS)
def test_a_missing_label_makes_an_unlabelled_bag(tmp_path, token):
    path = write(tmp_path / "t.csv", ["u", "v", token, "u"])
    bags = read_bags(path)
    assert bags.classes == ("u", "v")
    assert bags.label_known.tolist() == [True, True, False, True]
    description = describe(bags)
    assert description.unlabelled == 1
    assert description.classes == {"u": 2, "v": 1}
    warning = next(p for p in problems(bags) if p.name == "unlabelled")
    assert str(warning).startswith("bag 'b2': no label: not used for training or testing (1 of 4 ")
    labelled = read_bags(path, labelled=True)
    assert labelled.ids == ("b0", "b1", "b3")
    assert labelled.bag.y.tolist() == [0, 1, 0]


def test_a_class_called_none_must_be_named(tmp_path):
    path = write(tmp_path / "t.csv", ["leak", "none", "leak", "none"])
    assert read_bags(path).classes == ("leak",)
    bags = read_bags(path, classes=["leak", "none"])
    assert bags.bag.y.tolist() == [0, 1, 0, 1]
    assert bags.label_known is None


@pytest.mark.parametrize("token", TOKENS)
def test_a_missing_number_is_marked_or_refused(tmp_path, token):
    path = write(tmp_path / "t.csv", ["u", "v"], ["1", token, "3", "4"])
    bags = read_bags(path)
    assert bags.missing.tolist() == [[False, False], [False, True], [False, False], [False, False]]
    assert bags.missing_cells() == {"a": 1}
    warning = next(p for p in problems(bags) if p.name == "missing-values")
    assert "1 cells missing in 1 columns (a 1)" in warning.what
    with pytest.raises(FoveateError, match=r"line 3, column 'a': is missing"):
        read_bags(path, missing="refuse")


def test_missing_numbers_of_arrays_are_marked_or_refused():
    bags = [np.array([[1.0, np.nan], [2.0, 3.0]]), np.ones((1, 2))]
    assert from_arrays(bags, ["u", "v"]).missing_cells() == {"x1": 1}
    with pytest.raises(FoveateError, match="bag 0, row 0, column 1: is missing"):
        from_arrays(bags, ["u", "v"], missing="refuse")
    assert from_arrays(bags, ["u", np.nan]).label_known.tolist() == [True, False]


def test_label_copies_are_recognised_beside_missing_numbers(tmp_path):
    cells = ["0", "NA", "1", "1", "0", "0", "1", "NA"]
    bags = read_bags(write(tmp_path / "t.csv", ["u", "v", "u", "v"], cells))
    assert [p.name for p in problems(bags) if p.severity == "error"] == ["label-copy"]


@pytest.mark.parametrize(
    "spellings",
    [
        ("Yes", "yes"),
        ("caf\u00e9", "cafe\u0301"),
        ("yes", "y\u200bes"),
        ("not sure", "not  sure"),
        ("not sure", "not\u00a0sure"),
    ],
)
def test_labels_that_differ_by_spelling_are_a_warning_and_can_be_merged(tmp_path, spellings):
    one, other = spellings
    path = write(tmp_path / "t.csv", [one, "no", other, one, "no"])
    warning = next(p for p in problems(read_bags(path)) if p.name == "similar-labels")
    assert "--merge-labels" in warning.what
    merged = read_bags(path, merge_labels=True)
    assert set(merged.classes) == {one, "no"}
    assert merged.bag.y.tolist() == [merged.classes.index(c) for c in (one, "no", one, one, "no")]
    assert not [p for p in problems(merged) if p.name == "similar-labels"]
    known = read_bags(path, merge_labels=True, classes=[other.upper(), "NO"])
    assert known.bag.y.tolist() == [0, 1, 0, 0, 1]


def test_a_label_outside_the_classes_of_a_model_is_refused_when_merging(tmp_path):
    path = write(tmp_path / "t.csv", ["yes", "no", "maybe"])
    with pytest.raises(FoveateError, match="label 'maybe' is none of the classes Yes, No"):
        read_bags(path, merge_labels=True, classes=["Yes", "No"])
