"""What comes with the package: small, complete, readable where nothing was ever run."""

import pytest

from foveate.lab.advice import TEACH, page_advice, recommend, without_flags
from foveate.lab.bundled import BUNDLED, LARGEST

FIT = "examples/fit-pumps"


def test_bundled_results_are_small():
    total = sum(path.stat().st_size for path in BUNDLED.rglob("*") if path.is_file())
    print(f"bundled results: {total / 1e6:.1f} MB")
    assert 0 < total < LARGEST


def test_the_bundled_fit_has_verdict_bags_and_pages(client):
    fit = client.get("/api/fit", params={"run": FIT}).json()
    assert fit["absent"] == ["healthy"]
    assert set(fit["verdicts"]) == set(fit["paradigms"]) == set(fit["scores"])
    grades = {name: verdict["grade"] for name, verdict in fit["verdicts"].items()}
    assert grades[fit["chosen"]] == "trust"
    assert set(grades.values()) <= {"trust", "trust with care"}
    assert fit["recommendation"]["name"] == fit["chosen"]
    assert fit["pages"] == ["report", "trust", "evidence"]
    asked = {"run": FIT, "paradigm": fit["chosen"]}
    bags = client.get("/api/fit/bags", params=asked).json()["bags"]
    assert len(bags) == 80
    detail = client.get("/api/fit/bag", params={**asked, "row": bags[0]["row"]}).json()
    assert detail["id"] == bags[0]["id"]
    assert detail["kind"] == "series"
    assert sum(detail["alpha"]) + (detail["null"] or 0.0) == pytest.approx(1, abs=1e-5)


def test_the_bundled_training_shows_each_of_its_starts(client):
    whole = client.get("/api/jobs/example").json()
    assert whole["state"] == "done"
    seeds = whole["setup"]["seeds"]
    assert whole["seed"] == seeds[0]
    assert any("misplaced" in outcomes for outcomes in whole["outcomes"].values())
    other = client.get("/api/jobs/example", params={"seed": seeds[3]}).json()
    assert other["seed"] == seeds[3]
    assert other["details"].keys() == whole["outcomes"].keys()
    assert other["details"] != whole["details"]


def test_the_chosen_paradigm_is_recommended_among_equals():
    def score(mean):
        return {"validation": {"balanced_accuracy": [mean, mean - 0.05, mean + 0.05]}}

    scores = {"soft": score(0.95), "hard": score(0.94), "lvml": score(0.5)}
    trusted = {name: {"grade": "trust"} for name in scores}
    assert recommend(scores, trusted, 80)["name"] == "soft"
    assert recommend(scores, trusted, 80, "hard")["name"] == "hard"
    assert recommend(scores, trusted, 80, "lvml")["name"] == "soft"  # not accurate enough
    assert "80 validation bags" in recommend(scores, trusted, 80)["sentence"]


def test_answers_at_chance_are_not_recommended():
    scores = {"soft": {"validation": {"balanced_accuracy": [0.55, 0.45, 0.65]}}}
    verdicts = {"soft": {"grade": "trust", "classes": [{}, {}]}}
    assert "do not use its answers" in recommend(scores, verdicts, 80)["sentence"]
    scores["soft"]["validation"]["balanced_accuracy"] = [0.75, 0.6, 0.9]
    assert recommend(scores, verdicts, 80)["sentence"].endswith("use it.")


def test_an_interval_without_width_is_replaced_when_paradigms_are_compared():
    """All 18 right: 16 of 18 is about as accurate, although resampling gives [1, 1]."""
    scores = {
        name: {"validation": {"balanced_accuracy": values}}
        for name, values in {"soft": [1.0, 1.0, 1.0], "hard": [16 / 18, 0.7, 1.0]}.items()
    }
    verdicts = {"soft": {"grade": "do not trust"}, "hard": {"grade": "trust"}}
    assert recommend(scores, verdicts, 18)["name"] == "hard"
    assert recommend(scores, verdicts, 180)["name"] == "soft"


def test_known_relevance_is_advised_once_and_not_where_it_was_used():
    mark = "Mark the relevant segments of 20 bags of 'a' and train with --supervise-focus."
    known = "Train with --supervise-focus: relevant segments are known."
    assert "“relevance”" in page_advice([mark], ["soft"])[0]
    assert page_advice([known, known], ["soft"]) == [TEACH]
    assert page_advice([known, mark], ["soft"], taught=True) == []


def test_a_refused_fit_names_no_flag():
    refused = "a.csv, group 'g0': in more than one split; correct it, or accept it with --force x"
    assert without_flags(refused) == "a.csv, group 'g0': in more than one split; correct it"
