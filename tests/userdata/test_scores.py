import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score

from foveate.userdata.scores import mean_probability, scores


def drawn(n, classes, seed, sharp=1.0):
    chance = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), chance.integers(classes, size=n)])
    logits = sharp * (chance.normal(size=(len(y), classes)) + (y[:, None] == np.arange(classes)))
    p = np.exp(logits).round(2)  # with ties
    return p / p.sum(1, keepdims=True), y


@given(st.integers(5, 60), st.integers(2, 4), st.integers(0, 10))
def test_measures_are_scikit_learns(n, classes, seed):
    p, y = drawn(n, classes, seed)
    result = scores(p, y)
    assert result["accuracy"].mean == pytest.approx(accuracy_score(y, p.argmax(1)))
    assert result["balanced_accuracy"].mean == pytest.approx(
        balanced_accuracy_score(y, p.argmax(1))
    )
    assert result["log_loss"].mean == pytest.approx(log_loss(y, p))
    area = roc_auc_score(y, p[:, 1] if classes == 2 else p, multi_class="ovr")
    assert result["auroc"].mean == pytest.approx(area)
    for value in (result["accuracy"], result["auroc"], result["log_loss"]):
        assert value.low <= value.mean <= value.high


def test_intervals_have_nominal_coverage():
    inside = 0
    for seed in range(100):
        chance = np.random.default_rng(1000 + seed)
        y = chance.integers(2, size=150)
        right = chance.random(150) < 0.8
        p = np.eye(2)[np.where(right, y, 1 - y)] * 0.8 + 0.1
        result = scores(p, y)["accuracy"]
        inside += result.low <= 0.8 <= result.high
    assert 86 <= inside <= 100


def test_groups_widen_intervals():
    chance = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 10)
    y = chance.integers(2, size=200)
    right = np.repeat(chance.random(20) < 0.7, 10)  # a whole group is right or wrong
    p = np.eye(2)[np.where(right, y, 1 - y)] * 0.8 + 0.1
    narrow, wide = scores(p, y)["accuracy"], scores(p, y, group)["accuracy"]
    assert narrow.mean == wide.mean
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_probabilities_are_averaged_not_their_logarithms():
    log_p = np.log(np.array([[[0.9, 0.1]], [[0.5, 0.5]]]))
    np.testing.assert_allclose(mean_probability(log_p), [[0.7, 0.3]])
