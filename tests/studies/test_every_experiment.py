"""Every experiment at smoke scale, twice: the same bits, one finding a claim, figures that draw."""

import numpy as np
import pytest

from foveate.charts.render import to_svg
from foveate.errors import FoveateError
from foveate.jobs.experiment import (
    EXPERIMENTS,
    SCALES,
    findings_of,
    of_run,
    settings_for,
    start_experiment,
)
from foveate.papers import all_claims

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
    result = findings_of(first)
    assert result == findings_of(second)
    experiment, settings = of_run(first)
    assert sorted(f.claim for f in result) == sorted(experiment.criteria)
    charts = experiment.figures(settings, a)
    assert {f.figure for f in result} <= set(charts)
    for chart in charts.values():
        assert to_svg(chart).startswith("<svg")


@every
def test_the_contract(name):
    kind = EXPERIMENTS.get(name)
    assert set(kind.scales) == set(SCALES)
    assert kind.about
    assert set(kind.criteria) <= set(all_claims())
    assert all(len(text) > 40 for text in kind.criteria.values())


def _numbers(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


@every
def test_no_setting_takes_a_number_that_cannot_be_meant(name):
    """Sizes, counts, rates and shares: refused before anything runs, by the setting's name."""
    for scale in SCALES:
        for key, value in EXPERIMENTS.get(name).scales[scale]:
            wrong = []
            if _numbers(value):
                wrong = [-1]
            elif isinstance(value, tuple) and value and all(map(_numbers, value)):
                wrong = [(-1,), (-1,) * len(value)]
            for inputs in wrong:
                with pytest.raises(FoveateError, match=key.replace("_", "-")):
                    settings_for(name, scale, {key: inputs})


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("captions", {"made_up": 0}),
        ("mnist-bags", {"bags": ()}),
        ("table1", {"rows": ()}),
        ("trust", {"sets": ()}),
        ("witness", {"sets": (), "chosen_on": ()}),
    ],
)
def test_settings_that_leave_nothing_to_do_are_refused(name, changes, tmp_path):
    with pytest.raises(FoveateError, match=f"leave {name} nothing to do"):
        start_experiment(name, "smoke", changes, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("agreement", {"texts": ("sts",)}, "unknown set of labelled texts 'sts'. Did you mean"),
        ("agreement", {"pairs": ("multi31k",)}, "unknown set of sentence pairs 'multi31k'. Did"),
        ("direct-classifier", {"sets": ("nope",)}, "sets: must be .* got 'nope'"),
        ("flows", {"steps": (0.8,)}, "steps: .*at least 2 items"),
        ("trust", {"sets": ("nope",)}, "sets: must be one of 71 names, .* got 'nope'"),
        ("witness", {"sets": ("nope",)}, "sets: must be among digits-5, .*, got 'nope'"),
        ("witness", {"chosen_on": ("nope",)}, "chosen-on: must be among digits-5, .*, got 'nope'"),
        ("witness", {"tried": ("witness 1",)}, "must be one of 46 names, .* got 'witness 1'"),
        ("witness", {"sizes": {}}, "sizes must have 'digits' for Digits m=5, got none"),
        ("word-counts", {"dimensions": (64,)}, "dimensions: .*at least 2 items"),
    ],
)
def test_unknown_names_and_missing_settings_are_named(name, changes, message, tmp_path):
    with pytest.raises(FoveateError, match=message):
        start_experiment(name, "smoke", changes, out=tmp_path / "run")


def test_every_claim_is_served_by_exactly_one_experiment():
    served = [claim for _, kind in EXPERIMENTS.items() for claim in kind.criteria]
    assert sorted(served) == sorted(all_claims())
