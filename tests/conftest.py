import os

import pytest
import torch
from hypothesis import HealthCheck, settings

# The same examples on every machine, however slow: a test that fails, fails again.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items):
    """Tests of real data are left out where there is none."""
    if "FOVEATE_DATA" not in os.environ:
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(pytest.mark.skip(reason="needs FOVEATE_DATA"))


@pytest.fixture(autouse=True)
def global_generator_untouched():
    """No part of the library may draw from, or reset, torch's global generator."""
    before = torch.random.get_rng_state()
    yield
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.fixture
def rng():
    return torch.Generator().manual_seed(0)
