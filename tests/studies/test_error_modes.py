"""Error modes: starts, ends, statistics, figures, and findings in both directions."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from foveate.charts.render import to_svg
from foveate.data import DATASETS
from foveate.data.error_modes import MODE_1
from foveate.jobs.experiment import findings_of, start_experiment
from foveate.metrics.focus import QUADRANTS
from foveate.records.record import Record
from foveate.studies.pvr22.error_modes import BOXES, ErrorModes
from foveate.studies.pvr22.error_modes.initialisation import AUTHORS, authors_build, random_build
from foveate.studies.pvr22.error_modes.linear_focus import (
    attended_points,
)
from foveate.studies.pvr22.error_modes.outcome import (
    CELLS,
    epochs_to_accuracy,
    final_values,
    misfocused,
    split_by_quadrant,
    window,
)
from foveate.studies.pvr22.error_modes.plane_charts import examples, tiles
from foveate.studies.pvr22.error_modes.prediction import predict_error_mode
from foveate.studies.pvr22.error_modes.statistics import auc, cross_validated_scores, mean_of_means
from foveate.training.loop import fit
from foveate.training.stack import Stack

# Starts


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_the_authors_weights_are_those_of_a_seed(mode):
    start = AUTHORS[mode]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(start.seed)
        f = nn.Linear(2, 1)
        torch.manual_seed(start.seed)
        g = nn.Linear(2, len(start.g_w) or 20)
    np.testing.assert_allclose(f.weight.detach().numpy(), [start.f_w], atol=6e-7)
    assert f.bias.item() == pytest.approx(start.f_b, abs=6e-7)
    if start.g_w:
        np.testing.assert_allclose(g.weight.detach().numpy(), start.g_w, atol=6e-7)
        np.testing.assert_allclose(g.bias.detach().numpy(), start.g_b, atol=6e-7)


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_members_start_at_the_authors_weights(mode):
    result = Stack([authors_build(mode, first=i == 0) for i in range(3)], [5, 6, 7]).tensors()
    np.testing.assert_allclose(result["f.1.weight"][:, 0], [AUTHORS[mode].f_w] * 3, atol=1e-7)
    g = result["g.linear1.weight" if mode == 3 else "g.1.weight"]
    if mode == 3:
        # The first g is the one of the authors' seed: its first numbers are f's, as in modes 1, 2.
        np.testing.assert_allclose(g[0, 0], AUTHORS[3].f_w, atol=1e-6)
        assert not torch.equal(g[1], g[2])
    else:
        np.testing.assert_allclose(g[2], AUTHORS[mode].g_w, atol=1e-7)


def test_tied_starts_share_their_first_numbers():
    tied = Stack([random_build(1, True)] * 2, [3, 4]).tensors()
    free = Stack([random_build(1, False)] * 2, [3, 4]).tensors()
    assert torch.equal(tied["f.1.weight"], free["f.1.weight"])
    assert torch.equal(tied["g.1.weight"][:, 0], tied["f.1.weight"][:, 0])
    assert not torch.isclose(free["g.1.weight"][:, 0], free["f.1.weight"][:, 0]).any()


# What a record keeps


def test_split_by_quadrant_by_plain_loops():
    rng = np.random.default_rng(0)
    alpha = rng.dirichlet(np.full(4, 0.3), size=(3, 50))
    focused, correct = rng.random((2, 3, 50)) < 0.6
    correct[2] = True  # a member without wrong predictions
    result = split_by_quadrant(alpha, focused, correct)
    for s in range(3):
        for q, (f, p) in enumerate([(True, True), (False, True), (True, False), (False, False)]):
            rows = [i for i in range(50) if focused[s, i] == f and correct[s, i] == p]
            assert result["split_count"][s, q] == len(rows)
            bits = [-sum(a * np.log2(a) for a in alpha[s, i] if a > 0) for i in rows]
            if not rows:
                assert np.isnan(result["split_ent"][s, q])
                continue
            assert result["split_ent"][s, q] == pytest.approx(np.mean(bits))
            assert result["split_spread"][s, q] == pytest.approx(np.mean(np.array(bits) >= 1))
            nnz = [(alpha[s, i] > 0.01).sum() for i in rows]
            assert result["split_nnz"][s, q] == pytest.approx(np.mean(nnz))


def test_settled_keeps_weights_points_and_regions():
    data = DATASETS.get("error-mode-1")()
    bags = [data.load("test", n=30, m=5, seed=seed) for seed in (0, 1)]
    builds = [random_build(1)] * 2
    record = fit(builds, bags, bags, "soft", seeds=[0, 1], epochs=2, batch=10, lr=0.1)
    stored = final_values(record, Stack(builds, [0, 1]), bags, MODE_1).final
    model = record.trained.member(1)
    f, g = model.f[1], model.g[1]
    np.testing.assert_array_equal(stored["f_w"][1], f.weight[0].detach())
    np.testing.assert_array_equal(
        stored["f_w0"][1], Stack(builds, [0, 1]).member(1).f[1].weight[0].detach()
    )
    assert not np.allclose(stored["f_w0"], stored["f_w"])
    np.testing.assert_allclose(
        stored["point"][1], attended_points(bags[1].x.numpy(), stored["f_w"][1]), atol=1e-5
    )
    left, right, low, high = window(MODE_1)
    for row, column in [(0, 0), (10, 50), (59, 3)]:
        x = left + (right - left) * (column + 0.5) / CELLS
        y = low + (high - low) * (row + 0.5) / CELLS
        assert stored["region"][1, row, column] == g(torch.tensor([x, y]).float()).argmax().item()
    assert "alpha" not in stored


def _trained(accuracy, ft, *, t=(0, 2, 4), early=None, **final):
    """A record of members that end at given accuracies and FT."""
    accuracy, ft = np.asarray(accuracy, float), np.asarray(ft, float)
    first = np.full((len(t) - 1, len(accuracy)), 0.3) if early is None else np.asarray(early)
    values = {"accuracy": np.vstack([first, accuracy]), "ft": np.tile(ft, (len(t), 1))}
    share = np.minimum(accuracy, ft)
    quadrant = [share, accuracy - share, ft - share, 1 - accuracy - ft + share]
    values |= {q: np.tile(v, (len(t), 1)) for q, v in zip(QUADRANTS, quadrant, strict=True)}
    return Record(np.array(t), values, final, {"seeds": list(range(len(accuracy)))})


def test_misfocused_members_and_epochs_to_accuracy():
    early = [[0.3, 0.96, 0.3, 0.3], [0.95, 0.5, 0.4, 0.94]]
    record = _trained([0.99, 0.97, 0.94, 0.95], [0.7, 0.9, 0.6, 0.849], early=early)
    assert misfocused(record).tolist() == [True, False, False, True]
    np.testing.assert_array_equal(epochs_to_accuracy(record), [2, 0, np.nan, 4])


# Statistics


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=4, max_size=30))
def test_auc_counts_pairs(pairs):
    score, positive = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    if positive.all() or not positive.any():
        return
    won = [(a > b) + (a == b) / 2 for a in score[positive] for b in score[~positive]]
    assert auc(score, positive).mean == pytest.approx(np.mean(won))


def test_cross_validated_scores_come_from_other_folds():
    rng = np.random.default_rng(0)
    positive = np.arange(120) % 3 == 0
    noise = rng.normal(size=(120, 60))  # enough to separate the starts that it is fitted to
    assert auc(cross_validated_scores(noise, positive), positive).mean < 0.65
    signal = np.concatenate([noise[:, :3], positive[:, None] + 0.1 * noise[:, 3:4]], 1)
    assert auc(cross_validated_scores(signal, positive), positive).mean > 0.99


def test_a_mean_of_means_weighs_groups_alike():
    a, b = np.array([5.0, 7.0, 9.0]), np.array([1.0, 1.0])
    assert mean_of_means([a, b]).mean == 4  # not the mean of all five


# Pictures


def test_tiles_cover_the_plane_with_the_right_levels():
    level = np.random.default_rng(0).integers(3, size=(8, 9))
    rows = tiles(level, (0, 9, 0, 8))
    assert sum(r["x2"] - r["x"] for r in rows) == pytest.approx(72)
    for i in range(8):
        for j in range(9):
            over = [r for r in rows if r["y"] == i and r["x"] <= j + 0.5 <= r["x2"]]
            assert [r["level"] for r in over] == [level[i, j]]


def test_examples_show_each_kind_of_end():
    trained = _trained([0.99], [0.66])
    mixed = _trained([0.99, 0.98, 0.4, 0.99], [0.6, 0.7, 0.3, 1.0])
    listed = [(e.title.split(": ")[-1], e.row) for e in examples(trained, mixed)]
    assert listed == [("From the authors' weights", 0), ("fell", 0), ("focused", 3)]
    failed = _trained([0.99, 0.5], [0.6, 0.3])
    assert [e.title.split(": ")[-1] for e in examples(trained, failed)][1:] == ["fell", "failed"]


# Findings, from records made up to meet the criteria and to miss them


def _starts(down=8, good=8, bad=4, epochs=30, right_bits=0.2, wrong_bits=2.0, spread=0.9):
    total = down + good + bad
    accuracy = np.repeat([0.99, 0.99, 0.5], [down, good, bad])
    ft = np.repeat([0.67, 1.0, 0.3], [down, good, bad])
    early = np.tile(np.where(np.arange(total) % 2, 0.5, 0.6), (2, 1))
    quarter = np.tile([300, 100, 0, 0], (total, 1))
    ent = np.tile([right_bits, wrong_bits, np.nan, np.nan], (total, 1))
    share = np.tile([0.0, spread, np.nan, np.nan], (total, 1))
    w = np.stack([np.linspace(-1, 1, total), np.ones(total)], 1)
    return _trained(
        accuracy,
        ft,
        t=(0, epochs - 1, epochs),
        early=early,
        f_w0=w,
        f_w=w,
        split_count=quarter,
        split_ent=ent,
        split_nnz=2 * ent,
        split_spread=share,
    )


def _authors(accuracy=0.99, ft=0.66, epochs=30):
    return _trained([accuracy] * 4, [ft] * 4, t=(0, epochs - 1, epochs))


def _linear(margins=(3.0, 0.0, 0.5), ft=(1.0, 0.0, 0.97), accuracy=0.99):
    final = {
        "margin": np.array([margins]),
        "ft": np.full((1, 3, 5), 0.6),
        "sum_ft": np.array([ft]),
        "sum_accuracy": np.full((1, 4), accuracy),
    }
    return Record(np.zeros(1), {}, final)


def _records(**changed):
    epochs = {1: 30, 2: 6, 3: 10}
    records = {f"mode-{k}-authors": _authors(epochs=epochs[k]) for k in BOXES}
    records |= {f"mode-{k}-starts": _starts(epochs=epochs[k]) for k in BOXES}
    return records | {"linear-focus": _linear()} | changed


def _verdicts(**changed):
    settings = ErrorModes.scales["small"]
    return {f.claim: f.verdict for f in ErrorModes().findings(settings, _records(**changed))}


def test_records_that_meet_every_criterion():
    assert _verdicts() == dict.fromkeys(ErrorModes.criteria, "holds")


@pytest.mark.parametrize("mode", [1, 2, 3])
@pytest.mark.parametrize(
    ("trained", "random", "verdict"),
    [
        (_authors(ft=0.81), _starts(), "holds in part"),
        (_authors(ft=0.54), _starts(), "holds in part"),
        (_authors(accuracy=0.94), _starts(), "holds in part"),
        (_authors(), _starts(down=0), "holds in part"),
        (_authors(), _starts(down=1, good=39), "holds in part"),  # its interval reaches 0
        (_authors(ft=1.0), _starts(down=0), "does not hold"),
    ],
)
def test_an_error_mode_exists_by_both_halves(mode, trained, random, verdict):
    changed = {f"mode-{mode}-authors": trained, f"mode-{mode}-starts": random}
    result = _verdicts(**changed)
    claims = {1: "pvr22:C2", 2: "pvr22:C3", 3: "pvr22:C4"}
    assert result.pop(claims[mode]) == verdict
    assert all(result[claims[k]] == "holds" for k in claims if k != mode)


def test_wrong_focus_must_be_spread_in_every_mode():
    sparse = _starts(spread=0.3)
    assert _verdicts(**{"mode-2-starts": sparse})["pvr22:C9"] == "holds in part"
    everywhere = {f"mode-{k}-starts": _starts(spread=0.3) for k in BOXES}
    assert _verdicts(**everywhere)["pvr22:C9"] == "does not hold"
    no_contrast = {"mode-3-starts": _starts(right_bits=2.5)}
    assert _verdicts(**no_contrast)["pvr22:C9"] == "holds in part"


def test_mode_1_must_be_slower_in_all_four_comparisons():
    assert _verdicts(**{"mode-3-starts": _starts(epochs=50)})["pvr22:C10"] == "holds in part"
    assert _verdicts(**{"mode-2-authors": _authors(epochs=30)})["pvr22:C10"] == "holds in part"
    quick = {"mode-1-starts": _starts(epochs=3), "mode-1-authors": _authors(epochs=3)}
    assert _verdicts(**quick)["pvr22:C10"] == "does not hold"
    nobody = {"mode-1-starts": _starts(down=0), "mode-1-authors": _authors(ft=1.0)}
    assert _verdicts(**nobody)["pvr22:C10"] == "does not hold"


@pytest.mark.parametrize(
    ("linear", "verdict"),
    [
        (_linear(margins=(3.0, 0.1, 0.5)), "holds in part"),
        (_linear(margins=(3.0, 0.0, 0.0)), "holds in part"),
        (_linear(ft=(1.0, 0.5, 1.0)), "holds in part"),
        (_linear(accuracy=0.9), "holds in part"),
        (_linear(margins=(0.0, 0.0, 0.0), accuracy=0.9), "does not hold"),
    ],
)
def test_linear_focus_by_both_halves(linear, verdict):
    assert _verdicts(**{"linear-focus": linear})["pvr22:C12"] == verdict


def test_prediction_finds_the_constructed_predictor():
    rng = np.random.default_rng(0)
    w = rng.normal(size=(200, 2))
    down = w[:, 1] > 0.3  # those that start upwards fall
    end = np.where(down[:, None], [[0.5, 1.0]], [[1.0, 0.0]])
    accuracy, ft = np.full(200, 0.99), np.where(down, 0.67, 1.0)
    result = predict_error_mode(MODE_1, _trained(accuracy, ft, f_w0=w, f_w=end), 9)
    assert result.neglected == 1  # upwards, the second class lies below the background
    assert result.power["a low initial score of the missed class"].mean > 0.8
    assert result.power["regression on f's weights"].mean > 0.97
    assert "class 2" in result.summary
    below = w @ [4.0, -6.0] < 0  # from the centre of the background to that of the second class
    assert result.rates == pytest.approx((down[below].mean(), down[~below].mean()))
    few = predict_error_mode(MODE_1, _trained(accuracy, np.ones(200), f_w0=w, f_w=end), 9)
    assert few.power == {}


# The experiment itself


def test_smoke_run_leaves_findings_and_described_figures(tmp_path):
    run = start_experiment("error-modes", "smoke", out=tmp_path / "run")
    result = findings_of(run)
    assert [f.claim for f in result] == list(ErrorModes.criteria)
    assert all(np.isfinite(f.effect) for f in result)
    charts = ErrorModes().figures(ErrorModes.scales["smoke"], run.records())
    assert {f.figure for f in result} <= set(charts)
    assert all(len(chart.description) > 20 for chart in charts.values())
    svg = to_svg(charts["mode-2"])  # the widest; the contract of experiments draws them all
    assert float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1]) <= 860


def test_published_sizes_at_paper_scale():
    settings = ErrorModes.scales["paper"]
    assert (
        settings.m,
        settings.n,
        settings.n_test,
        settings.epochs,
        settings.batch,
        settings.lr,
    ) == (
        9,
        3000,
        1000,
        (100, 100, 150),
        250,
        0.01,
    )
    optimisers = [DATASETS.get(f"error-mode-{k}")().recipe.optimizer for k in BOXES]
    assert optimisers == ["sgd", "sgd", "adam"]
