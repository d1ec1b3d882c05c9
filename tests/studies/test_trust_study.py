"""The numbers of the trust study from records made by hand, its sets and its fairness."""

import numpy as np
import pytest
import torch

from foveate.records.record import Record
from foveate.studies.beyond.trust import TrustSettings, TrustStudy
from foveate.studies.beyond.trust.attacks import ATTACKS, attacked
from foveate.studies.beyond.trust.raff import KINDS, unit_test
from foveate.studies.beyond.trust.second import SECOND
from foveate.studies.beyond.trust.sets import MODEL_VARIANTS, SETS
from foveate.studies.beyond.trust.summary import row_of, trust_cells
from foveate.studies.beyond.trust.third import THIRD
from foveate.studies.beyond.trust.toys import TOYS, evidence_of_digits
from foveate.studies.beyond.trust.training import train_and_examine
from foveate.studies.reproduction import stored_results
from foveate.trust.estimated_ft import INTERVAL_HELD

GRADE = {"trust": 0, "care": 1, "silent": 2, "distrust": 3}


def record(ft, estimate, grades, *, role="confirmation", name="made", sees=True):
    ft, estimate = np.asarray(ft, float), np.asarray(estimate, float)
    final = {
        "ft": ft,
        "estimate": estimate,
        "auditor": np.nan_to_num(estimate, nan=0.5),
        "low": estimate - 0.1,
        "high": estimate + 0.1,
        "chance": np.full(len(ft), 0.1),
        "bags": np.full(len(ft), 50.0),
        "grade": np.array([GRADE[g] for g in grades], float),
        "model_score": 1 - ft,
        "model_grade": np.where(1 - ft >= 0.85, 0.0, np.where(1 - ft >= 0.6, 1.0, 3.0)),
        "way_ft": np.array([0.4, 0.9]),
        "way_score": np.array([0.5, 0.8]),
        "way_model_score": np.array([0.9, 0.1]),
        "way_accuracy": np.array([0.98, 0.97]),
    }
    return Record(np.zeros(1), {}, final, {"set": name, "role": role, "identifiable": sees})


def test_false_alarms_misses_and_silence_are_counted():
    trained = record(
        [0.95, 0.9, 0.3, 0.2, 0.7],
        [0.9, 0.4, 0.7, np.nan, 0.95],
        ["trust", "distrust", "care", "silent", "care"],
    )
    row = row_of([trained], "made")
    assert (row.cases, row.good, row.bad) == (5, 2, 2)
    assert (row.false_alarms, row.misses) == (1, 1)
    assert row.silent == pytest.approx(0.2)
    assert row.reported_error == pytest.approx(np.mean([0.05, 0.5, 0.4, 0.25]))
    assert row.covered == pytest.approx(1 / 4)
    assert row.old_false_alarms == 2
    assert row.old_misses == 2
    assert (row.pick, row.old_pick, row.best) == (0.9, 0.4, 0.9)


def test_design_and_confirmation_are_kept_apart():
    records = {
        "a": record([0.9, 0.9, 0.1], [0.9, 0.9, 0.1], ["trust"] * 2 + ["distrust"], role="design"),
        "b": record([0.9, 0.8, 0.1], [0.9, 0.8, 0.2], ["trust", "care", "distrust"], sees=False),
    }
    cells = {(c.group, c.name, c.measure): c.mean for c in trust_cells(records)}
    lines = list(dict.fromkeys(key[:2] for key in cells))
    assert lines == [
        ("Design, identifiable", "a"),
        ("Design, identifiable", "all"),
        ("Design", "all"),
        ("Confirmation, not identifiable", "b"),
        ("Confirmation, not identifiable", "all"),
        ("Confirmation", "all"),
    ]
    key = ("Confirmation, not identifiable", "b", "error where said")
    assert cells[key] == pytest.approx(0.1 / 3)


