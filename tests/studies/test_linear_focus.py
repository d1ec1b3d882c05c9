"""What a linear focus can do: its exact FT, and the largest margin of each error mode."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from foveate.data import DATASETS
from foveate.data.error_modes import MODE_1, MODE_2, MODE_3, Box, Boxes
from foveate.metrics.focus import focus_true
from foveate.models.focus import FCAM
from foveate.studies.pvr22.error_modes import BOXES
from foveate.studies.pvr22.error_modes.linear_focus import (
    attended_points,
    best_separation,
    exact_ft,
    score_cdf,
)

direction = st.floats(-180, 180).map(
    lambda a: np.array([[np.cos(np.radians(a)), np.sin(np.radians(a))]])
)


# What a linear focus can do


@given(w=direction, m=st.integers(2, 12))
def test_an_indistinguishable_foreground_has_ft_one_over_m(w, m):
    box = Box(-1, 2, 0, 5)
    ft = exact_ft(Boxes((box, box), box), w, m)
    np.testing.assert_allclose(ft, 1 / m, atol=1e-6)


@pytest.mark.parametrize("boxes", [MODE_1, MODE_2, MODE_3])
@given(w=direction)
def test_exact_ft_is_the_share_of_sampled_bags(boxes, w):
    number = 1 + [MODE_1, MODE_2, MODE_3].index(boxes)
    bag = DATASETS.get(f"error-mode-{number}")().load("test", n=4000, m=9, seed=0)
    scores = bag.x.double().numpy() @ w[0]
    sampled = focus_true(scores, bag.z.numpy())
    ft = exact_ft(boxes, w, 9)
    for c in range(len(boxes.foreground)):
        gap = sampled[bag.y.numpy() == c]
        assert abs(gap.mean() - ft[0, c]) < 5 * np.sqrt(0.25 / len(gap))


def test_exact_ft_depends_on_the_direction_only():
    w = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(exact_ft(MODE_1, w, 9), exact_ft(MODE_1, 7.5 * w, 9), atol=1e-9)
    assert (exact_ft(MODE_1, np.zeros((1, 2)), 9) == 0).all()  # ties are not FT


def test_exact_ft_at_hand_made_directions():
    # Along the first axis every foreground class of mode 1 lies right of the background.
    np.testing.assert_allclose(exact_ft(MODE_1, np.array([[1.0, 0.0]]), 9), 1, atol=1e-6)
    np.testing.assert_allclose(exact_ft(MODE_1, np.array([[-1.0, 0.0]]), 9), 0, atol=1e-6)
    # Along it the third class of mode 2 lies left of the background, the others right.
    np.testing.assert_allclose(exact_ft(MODE_2, np.array([[1.0, 0.0]]), 9), [[1, 1, 0]], atol=1e-6)


def test_score_cdf_is_the_share_of_points_below():
    box, w = Box(1, 2, -8, 5), np.array([[0.7, -0.3], [0.0, 2.0], [1e-9, 1.0]])
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(1, 2, 200_000), rng.uniform(-8, 5, 200_000)], 1)
    for row in w:
        s = np.quantile(x @ row, [0.0, 0.1, 0.5, 0.9, 1.0])
        result = score_cdf(box, row[None], s[None])[0]
        np.testing.assert_allclose(result, [0, 0.1, 0.5, 0.9, 1], atol=0.005)


@pytest.mark.parametrize(("boxes", "margin"), [(MODE_1, 3.0), (MODE_2, 0.0), (MODE_3, 0.5)])
def test_best_margin_of_each_mode(boxes, margin):
    assert best_separation(boxes).margin == pytest.approx(margin, abs=1e-9)


@given(w=st.tuples(st.floats(-1, 1), st.floats(-1, 1)), mode=st.sampled_from([1, 2, 3]))
def test_no_focus_has_a_larger_margin(w, mode):
    boxes, w = BOXES[mode], np.array(w)
    corner = [
        np.array([(x, y) for x in box[:2] for y in box[2:]])
        for box in (*boxes.foreground, boxes.background)
    ]
    margin = np.concatenate(corner[:-1]) @ w
    gap = margin.min() - (corner[-1] @ w).max()
    assert gap <= best_separation(boxes).margin + 1e-9


def test_ft_is_one_in_the_direction_that_separates():
    for boxes in (MODE_1, MODE_3):
        w = best_separation(boxes).w[None]
        np.testing.assert_allclose(exact_ft(boxes, w, 9), 1, atol=1e-6)


def test_attended_points_are_what_a_model_attends_to():
    bag = DATASETS.get("error-mode-1")().load("test", n=20, m=9, seed=1)
    with torch.random.fork_rng(devices=[]):
        f = nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        f.weight.copy_(torch.tensor([[0.4, -1.3]]))
    focus = FCAM(f, nn.Identity()).attend(bag.x.double(), None)
    expected = torch.einsum("bm,bmd->bd", focus.alpha, bag.x.double()).detach().numpy()
    np.testing.assert_allclose(
        attended_points(bag.x.double().numpy(), np.array([0.4, -1.3])), expected
    )
