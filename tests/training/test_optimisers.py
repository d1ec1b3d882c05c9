import pytest
import torch

from foveate.errors import FoveateError
from foveate.training.optimisers import Settings, StackedOptimizer

TORCH = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def gradients(steps, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(steps, 3, 4, generator=rng, dtype=torch.float64)


@pytest.mark.parametrize("name", list(TORCH))
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_updates_equal_those_of_torch(name, decay):
    flat = torch.ones(3, 4, dtype=torch.float64)
    lr = torch.tensor([0.1, 0.01, 0.5], dtype=torch.float64)
    ours = StackedOptimizer(name, lr, 4, Settings(0.9, decay))
    rows = [torch.ones(4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    extra = {"momentum": 0.9} if name == "sgd" else {}
    theirs = [
        TORCH[name]([r], lr=float(a), weight_decay=decay, **extra)
        for r, a in zip(rows, lr, strict=True)
    ]
    for grad in gradients(20):
        ours.step(flat, grad)
        for row, peer, part in zip(rows, theirs, grad, strict=True):
            row.grad = part.clone()
            peer.step()
    torch.testing.assert_close(flat, torch.stack([r.detach() for r in rows]))


@pytest.mark.parametrize("name", list(TORCH))
def test_only_the_given_members_are_updated(name):
    flat, alone = torch.ones(3, 4, dtype=torch.float64), torch.ones(1, 4, dtype=torch.float64)
    ours = StackedOptimizer(name, torch.full((3,), 0.1, dtype=torch.float64), 4)
    single = StackedOptimizer(name, torch.full((1,), 0.1, dtype=torch.float64), 4)
    for grad in gradients(5):
        ours.step(flat, grad, torch.tensor([1]))
        single.step(alone, grad[1:2])
    assert (flat[[0, 2]] == 1).all()
    torch.testing.assert_close(flat[1:2], alone)


@pytest.mark.parametrize("name", list(TORCH))
def test_a_restart_is_a_new_optimiser(name):
    flat = torch.ones(3, 4, dtype=torch.float64)
    ours = StackedOptimizer(name, torch.full((3,), 0.1, dtype=torch.float64), 4)
    for grad in gradients(5):
        ours.step(flat, grad)
    ours.restart(torch.tensor([True, False, False]))
    fresh_flat = flat.clone()
    fresh = StackedOptimizer(name, torch.full((3,), 0.1, dtype=torch.float64), 4)
    grad = gradients(1, seed=9)[0]
    ours.step(flat, grad)
    fresh.step(fresh_flat, grad)
    torch.testing.assert_close(flat[0], fresh_flat[0])
    assert not torch.allclose(flat[1], fresh_flat[1])


def test_unknown_optimisers_are_named():
    with pytest.raises(FoveateError, match="one of sgd, adam, adamw, got 'adagrad'"):
        StackedOptimizer("adagrad", torch.ones(1), 2)
