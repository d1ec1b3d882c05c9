"""Every experiment at smoke scale, twice: the same bits, one finding a claim, figures that draw."""

import numpy as np
import pytest

from foveate.experiments.experiment import EXPERIMENTS, SCALES
from foveate.experiments.runner import findings_of, of_run, start_experiment
from foveate.figures.render import to_svg
from foveate.papers import CLAIMS

every = pytest.mark.parametrize("name", EXPERIMENTS.names())


@every
def test_smoke_repeats_bit_for_bit_and_serves_its_claims(name, tmp_path):
    first, second = (start_experiment(name, "smoke", out=tmp_path / k) for k in ("a", "b"))
    a, b = first.records(), second.records()
    assert list(a) == list(b) == first.manifest["parts"]
    for part in a:
        np.testing.assert_array_equal(a[part].t, b[part].t)
        for kind in ("values", "final"):
            mine, other = getattr(a[part], kind), getattr(b[part], kind)
            assert mine.keys() == other.keys()
            for key, value in mine.items():
                np.testing.assert_array_equal(value, other[key], err_msg=f"{part} {kind} {key}")
    found = findings_of(first)
    assert found == findings_of(second)
    experiment, use = of_run(first)
    assert sorted(f.claim for f in found) == sorted(experiment.criteria)
    charts = experiment.figures(use, a)
    assert {f.figure for f in found} <= set(charts)
    for chart in charts.values():
        assert to_svg(chart).startswith("<svg")


@every
def test_the_contract(name):
    kind = EXPERIMENTS.get(name)
    assert set(kind.scales) == set(SCALES)
    assert kind.about
    assert set(kind.criteria) <= set(CLAIMS)
    assert all(len(text) > 40 for text in kind.criteria.values())


def test_every_claim_is_served_by_exactly_one_experiment():
    served = [claim for _, kind in EXPERIMENTS.items() for claim in kind.criteria]
    assert sorted(served) == sorted(CLAIMS)
