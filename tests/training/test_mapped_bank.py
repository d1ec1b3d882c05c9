"""Bags whose bank is mapped from a file are trained on in place."""

import numpy as np
import pytest
import torch

import foveate as fv
from foveate.bags.bag import Bag
from foveate.bags.segments import Mosaics
from foveate.training.stack import MemberBags
from foveate.training.step_gradients import LARGE_BAG

BAGS, M, WIDTH = 6, 512, 256


@pytest.fixture
def bank(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "bank.npy", rng.normal(size=(BAGS * M, WIDTH)).astype("float32"))
    return torch.from_numpy(np.load(tmp_path / "bank.npy", mmap_mode="c"))


def bags(bank: torch.Tensor) -> Bag:
    return Bag(Mosaics(bank, torch.arange(BAGS * M).view(BAGS, M)), torch.arange(BAGS) % 2)


def test_batches_of_large_bags_are_views_of_the_file(bank):
    assert M * WIDTH >= LARGE_BAG
    members = MemberBags(bags(bank), 2)
    x = members.batch(torch.tensor([[3]]), torch.tensor([1])).x
    assert x.data_ptr() == bank[3 * M].data_ptr()
    assert x.shape == (1, 1, M, WIDTH)


@pytest.mark.parametrize("paradigm", ["soft", "hard"])
def test_weights_are_those_of_bags_in_memory(bank, paradigm):
    def weights(rows: torch.Tensor) -> torch.Tensor:
        data = bags(rows)
        build = lambda: fv.FCAM(fv.mlp(WIDTH, 1, (4,)), fv.linear(WIDTH, 2))  # noqa: E731
        record = fv.fit(build, data, data.take(slice(0, 2)), paradigm, epochs=2, batch=4)
        return record.trained.flat

    assert torch.equal(weights(bank), weights(bank.clone()))
