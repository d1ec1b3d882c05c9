"""The second table: findings follow from records in both directions, cells are their numbers."""

import numpy as np
import pytest

from foveate.charts.render import to_svg
from foveate.errors import FoveateError
from foveate.jobs.experiment import settings_for
from foveate.models.oracle import Oracle, OracleModel
from foveate.records.published import Cell
from foveate.records.record import Record
from foveate.studies.pvr22.table2 import LAYERS, VARIANTS, Table2
from foveate.studies.pvr22.table2.cells import MEASURES, deviations
from foveate.studies.pvr22.table2.published import PUBLISHED

USE = Table2.scales["smoke"]
SEEDS = 6
KEYS = {key for key, _ in MEASURES.values()}


def record(ft, accuracy=0.95, nnz=4.0, ent=1.0, ftpt=None):
    """A record whose last measurements are these, spread a little by seed."""
    spread = 0.001 * np.arange(SEEDS)
    inputs = {"ft": ft, "accuracy": accuracy, "nnz": nnz, "ent": ent}
    inputs["ftpt"] = ft if ftpt is None else ftpt
    values = {key: np.full((1, SEEDS), inputs.get(key, 0.2)) + spread for key in KEYS}
    rng = np.random.default_rng(0)
    alpha = rng.dirichlet(np.ones(3), (SEEDS, 10))
    z = np.zeros((1, 10, 3), bool)
    z[..., 0] = True
    meta = {"classifier_calls": [9_000_000] * SEEDS, "cpu_seconds": 12.0}
    return Record(np.zeros(1), values, {"alpha": alpha, "z": z}, meta)


def table(images, points):
    """Records from (zeroth, last) pairs of keywords, by variant."""
    return {
        f"{data}-{name}-{layer}": record(**both[k])
        for data, inputs in (("images", images), ("points", points))
        for name, both in inputs.items()
        for k, layer in enumerate(LAYERS)
    }


def as_the_paper_says():
    images = {
        "softmax": ({"ft": 0.80, "nnz": 4.2, "ent": 1.03}, {"ft": 0.86}),
        "entropy": ({"ft": 0.80, "nnz": 3.5, "ent": 0.8}, {"ft": 0.84}),
        "sparsemax": ({"ft": 0.915, "nnz": 1.9, "ent": 0.5}, {"ft": 0.855}),
        "spherical": ({"ft": 0.911, "nnz": 2.6, "ent": 0.9}, {"ft": 0.913}),
        "hard": (
            {"ft": 0.87, "accuracy": 0.92, "nnz": 1.3, "ent": 0.1},
            {"ft": 0.87, "accuracy": 0.74},
        ),
        "oracle": ({"ft": 0.98}, {"ft": 0.98}),
    }
    points = {
        **{name: ({"ft": 0.78}, {"ft": 0.92}) for name in VARIANTS},
        "hard": ({"ft": 0.4}, {"ft": 0.4}),
    }
    return table(images, points)


def verdicts(records):
    return {f.claim: f.verdict for f in Table2().findings(USE, records)}


def test_records_as_in_the_paper_hold():
    assert set(verdicts(as_the_paper_says()).values()) == {"holds"}


def test_records_without_differences_do_not_hold():
    same = {name: ({"ft": 0.8}, {"ft": 0.8}) for name in VARIANTS}
    other = {"entropy": ({"ft": 0.9}, {"ft": 0.9}), "oracle": ({"ft": 0.95}, {"ft": 0.95})}
    result = verdicts(table({**same, **other}, same))
    undecided = dict.fromkeys(("pvr22:C7", "pvr22:C8", "pvr22:C11"), "underpowered")
    contradicted = dict.fromkeys(("pvr22:C6", "pvr22:C13"), "contradicted")
    assert result == {**undecided, **contradicted}


def test_a_gain_that_the_oracle_does_not_have_is_not_testable():
    records = as_the_paper_says()
    for name in ("sparsemax", "spherical", "hard", "oracle"):
        records[f"images-{name}-zeroth"] = record(ft=0.805, accuracy=0.92)
        records[f"images-{name}-last"] = record(ft=0.861 if name != "sparsemax" else 0.85)
    result = {f.claim: f for f in Table2().findings(USE, records)}
    assert "2 met, 2 not testable here" in result["pvr22:C6"].summary
    assert result["pvr22:C6"].verdict == "holds"
    assert "2 not testable here" in result["pvr22:C8"].summary


def test_nine_points_are_not_more_than_ten():
    records = as_the_paper_says()
    records["images-sparsemax-zeroth"] = record(ft=0.89, nnz=1.9, ent=0.5)
    assert verdicts(records)["pvr22:C6"] == "holds in part"
    assert verdicts(records)["pvr22:C11"] == "holds"


def test_a_fall_of_hard_attention_by_less_than_ten_points_is_not_much_worse():
    records = as_the_paper_says()
    records["points-hard-last"] = record(ft=0.85)
    (result,) = [f for f in Table2().findings(USE, records) if f.claim == "pvr22:C13"]
    assert result.verdict == "holds in part"
    assert "4 conditions: 3 met, 1 contradicted." in result.summary
    assert result.effect == pytest.approx(14 - 6)


