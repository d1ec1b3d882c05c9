"""Thresholds against an exhaustive search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.userdata.thresholds import choose_threshold, parse_rule, threshold_entry


def gain(p, y, t, rule):
    """What a rule maximises at a threshold, by its definition."""
    hit = sum(1 for a, b in zip(p, y, strict=True) if a >= t and b == 1)
    alarm = sum(1 for a, b in zip(p, y, strict=True) if a >= t and b == 0)
    positive, negative = sum(y == 1), sum(y == 0)
    if rule == "youden":
        return hit / positive - alarm / negative
    if rule == "f1":
        return 2 * hit / (hit + alarm + positive)
    return -(alarm + 3 * (positive - hit))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["youden", "f1", "cost=3"]))
def test_no_threshold_is_better(seed, rule):
    chance = np.random.default_rng(seed)
    y = np.r_[0, 1, chance.integers(2, size=18)]
    p = np.clip(chance.normal(0.4 + 0.2 * y, 0.2), 0.001, 0.999)
    best = max(gain(p, y, t, rule) for t in np.linspace(0, 1, 1001))
    assert gain(p, y, choose_threshold(p, y, rule), rule) >= best - 1e-9


def test_a_fold_does_not_choose_its_own_threshold():
    p1, y = np.linspace(0.05, 0.95, 20), (np.arange(20) >= 8).astype(int)
    p = np.stack([1 - p1, p1], 1)
    fold = np.arange(20) % 4
    entry = threshold_entry(p, y, fold, "youden")
    called = np.zeros(20, bool)
    for k in range(4):
        of_fold = fold == k
        called[of_fold] = p1[of_fold] >= choose_threshold(p1[~of_fold], y[~of_fold], "youden")
    assert entry["sensitivity"] == pytest.approx(called[y == 1].mean())
    assert entry["specificity"] == pytest.approx((~called[y == 0]).mean())


def test_rules_that_are_none_are_refused():
    with pytest.raises(FoveateError, match="threshold must be none, youden, f1 or cost="):
        parse_rule("cost=0")
    with pytest.raises(FoveateError, match="for two classes, got 3"):
        threshold_entry(np.ones((3, 3)) / 3, np.arange(3), np.arange(3), "f1")
