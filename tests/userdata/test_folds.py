"""Draws of folds: frozen expectations and the laws that every draw obeys."""

import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foveate.errors import FoveateError
from foveate.userdata.fold_draw import draw_folds

SIZES = st.lists(st.integers(0, 2), min_size=12, max_size=80)


def text(fold):
    return "".join(map(str, fold.tolist()))


@pytest.mark.parametrize(
    ("seed", "repeat", "expected"),
    [
        (0, 0, "240343423314111012232004123400"),
        (1, 0, "310243031442301100242043412132"),
        (0, 1, "310304212003120034143441223412"),
    ],
)
def test_draws_without_groups_are_frozen(seed, repeat, expected):
    labels = [i % 3 == 0 for i in range(30)]
    assert text(draw_folds(labels, None, 5, seed, repeat)) == expected


def test_a_draw_with_groups_is_frozen():
    labels = [(i // 4) % 3 == 0 for i in range(48)]
    groups = [i // (2 + i % 3) for i in range(48)]
    assert (
        text(draw_folds(labels, groups, 4, 7)) == "000000311231323102330110123231312022213121302032"
    )


def test_a_large_draw_is_frozen():
    labels = [(i * i) % 7 % 3 for i in range(2000)]
    groups = [(i * 31) % 467 for i in range(2000)]
    fold = draw_folds(labels, groups, 5, 3, 2)
    assert sha256(text(fold).encode()).hexdigest()[:16] == "2fb5b190cb8f4844"


@given(SIZES, st.integers(2, 6), st.integers(0, 9))
def test_without_groups_classes_and_sizes_differ_by_one_at_most(labels, folds, seed):
    fold = draw_folds(labels, None, folds, seed)
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1
    for label in set(labels):
        counts = np.bincount(fold[np.array(labels) == label], minlength=folds)
        assert np.ptp(counts) <= 1


@given(SIZES, st.integers(2, 4), st.integers(0, 9), st.randoms(use_true_random=False))
def test_every_bag_has_one_fold_and_no_group_is_divided(labels, folds, seed, random):
    groups = np.array([random.randrange(max(folds, len(labels) // 3)) for _ in labels])
    groups[:folds] = range(folds)
    fold = draw_folds(labels, groups, folds, seed)
    assert fold.shape == (len(labels),)
    assert set(fold.tolist()) <= set(range(folds))
    for group in set(groups.tolist()):
        assert len(set(fold[groups == group].tolist())) == 1


@given(SIZES, st.integers(0, 9))
def test_names_of_groups_do_not_matter(labels, seed):
    groups = np.arange(len(labels)) // 2
    renamed = 1000 - 7 * groups
    assert draw_folds(labels, groups, 3, seed).tolist() == (
        draw_folds(labels, renamed, 3, seed).tolist()
    )


def test_class_shares_with_groups_are_close():
    chance = np.random.default_rng(0)
    groups = chance.integers(0, 60, 600)
    labels = (groups % 3 == 0).astype(int) ^ (chance.random(600) < 0.1)
    for seed in range(10):
        fold = draw_folds(labels, groups, 5, seed)
        shares = [labels[fold == k].mean() for k in range(5)]
        assert max(abs(np.array(shares) - labels.mean())) < 0.08
        assert np.ptp(np.bincount(fold)) <= 40


def test_groups_of_different_sizes_are_drawn_anew_for_each_repeat():
    groups = np.repeat(np.arange(12), np.arange(20, 32))
    labels = groups % 2
    draws = {text(draw_folds(labels, groups, 3, 0, repeat)) for repeat in range(8)}
    assert len(draws) == 8


@pytest.mark.parametrize("folds", [1, 4])
def test_folds_must_fit_the_groups(folds):
    with pytest.raises(FoveateError, match="between 2 and the number of groups, 3"):
        draw_folds([0, 1, 0, 1], [0, 1, 2, 2], folds, 0)


def test_the_draw_does_not_use_scikit_learn():
    code = (
        "import sys; from foveate.userdata.fold_draw import draw_folds; "
        "draw_folds([0, 1] * 9, None, 3, 0); sys.exit('sklearn.model_selection' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
