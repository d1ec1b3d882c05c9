"""The model card: written with every fit, numbers of the manifest, users' text escaped."""

import json
from dataclasses import replace

import pytest

from foveate.jobs.fit import start_fit
from foveate.records.checksums import read_json
from foveate.records.runs import Run
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.model_card import CARD_JSON, CARD_MARKDOWN, model_card, write_model_card
from foveate.userdata.predict import answer, bags_table
from foveate.userdata.settings import FitSettings

from .made import numbers

QUICK = {"folds": 2, "seeds": 2, "epochs": 2, "batch": 16, "paradigms": ("soft", "max")}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A cross-fitted run that abstains, of a class with signs of Markdown in its name."""
    bags = replace(numbers(), classes=("no|<b>", "yes"), source="toy *1*.csv")
    return start_fit(bags, FitSettings(**QUICK, abstain=0.2), tmp_path_factory.mktemp("c") / "run")


def test_card_repeats_the_manifest(run):
    stored = read_json(run.path / CARD_JSON)
    assert stored == json.loads(json.dumps(model_card(run)))
    scores = stored["evaluation"]["scores"]["out_of_fold"]
    assert scores["auroc"] == run.manifest["scores"]["mixture"]["out_of_fold"]["auroc"]
    assert stored["model"]["weights"] == run.manifest["weights"]
    assert stored["model"]["members_of_each"] == 4
    assert stored["decisions"]["abstention"]["error"] == 0.2
    assert stored["attention"]["verdict"] is None
    assert any("No groups" in limit for limit in stored["limits"])


def test_text_of_users_is_escaped(run):
    text = (run.path / CARD_MARKDOWN).read_text()
    assert "no|<b>" not in text
    assert r"no\|\<b\>" in text
    assert r"toy \*1\*.csv" in text


def test_verdict_enters_the_card(run, tmp_path):
    trust = {"found": [{"paradigm": "soft", "verdict": {"grade": "trust", "summary": "Fine."},
                        "by_class": [{"name": "yes", "verdict": {"grade": "trust"}}]}]}  # fmt: skip
    (tmp_path / "trust.json").write_text(json.dumps(trust))
    moved = Run(tmp_path, run.manifest)
    write_model_card(moved)
    assert model_card(moved)["attention"]["by_class"] == {"yes": "trust"}
    assert "Verdict: trust. Fine." in (tmp_path / CARD_MARKDOWN).read_text()


def test_prediction_is_empty_where_the_set_has_not_one_class(run):
    fitted, bags = load_fitted(run.path), numbers(seed=3, labelled=False)
    result = answer(fitted, bags, with_evidence=False)
    table = bags_table(fitted, bags, result).to_pydict()
    quantiles = run.manifest["abstention"]["quantiles"]
    for p, predicted, listed in zip(
        result.p, table["predicted"], table["prediction_set"], strict=True
    ):
        expected = [n for c, n in enumerate(fitted.classes) if 1 - p[c] <= quantiles[c] + 1e-12]
        assert listed == "|".join(expected)
        assert predicted == (expected[0] if len(expected) == 1 else None)
    members = fitted.member_probabilities(result.explained)
    assert members.shape == (4, 60, 2)  # two folds of two seeds
    assert (members.min(0) <= result.p + 1e-3).all()
    assert (result.p <= members.max(0) + 1e-3).all()
    assert [table["low_yes"][0], table["high_yes"][0]] == pytest.approx(
        sorted([table["low_yes"][0], table["high_yes"][0]])
    )


def test_abstention_needs_folds_and_no_threshold():
    with pytest.raises(Exception, match="set --folds to 2 or more"):
        FitSettings(folds=1, abstain=0.1)
    with pytest.raises(Exception, match="give one of them"):
        FitSettings(threshold="f1", abstain=0.1)
