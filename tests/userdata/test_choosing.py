"""What decides between paradigms."""

import json

import numpy as np
import pytest

from foveate.jobs.fit import start_fit
from foveate.report.pages.fit import fit_page
from foveate.trust.examine import examine
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.select import choose
from foveate.userdata.settings import FitSettings

from .made import QUICK, numbers


def test_equal_accuracy_goes_to_the_lower_log_loss():
    def row(accuracy, loss):
        return {"validation": {"balanced_accuracy": [accuracy], "log_loss": [loss]}}

    rows = {"a": row(0.9, 0.3), "b": row(0.9, 0.2), "c": row(0.8, 0.1)}
    assert choose(rows, "accuracy") == "b"


def test_attention_decides_between_those_about_as_accurate():
    def row(accuracy, attention, ends=(0.8, 0.95)):
        interval = {"balanced_accuracy": [accuracy, *ends], "log_loss": [0.3, None, None]}
        return {"validation": interval, "attention_score": attention}

    rows = {"best": row(0.9, 0.5), "seen": row(0.82, 0.9), "worse": row(0.79, 1.0)}
    assert choose(rows, "attention") == "seen"
    assert choose(rows, "accuracy") == "best"
    rows["best"] = row(0.9, 0.5, (None, None))  # no interval: none is as accurate
    assert choose(rows, "attention") == "best"


def test_the_score_that_decides_is_that_of_the_examination(tmp_path, run):
    """As examining the loaded models on the validation bags has it, locations untouched."""
    settings = FitSettings(**QUICK, choose="attention")
    result = start_fit(numbers(), settings, tmp_path / "by attention")
    names = json.loads((result.path / "split.json").read_text())["validation"]
    for name in QUICK["paradigms"]:
        fitted = load_fitted(result.path, name)
        whole = numbers()
        rows = [whole.ids.index(interval) for interval in names]
        bags = fitted.preparation.apply(whole.take(rows))
        trust = examine(fitted.stack, name, bags, fitted.classes, relevant=1)
        score = result.manifest["scores"][name]["attention_score"]
        assert score == pytest.approx(trust.model_score, abs=1e-6)
        np.testing.assert_array_equal(
            run.record(name).final["log_p"], result.record(name).final["log_p"]
        )
    assert "known locations play no part" in result.manifest["rule"]
    page = fit_page(result)
    assert "label-free score (0 to 1), validation" in page
    assert "label-free score (0 to 1), validation" not in fit_page(run)
