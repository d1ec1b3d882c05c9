import numpy as np
import pytest

from foveate.records.record import Record
from foveate.studies.snell21.word_counts import WordCounts
from foveate.studies.snell21.word_counts.findings import slopes
from foveate.studies.snell21.word_counts.toys import TOYS


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counts")
    settings = WordCounts.scales["smoke"]
    return settings, {
        k: w(folder / k, lambda *_: None) for k, w in WordCounts().parts(settings).items()
    }


def verdicts(settings, records):
    return {f.claim: f.verdict for f in WordCounts().findings(settings, records)}


def changed(records, part, name, value):
    """The records with one array in another place."""
    old = records[part]
    kinds = {
        kind: {**getattr(old, kind), **({name: value} if name in getattr(old, kind) else {})}
        for kind in ("values", "final")
    }
    return {**records, part: Record(old.t, kinds["values"], kinds["final"], old.meta)}


def test_verdicts(records):
    result = {f.claim: f for f in WordCounts().findings(*records)}
    assert {f.verdict for f in result.values()} == {"holds"}
    assert result["snell21:C8"].low < result["snell21:C8"].effect < result["snell21:C8"].high
    assert result["snell21:C8"].effect == pytest.approx(-0.5, abs=0.1)
    assert result["snell21:C9"].effect < 1e-13


def test_a_deviation_that_stays_fails_the_limit(records):
    settings, recs = records
    values = recs["derivative"].values
    flat = np.full_like(values["gamma"], 0.3)
    assert verdicts(settings, changed(recs, "derivative", "gamma", flat))["snell21:C8"] == (
        "does not hold"
    )
    assert verdicts(settings, changed(recs, "derivative", "theta", flat))["snell21:C8"] == (
        "holds in part"
    )
    small = changed(recs, "derivative", "printed", values["theta"])
    assert verdicts(settings, small)["snell21:C8"] == "holds in part"


def test_other_counts_and_other_optima_fail(records):
    settings, recs = records
    other = changed(recs, "counts", "difference", np.array([[1e-6]]))
    assert verdicts(settings, other)["snell21:C9"] == "does not hold"
    for name, value in (
        ("alpha", np.array([[0.1, 0.45, 0.45]])),
        ("gap", np.array([1e-3])),
        ("beta", np.array([[0.1, 0.5, 0.1]])),
        ("grid_loss", np.zeros((1, 3))),
    ):
        assert verdicts(settings, changed(recs, "example", name, value))["snell21:C13"] == (
            "does not hold"
        )


def test_slopes_are_exponents():
    t = np.array([1.0, 10.0, 100.0])
    record = Record(t, {"gamma": np.stack([t**-0.5, 7 * t**-2.0], 1)})
    np.testing.assert_allclose(slopes(record, "gamma"), [-0.5, -2])


def test_the_tables_of_the_four_tasks(records):
    record = records[1]["tables"]
    flat, blocks = record.final["permutation"][0], record.final["mixture"][0]
    np.testing.assert_allclose(flat, 6)  # 24 orders, a quarter from each
    np.testing.assert_allclose(blocks, np.kron(np.eye(2), np.full((4, 4), 6)))
    information = record.meta["information"]
    assert abs(information["permutation"]) < 1e-12
    assert abs(information["mixture"]) < 1e-12
    assert min(information["translation"], information["polarity"]) > 0.02
    toy, table = TOYS["polarity"], record.final["polarity"][0]
    counts = dict(zip(toy.inputs, table.tolist(), strict=True))
    assert toy.outputs == ["positive", "negative"]
    assert counts["great"] == [0.75, 0.0]
    assert counts["movie"][0] == counts["movie"][1]
    toy, table = TOYS["translation"], record.final["translation"][0]
    film = table[toy.inputs.index("Film")]
    assert toy.outputs[film.argmax()] == "movie"


@pytest.mark.data
def test_multi30k_is_counted_alike(tmp_path):
    settings = WordCounts.scales["smoke"].model_copy(update={"multi30k": 500})
    record = WordCounts().parts(settings)["counts"](tmp_path / "counts", lambda *_: None)
    assert record.meta["corpora"] == ["made-up", "multi30k"]
    assert record.meta["pairs"][1] == 500
    assert (record.values["difference"] < 1e-12 * record.values["largest"]).all()
