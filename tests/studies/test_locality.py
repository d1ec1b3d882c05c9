"""Keyword sentences under uniform attention: what is read, and what follows from it."""

import numpy as np
import pytest
import torch

from foveate.charts.render import to_svg
from foveate.jobs.experiment import findings_of, of_run, start_experiment
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.studies.snell21.locality import CONDITIONS, Locality, LocalitySettings
from foveate.studies.snell21.locality.findings import early_at, local, spread_out
from foveate.studies.snell21.locality.training import (
    MAX_DISTANCE,
    KeywordTask,
    keyword_training,
    read_keywords,
)
from foveate.text.corpora.keywords import KEYWORD, keyword_sentences

TASK = KeywordTask(length=6, vocabulary=6, embedding=5, d=4, batch=8, held_out=40, lr=0.01)


def test_what_is_read_against_one_sentence_at_a_time():
    model = keyword_training(TASK, CONDITIONS["both"], 0).model
    x, y = keyword_sentences(40, generator("read"), 6, 6)
    result = read_keywords(model, x, y)
    rows = {"keyword": [], "after": [], "mean": [], "last": [], "first": []}
    around = [[] for _ in range(2 * MAX_DISTANCE + 1)]
    right, losses = [], []
    for sentence, label in zip(x, y.tolist(), strict=True):
        with torch.no_grad():
            output = model(sentence[None])
        gamma = output.gamma[0].tolist()
        assert float(output.logit) == pytest.approx(np.mean(gamma), abs=1e-6)
        right.append((np.mean(gamma) > 0) == bool(label))
        losses.append(np.log1p(np.exp(-(2 * label - 1) * np.mean(gamma))))
        if label:
            keyword = sentence.tolist().index(KEYWORD)
            for position, value in enumerate(gamma):
                if abs(position - keyword) <= MAX_DISTANCE:
                    around[position - keyword + MAX_DISTANCE].append(value)
            if keyword < 5:
                read = (gamma[keyword], gamma[keyword + 1], np.mean(gamma), gamma[-1], gamma[0])
                for name, value in zip(rows, read, strict=True):
                    rows[name].append(value)
    for name, values in rows.items():
        assert result[name] == pytest.approx(np.mean(values), abs=1e-6)
    assert result["accuracy"] == pytest.approx(np.mean(right))
    assert result["loss"] == pytest.approx(np.mean(losses), abs=1e-6)
    for k, values in enumerate(around):
        if values:
            assert result["around"][k] == pytest.approx(np.mean(values), abs=1e-6)
        else:
            assert np.isnan(result["around"][k])


def test_small_initial_embeddings_differ_in_scale_only():
    loud, quiet = (keyword_training(TASK, CONDITIONS[name], 3).model for name in ("both", "quiet"))
    torch.testing.assert_close(quiet.table, 0.1 * loud.table)
    for (name, a), (_, b) in zip(loud.named_parameters(), quiet.named_parameters(), strict=True):
        assert name == "table" or torch.equal(a, b)


def test_a_forward_encoder_is_uninformative_before_the_keyword():
    model = keyword_training(TASK, CONDITIONS["forward"], 0).model
    x, _ = keyword_sentences(4, generator("forward"), 6, 6)
    changed = x.clone()
    changed[:, -1] = KEYWORD
    with torch.no_grad():
        assert torch.equal(model(x).gamma[:, :-1], model(changed).gamma[:, :-1])


def records_of(early, late, seeds=10, odd=0):
    """Three times: chance, the loss has begun to fall, the end; ``odd`` seeds end as they began."""
    at = {"keyword": 0, "after": 1, "mean": 2, "last": 3}
    values = {}
    for name, k in at.items():
        column = np.array([[0.0], [early[k]], [late[k]]]) + np.zeros(seeds)
        column[2, :odd] = early[k]
        values[name] = column
    values["first"] = values["last"].copy()
    values["loss"] = np.array([[0.69], [0.6], [0.01]]) + np.zeros(seeds)
    values["accuracy"] = np.array([[0.5], [0.7], [1.0]]) + np.zeros(seeds)
    values["around"] = np.zeros((3, seeds, 2 * MAX_DISTANCE + 1))
    return Record(np.array([0, 8, 300]), values, {}, {})


LOCAL, SPREAD = (4.0, 1.0, 0.1, 0.2), (2.0, 5.0, 2.5, 9.0)


def verdict(record):
    settings = LocalitySettings()
    (finding,) = Locality().findings(settings, {"both": record})
    return finding.verdict


def test_orders_are_those_of_the_paper():
    record = records_of(LOCAL, SPREAD)
    assert early_at(record, 0.95).tolist() == [1] * 10
    assert local(record)[:, 0].tolist() == [False, True, False]
    assert spread_out(record)[:, 0].tolist() == [False, False, True]


def test_verdicts_follow_from_the_orders():
    assert verdict(records_of(LOCAL, SPREAD)) == "holds"
    assert verdict(records_of(LOCAL, SPREAD, odd=1)) == "holds"
    assert verdict(records_of(LOCAL, SPREAD, odd=2)) == "holds in part"
    assert verdict(records_of(LOCAL, (2.0, 1.0, 2.5, 9.0))) == "holds in part"
    assert verdict(records_of(LOCAL, LOCAL)) == "does not hold"
    assert verdict(records_of(SPREAD, SPREAD)) == "does not hold"


def test_a_seed_that_never_learns_is_read_at_the_end():
    record = records_of(LOCAL, SPREAD)
    record.values["loss"][:] = 0.7
    assert early_at(record, 0.95).tolist() == [2] * 10


def test_smoke_has_its_finding_and_its_figures(tmp_path):
    run = start_experiment("locality", "smoke", out=tmp_path / "run")
    experiment, settings = of_run(run)
    (finding,) = findings_of(run)
    assert finding.claim == "snell21:C11"
    charts = experiment.figures(settings, run.records())
    assert finding.figure in charts
    for chart in charts.values():
        chart.to_dict()
        assert to_svg(chart).startswith("<svg")
        assert chart.description
