import numpy as np
import pytest

from foveate.records.record import Record
from foveate.studies.blog21.toy_classifier import MEMBERS, ToyClassifier, ToySettings


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    settings = ToySettings(points=200)
    return settings, {
        k: w(folder / k, lambda *_: None) for k, w in ToyClassifier().parts(settings).items()
    }


def test_the_uniform_start_is_half_a_hyperbolic_cosine(records):
    record = records[1]["starts"]
    p = record.values["p"][:, MEMBERS.index(("uniform", "free"))]
    np.testing.assert_allclose(p, 0.5 * np.cosh(np.sqrt(2) * record.t), rtol=1e-8)


def test_verdicts(records):
    result = {f.claim: f for f in ToyClassifier().findings(*records)}
    assert result["blog21:B1"].verdict == "holds"
    assert result["blog21:B2"].verdict == "holds in part"
    assert result["blog21:B3"].verdict == "holds"
    assert result["blog21:B3"].effect == pytest.approx(-20)


def test_attention_that_never_moves_fails_the_first_claim(records):
    settings, recs = records
    record = recs["starts"]
    still = {**record.values, "p": np.full_like(record.values["p"], 0.5)}
    later = recs["long-run"]
    stuck = {**later.values, "p": np.full_like(later.values["p"], 0.5)}
    changed = {
        "starts": Record(record.t, still, {}, record.meta),
        "long-run": Record(later.t, stuck, {}, later.meta),
    }
    result = {f.claim: f for f in ToyClassifier().findings(settings, changed)}
    assert result["blog21:B1"].verdict == "does not hold"


def test_cells_are_the_numerical_flow_beside_the_closed_form(records):
    cells = {c[:3]: c.mean for c in ToyClassifier().cells(*records)}
    known = ToyClassifier.published.numbers
    assert len(known) == 7
    for key, value in known.items():
        assert cells[key] == pytest.approx(value, rel=1e-6)
    gated = cells["Uniform start, softmax-gated attention", "attention p", "at τ = 2"]
    assert 0.5 < gated < 1  # a share, unlike the free p
