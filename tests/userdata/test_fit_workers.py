"""A fit with several worker processes gives the numbers of a fit in one process."""

import numpy as np
import pytest

from foveate.jobs.engine import Engine
from foveate.jobs.fit import start_fit
from foveate.userdata.settings import FitSettings

from .made import QUICK, numbers


@pytest.mark.timeout(240)
def test_two_workers_fit_the_same_models(run, tmp_path):
    two = start_fit(numbers(), FitSettings(**QUICK), tmp_path / "two", engine=Engine(workers=2))
    assert two.manifest["scores"] == run.manifest["scores"]
    assert two.manifest["chosen"] == run.manifest["chosen"]
    for name in run.manifest["parts"]:
        one, other = run.record(name), two.record(name)
        for key, value in one.final.items():
            np.testing.assert_array_equal(value, other.final[key], err_msg=key)
    assert not (two.path / "inputs").exists()
