import pytest

from foveate.jobs.fit import start_fit
from foveate.userdata.settings import FitSettings

from .made import QUICK, numbers


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A finished fit of numbers."""
    return start_fit(numbers(), FitSettings(**QUICK), tmp_path_factory.mktemp("fits") / "numbers")
