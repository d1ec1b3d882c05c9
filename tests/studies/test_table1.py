"""The first table: findings follow from records in both directions; SAIF where z is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate.attention.paradigms import PARADIGMS, Hybrid, Progress, Soft
from foveate.charts.render import to_svg
from foveate.errors import FoveateError
from foveate.jobs.experiment import settings_for
from foveate.metrics.intervals import Interval
from foveate.models.oracle import Oracle
from foveate.records.record import Record
from foveate.studies.trials import Trial, run_trial, seconds_of
from foveate.studies.verdicts import above, below, verdict_of
from foveate.studies.vr23.table1 import Table1
from foveate.studies.vr23.table1.cells import relevant_saif
from foveate.studies.vr23.table1.findings import decide_claims
from foveate.studies.vr23.table1.published import PUBLISHED
from foveate.studies.vr23.table1.rows import (
    ROWS,
    RULES,
    WORD_RULES,
    MatchedRandomEpochs,
    trial_epochs,
    trial_of,
)
from foveate.training.plan import Plan

USE = Table1.scales["smoke"]
SEEDS, N = 6, 40


def record(a_z, p_y, accuracy=0.9, known=N, notes=()):
    """A record in which bags have these scores in turn; only the first ``known`` have a z."""
    shift = 0.001 * np.arange(SEEDS)[:, None]
    a = np.broadcast_to(np.resize(a_z, N), (SEEDS, N)) - shift
    p = np.broadcast_to(np.resize(p_y, N), (SEEDS, N)) - shift
    z = np.zeros((1, N, 2), bool)
    z[:, :known, 0] = True
    final = {
        "alpha": np.stack([a, 1 - a], -1),
        "z": z,
        "y": np.zeros((1, N), int),
        "log_p": np.log(np.stack([p, 1 - p], -1)),
    }
    meta = {"classifier_calls": [2_000_000] * SEEDS, "cpu_seconds": 3.0, "notes": list(notes)}
    return Record(np.zeros(1), {"accuracy": np.full((1, SEEDS), accuracy)}, final, meta)


def table(**by_rule):
    return {f"{row}-{rule}": by_rule[rule] for row in USE.rows for rule in USE.rules(row)}


def as_the_paper_says():
    return table(
        soft=record([0.5, 0.5, 0.9], [0.95]),
        hard=record([0.05, 0.05, 0.05, 0.95], [0.6, 0.9]),
        lvml=record([0.95], [0.95]),
        hybrid=record([0.9, 0.9, 0.5], [0.9]),
        logit=record([0.5], [0.9]),
        random=record([0.9, 0.5, 0.5, 0.5], [0.9]),
        **{"random-matched": record([0.9, 0.5, 0.5, 0.5], [0.9])},
        oracle=record([0.99], [0.99]),
    )


def verdicts(records):
    return {f.claim: f.verdict for f in Table1().findings(USE, records)}


def test_records_as_in_the_paper_hold():
    assert set(verdicts(as_the_paper_says()).values()) == {"holds"}


def test_the_opposite_does_not():
    records = table(
        soft=record([0.95], [0.5]),
        hard=record([0.5], [0.95]),
        lvml=record([0.5], [0.5]),
        hybrid=record([0.5], [0.5], accuracy=0.8),
        logit=record([0.5], [0.5]),
        random=record([0.95], [0.95]),
        **{"random-matched": record([0.95, 0.95, 0.1], [0.95])},
        oracle=record([0.99], [0.99]),
    )
    result = verdicts(records)
    assert {result[f"vr23:{k}"] for k in ("C1-real", "C2-real", "C16-real", "C21-real")} == {
        "contradicted"
    }


def test_a_comparison_without_headroom_is_not_testable():
    records = as_the_paper_says()
    for row in USE.rows:
        records[f"{row}-oracle"] = record([0.5, 0.5, 0.9], [0.95])  # no better than soft attention
    result = {f.claim: f for f in Table1().findings(USE, records)}
    assert "not testable here" in result["vr23:C16-real"].summary
    assert result["vr23:C21-real"].verdict == "holds"


def test_dead_seeds_enter_no_mean_and_are_counted():
    records = as_the_paper_says()
    soft = records["digits-5-soft"]
    s = np.random.default_rng(0).normal(size=(SEEDS, N, 2))
    s[2] = 0.0
    soft = replace(soft, final={**soft.final, "s": s}, meta={**soft.meta, "seeds": list(range(6))})
    by = {c[:3]: c for c in Table1().cells(USE, {**records, "digits-5-soft": soft})}
    assert by["Digits m=5", "soft", "dead seeds"].mean == 1
    saif = by["Digits m=5", "soft", "SAIF %"]
    assert (saif.seeds, saif.values[2]) == (SEEDS - 1, None)
    assert ("Digits m=5", "hard", "dead seeds") not in by


def test_matched_random_epochs_have_as_many_hard_epochs_as_the_hybrid():
    rule = MatchedRandomEpochs(switch=0.8)
    for seed in range(3):
        phases = [type(rule.phase(Progress(epoch, 20, seed=seed))).__name__ for epoch in range(20)]
        assert (phases.count("Hard"), phases.count("Soft")) == (4, 16)
    first, second = (
        [type(rule.phase(Progress(epoch, 20, seed=seed))).__name__ for epoch in range(20)]
        for seed in (0, 1)
    )
    assert first != second


def test_a_row_that_fails_makes_a_part():
    records = as_the_paper_says()
    records["topics-2-lvml"] = record([0.5], [0.95])
    result = {f.claim: f for f in Table1().findings(USE, records)}
    assert result["vr23:C4"].verdict == "holds in part"
    assert "6 conditions: 4 met, 2 contradicted" in result["vr23:C4"].summary
    assert result["vr23:C4"].effect < 0  # the row where it gains least
    records["digits-5-hybrid"] = record([0.9, 0.9, 0.5], [0.9], accuracy=0.88)
    assert verdicts(records)["vr23:C16-real"] == "holds in part"


def test_saif_is_counted_over_the_bags_that_have_a_rationale():
    scores = [0.9, 0.5]  # every other bag is focused
    assert relevant_saif(record(scores, [0.9])) == pytest.approx(50)
    few = record(scores, [0.9], known=3)
    np.testing.assert_allclose(relevant_saif(few), 200 / 3)
    np.testing.assert_allclose(relevant_saif(few, tau=0.3), 100)


def test_cells_are_the_numbers_of_the_records_with_their_cost():
    by = {c[:3]: c for c in Table1().cells(USE, as_the_paper_says())}
    assert by["Digits m=5", "lvml", "SAIF %"].mean == pytest.approx(100)
    assert by["Digits m=5", "soft", "SAIF %"].mean == pytest.approx(100 * 13 / 40)
    assert by["Digits m=5", "soft", "accuracy %"].mean == pytest.approx(90)
    assert by["Digits m=5", "oracle", "calls of g, millions"].mean == 2
    assert by["Digits m=5", "oracle", "CPU s a seed"].mean == 0.5
    assert ("Digits m=5", "logit", "SAIF %") not in by
    assert ("Topic words, as HateXplain-1", "logit", "SAIF %") in by


def test_anomalies_of_the_data_are_reported_once():
    records = as_the_paper_says()
    records |= {f"topics-1-{k}": record([0.5], [0.5], notes=["post p is odd"]) for k in RULES}
    differences = Table1().differs(USE, records)
    assert differences.count("Data: post p is odd.") == 1
    assert "Data: post p is odd" in Table1().findings(USE, records)[0].deviation


def test_pixels_at_other_sizes_than_the_published_ones_is_reported():
    paper = Table1.scales["paper"]
    differences = Table1().differs(paper, {})
    assert not any("Pixels" in text for text in differences)
    less = paper.sizes["pixels"].model_copy(update={"n": 10_000, "optimizer": "adam", "lr": 1e-3})
    changed = paper.model_copy(update={"sizes": {**paper.sizes, "pixels": less}})
    (new,) = set(Table1().differs(changed, {})) - set(differences)
    assert "10,000 mosaics, adam 0.001 with batches of 256 for 150 epochs" in new


def test_every_published_group_is_run_at_small_and_at_paper_scale():
    groups = set(PUBLISHED.groups)
    for scale in ("small", "paper"):
        assert {ROWS[row].group for row in Table1.scales[scale].rows} == groups
    assert {rule for _, rule, _ in PUBLISHED.numbers} <= set(RULES) <= set(WORD_RULES)


def test_paper_scale_is_the_published_one():
    trials = Table1().trials(Table1.scales["paper"])
    plan = trials["cifar10-20-pixels-soft"].plan
    assert (plan.epochs, plan.batch, plan.lr, plan.optimizer) == (150, 256, 0.05, "sgd")
    rates = {rule: trials[f"hatexplain-1-{rule}"].plan.lr for rule in ("soft", "hard", "lvml")}
    assert rates == {"soft": 0.1, "hard": 0.1, "lvml": 0.3}
    assert trials["hatexplain-2-lvml"].plan.lr == 0.001
    hybrid = trials["hatexplain-2-hybrid"]
    assert hybrid.plan.switched_lr == pytest.approx(0.008)
    assert trials["hatexplain-1-hybrid"].plan.switched_lr is None
    phases = [type(hybrid.rule.phase(Progress(e, 550))).__name__ for e in (499, 500)]
    assert (hybrid.plan.epochs, phases) == (550, ["Soft", "Hard"])
    assert isinstance(trials["hatexplain-1-oracle"].rule, Oracle)


def test_rows_without_data_are_left_out_and_say_why(monkeypatch):
    def only_posts(name, hub_id):
        if name != "hatexplain":
            raise FoveateError(f"no {name} here")

    monkeypatch.setattr("foveate.data.files.hub.locate", only_posts)
    settings, why = Table1().runnable(Table1.scales["small"])
    posts = ("hatexplain-1", "hatexplain-2")
    assert settings.rows == (*posts, *(f"{name}-majority" for name in posts))
    assert why["CIFAR100 m=20"] == "no cifar100 here"
    assert len(why) == 4
    assert settings.images == ()


def test_unknown_rows_and_missing_sizes_are_named():
    with pytest.raises(FoveateError, match=r"rows: must be among cifar10-5, .*, got 'cifar10-6'"):
        Table1().parts(settings_for("table1", "smoke", {"rows": ["cifar10-6"]}))
    with pytest.raises(FoveateError, match="sizes must have 'pixels' for CIFAR10 m=5, got cifar10"):
        Table1().parts(settings_for("table1", "smoke", {"rows": ["cifar10-5-pixels"]}))


def test_charts_draw_with_published_diamonds():
    small = Table1.scales["small"]
    settings = small.model_copy(update={"rows": ("cifar10-5",)})
    records = {f"cifar10-5-{rule}": record([0.9, 0.5], [0.9]) for rule in RULES}
    charts = Table1().figures(settings, records)
    assert set(charts) == {"saif", "accuracy", "heat-maps", "released-heat-maps"}
    svg = to_svg(charts["saif"])
    assert "CIFAR10 m=5 (frozen features)" in svg
    assert "Random epochs" in svg


def test_verdicts_matches_manual_computation():
    assert [verdict_of(c) for c in ([True], [True, False], [False])] == [
        "holds",
        "holds in part",
        "does not hold",
    ]
    assert above(Interval(11, 1, 20), 10)
    assert not above(Interval(9, 1, 20), 10)
    assert not above(Interval(11, None, None), 10)
    assert below(Interval(-11, -20, -1), -10)
    assert not below(Interval(-11, -20, 1), -10)


@pytest.mark.parametrize(("together", "factor"), [(False, 3), (True, 2)])
def test_an_estimate_counts_steps_epochs_seeds_and_phases(together, factor, monkeypatch):
    from foveate.studies import trials

    def timed(_trial, _some, phase, seeds):  # several seeds take twice as long as one
        cost = {"Soft": 1.0, "Hard": 5.0}[type(phase).__name__]
        return cost * (1 if seeds == 1 else 2), together

    monkeypatch.setattr(trials, "_timed_step", timed)
    bags = Table1().trials(USE)["digits-5-soft"].bags  # 32 bags
    plan = Plan(epochs=10, batch=10)
    build = torch.nn.Identity  # never called
    assert seconds_of(Trial(bags, build, Soft(), 3, plan)) == factor * 4 * 10
    assert seconds_of(Trial(bags, build, Soft(), 1, plan)) == 4 * 10
    hybrid = Hybrid(switch=0.8)
    assert seconds_of(Trial(bags, build, hybrid, 3, plan)) == factor * 4 * (8 + 2 * 5)
    rates = Trial(bags, build, Soft(), 3, plan, rates=(0.1, 0.2))
    assert seconds_of(rates) == (factor + 2 * 0.8) * 4 * 10


def test_an_estimate_measures_a_step():
    trial = Table1().trials(USE)["topics-1-hybrid"]
    assert 0 < seconds_of(trial) < 60


def test_equal_classifier_calls_give_each_paradigm_as_many_calls_as_soft_attention():
    m, epochs = 5, 50
    for rule in (Soft(), Hybrid(switch=0.8), PARADIGMS.get("lvml")()):
        count = trial_epochs(rule, epochs, m, "classifier calls")
        calls = [rule.phase(Progress(epoch, count)).calls(m) for epoch in range(count)]
        more = [rule.phase(Progress(epoch, count + 1)).calls(m) for epoch in range(count + 1)]
        assert sum(calls) <= epochs < sum(more)
    changes = {"equal": "classifier calls", "paradigms": ["soft", "lvml"]}
    settings = settings_for("table1", "smoke", changes)
    plans = {name: trial.plan.epochs for name, trial in Table1().trials(settings).items()}
    assert plans["digits-5-soft"] == 2
    assert plans["digits-5-lvml"] == 1
    assert {name.rsplit("-", 1)[1] for name in plans} == {"soft", "lvml"}
    assert decide_claims(settings, []) == []


def test_the_rate_is_the_one_with_the_highest_accuracy_on_held_out_training_bags(tmp_path):
    sizes = USE.sizes["cifar10"].model_copy(update={"rates": (1e-7, 1e-2), "epochs": 6, "n": 200})
    trial = trial_of(ROWS["digits-5"], "soft", {"cifar10": sizes}, 1)
    record = run_trial(trial, tmp_path / "state.npz", lambda *_: None)
    rates = record.meta["rates"]
    assert record.meta["rate"] == float(max(rates, key=rates.get)) == 1e-2
    assert rates["0.01"] > rates["1e-07"]
    assert record.meta["plan"]["lr"] == 1e-2
    settings = USE.model_copy(
        update={"rows": ("digits-5",), "sizes": {"cifar10": sizes}, "paradigms": ("soft",)}
    )
    cells = {c.measure: c.mean for c in Table1().cells(settings, {"digits-5-soft": record})}
    assert cells["learning rate"] == 1e-2
    assert cells["calls of f, millions"] == pytest.approx(200 * 5 * 6 / 1e6)
    assert any("held out" in text for text in Table1().differs(settings, {}))
