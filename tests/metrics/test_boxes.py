"""Attention beside boxes: the small matrices give what the pixels give."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foveate.metrics.boxes import Grid, box_mask, only
from foveate.metrics.crossed import crossed


def raised_by_torch(alpha, pixels):
    side = int(alpha.shape[-1] ** 0.5)
    x = torch.from_numpy(alpha).view(-1, 1, side, side)
    up = torch.nn.functional.interpolate(x, (pixels, pixels), mode="bilinear", align_corners=False)
    return up[:, 0].numpy()


def slow_mask(boxes, pixels):
    mask = np.zeros((pixels, pixels))
    for row in range(pixels):
        for column in range(pixels):
            x, y = (column + 0.5) / pixels, (row + 0.5) / pixels
            mask[row, column] = any(b[0] <= x < b[2] and b[1] <= y < b[3] for b in boxes)
    return mask


@given(side=st.integers(1, 6), pixels=st.integers(6, 24), seed=st.integers(0, 99))
def test_cosine_and_mass_are_those_of_the_pixels(side, pixels, seed):
    rng = np.random.default_rng(seed)
    alpha = rng.dirichlet(np.full(side**2, 0.5), 3) + 1e-9
    corner = rng.uniform(0, 0.6, (2, 2))
    boxes = [(*c, *(c + rng.uniform(0.2, 0.4, 2))) for c in corner]
    mask, grid = box_mask(boxes, pixels), Grid(side, pixels)
    np.testing.assert_array_equal(mask, slow_mask(boxes, pixels))
    up = raised_by_torch(alpha, pixels)
    np.testing.assert_allclose(grid.raised(alpha), up, atol=1e-12)
    low, area = np.tile(grid.lowered(mask), (3, 1)), np.full(3, mask.sum())
    exact = (up * mask).sum((1, 2)) / np.sqrt((up**2).sum((1, 2)) * mask.sum())
    np.testing.assert_allclose(grid.cosine(alpha, low, area), exact, atol=1e-10)
    inside = (up * mask).sum((1, 2)) / up.sum((1, 2))
    np.testing.assert_allclose(grid.inside(alpha, low), inside, atol=1e-10)


def test_even_attention_has_the_root_of_the_area():
    grid, mask = Grid(14), box_mask([(0.0, 0.0, 0.5, 0.5)])
    low, area = grid.lowered(mask)[None], np.array([mask.sum()])
    assert grid.cosine(np.ones((1, 196)), low, area)[0] == pytest.approx(0.5)
    assert grid.inside(np.ones((1, 196)), low)[0] == pytest.approx(0.25)


def test_a_box_smaller_than_a_pixel_has_one():
    mask = box_mask([(0.26, 0.51, 0.27, 0.52)], 4)
    assert np.argwhere(mask).tolist() == [[2, 1]]
    assert np.argwhere(box_mask([(0.999, 0.999, 1.0, 1.0)], 4)).tolist() == [[3, 3]]


def test_ones_at_the_largest():
    assert only(np.array([[0.2, 0.5, 0.3], [1.0, 1.0, 1.0]]), 2).tolist() == [[0, 1, 1], [1, 1, 0]]


def test_intervals_over_members_and_cases():
    rng = np.random.default_rng(1)
    cases = rng.normal(size=200)
    flat = np.tile(cases, (3, 1))
    result = crossed(flat, np.ones_like(flat))
    assert result.mean == pytest.approx(cases.mean())
    width = 2 * 1.96 * cases.std() / np.sqrt(200)  # members agree, so only cases spread
    assert result.high - result.low == pytest.approx(width, rel=0.1)
    apart = flat + np.array([[-1.0], [0.0], [1.0]])
    wider = crossed(apart, np.ones_like(flat))
    spread = np.sqrt(2 / 3 / 3 + (width / 3.92) ** 2)
    assert wider.high - wider.low == pytest.approx(3.92 * spread, rel=0.15)


def test_cases_count_by_what_is_in_them():
    total, count = np.array([[6.0, 1.0, 0.0]]), np.array([[3, 1, 0]])
    assert crossed(total, count).mean == 7 / 4
    assert crossed(np.zeros((2, 5)), np.zeros((2, 5))) == (0.0, 0.0, 0.0)
    same = crossed(total, count, minus=(total, count))
    assert same == (0.0, 0.0, 0.0)  # the same draws for both
    assert crossed(total[:, :1], count[:, :1]) == (2.0, None, None)
