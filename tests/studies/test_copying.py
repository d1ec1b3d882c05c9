"""Copy tasks and heads: what is measured, what findings say, what is drawn."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate.charts.render import to_svg
from foveate.jobs.experiment import findings_of, start_experiment
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.studies.snell21.copying import Copying, CopyingSettings
from foveate.studies.snell21.copying.findings import first_above
from foveate.studies.snell21.heads import Heads, HeadsSettings
from foveate.studies.snell21.heads.findings import _deviation
from foveate.studies.snell21.heads.scenarios import head_names
from foveate.studies.snell21.heads.search import (
    Search,
    bad_heads,
    chosen_heads,
    find_heads,
    good_heads,
    with_heads,
)
from foveate.text.copy_training import CopyTask, copy_training, model_for, read_copies
from foveate.text.corpora.copying import copying
from foveate.text.loop import built
from foveate.text.models.seq2seq import shifted

TINY = CopyTask("permutation", 6, 8, 4, 5, 3, 1e-3)
STEPS = np.arange(0, 301, 10)


def curves(accuracy, t=STEPS):
    """A record whose seeds jump from 0 to their accuracy at the given step."""
    values = np.stack([np.where(t >= step, level, 0.0) for step, level in accuracy], 1)
    extra = dict.fromkeys(("loss", "on", "knows"), values)
    return Record(t, {"accuracy": values, **extra})


def copy_records(permutation, subset, mixture, function):
    names = ("permutation", "subset", "mixture", "permutation-function")
    return dict(zip(names, map(curves, (permutation, subset, mixture, function)), strict=True))


def test_reading_copies_matches_manual_computation():
    model = built(lambda: model_for(TINY), "t")
    x, y = copying("permutation", 5, generator("x"), 6)
    seen = read_copies(model, x, y, 3)
    with torch.no_grad():
        scores = model(x, shifted(y))
        alpha = model.read(x, shifted(y)).alpha[0]
    right = [scores[n, t].argmax() == y[n, t] for n in range(5) for t in range(6)]
    assert seen["accuracy"] == pytest.approx(np.mean([bool(r) for r in right]))
    assert seen["on"] == pytest.approx(
        np.mean([float(alpha[n, t, t]) for n in range(5) for t in range(6)]), rel=1e-5
    )
    log_p = scores.log_softmax(-1)
    loss = np.mean([-float(log_p[n, t, y[n, t]]) for n in range(5) for t in range(6)])
    assert seen["loss"] == pytest.approx(loss, rel=1e-5)


def test_evidence_is_read_at_the_position_of_the_word():
    """With a readout that ignores the state and a distinct row per word, β is best at the word."""
    model = built(lambda: model_for(TINY), "t")
    x, y = copying("permutation", 5, generator("x"), 6)
    reading = model.read(x[:3], shifted(y[:3]))
    everywhere = torch.ones(3, 6, 6, dtype=torch.bool)
    with torch.no_grad():
        beta = model.evidence(reading, y[:3], everywhere).view(3, 6, 6)
    best = [beta[n, t].argmax() == t for n in range(3) for t in range(6)]
    assert read_copies(model, x, y, 3)["knows"] == pytest.approx(np.mean([bool(b) for b in best]))


def test_a_step_is_decided_by_its_number_and_seed():
    model = built(lambda: model_for(TINY), "t")
    one, two = copy_training(TINY, model, 0), copy_training(TINY, model, 0)
    assert one.loss(3).item() == two.loss(3).item() != one.loss(4).item()
    assert copy_training(TINY, model, 1).loss(3).item() != one.loss(3).item()


def test_the_first_step_above_a_level():
    record = curves([(50, 0.96), (120, 0.5), (250, 1.0)])
    assert first_above(record, 0.95, 200).tolist() == [50, np.inf, np.inf]
    assert first_above(record, 0.95, 300).tolist() == [50, np.inf, 250]


@pytest.mark.parametrize(
    ("permutation", "subset", "verdict"),
    [
        ([(50, 1), (60, 0.3)], [(40, 1), (50, 1)], "holds"),
        ([(100, 1), (100, 1)], [(40, 1), (50, 1)], "holds in part"),
        ([(50, 1), (60, 1)], [(40, 1), (50, 1)], "does not hold"),
        ([(50, 1), (60, 0.3)], [(40, 0.2), (50, 1)], "does not hold"),
    ],
)
def test_verdicts_on_copying(permutation, subset, verdict):
    records = copy_records(permutation, subset, permutation, [(300, 0.1)] * 2)
    result = {f.claim: f for f in Copying().findings(CopyingSettings(seeds=2), records)}
    assert result["snell21:C5"].verdict == result["snell21:C6"].verdict == verdict
    failed = [level <= 0.95 for _, level in permutation]
    assert result["snell21:C5"].effect == np.mean(failed)


@pytest.mark.parametrize(
    ("subset", "function", "verdict"),
    [
        ([(40, 1), (290, 1)], [(10, 0.3), (10, 0.5)], "holds"),
        ([(40, 1), (290, 1)], [(10, 0.97), (10, 0.5)], "holds in part"),
        ([(40, 0.98), (290, 1)], [(10, 0.3), (10, 0.5)], "does not hold"),
    ],
)
def test_verdicts_on_the_permutation_function(subset, function, verdict):
    records = copy_records([(50, 1)] * 2, subset, [(50, 1)] * 2, function)
    result = {f.claim: f for f in Copying().findings(CopyingSettings(seeds=2), records)}
    assert result["snell21:C12"].verdict == verdict


def test_copying_end_to_end_draws_what_its_findings_name(tmp_path):
    run = start_experiment("copying", "smoke", out=tmp_path / "run")
    kind = Copying()
    settings = kind.scales["smoke"]
    charts = kind.figures(settings, run.records())
    assert {f.claim for f in findings_of(run)} == set(kind.criteria)
    assert {f.figure for f in findings_of(run)} <= set(charts)
    assert all("<svg" in to_svg(chart) for chart in charts.values())
    assert run.record("subset").values["accuracy"].shape == (4, 2)


def search_for(**changes):
    usual = {"steps": (0, 10), "wanted_good": 2, "wanted_bad": 2, "most": 9, "seeds": 2}
    return Search(TINY, **{**usual, "good": 0.9, "bad": 0.5, **changes})


def accuracies(best, last=None):
    return {
        "best": np.asarray(best)[None],
        "last": np.asarray(best if last is None else last)[None],
    }


def test_heads_are_classified_by_all_their_data_seeds():
    best = np.array([[0.95, 0.99], [0.2, 0.3], [0.95, 0.3], [0.7, np.nan], [0.1, 0.1], [0.4, 0.2]])
    assert good_heads(search_for(), best) == [0]
    assert bad_heads(search_for(), best) == [1, 4]
    # Without a good head the best candidate is used.
    assert chosen_heads(search_for(good=0.995), accuracies(best)) == ([0], [1, 4])


def test_bad_by_last_accuracy_takes_heads_that_fell_back():
    best = np.array([[0.95, 0.99], [0.2, 0.3], [0.7, 0.6]])
    last = np.array([[0.95, 0.99], [0.2, 0.3], [0.4, 0.3]])
    assert chosen_heads(search_for(), accuracies(best, last)) == ([0], [1])
    assert chosen_heads(search_for(), accuracies(best, last), bad_by="last") == ([0], [1, 2])


def test_the_search_drops_a_candidate_at_the_first_contradiction(tmp_path):
    results = iter([0.95, 0.3, 0.2, 0.4, 0.7, 0.99, 0.93, 0.1, 0.2, 0.95, 0.95])
    tried = []

    def train(_search, candidate, seed):
        tried.append((candidate, seed))
        best = next(results)
        return best, best / 2

    record = find_heads(search_for(), tmp_path / "c.safetensors", lambda *_: None, train)
    # 0: good, then bad; 1: bad twice; 2: neither; 3: good twice; 4: bad twice; 5: good twice.
    assert tried == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
        *[(k, s) for k in (3, 4, 5) for s in (0, 1)],
    ]
    assert np.isnan(record.final["best"][0, 2, 1])
    np.testing.assert_array_equal(record.final["last"], record.final["best"] / 2)


def test_the_search_drops_a_candidate_of_a_class_that_is_complete(tmp_path):
    results = {0: 0.95, 1: 0.97, 2: 0.95, 3: 0.2, 4: 0.6, 5: 0.3}
    tried = []

    def train(_search, candidate, seed):
        tried.append((candidate, seed))
        return results[candidate], results[candidate]

    record = find_heads(search_for(), tmp_path / "c.safetensors", lambda *_: None, train)
    assert tried == [
        *[(k, seed) for k in (0, 1) for seed in (0, 1)],
        (2, 0),  # a third good one
        *[(3, seed) for seed in (0, 1)],
        (4, 0),
        *[(5, seed) for seed in (0, 1)],
    ]
    assert bad_heads(search_for(), record.final["best"][0]) == [3, 5]


def test_a_killed_search_resumes(tmp_path):
    checkpoint = tmp_path / "c.safetensors"
    calls = []

    def train(_search, candidate, seed):
        calls.append((candidate, seed))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return float(candidate % 2), 0.5

    with pytest.raises(KeyboardInterrupt):
        find_heads(search_for(), checkpoint, lambda *_: None, train)
    record = find_heads(search_for(), checkpoint, lambda *_: None, train)
    assert calls[3] == calls[4] == (1, 1)  # only the interrupted training is repeated
    assert record.final["best"][0].tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_every_parameter_but_the_heads_is_the_same_regardless_of_their_number(cell):
    task = replace(TINY, cell=cell)
    models = [with_heads(task, *[("candidate", i) for i in range(k)]) for k in (1, 2, 8)]
    bodies = [
        {name: value for name, value in model.state_dict().items() if "heads" not in name}
        for model in models
    ]
    for body in bodies[1:]:
        assert body.keys() == bodies[0].keys()
        assert all(torch.equal(body[name], bodies[0][name]) for name in body)
    assert {"hidden.weight", "out.weight", "out.bias", "table"} <= bodies[0].keys()


def test_heads_are_drawn_by_their_names():
    one, two = with_heads(TINY, ("candidate", 1)), with_heads(TINY, ("candidate", 2), ("a",))
    assert not torch.equal(one.heads[0].weight, two.heads[0].weight)
    assert torch.equal(with_heads(TINY, ("a",)).heads[0].weight, two.heads[1].weight)


def test_drawing_a_model_leaves_the_global_generator_alone():
    before = torch.random.get_rng_state()
    with_heads(TINY, ("a",))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_scenarios_take_the_heads_they_name():
    good, bad = [1, 2], [3, 4, 5, 6, 7]
    assert {c for _, c in head_names(4, "all-bad", 0, good, bad)} <= set(bad)
    mixed = [c for _, c in head_names(4, "one-good", 0, good, bad)]
    assert len(set(mixed)) == 4
    assert sum(c in good for c in mixed) == 1
    assert head_names(4, "random", 0, good, bad) != head_names(4, "random", 1, good, bad)


@pytest.mark.parametrize(
    ("bad", "one", "random", "verdict"),
    [
        ([0.2, 0.3], [1, 1], [1, 1], "holds"),
        ([0.2, 0.3], [1, 0.2], [1, 1], "holds in part"),
        ([1, 1], [1, 1], [1, 1], "holds in part"),
        ([1, 1], [0.2, 1], [0.2, 1], "does not hold"),
    ],
)
def test_verdicts_on_heads(bad, one, random, verdict):
    levels = {"all-bad": bad, "one-good": one, "random": random, "all-bad-last": bad}
    records = {f"lstm-sum-{k}": curves([(50, a) for a in level]) for k, level in levels.items()}
    best = np.array([[0.99, 0.99, 0.99], [0.1, 0.2, 0.3]])
    records["lstm-search"] = Record(np.zeros(1), {}, accuracies(best))
    settings = HeadsSettings(draws=20, variants=("lstm-sum",), heads=1)
    [finding] = Heads().findings(settings, records)
    assert finding.verdict == verdict
    [rare] = Heads().findings(settings.model_copy(update={"heads": 2}), records)
    assert rare.verdict == "not testable here"
    [few] = Heads().findings(settings.model_copy(update={"draws": 19}), records)
    assert few.verdict == "underpowered"
    assert "found 1 good and 1 bad ones by best accuracy, the same ones by last" in finding.summary


def test_a_judged_variant_that_is_not_the_papers_is_named():
    ours = HeadsSettings(variants=("gru-mean",), wanted=10, wanted_good=10)
    assert _deviation(ours) == (
        "GRU, contexts averaged (released code) instead of LSTM, contexts summed; 20 draws a "
        "scenario, 10 bad and 10 good heads instead of 20 each"
    )
    assert _deviation(HeadsSettings()) == "none in sizes"


def test_heads_end_to_end(tmp_path):
    run = start_experiment("heads", "smoke", out=tmp_path / "run")
    charts = Heads().figures(Heads.scales["smoke"], run.records())
    assert {f.figure for f in findings_of(run)} <= set(charts)
    assert all("<svg" in to_svg(chart) for chart in charts.values())
    assert set(Heads.needs) <= set(run.records())
