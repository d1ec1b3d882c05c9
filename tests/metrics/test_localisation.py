"""Localisation against plain loops and scikit-learn, with ties, padding and unknown bags."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, jaccard_score, roc_auc_score

from foveate.metrics.localisation import (
    above_threshold,
    average_precision,
    best_k,
    froc,
    over_bags,
    overlap,
    pointing_game,
    pooled,
    segment_auroc,
    top_k,
)


@pytest.fixture(params=["ties", "reals"])
def ragged(request):
    rng = np.random.default_rng(1)
    n, m = 60, 8
    s = rng.normal(size=(n, m)) if request.param == "reals" else rng.integers(0, 4, (n, m)) / 4
    z = rng.random((n, m)) < 0.3
    mask = np.arange(m) < rng.integers(1, m + 1, size=n)[:, None]
    return s.astype(float), z, mask


def rows(s, z, mask):
    return [(a[exists], b[exists]) for a, b, exists in zip(s, z, mask, strict=True)]


def test_pointing_game_shares_ties(ragged):
    s, z, mask = ragged
    for got, (a, b) in zip(pointing_game(s, z, mask), rows(s, z, mask), strict=True):
        if not b.any():
            assert np.isnan(got)
        else:
            tops = [b[j] for j in range(len(a)) if a[j] == max(a)]
            assert got == pytest.approx(sum(tops) / len(tops))


def test_auroc_and_average_precision_are_scikit_learns(ragged):
    s, z, mask = ragged
    result = zip(
        segment_auroc(s, z, mask), average_precision(s, z, mask), rows(s, z, mask), strict=True
    )
    compared = 0
    for auroc, precision, (a, b) in result:
        if b.any():
            assert precision == pytest.approx(average_precision_score(b, a))
        else:
            assert np.isnan(precision)
        if b.any() and not b.all():
            compared += 1
            assert auroc == pytest.approx(roc_auc_score(b, a))
        else:
            assert np.isnan(auroc)
    assert compared > 20


def test_pooled_measures_are_scikit_learns(ragged):
    s, z, mask = ragged
    assert pooled(segment_auroc, s, z, mask) == pytest.approx(roc_auc_score(z[mask], s[mask]))
    ours = pooled(average_precision, s, z, mask)
    assert ours == pytest.approx(average_precision_score(z[mask], s[mask]))


def test_froc_is_what_counting_gives(ragged):
    s, z, mask = ragged
    rates = (0.25, 1.0, 3.0)
    expected = []
    for rate in rates:
        # the lowest threshold that at most rate · n others pass, tried one by one
        best = np.inf
        for t in sorted({*s[mask], *(s[mask] + 1e-9)}, reverse=True):
            if ((s >= t) & ~z & mask).sum() <= rate * len(s):
                best = t
            else:
                break
        expected.append([np.mean(a[b] >= best) if b.any() else np.nan for a, b in rows(s, z, mask)])
    np.testing.assert_allclose(froc(s, z, mask, rates), np.mean(expected, 0))


def test_bags_that_are_not_there_allow_no_false_positives(ragged):
    s, z, mask = ragged
    some = np.arange(len(s)) % 3 == 0
    alone = froc(s[some], z[some], mask[some])
    among = froc(s, z & some[:, None], mask & some[:, None])
    np.testing.assert_array_equal(among[some], alone)
    members = froc(np.stack([s, s]), np.stack([z, z]), np.stack([mask & some[:, None], mask]))
    np.testing.assert_array_equal(members[0][some], alone)
    np.testing.assert_array_equal(members[1], froc(s, z, mask))


def test_overlap_is_scikit_learns_f1_and_jaccard(ragged):
    s, z, mask = ragged
    alpha = np.where(mask, np.exp(s), 0)
    alpha /= alpha.sum(1, keepdims=True)
    chosen = above_threshold(alpha, 0.2, mask)
    got = overlap(chosen, z, mask)
    for f1, iou, c, (_, b), exists in zip(*got, chosen, rows(s, z, mask), mask, strict=True):
        if b.any():
            assert f1 == pytest.approx(f1_score(b, c[exists], zero_division=0))
            assert iou == pytest.approx(jaccard_score(b, c[exists], zero_division=0))
        else:
            assert np.isnan(f1)
            assert np.isnan(iou)


def test_best_k_is_the_best_of_all_tried(ragged):
    s, z, mask = ragged
    means = [np.nanmean(overlap(top_k(s, k, mask), z, mask).f1) for k in range(1, s.shape[1] + 1)]
    assert best_k(s, z, mask) == 1 + int(np.argmax(np.round(means, 12)))
    assert (top_k(s, 3, mask).sum(1) == np.minimum(3, mask.sum(1))).all()


def test_padding_changes_nothing(ragged):
    s, z, mask = ragged
    junk = np.full((len(s), 3), 99.0)
    wide = [np.concatenate(pair, 1) for pair in ((s, junk), (z, junk > 0), (mask, junk < 0))]
    for measure in (pointing_game, segment_auroc, average_precision, froc):
        np.testing.assert_array_equal(measure(s, z, mask), measure(*wide))
    assert best_k(s, z, mask) == best_k(*wide)


def test_leading_axes_are_members(ragged):
    s, z, mask = ragged
    two, both = np.stack([s, -s]), np.stack([z, z])
    for measure in (pointing_game, segment_auroc, average_precision, froc):
        whole = measure(two, both, np.stack([mask, mask]))
        np.testing.assert_array_equal(whole[1], measure(-s, z, mask))


def test_intervals_over_bags_leave_out_what_has_no_value():
    result = over_bags(np.array([1.0, np.nan, 0.0, 1.0, 1.0]))
    assert result.mean == 0.75
    assert result.low < 0.75 < result.high
    assert np.isnan(over_bags(np.array([np.nan])).mean)


def test_whole_groups_are_drawn():
    values, group = np.repeat([0.0, 1.0], 50), np.repeat([0, 1], 50)
    by_bag, by_group = over_bags(values), over_bags(values, group)
    assert by_bag.mean == by_group.mean == 0.5
    assert (by_group.low, by_group.high) == (0.0, 1.0)  # two groups: one may be drawn twice
    assert by_bag.high - by_bag.low < 0.25
    assert over_bags(values[:50], group[:50]).low is None
