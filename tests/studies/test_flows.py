import numpy as np
import pytest

from foveate.dynamics import vr23
from foveate.records.record import Record
from foveate.studies.vr23.flows import Flows, FlowSettings
from foveate.studies.vr23.flows.findings import descent_errors
from foveate.training.population_descent import descend_population


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    settings = FlowSettings(points=800, until=12.0, steps=(0.4, 0.2, 0.1), draws=200)
    folder = tmp_path_factory.mktemp("flows")
    return settings, {
        k: work(folder / k, lambda *_: None) for k, work in Flows().parts(settings).items()
    }


def findings(records):
    return {f.claim: f for f in Flows().findings(*records)}


def test_descent_converges_to_the_flow_with_the_step(records):
    errors = descent_errors(records[1]["descent"])
    ratios = errors[:, :-1] / errors[:, 1:]
    assert (np.abs(ratios - 2) < 0.1).all()


def test_a_descent_step_is_the_rate_times_the_step_size():
    path = descend_population(4, 3, 1e-3, 2e-3)
    for k, name in enumerate(vr23.PARADIGMS):
        rate = vr23.rates(name, np.zeros(1), np.full(1, 0.25), 3)
        assert path["mu"][1, k] == pytest.approx(1e-3 * rate[0][0], rel=1e-9)
        assert path["nu"][1, k] == pytest.approx(0, abs=1e-15)


def test_verdicts_follow_the_numbers(records):
    settings, recs = records
    result = findings(records)
    assert result["vr23:C15"].verdict == "holds"
    assert result["vr23:C17"].verdict == result["vr23:C18"].verdict == "holds"
    swapped = {
        k: Record(r.t, {n: v[:, [1, 0, 2]] for n, v in r.values.items()}, r.final, r.meta)
        if k.startswith("flow-")
        else r
        for k, r in recs.items()
    }
    other = {f.claim: f for f in Flows().findings(settings, swapped)}
    assert other["vr23:C15"].verdict == "holds in part"
    assert other["vr23:C19"].verdict == "does not hold"


def test_broken_laws_are_seen(records):
    settings, recs = records
    laws = recs["laws"]
    off = {"one_hot": laws.final["one_hot"] + np.array([[0.0], [1e-3], [0.0]])}
    off["inside"] = laws.final["inside"][[0, 2, 1]]
    broken = {**recs, "laws": Record(laws.t, {}, off, laws.meta)}
    result = {f.claim: f for f in Flows().findings(settings, broken)}
    assert result["vr23:C17"].verdict == result["vr23:C18"].verdict == "does not hold"


def test_a_descent_off_the_flow_is_seen(records):
    settings, recs = records
    descent = recs["descent"]
    values = {**descent.values, "mu": descent.values["mu"] * 1.2}
    off = {**recs, "descent": Record(descent.t, values, descent.final, descent.meta)}
    result = {f.claim: f for f in Flows().findings(settings, off)}
    assert result["vr23:C14"].verdict == "does not hold"
