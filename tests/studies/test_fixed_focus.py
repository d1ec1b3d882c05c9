"""The experiment of fixed foci: its run, its figures, its settings."""

import math

import numpy as np
import pytest

from foveate.errors import FoveateError
from foveate.jobs.experiment import EXPERIMENTS, findings_of, of_run, start_experiment
from foveate.metrics.intervals import mean_interval
from foveate.studies.vr23.fixed_focus import FixedFocusCurves, FixedFocusSettings
from foveate.studies.vr23.fixed_focus.criteria import CRITERIA
from foveate.studies.vr23.fixed_focus.curves import curve
from foveate.studies.vr23.fixed_focus.panels import banded

NAMES = ("soft", "hard", "lvml")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return start_experiment("fixed-focus", "smoke", out=tmp_path_factory.mktemp("run") / "a")


def test_smoke_run_finds_something_of_every_claim_and_draws_it(run):
    from foveate.charts.render import to_svg

    experiment, settings = of_run(run)
    records, result = run.records(), findings_of(run)
    assert sorted(f.claim for f in result) == sorted(CRITERIA)
    charts = experiment.figures(settings, records)
    assert {f.figure for f in result} <= set(charts)
    assert all(chart.description for chart in charts.values())
    assert to_svg(charts["losses"]).count(">linear-orthogonal, LVML<") == 1
    fewer = experiment.figures(settings, {k: v for k, v in records.items() if k != "orthogonal"})
    for name in ("finite-difference", "loss-profile", "theorem"):  # one of each kind
        fewer[name].to_dict()  # validates against the schema
    assert "linear-orthogonal" not in to_svg(fewer["theorem"])


def test_smoke_run_starts_from_knowing_nothing_and_learns_more_under_a_better_focus(run):
    record = run.record("orthogonal")
    for name in NAMES:
        values = curve(record, "set_loss", name)
        np.testing.assert_allclose(values[0], math.log(20), rtol=1e-5)
        assert (np.diff(values[-1].mean(1)) < 0).all()
    alike = [curve(record, "set_loss", name)[:, -1] for name in NAMES]
    np.testing.assert_allclose(alike[0], alike[1], rtol=1e-4)  # one-hot attention: one loss
    np.testing.assert_allclose(alike[0], alike[2], rtol=1e-4)
    assert (curve(record, "difference", "hard")[:, -1] == 0).all()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"alphas": ()}, "alphas"),
        ({"alphas": (0.2, 0.8, 1.5)}, "alphas"),
        ({"alphas": (0.2, 0.8)}, "hold .2, .8 and 1"),
        ({"alphas": (1.0, 0.8, 0.2)}, "must rise"),
        ({"steps": (1.0, 2.0)}, "steps must fall"),
        ({"sets": ("imagenet",)}, "sets"),
        ({"m": 1}, "m"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(inputs, message):
    with pytest.raises(FoveateError, match=message) as caught:
        FixedFocusSettings(**inputs)
    assert "\n" not in str(caught.value)


def test_a_grid_may_come_as_words_from_the_command_line():
    assert FixedFocusSettings(alphas="0.2,0.5,0.8,1").alphas == (0.2, 0.5, 0.8, 1.0)


def test_bands_of_figures_are_the_intervals_of_the_findings():
    values = np.random.default_rng(1).normal(size=(2, 3, 4))
    rows = list(banded(np.array([0.0, 1.0]), values, ["a", "b", "c"]))
    for row in rows:
        expected = mean_interval(values[int(row["x"]), "abc".index(row["name"])])
        assert [row["mean"], row["low"], row["high"]] == pytest.approx(expected, abs=1e-6)
    assert len(rows) == 6
    assert all("low" not in row for row in banded(np.zeros(2), values[..., :1], ["a", "b", "c"]))


def test_the_ramp_darkens_with_alpha():
    from foveate.studies.vr23.fixed_focus.figures import RAMP, ramp

    assert ramp(5) == list(RAMP)
    light = [sum(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in ramp(9)]
    assert light == sorted(light, reverse=True)


def test_it_is_registered():
    assert EXPERIMENTS.get("fixed-focus") is FixedFocusCurves