def test_cells_are_the_last_measurements_in_the_published_units():
    cells = Table2().cells(USE, as_the_paper_says())
    by = {(c.group, c.name, c.measure): c for c in cells}
    one = by["digits, zeroth layer", "sparsemax", "FT %"]
    assert one.mean == pytest.approx(91.5 + 0.25)
    assert one.low < one.mean < one.high
    assert (one.seeds, one.setting) == (SEEDS, "")
    assert by["digits, zeroth layer", "softmax", "NNZ"].mean == pytest.approx(4.2025)
    assert by["Gaussians, last layer", "hard", "calls of g, millions"].mean == 9
    assert by["Gaussians, last layer", "hard", "CPU s a seed"].mean == 2
    assert all(isinstance(c, Cell) for c in cells)


def test_groups_at_small_and_paper_scale_are_the_published_ones():
    for scale in ("small", "paper"):
        settings = Table2.scales[scale]
        cells = Table2().cells(settings, as_the_paper_says())
        measured = {(c.group, c.name, c.measure) for c in cells}
        assert set(PUBLISHED.numbers) <= measured
    settings = {c.setting for c in Table2().cells(Table2.scales["small"], as_the_paper_says())}
    assert settings == {"frozen features", ""}


def test_paper_scale_is_the_published_one():
    settings = Table2.scales["paper"]
    plan = Table2().trials(settings)["images-hard-last"].plan
    assert (settings.m, settings.images.n, settings.images.net) == (9, 30_000, "pvr22")
    assert (plan.batch, plan.lr, plan.epochs, plan.stop_below) == (250, 5e-4, 50, 0.05)
    assert "convolutional" not in " ".join(deviations(settings, "images"))
    assert "convolutional" in " ".join(deviations(Table2.scales["small"], "images"))


def test_seeds_replace_those_of_both_data_sets():
    trials = Table2().trials(settings_for("table2", "smoke", {"seeds": 3}))
    assert {trial.seeds for trial in trials.values()} == {3}
    assert len(trials) == 2 * len(LAYERS) * len(VARIANTS)


def test_only_the_oracle_is_taught():
    bags = {}
    for name, trial in Table2().trials(USE).items():
        data = name.partition("-")[0]
        if data not in bags:
            bags[data] = trial.bags("train", 0)
        taught = type(trial.build(bags[data])) is OracleModel
        assert taught == isinstance(trial.rule, Oracle) == ("oracle" in name)
    assert bags


@pytest.fixture(autouse=True)
def own_generator():
    import torch

    with torch.random.fork_rng(devices=[]):
        yield


def test_without_images_the_points_are_left(monkeypatch):
    def nothing(name, hub_id):
        raise FoveateError(f"no {name} here")

    monkeypatch.setattr("foveate.studies.pvr22.table2.locate", nothing)
    settings, why = Table2().runnable(Table2.scales["small"])
    assert why == {
        "CIFAR-10, zeroth layer": "no cifar10 here",
        "CIFAR-10, last layer": "no cifar10 here",
    }
    assert settings.sets == ("points",)
    assert all(name.startswith("points-") for name in Table2().parts(settings))
    assert Table2().findings(settings, {}) == []
    assert Table2().runnable(USE) == (USE, {})


def test_charts_draw():
    charts = Table2().figures(USE, as_the_paper_says())
    assert set(charts) == {"focus", "sparsity", "gaussians", "thresholds"}
    svg = to_svg(charts["focus"])
    assert "Sparsemax" in svg
    assert "FT %" in svg


def test_collapsed_seeds_of_the_gaussians_stand_beside_the_others():
    records = table(*[dict.fromkeys(("softmax",), ({"ft": 0.8}, {"ft": 0.9}))] * 2)
    records["points-softmax-zeroth"].values["accuracy"][-1, 0] = 0.6
    changes = {"variants": ("softmax",)}
    settings = settings_for("table2", "smoke", changes)
    cells = {(c.group, c.measure): c for c in Table2().cells(settings, records)}
    at = "Gaussians, zeroth layer"
    assert cells[at, "collapsed seeds"].mean == 1
    assert cells[at, "accuracy % without collapsed seeds"].values == pytest.approx(
        (95.1, 95.2, 95.3, 95.4, 95.5)
    )
    assert cells[at, "accuracy %"].seeds == SEEDS
    assert ("Gaussians, last layer", "collapsed seeds") not in cells
    assert Table2().findings(settings, records) == []
    assert set(Table2().trials(settings)) == set(records)
    records["points-softmax-zeroth"].values["accuracy"][-1] = 0.6
    cells = {(c.group, c.measure): c for c in Table2().cells(settings, records)}
    assert cells[at, "collapsed seeds"].mean == SEEDS
    assert (at, "accuracy % without collapsed seeds") not in cells
