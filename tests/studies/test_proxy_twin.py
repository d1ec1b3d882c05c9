"""The proxy and logistic regression: one problem in two coordinates."""

import numpy as np
import pytest

from foveate.charts.render import to_svg
from foveate.jobs.experiment import findings_of, of_run, start_experiment
from foveate.records.record import Record
from foveate.studies.snell21.agreement.comparison import CHOOSING, FAIR, REPORTING
from foveate.studies.snell21.proxy_twin import ProxyTwin, ProxyTwinSettings
from foveate.studies.snell21.proxy_twin.factored import (
    factored_minimum,
    largest_penalty,
    logistic_weights,
    ridge_strength,
)
from foveate.studies.snell21.proxy_twin.findings import correlation, table_10
from foveate.studies.snell21.proxy_twin.parts import corpus, correlations

X, Y = corpus(80, 5, 0)


def start(d, seed=0):
    return np.random.default_rng(seed).normal(size=d * (2 + X.shape[1]))


def loss(delta):
    return np.logaddexp(0, -(2 * Y - 1) * (X @ delta)).mean()


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_minimum_of_the_factors_is_ridge_regression_of_known_strength(share, d):
    penalty = share * largest_penalty(X, Y)
    delta = factored_minimum(X, Y, penalty, d, start(d))
    twin = logistic_weights(X, Y, ridge_strength(delta, penalty, len(Y)), tol=1e-10)
    np.testing.assert_allclose(delta, twin, rtol=1e-4, atol=1e-5)


def test_the_penalty_on_factors_is_a_norm_of_the_difference():
    """No δ near the minimum has a lower f(δ) + λ‖δ‖/√2."""
    penalty = 0.2 * largest_penalty(X, Y)
    delta = factored_minimum(X, Y, penalty, 3, start(3))

    def cost(at):
        return loss(at) + penalty * np.linalg.norm(at) / np.sqrt(2)

    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            assert cost(delta + size * rng.normal(size=5)) > cost(delta)


def test_beyond_the_largest_penalty_nothing_is_learnt():
    most = largest_penalty(X, Y)
    assert np.linalg.norm(factored_minimum(X, Y, 1.01 * most, 3, start(3))) < 1e-6
    assert np.linalg.norm(factored_minimum(X, Y, 0.97 * most, 3, start(3))) > 1e-2


def test_the_largest_penalty_by_finite_differences():
    slope = [(loss(1e-5 * e) - loss(-1e-5 * e)) / 2e-5 for e in np.eye(5)]
    assert largest_penalty(X, Y) == pytest.approx(np.sqrt(2) * np.linalg.norm(slope), rel=1e-6)


def test_correlations_are_those_of_numpy():
    a, b = np.random.default_rng(0).normal(size=(2, 3, 9)), np.eye(4, 9)
    result = correlations(a, b)
    assert result.shape == (2, 3, 4)
    assert result[1, 2, 3] == pytest.approx(np.corrcoef(a[1, 2], b[3])[0, 1])


def records_of(gap=1e-7, alike=0.95, px=0.5, log=0.52):
    """Minima of two corpora, and two seeds on one data set with two epochs and two strengths."""
    minima = Record(
        np.array([0.0, 0.1, 1.2]),
        {"gap": np.full((3, 2), gap), "norm": np.full((3, 2), 1.0)},
        {},
        {"kind": "minima"},
    )
    curves = {
        "uf_px": np.full((3, 2, 3, 3), 0.1),
        "uf_log": np.full((3, 2, 3, 3), 0.9),
        "uniform_accuracy": np.full((3, 2, 3), 0.5),
    }
    curves["uniform_accuracy"][1, :, CHOOSING] = 0.8
    curves["uf_px"][1, :, REPORTING, FAIR] = px
    curves["uf_log"][1, :, REPORTING, FAIR] = log
    correlation = np.zeros((2, 2, 2))
    correlation[:, 1, 1] = alike
    final = {
        "correlation": correlation,
        "best": np.array([1.0, 1.0]),
        "log_accuracy": np.array([[[0.6] * 3, [0.7] * 3]]),
        "px_log": np.full((2, 3, 3), 0.8),
        "proxy_accuracy": np.full((2, 3), 0.7),
        "proxy_loss": np.ones((2, 2, 3)),
    }
    meta = {"kind": "texts", "strengths": [0.1, 10.0]}
    return {"minima": minima, "sst": Record(np.array([0, 10, 20]), curves, final, meta)}


def verdict(**changes):
    (finding,) = ProxyTwin().findings(ProxyTwinSettings(), records_of(**changes))
    return finding.verdict


def test_verdicts_follow_from_records():
    assert verdict() == "holds"
    assert verdict(alike=0.8) == "holds in part"
    assert verdict(log=0.65) == "holds in part"
    assert verdict(gap=0.01) == "holds in part"
    assert verdict(gap=0.01, alike=0.8) == "holds in part"  # Table 10 alone
    assert verdict(gap=0.01, alike=0.8, log=0.65) == "contradicted"


def test_the_best_epoch_meets_the_chosen_strength():
    record = records_of(alike=0.93)["sst"]
    assert correlation(record).tolist() == [0.93, 0.93]
    px, log = table_10(record)
    assert px.tolist() == [0.5, 0.5]
    assert log.tolist() == [0.52, 0.52]


def test_smoke_finds_the_minima_equal_and_draws(tmp_path):
    run = start_experiment("proxy-twin", "smoke", out=tmp_path / "run")
    records = run.records()
    assert records["minima"].values["gap"].max() < 1e-5
    experiment, settings = of_run(run)
    (finding,) = findings_of(run)
    assert finding.verdict in ("holds", "holds in part", "underpowered")
    charts = experiment.figures(settings, records)
    assert finding.figure in charts
    for chart in charts.values():
        chart.to_dict()
        assert to_svg(chart).startswith("<svg")
        assert chart.description
