"""Conformal abstention: quantiles by hand, coverage by simulation."""

import numpy as np
import pytest

from foveate.userdata.abstention import abstention_entry, class_quantiles, prediction_sets


def _bags(chance, n, shares):
    """Labels and probabilities of a noisy classifier of three classes."""
    y = chance.choice(len(shares), size=n, p=shares)
    logits = chance.normal(size=(n, len(shares))) * (1, 2, 3) + 1.5 * np.eye(len(shares))[y]
    p = np.exp(logits)
    return p / p.sum(1, keepdims=True), y


def test_quantile_is_the_stated_order_statistic():
    p = np.stack([np.linspace(0.05, 0.95, 19), 1 - np.linspace(0.05, 0.95, 19)], 1)
    scores = np.sort(1 - p[:, 0])
    assert class_quantiles(p, np.zeros(19, int), 0.1)[0] == scores[17]  # ceil(20 · .9) = 18th
    assert class_quantiles(p, np.zeros(19, int), 0.05)[0] == scores[18]
    assert class_quantiles(p, np.zeros(19, int), 0.04)[0] == 1.0


@pytest.mark.parametrize("error", [0.1, 0.2])
def test_every_class_is_covered_with_the_stated_probability(error):
    chance = np.random.default_rng(0)
    covered = np.zeros((300, 3))
    for trial in range(300):
        p, y = _bags(chance, 150, (0.5, 0.3, 0.2))
        new, truth = _bags(chance, 300, (0.2, 0.3, 0.5))  # other shares: coverage is by class
        sets = prediction_sets(new, class_quantiles(p, y, error))
        in_set = sets[np.arange(300), truth]
        covered[trial] = [in_set[truth == c].mean() for c in range(3)]
    mean, spread = covered.mean(0), covered.std(0) / np.sqrt(300)
    assert (mean >= 1 - error - 3 * spread).all()
    assert (mean <= 1 - error + 1 / 25).all()  # at most 1 / (n_c + 1) above


def test_entry_reports_out_of_fold_shares():
    chance = np.random.default_rng(1)
    p, y = _bags(chance, 400, (0.4, 0.3, 0.3))
    fold = np.arange(400) % 5
    entry = abstention_entry(p, y, fold, 0.1)
    assert entry["quantiles"] == class_quantiles(p, y, 0.1).tolist()
    assert all(0.82 <= share <= 0.97 for share in entry["coverage"])
    first = fold == 0
    sets = prediction_sets(p[first], class_quantiles(p[~first], y[~first], 0.1))
    assert 0 < entry["answered"] < 1
    assert entry["wrong_answer"] <= 0.15
    others = abstention_entry(p[~first], y[~first], fold[~first], 0.1)
    assert abs(others["answered"] - (sets.sum(1) == 1).mean()) < 0.2
