import pytest
import torch
from hypothesis import settings

# The same examples on every machine, however slow: a test that fails, fails again.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def global_generator_untouched():
    """No part of the library may draw from, or reset, torch's global generator."""
    before = torch.random.get_rng_state()
    yield
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.fixture
def chance():
    return torch.Generator().manual_seed(0)
