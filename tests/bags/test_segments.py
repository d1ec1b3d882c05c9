import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from foveate.attention import likelihood
from foveate.attention.likelihood import map_segments
from foveate.bags.segments import Mosaics, as_input, dense, mix, select, take

shapes = st.sampled_from([(3,), (2, 2), (1, 4, 4)])
counts = st.integers(1, 5)


def draw(rng, *shape):
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def cut(B, m, rows, shape, seed):
    """Segments cut from a bank, and the same written out by loops."""
    rng = torch.Generator().manual_seed(seed)
    bank = draw(rng, rows, *shape)
    index = torch.randint(rows, (B, m), generator=rng)
    written = torch.stack([torch.stack([bank[index[i, j]] for j in range(m)]) for i in range(B)])
    return Mosaics(bank, index), written, rng


def double(rows):
    return 2 * rows.flatten(1) + 1


class Counting:
    """A network that remembers the rows it was given."""

    def __init__(self):
        self.calls = []

    def __call__(self, rows):
        self.calls.append(rows.clone())
        return double(rows)

    @property
    def seen(self):
        return torch.cat(self.calls)


@settings(max_examples=40)
@given(counts, counts, st.integers(1, 30), shapes, st.integers(0, 10**6))
def test_operations_agree_on_mosaics_and_dense_segments(B, m, rows, shape, seed):
    x, written, rng = cut(B, m, rows, shape, seed)
    alpha, j = draw(rng, B, m), torch.randint(m, (B,), generator=rng)
    some = torch.randint(B, (3,), generator=rng)
    assert torch.equal(dense(x), written)
    for form in (x, written):
        torch.testing.assert_close(mix(alpha, form), oracles.mix_loop(alpha, written))
        picked = torch.stack([written[i, j[i]] for i in range(B)])
        assert torch.equal(select(form, j), picked)
        assert torch.equal(dense(take(form, some)), torch.stack([written[i] for i in some]))
        sent = dense(map_segments(double, form))
        for i, k in itertools.product(range(B), range(m)):
            assert torch.equal(sent[i, k], 2 * written[i, k].flatten() + 1)


def test_taking_bags_shares_the_bank():
    x, _, _ = cut(4, 3, 5, (2,), 0)
    assert take(x, torch.tensor([1])).bank is x.bank


def test_bytes_become_numbers_between_minus_one_and_one():
    levels = torch.arange(256, dtype=torch.uint8)
    x = as_input(levels)
    assert x.dtype == torch.float32
    assert (x[0], x[255]) == (-1, 1)
    exact = (levels.double() / 255 - 0.5) / 0.5
    torch.testing.assert_close(x.double(), exact, atol=2**-24, rtol=0)
    assert levels.tolist() == list(range(256))  # what was given stays


def test_floats_stay_as_they_are():
    x = torch.tensor([[300.0, -2.0]], dtype=torch.float64)
    assert as_input(x) is x


@pytest.mark.parametrize("written_out", [False, True])
def test_every_operation_reads_bytes_as_numbers(written_out):
    bank = torch.arange(12, dtype=torch.uint8).view(4, 3) * 20
    index, j = torch.tensor([[0, 3], [2, 2]]), torch.tensor([1, 0])
    x = bank[index] if written_out else Mosaics(bank, index)
    numbers = (bank.double() / 255 - 0.5) / 0.5
    alpha = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    expected = torch.stack([0.25 * numbers[0] + 0.75 * numbers[3], numbers[2]])
    torch.testing.assert_close(mix(alpha, x).double(), expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(select(x, j).double(), numbers[[3, 2]], atol=1e-6, rtol=0)
    torch.testing.assert_close(dense(x).double(), numbers[index], atol=1e-6, rtol=0)
    network = Counting()
    map_segments(network, x)
    assert network.seen.dtype == torch.float32
    assert network.seen.abs().max() <= 1


@pytest.mark.parametrize(("rows", "expected"), [(5, 5), (11, 11), (12, 12), (30, 12)])
def test_bank_rows_pass_the_network_once_if_that_is_less_work(rows, expected):
    x, written, _ = cut(4, 3, rows, (2,), 0)
    network = Counting()
    torch.testing.assert_close(dense(map_segments(network, x)), 2 * written + 1)
    assert len(network.seen) == expected
    if rows < 12:
        assert torch.equal(network.seen, x.bank)


def test_without_gradients_rows_are_processed_in_parts(monkeypatch):
    monkeypatch.setattr(likelihood, "ROWS", 4)
    x, written, _ = cut(5, 4, 9, (2,), 0)
    whole, parted = Counting(), Counting()
    with torch.enable_grad():
        one = map_segments(whole, x)
    with torch.no_grad():
        many = map_segments(parted, x)
    assert [len(rows) for rows in whole.calls] == [9]
    assert [len(rows) for rows in parted.calls] == [4, 4, 1]
    assert torch.equal(dense(one), dense(many))
    with torch.no_grad():
        torch.testing.assert_close(map_segments(Counting(), written), 2 * written + 1)


def test_gradients_reach_bank_and_attention():
    x, written, rng = cut(3, 4, 5, (2,), 1)
    alpha = draw(rng, 3, 4).requires_grad_()
    bank = x.bank.clone().requires_grad_()
    total = mix(alpha, Mosaics(bank, x.index)).sum()
    by_alpha, by_bank = torch.autograd.grad(total, (alpha, bank))
    torch.testing.assert_close(by_alpha, written.sum(-1))
    expected = torch.zeros_like(bank)
    for i, k in itertools.product(range(3), range(4)):
        expected[x.index[i, k]] += alpha[i, k].detach()
    torch.testing.assert_close(by_bank, expected)
