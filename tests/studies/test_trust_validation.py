"""Numbers of the validation from records made by hand, and its rules of fairness."""

import numpy as np
import pytest

from foveate.records.record import Record
from foveate.studies.beyond.trust_validation import ValidationSettings, conditions
from foveate.studies.beyond.trust_validation.sets import SETS
from foveate.studies.beyond.trust_validation.summary import (
    by_set,
    confusion,
    ranking,
    role_of,
    trust_cells,
)


def record(separation, ft, *, role="validation", name="made", **marks):
    """Two classes and as many members as rows."""
    separation, ft = np.asarray(separation, float), np.asarray(ft, float)
    usual = {
        "separation": separation,
        "ft": ft,
        "top": np.ones_like(ft),
        "accuracy": np.ones_like(ft),
        "entropy": np.zeros_like(ft),
        "aversion": np.zeros_like(ft),
        "unattended": np.zeros_like(ft),
        "rank": np.full_like(ft, 0.6),
        "bags": np.full_like(ft, 50.0),
    }
    final = usual | {k: np.asarray(v, float) for k, v in marks.items()}
    meta = {"set": name, "role": role, "paradigm": "soft", "map": "softmax"}
    return Record(np.zeros(1), {}, final, meta)


def test_a_score_that_is_right_ranks_perfectly():
    ft = [[1.0, 0.2], [0.9, 0.9], [0.1, 0.0]]
    row = ranking({"a": record(ft, ft), "b": record(ft[::-1], ft[::-1])}, "both")
    assert row.rho.mean == pytest.approx(1.0)
    assert row.error == pytest.approx(0.0)
    assert (row.models, row.low, row.high) == (6, pytest.approx(0.05), pytest.approx(0.9))
    backwards = {"a": record(1 - np.array(ft), ft)}
    assert ranking(backwards, "one").rho.mean == pytest.approx(-1.0)


def test_detection_counts_accurate_classes_that_look_elsewhere():
    made = record(
        [[0.1, 0.9], [0.1, 0.1]],
        [[0.0, 0.3], [0.8, 0.0]],
        accuracy=[[1.0, 1.0], [1.0, 0.5]],
        unattended=[[0.9, 0.9], [0.0, 0.9]],
    )
    row = ranking({"a": made}, "one")
    # found: class 0 of member 0; missed: its class 1; false: class 0 of member 1; the last class is
    # not accurate, and so no error mode whatever it looks at
    assert row.detection == (1, 1, 1)
    assert row.detection.precision == row.detection.recall == 0.5
    assert row.lead == (2, 0, 0)


def test_confusion_sorts_modes_by_what_is_true():
    made = record(
        np.full((4, 2), 0.1),
        np.zeros((4, 2)),
        entropy=[[0.1, 0.99], [0.1, 0.1], [0.1, 0.1], [0.1, 0.1]],
        rank=[[0.6, 0.6], [0.0, 0.0], [0.6, 0.6], [0.6, 0.6]],
        aversion=[[0.0, 0.0], [0.9, 0.0], [0.0, 0.0], [0.0, 0.9]],
    )
    counts = confusion({"a": made})
    assert counts[1, 1] == 4
    assert counts[3, 3] == 1
    assert counts[2].tolist() == [0, 1, 1, 0]
    assert counts[1, 2] == 1
    assert counts.sum() == 8


def test_the_table_keeps_design_and_validation_apart():
    ft = [[1.0, 0.2], [0.9, 0.9]]
    records = {
        "a": record(ft, ft, role="design", name="seen"),
        "b": record(ft, ft, name="unseen"),
    }
    cells = {(c.group, c.name, c.measure): c for c in trust_cells(records)}
    lines = list(dict.fromkeys(key[:2] for key in cells))
    assert lines == [
        ("Design sets", "seen"),
        ("Design sets", "all"),
        ("Validation sets", "unseen"),
        ("Validation sets", "all"),
    ]
    row = ranking(role_of(records, "design"), "all")
    assert cells["Design sets", "all", "Spearman's ρ"].mean == row.rho.mean
    assert cells["Design sets", "all", "least FT %"].mean == pytest.approx(60)
    assert cells["Design sets", "all", "largest FT %"].mean == pytest.approx(90)
    assert cells["Design sets", "all", "mean FT %"].mean == pytest.approx(75)
    assert cells["Design sets", "all", "FT of the pick %"].mean == pytest.approx(90)
    other = {**records, "c": record([[0.4, 0.4]] * 2, [[1.0, 1.0]] * 2, role="design", name="odd")}
    row_of_two = ranking(role_of(other, "design"), "all")
    assert row_of_two.picked == pytest.approx((0.9 + 1.0) / 2)  # a pick a set, the mean of them
    astray = row.detection.found + row.detection.missed
    assert cells["Design sets", "all", "classes astray"].mean == astray == 1
    assert list(by_set(role_of(records, "design"))) == ["seen"]


def test_small_is_two_hundred_models_and_no_set_plays_both_roles():
    settings = ValidationSettings()
    assert len(conditions(settings)) * settings.seeds >= 200
    assert {own.role for own in SETS.values()} == {"design", "validation"}
    design = {n for n, own in SETS.items() if own.role == "design"}
    assert not any("mnist" in name or "orthogonal" in name for name in design)
