import entmax as peer
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import grad, vmap

from foveate.attention.maps import MAPS, entmax15, log_softmax, softmax, sparsemax, spherical
from oracles import projection_by_bisection, softmax_loop

ALL = MAPS.names()
sizes = st.integers(1, 40)


def scores(m: int, seed: int, scale: float = 2.0) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return scale * torch.randn(3, m, generator=rng, dtype=torch.float64)


@given(sizes, st.integers(0, 10**6), st.floats(0.01, 50))
def test_every_map_gives_a_distribution(m, seed, scale):
    s = scores(m, seed, scale)
    for name in ALL:
        alpha = MAPS.get(name)(s, None)
        assert (alpha >= 0).all()
        torch.testing.assert_close(alpha.sum(-1), torch.ones(3, dtype=s.dtype))


@given(st.integers(2, 30), st.integers(0, 10**6), st.floats(0.01, 100))
def test_masking_equals_deleting(m, seed, scale):
    rng = torch.Generator().manual_seed(seed)
    s = scale * torch.randn(m, generator=rng, dtype=torch.float64)
    mask = torch.rand(m, generator=rng) < 0.6
    mask[0] = True
    for name in ALL:
        alpha = MAPS.get(name)(s[None], mask[None])[0]
        torch.testing.assert_close(alpha[mask], MAPS.get(name)(s[mask][None], None)[0])
        assert (alpha[~mask] == 0).all()


@pytest.mark.parametrize("name", ALL)
def test_a_fully_masked_row_is_zero_and_has_no_gradient(name):
    s = torch.randn(2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    s.requires_grad_()
    mask = torch.tensor([[False] * 5, [True] * 5])
    alpha = MAPS.get(name)(s, mask)
    assert (alpha[0] == 0).all()
    slope = torch.autograd.grad((alpha * torch.arange(5.0)).sum() + 0 * s.sum(), s)[0]
    assert torch.isfinite(slope).all()
    assert (slope[0] == 0).all()


@pytest.mark.parametrize("name", ALL)
def test_permuting_segments_permutes_alpha(name):
    s = scores(9, 3)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(MAPS.get(name)(s[:, order], None), MAPS.get(name)(s, None)[:, order])


@given(sizes, st.integers(0, 10**6), st.floats(0.1, 20))
def test_against_the_entmax_package(m, seed, scale):
    s = scores(m, seed, scale)
    torch.testing.assert_close(sparsemax(s), peer.sparsemax(s, dim=-1))
    torch.testing.assert_close(entmax15(s), peer.entmax15(s, dim=-1))


@given(sizes, st.integers(0, 10**6))
def test_against_bisection_and_loops(m, seed):
    s = scores(m, seed)
    for row in s:
        torch.testing.assert_close(sparsemax(row[None])[0], projection_by_bisection(row, 1))
        torch.testing.assert_close(entmax15(row[None])[0], projection_by_bisection(row / 2, 2))
        expected = torch.tensor(softmax_loop(row.tolist()), dtype=row.dtype)
        torch.testing.assert_close(softmax(row[None])[0], expected)


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15", "spherical"])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_finite_differences(name, masked):
    s = scores(7, 5).requires_grad_()
    mask = torch.ones(3, 7, dtype=torch.bool)
    mask[:, 4:6] = not masked
    assert torch.autograd.gradcheck(lambda q: MAPS.get(name)(q, mask), (s,))


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15", "spherical"])
def test_under_torch_func(name):
    s, weights = scores(6, 7), torch.arange(6.0, dtype=torch.float64)
    rule = MAPS.get(name)

    def objective(row):
        return (rule(row[None], None)[0] * weights).sum()

    together = vmap(grad(objective))(s)
    alone = torch.stack([grad(objective)(row) for row in s])
    torch.testing.assert_close(together, alone)


def test_all_zero_scores_under_spherical_are_uniform():
    mask = torch.tensor([[True, True, False, True]])
    expected = torch.tensor([[1, 1, 0, 1]]) / 3
    torch.testing.assert_close(spherical(torch.zeros(1, 4), mask), expected)


@settings(max_examples=20)
@given(sizes, st.integers(0, 10**6))
def test_short_and_long_rows_agree_with_torch(m, seed):
    s = scores(m, seed)
    torch.testing.assert_close(log_softmax(s), s.log_softmax(-1))