def test_no_set_plays_both_roles():
    design = {name for name, entry in SETS.items() if entry.role == "design"}
    assert not any(name.startswith(("mnist", "hate", "sst", "fever")) for name in design)
    assert len(SETS) - len(design) >= 20
    assert len(TrustStudy().parts(TrustSettings())) == len(SETS)
    assert len({way.name for way in MODEL_VARIANTS}) == len(MODEL_VARIANTS)


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_keep_the_truth(attack):
    bag = attacked(attack, "digits", "test", 40, 6, 0)
    same = attacked(attack, "digits", "test", 40, 6, 0)
    assert (bag.x == same.x).all()
    counts = bag.z.sum(1)
    expected = {"several": {3}, "absent": {0, 1}, "label-noise": {0, 1}}.get(attack, {1})
    assert set(counts.tolist()) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_unit_tests_swap_the_poison(kind):
    usual, swapped = unit_test(kind, 40, 0), unit_test(kind, 40, 0, swapped=True)
    assert (usual.z.any(1) == (usual.y == 1)).all()
    if kind == "frequency":
        assert swapped.mask[swapped.y == 0].sum(1).min() >= 36
        return
    poison = [(bag.dense().mean(-1) < -8) & bag.mask for bag in (usual, swapped)]
    assert (poison[0].any(1) == (usual.y == 0)).all()
    assert (poison[1].any(1) == (swapped.y == 1)).all()


@pytest.mark.parametrize("kind", TOYS)
def test_toys_against_their_definition(kind):
    digits = torch.randint(10, (200, 6), generator=torch.Generator().manual_seed(0))
    labels, relevant = evidence_of_digits(kind, digits)
    for row, y, z in zip(digits.tolist(), labels.tolist(), relevant.tolist(), strict=True):
        if kind == "four":
            assert y == (8 in row) + 2 * (9 in row)
            relevant_digits = {8, 9}
        elif kind == "pos-neg":
            up, down = ([d for d in row if d in entry] for entry in ((4, 6, 8), (5, 7, 9)))
            assert y == int(len(up) > len(down))
            relevant_digits = set(up if y else down)
        else:
            pairs = [(k, k + 1) for k in range(4) if k in row and k + 1 in row]
            assert y == int(bool(pairs))
            relevant_digits = {digit for pair in pairs for digit in pair}
        assert z == [digit in relevant_digits for digit in row]


def test_models_of_torchmil_are_a_way_of_two_classes(tmp_path):
    pytest.importorskip("torchmil")
    settings = TrustSettings(sets=("raff-single",), n=60, epochs=0.05)
    measured = train_and_examine(settings, "raff-single", tmp_path, lambda done, total: None)
    assert measured.meta["ways"] == [way.name for way in MODEL_VARIANTS]
    assert (measured.final["way"] == np.arange(len(MODEL_VARIANTS))).all()
    assert measured.meta["role"] == "design"


def test_interval_texts_of_pages_match_the_stored_result():
    [result] = [r for r in stored_results() if r["table"] == "trust-second"]
    cells = {(c["group"], c["name"], c["measure"]): c["mean"] for c in result["cells"]}
    whole, sees = "Second confirmation", "Second confirmation, identifiable"
    assert round(cells[sees, "all", "interval holds %"]) == round(100 * INTERVAL_HELD)
    assert round(cells[sees, "all", "cannot tell %"]) == 41  # as README says
    assert (cells[whole, "all", "misses"], cells[whole, "all", "false alarms"]) == (0, 0)
    assert (cells[whole, "all", "good"], cells[whole, "all", "bad"]) == (43, 173)
    assert round(cells[whole, "all", "error where said"], 2) == 0.04


def test_numbers_of_the_readme_match_the_third_confirmation():
    [result] = [r for r in stored_results() if r["table"] == "trust-third"]
    cells = {(c["group"], c["name"], c["measure"]): c["mean"] for c in result["cells"]}
    whole, sees = "Third confirmation", "Third confirmation, identifiable"
    assert round(cells[sees, "all", "cannot tell %"]) == 15
    assert (cells[whole, "all", "misses"], cells[whole, "all", "false alarms"]) == (0, 0)
    assert (cells[whole, "all", "good"], cells[whole, "all", "bad"]) == (58, 40)
    assert cells[whole, "all", "cases"] == 135
    assert round(cells[sees, "all", "error where said"], 2) == 0.05
    assert round(cells[sees, "all", "interval holds %"]) == round(100 * INTERVAL_HELD)


def test_later_protocols_have_new_sets_only():
    assert not set(SECOND) & set(SETS)
    assert not set(THIRD) & {*SECOND, *SETS}
    assert {trust_set.role for trust_set in THIRD.values()} == {"third"}
    assert {trust_set.role for trust_set in SECOND.values()} == {"second"}
    sample = SECOND["digits-five"].load(40, 0)
    assert (sample.train.z.sum(1) == 1).all()
    assert set(sample.test.y.tolist()) <= set(range(5))
