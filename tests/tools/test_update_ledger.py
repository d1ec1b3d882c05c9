"""The shipped ledger is renewed from runs, and says of which size each finding is."""

from copy import deepcopy

import pytest

import update_ledger
from foveate.jobs.experiment import start_experiment
from foveate.records.findings import Finding
from foveate.studies.ledger import _entries, shipped_ledger

CLAIMS = ("blog21:B1", "blog21:B2", "blog21:B3")


@pytest.fixture(scope="module")
def smaller(tmp_path_factory):
    """A run of the toy classifier with fewer points than its scale."""
    folder = tmp_path_factory.mktemp("runs") / "toy"
    return start_experiment("toy-classifier", "small", {"points": 120}, out=folder).path


@pytest.fixture
def ledger(monkeypatch):
    monkeypatch.setattr(update_ledger, "stored_results", list)
    stored = shipped_ledger().as_json()
    next(e for e in stored["claims"] if e["claim"] == "blog21:B2")["finding"] = None
    return stored


def by_claim(ledger):
    return {entry["claim"]: entry["finding"] for entry in ledger["claims"]}


def scales(ledger):
    result = {c: Finding.from_json(f) for c, f in by_claim(ledger).items() if f}
    return {e.claim: e.scale for e in _entries(result, ledger["versions"])}


def test_a_smaller_run_adds_missing_claims_with_its_own_scale(ledger, smaller):
    before = by_claim(deepcopy(ledger))
    new = update_ledger.updated(ledger, [smaller], missing=True)
    assert by_claim(new)["blog21:B2"]["verdict"] == "holds in part"
    assert all(by_claim(new)[c] == before[c] for c in ("blog21:B1", "blog21:B3"))
    assert [scales(new)[c] for c in CLAIMS] == ["small", "small, changed: points", "small"]


def test_a_run_replaces_the_findings_of_its_experiment(ledger, smaller):
    new = update_ledger.updated(ledger, [smaller])
    assert ledger["versions"]["toy-classifier"]["changed"] == ["points"]
    assert {scales(new)[c] for c in CLAIMS} == {"small, changed: points"}
