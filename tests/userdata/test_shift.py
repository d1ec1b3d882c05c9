"""New bags that differ from the training bags are named by column and bag."""

import csv
import warnings

import numpy as np
import pytest

from foveate.cli import main
from foveate.io import read_bags
from foveate.userdata.shift import TrainingSummary, compare, load_summary

from .made import texts

SHORT = ["--paradigms", "soft", "--seeds", "1", "--epochs", "1", "--folds", "1"]


def write(path, seed, factor=1.0, shift=0.0, length=4, gaps=0.0, bags=40):
    chance = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["bag", "label", "a", "b"])
        for i in range(bags):
            for _ in range(length):
                a, b = chance.normal(size=2)
                a = "" if chance.random() < gaps else f"{factor * a + shift:.6f}"
                out.writerow([f"b{i}", "uv"[i % 2], a, f"{b:.6f}"])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shift")
    main(["fit", str(write(folder / "t.csv", 0)), *SHORT, "--out", str(folder / "run")])
    return folder


def predicted(folder, table, command="predict"):
    out = table.with_suffix(f".{command}.csv")
    main([command, str(folder / "run"), str(table), "--out", str(out)])
    with out.open() as file:
        return list(csv.DictReader(file))


def test_bags_like_those_of_training_are_not_unusual(folder, tmp_path, capsys):
    rows = predicted(folder, write(tmp_path / "n.csv", 1))
    assert [row["unusual"] for row in rows] == [""] * 40
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "warning", "mark"),
    [
        ({"factor": 1000.0}, "column 'a': 99 % of segments are far outside the range", "a"),
        ({"factor": 0.001}, "column 'a': its spread is 0.0011 times that of training", "a"),
        ({"shift": 5.0}, "column 'a': ", "a"),
        ({"gaps": 0.5}, "column 'a': missing in ", "a missing"),
        ({"length": 20}, "length: 40 of 40 bags are much shorter or longer", "length"),
    ],
)
def test_a_shift_is_named_by_column_and_bag(folder, tmp_path, capsys, change, warning, mark):
    table = write(tmp_path / "n.csv", 1, **change)
    rows = predicted(folder, table)
    assert warning in capsys.readouterr().err
    assert sum(mark in row["unusual"].split("; ") for row in rows) >= 30
    segments = predicted(folder, table, "explain")
    assert any(mark in row["unusual"] for row in segments)


def test_trust_warns_too(folder, tmp_path, capsys):
    table = write(tmp_path / "n.csv", 1, factor=1000.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # one epoch: nothing is predicted well
        main(["trust", str(folder / "run"), "--data", str(table)])
    assert "column 'a'" in capsys.readouterr().err


def test_the_summary_is_that_of_the_training_bags(folder):
    from foveate.userdata.split import stored_split

    bags = read_bags(folder / "t.csv", labelled=True)
    train = bags.take(stored_split(folder / "run", bags).train)
    values = train.bag.x.bank[train.bag.x.index[train.bag.mask]].double().numpy()
    summary = load_summary(folder / "run")
    expected = np.quantile(values[:, 0], [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(summary.columns["a"][:5], expected)
    assert (summary.shortest, summary.longest) == (4, 4)


def test_unseen_words_are_named():
    from foveate.userdata.prepare import Preparation
    from foveate.userdata.settings import FitSettings
    from foveate.userdata.split import split_bags

    bags = texts()
    split = split_bags(bags)
    preparation = Preparation.learn(bags, split.train, FitSettings())
    vocabulary = preparation.vocabulary
    summary = TrainingSummary.of(bags, split.train, split.validation, vocabulary)
    assert compare(summary, bags, vocabulary).warnings == ()
    from dataclasses import replace

    strange = replace(bags, words=tuple(f"{word}q" for word in bags.words))
    shift = compare(summary, strange, vocabulary)
    assert "100 % of the words of a bag were not seen in training" in shift.warnings[0]
    assert set(shift.unusual) == {"words"}


def test_old_runs_have_no_summary(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_summary(tmp_path) is None
