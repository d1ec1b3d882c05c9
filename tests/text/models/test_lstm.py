"""The recurrence against torch's own, value by value and gradient by gradient."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from foveate.randomness import generator
from foveate.text.models.lstm import LSTM, State, drop, look_up

D, E, V = 5, 4, 11
LENGTHS = torch.tensor([6, 1, 4])


def make(layers=1, both=False):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return LSTM(E, D, layers=layers, both=both).double()


def torch_twin(ours, layers, both):
    """nn.LSTM with the same weights: its gates stand in the order i, f, g, o."""
    with torch.random.fork_rng(devices=[]):
        twin = nn.LSTM(E, D, num_layers=layers, bidirectional=both, batch_first=True).double()

    def turned(w):
        i, f, o, g = w.detach().split(D)
        return torch.cat([i, f, g, o])

    with torch.no_grad():
        for depth, level in enumerate(ours.levels):
            for layer, end in ((level.forth, ""), (level.back, "_reverse")):
                if layer is not None:
                    for theirs, mine in (("weight_ih", "w_x"), ("weight_hh", "w_h")):
                        getattr(twin, f"{theirs}_l{depth}{end}").copy_(turned(getattr(layer, mine)))
                    for theirs, mine in (("bias_ih", "b_x"), ("bias_hh", "b_h")):
                        getattr(twin, f"{theirs}_l{depth}{end}").copy_(turned(getattr(layer, mine)))
    return twin


def texts(lengths=LENGTHS, *name):
    rng = generator("lstm", *name)
    ids = torch.randint(1, V, (len(lengths), int(lengths.max())), generator=rng)
    table = torch.randn(V, E, generator=rng, dtype=torch.float64)
    return ids, table, torch.arange(ids.shape[1]) < lengths[:, None]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("lengths", [LENGTHS, torch.tensor([4, 4, 4])])
def test_values_and_gradients_are_those_of_torch(layers, both, lengths):
    ours = make(layers, both)
    twin = torch_twin(ours, layers, both)
    ids, table, mask = texts(lengths)
    table.requires_grad_()
    other = table.detach().clone().requires_grad_()
    h, last = ours(ids, table, mask)
    packed = pack_padded_sequence(other[ids], lengths, batch_first=True, enforce_sorted=False)
    out, (h_n, c_n) = twin(packed)
    expected, _ = pad_packed_sequence(out, batch_first=True)
    torch.testing.assert_close(h[mask], expected[mask], rtol=1e-12, atol=1e-14)
    ways = 2 if both else 1
    for depth in range(layers):
        for mine, theirs in ((last[depth].h, h_n), (last[depth].c, c_n)):
            mean = theirs.view(layers, ways, *theirs.shape[1:])[depth].mean(0)
            torch.testing.assert_close(mine, mean, rtol=1e-12, atol=1e-14)

    pull = torch.randn(h.shape, generator=generator("pull"), dtype=torch.float64)
    ends = sum(s.h.square().sum() + s.c.sin().sum() for s in last)
    ((h * pull)[mask].sum() + ends).backward()
    mean_h = h_n.view(layers, ways, *h_n.shape[1:]).mean(1)
    mean_c = c_n.view(layers, ways, *c_n.shape[1:]).mean(1)
    ((expected * pull)[mask].sum() + mean_h.square().sum() + mean_c.sin().sum()).backward()
    torch.testing.assert_close(table.grad, other.grad, rtol=1e-10, atol=1e-12)
    for depth, level in enumerate(ours.levels):
        for layer, end in ((level.forth, ""), (level.back, "_reverse")):
            if layer is None:
                continue
            for mine, theirs in (("w_x", "weight_ih"), ("w_h", "weight_hh"), ("b_x", "bias_ih")):
                i, f, g, o = getattr(twin, f"{theirs}_l{depth}{end}").grad.split(D)
                torch.testing.assert_close(
                    getattr(layer, mine).grad, torch.cat([i, f, o, g]), rtol=1e-10, atol=1e-12
                )
            torch.testing.assert_close(layer.b_h.grad, layer.b_x.grad)


def test_gradcheck_with_a_mask_and_first_states():
    ours = make(2)
    ids, table, mask = texts()
    rng = generator("first")
    first = [
        torch.randn(2, len(ids), D, generator=rng, dtype=torch.float64, requires_grad=True)
        for _ in range(2)
    ]

    def run(table, a, b):
        h, last = ours(ids, table, mask, first=[State(*a), State(*b)])
        return h * mask[..., None], last[1].c, last[0].h

    assert torch.autograd.gradcheck(run, (table.requires_grad_(), *first))


def test_a_first_state_goes_on_where_a_text_was_cut():
    ours = make(2)
    ids, table, _ = texts(torch.tensor([6, 6]), "cut")
    whole, end = ours(ids, table)
    early, middle = ours(ids[:, :2], table)
    late, last = ours(ids[:, 2:], table, first=middle)
    torch.testing.assert_close(torch.cat([early, late], 1), whole, rtol=0, atol=1e-14)
    for a, b in zip(last, end, strict=True):
        torch.testing.assert_close(a.h, b.h, rtol=0, atol=1e-14)
        torch.testing.assert_close(a.c, b.c, rtol=0, atol=1e-14)


@pytest.mark.parametrize("both", [False, True])
def test_a_text_gives_the_same_states_alone_and_in_a_batch(both):
    ours = make(2, both)
    ids, table, mask = texts()
    h, last = ours(ids, table, mask)
    changed, _ = ours(ids.masked_fill(~mask, V - 1), table, mask)
    # Each word's product is made once a batch, so that other padding may round it otherwise.
    torch.testing.assert_close(h[mask], changed[mask], rtol=0, atol=1e-14)
    for row, length in enumerate(LENGTHS.tolist()):
        alone, end = ours(ids[row : row + 1, :length], table)
        torch.testing.assert_close(h[row, :length], alone[0], rtol=0, atol=1e-14)
        torch.testing.assert_close(last[1].c[row], end[1].c[0], rtol=0, atol=1e-14)


def test_padding_sends_no_gradient():
    ours = make(1, True)
    ids, table, mask = texts()
    ids = ids.masked_fill(~mask, 0)  # a word that stands nowhere else
    table.requires_grad_()
    ours(ids, table, mask)[0][mask].square().sum().backward()
    assert table.grad[0].abs().max() == 0
    assert table.grad[ids[mask].unique()].abs().sum(1).min() > 0


def test_weights_begin_as_in_torch():
    ours = make(2, True)
    with torch.random.fork_rng(devices=[]):
        twin = nn.LSTM(E, D, num_layers=2, bidirectional=True)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in twin.parameters())
    most = max(float(p.detach().abs().max()) for p in ours.parameters())
    assert 0.95 * D**-0.5 < most <= D**-0.5


def test_looking_up_adds_the_gradients_of_repeated_rows():
    table = torch.arange(6.0).view(3, 2).requires_grad_()
    picked = look_up(table, torch.tensor([[0, 2], [2, 2]]))
    assert picked[1].tolist() == [[4.0, 5.0], [4.0, 5.0]]
    picked.sum().backward()
    assert table.grad.tolist() == [[1, 1], [0, 0], [3, 3]]


def test_dropping_keeps_the_mean_and_needs_chance():
    x = torch.ones(4000)
    assert drop(x, 0.5, None) is x
    assert drop(x, 0.0, generator("drop")) is x
    dropped = drop(x, 0.25, generator("drop"))
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert float(dropped.mean()) == pytest.approx(1, abs=0.05)


def test_dropout_lies_between_layers_only():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        two = LSTM(E, D, layers=2, dropout=0.5).double()
    ids, table, mask = texts()
    full, last = two(ids, table, mask)
    thin, dropped = two(ids, table, mask, generator=generator("between"))
    assert torch.equal(last[0].h, dropped[0].h)
    assert not torch.equal(full[mask], thin[mask])
    assert bool((thin[mask] != 0).all())
