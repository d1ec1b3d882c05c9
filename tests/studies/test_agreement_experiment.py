"""The agreement experiment: what is compared, what follows from records, and that it resumes."""

import numpy as np
import pytest
import torch

from foveate.charts.render import to_svg
from foveate.errors import FoveateError
from foveate.jobs.experiment import settings_for, start_experiment
from foveate.records.record import Record
from foveate.studies.snell21.agreement import Agreement, AgreementSettings, checkpoints, texts
from foveate.studies.snell21.agreement.comparison import (
    CHOOSING,
    FAIR,
    PAPER,
    REPORTING,
    TAU,
    TRAINING,
    compare,
    random_levels,
)
from foveate.studies.snell21.agreement.published import PUBLISHED
from foveate.studies.snell21.agreement.record_values import (
    chosen,
    context,
    frozen_best,
    number,
    top_performance,
)
from foveate.studies.snell21.agreement.texts import prepared
from foveate.text.batches import Batches
from foveate.text.tokens import Tokens, truncate

SMOKE = Agreement.scales["smoke"]
STEPS = np.array([0, 100, 400])


def test_the_papers_checkpoints():
    first = [0, 10, 50, 100, 150, 200, 250, 500, 750]
    assert checkpoints(4000) == [*first, *range(1000, 4001, 250)]
    assert checkpoints(40) == [0, 10, 40]
    assert checkpoints(10) == [0, 10]


def test_comparing_takes_means_by_set():
    """Rows of 20 have one place at the top; rows of two values of v tie."""
    u = np.r_[np.arange(20.0), np.arange(20.0), -np.arange(20.0), np.arange(20.0)]
    v = np.r_[np.arange(20.0), -np.arange(20.0), -np.arange(20.0), np.zeros(20)]
    start, group = np.arange(5) * 20, np.array([0, 0, 1, 2])
    result = compare(u, v, start, group)
    assert result[CHOOSING].tolist() == [0.5, 0.5, 0.0]
    assert result[REPORTING].tolist() == [1, 1, 1]
    assert result[TRAINING, PAPER] == 1  # the paper's form takes a constant for agreement
    assert result[TRAINING, FAIR] == pytest.approx(0.05)
    assert np.isnan(result[TRAINING, TAU])
    assert random_levels(start, group).tolist() == [0.05, 0.05, 0.05]


def test_batches_depend_on_the_step_only():
    tokens = Tokens.of([[4] * (1 + k % 5) for k in range(11)])
    y = torch.arange(11)
    forth, back = (Batches(tokens, y, 4, "a", 0) for _ in range(2))
    seen = [forth.at(step)[2].tolist() for step in range(1, 10)]
    again = [back.at(step)[2].tolist() for step in range(9, 0, -1)]
    assert seen == again[::-1]
    for epoch in range(3):
        part = seen[3 * epoch : 3 * epoch + 3]
        assert sorted(row for batch in part for row in batch) == list(range(11))
    assert seen[:3] != seen[3:6]
    other = Batches(tokens, y, 4, "a", 1)
    assert [other.at(step)[2].tolist() for step in range(1, 10)] != seen


def test_texts_are_cut_and_put_into_sets():
    settings = AgreementSettings(texts=("keywords",), train=50, validation=41, sample=7, longest=12)
    result = prepared(settings, "keywords")
    assert np.bincount(result.group).tolist() == [21, 20, 7]
    assert int(result.read.lengths.max()) == 12
    assert len(result.train) == 50
    sample = result.read.take(torch.from_numpy(result.group == TRAINING))
    rows = {tuple(result.train[k]) for k in range(50)}
    assert {tuple(sample[k]) for k in range(7)} <= rows


def test_trans_is_the_share_of_counts_under_the_label():
    settings = AgreementSettings(texts=("keywords",), train=30, validation=10, sample=3)
    result = prepared(settings, "keywords")
    counts = np.zeros((len(result.vocabulary), 2))
    for k in range(30):
        for word in result.train[k]:
            counts[word, int(result.y_train[k])] += 1 / 40
    at = 0
    for k in range(len(result.read)):
        for word in result.read[k]:
            share = counts[word, int(result.y_read[k])] / max(counts[word].sum(), 1e-9)
            assert result.trans[at] == pytest.approx(share)
            at += 1


def test_cutting_no_text_changes_nothing():
    tokens = Tokens.of([[4, 5], [6]])
    assert truncate(tokens, None) is tokens
    assert truncate(tokens, 9).ids.tolist() == [4, 5, 6]


def test_without_data_the_toy_stands_in(monkeypatch):
    def nothing(name, **_):
        raise FoveateError(f"no {name}")

    monkeypatch.setattr(texts, "load_texts", nothing)
    texts._is_available.cache_clear()
    try:
        assert list(Agreement().parts(AgreementSettings())) == ["keywords"]
    finally:
        texts._is_available.cache_clear()


# What follows from records


def made(level=0.4, end=None, alike=0.7, frozen=0.1, kind="texts", train=None, bleu=None):
    """A record of three seeds: β_uf is best in the middle, 400 steps are the end."""
    shift = 0.001 * np.arange(3)

    def curve(*means):
        out = np.empty((3, 3, 3, 3))
        out[:] = np.array(means)[:, None, None, None] + shift[None, :, None, None]
        return out

    end = 0.75 * level if end is None else end
    values = {
        "alpha_uf": curve(0.06, level, end),
        "delta_uf": curve(0.06, level, end),
        "uf_px": curve(0.06, level, end),
        "uf_trans": curve(0.06, level, end),
        "alpha_alpha": curve(0.06, alike / 2, alike),
        "alpha_beta_other": curve(0.06, level, level),
        "partner_accuracy": curve(0.5, 0.7, 0.9)[..., 0],
        "uniform_accuracy": curve(0.5, 0.7, 0.9)[..., 0],
        "frozen_alpha": curve(0.06, frozen, frozen / 2),
        "frozen_accuracy": curve(0.5, 0.5, 0.6)[..., 0],
    }
    if train is not None:
        values["uf_px"][:, :, TRAINING] = train
    if bleu is not None:
        values["partner_bleu"] = np.array(bleu)[:, None] + shift
    final = {
        "alpha_beta": curve(level, level, level)[0],
        "random": np.full((3, 3), 0.06),
        "standard_accuracy": np.full((3, 3), 0.9),
        "proxy_accuracy": np.full((3, 3), 0.8),
    }
    return Record(STEPS, values, final, {"kind": kind, "about": ""})


def result(**records):
    settings = AgreementSettings(texts=tuple(records))
    return {f.claim.removeprefix("snell21:"): f for f in Agreement().findings(settings, records)}


def as_the_paper_says():
    return {
        "sst": made(0.2),
        "imdb": made(0.5),
        "sms": made(0.3, alike=0.2),
        "multi30k": made(0.31, kind="pairs", bleu=[0.1, 12, 38]),
    }


def test_records_as_in_the_paper_hold():
    verdicts = {claim: f.verdict for claim, f in result(**as_the_paper_says()).items()}
    assert set(verdicts) == {"C1", "C2", "C3", "C4", "C14", "C16", "C17", "C18"}
    assert set(verdicts.values()) == {"holds"}


def test_agreement_at_the_random_level_does_not_hold():
    records = {
        "sst": made(0.07, end=0.09, frozen=0.3),
        "imdb": made(0.07, end=0.09, frozen=0.3),
        "sms": made(0.3, alike=0.9),
    }
    verdicts = {claim: finding.verdict for claim, finding in result(**records).items()}
    contradicted = {"C1", "C2", "C3", "C4"}
    assert {verdicts[claim] for claim in contradicted} == {"contradicted"}
    assert {verdicts[claim] for claim in verdicts.keys() - contradicted - {"C17"}} == {
        "does not hold"
    }


def test_half_of_the_data_sets_is_a_part_and_sms_does_not_count():
    records = {"sst": made(0.07), "imdb": made(0.5), "sms": made(0.07)}
    assert result(**records)["C1"].verdict == "holds in part"
    assert result(**records)["C1"].summary.startswith("2 conditions: 1 met, 1 contradicted.")
    assert result(sst=made(0.5), sms=made(0.07))["C1"].verdict == "holds"


def test_the_effect_is_the_mean_excess():
    one = result(sst=made(0.2), imdb=made(0.5))["C1"]
    assert one.effect == pytest.approx(0.35 + 0.001 - 0.06)
    assert one.low < one.effect < one.high


def test_the_outlier_must_be_the_lowest():
    records = as_the_paper_says()
    lower = {**records, "sst": made(0.2, alike=0.15)}
    assert result(**lower)["C16"].verdict == "holds in part"
    assert "C16" not in result(sst=made(0.2))


def test_a_curve_that_only_rises_does_not_rise_and_fall():
    finding = result(sst=made(0.3, end=0.5))["C17"]
    assert finding.verdict != "holds"
    assert finding.summary.startswith("2 conditions: 1 met")


def test_training_data_and_bleu():
    records = as_the_paper_says()
    weak = {**records, "sst": made(0.2, train=0.08)}
    assert result(**weak)["C18"].verdict == "holds in part"
    no_pairs = {name: records[name] for name in ("sst", "imdb")}
    assert result(**no_pairs)["C18"].verdict == "holds in part"
    assert "BLEU is not tested" in result(**no_pairs)["C18"].summary
    poor = {**records, "multi30k": made(0.31, kind="pairs", bleu=[0.1, 0.2, 38])}
    assert result(**poor)["C18"].verdict == "holds in part"


def test_the_checkpoint_is_chosen_on_one_half_and_read_on_the_other():
    record = made(0.4)
    record.values["alpha_uf"][:, :, CHOOSING, FAIR] = np.array([[0.1], [0.2], [0.3]])
    assert chosen(record).tolist() == [2, 2, 2]
    assert number(record, "alpha_uf") == pytest.approx(0.3 + 0.001 * np.arange(3))
    record.values["frozen_alpha"][:, :, CHOOSING, FAIR] = np.array([[0.9], [0.0], [0.0]])
    assert frozen_best(record) == pytest.approx(0.06 + 0.001 * np.arange(3))


def test_context_reads_the_partner_where_it_first_agrees_better():
    record = made(0.3, alike=0.7, bleu=[np.nan, 5.0, 20.0])
    assert context(record, "alpha_uf") == pytest.approx(0.7 + 0.001 * np.arange(3))
    assert context(record, "alpha_uf", "partner_bleu") == pytest.approx(5 + 0.001 * np.arange(3))
    assert top_performance(record, "partner_bleu") == pytest.approx(20 + 0.001 * np.arange(3))
    above = made(0.8, alike=0.7)
    assert context(above, "alpha_uf") == pytest.approx(top_performance(above))


def test_figures_of_texts_and_pairs_together():
    records = as_the_paper_says()
    for key in ("frozen_alpha", "frozen_accuracy"):
        del records["multi30k"].values[key]
    charts = Agreement().figures(SMOKE, records)
    assert set(charts) == {"table", "rise", "context", "training", "seeds", "numbers", "frozen"}
    assert {f.figure for f in result(**records).values()} <= set(charts)
    for chart in charts.values():
        chart.to_dict()  # against the schema
        assert to_svg(chart).startswith("<svg")
        assert chart.description


class Killed(Exception):
    pass


@pytest.mark.parametrize("reports", [4, 9])
def test_a_killed_part_ends_with_the_same_bits(reports, tmp_path):
    """Killed in the second epoch of a proxy, and between two kinds of models."""
    settings = AgreementSettings(
        **{**SMOKE.model_dump(), "steps": 2, "seeds": 2, "train": 64, "proxy_epochs": 2}
    )
    work = Agreement().parts(settings)["keywords"]
    whole = work(tmp_path / "whole.safetensors", lambda *_: None)
    (tmp_path / "part").mkdir()
    folder, left = tmp_path / "part" / "checkpoint.safetensors", iter(range(reports))

    def kill(_done, _total):
        if next(left, None) is None:
            raise Killed

    with pytest.raises(Killed):
        work(folder, kill)
    again = work(folder, lambda *_: None)
    for kind in ("values", "final"):
        mine, other = getattr(whole, kind), getattr(again, kind)
        assert mine.keys() == other.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], other[name], err_msg=name)
    assert not list((tmp_path / "part").iterdir()), "a finished part leaves no files"


def test_cells_have_the_keys_of_the_published_table(tmp_path):
    run = start_experiment("agreement", "smoke", out=tmp_path / "run")
    settings = Agreement.scales["smoke"]
    cells = Agreement().cells(settings, run.records())
    keys = {(one.name, one.measure) for one in cells if one.group == "keyword toy"}
    published = {key[1:] for key in PUBLISHED.numbers}
    assert published <= keys
    record = run.records()["keywords"]
    [one] = [c for c in cells if c[:3] == ("keyword toy", "A(α, β_uf)", "agreement")]
    assert one.mean == pytest.approx(number(record, "alpha_uf", measure=PAPER).mean())
    assert not any(measure.startswith("BLEU") for _, measure in keys)


def test_cells_of_pairs_have_bleu_in_xi_with_agreement_and_with_tau(tmp_path):
    changes = {"texts": [], "score": "linear"}
    run = start_experiment("agreement", "smoke", changes, out=tmp_path / "run")
    cells = Agreement().cells(settings_for("agreement", "smoke", changes), run.records())
    means = {(c.name, c.measure): c.mean for c in cells}
    record = run.records()["made-up"]
    for ending, measure in (("", FAIR), (", Kendall's τ", TAU)):
        by_bleu = context(record, "alpha_uf", "partner_bleu", measure=measure).mean()
        assert means["ξ(α, β_uf)", f"BLEU-4{ending}"] == pytest.approx(by_bleu)
    last = record.values["partner_bleu"][-1].mean()
    assert means["ξ*", "BLEU-4"] == pytest.approx(last)
    tau = number(record, "alpha_uf", measure=TAU).mean()
    assert means["A(α, β_uf)", "agreement, Kendall's τ"] == pytest.approx(tau)


def test_published_numbers_are_those_of_the_reference():
    assert PUBLISHED.numbers["IMDB", "A(β_uf, β_px)", "agreement"] == 0.816
    assert PUBLISHED.numbers["Multi30k", "ξ*", "accuracy"] == 0.663
    assert PUBLISHED.numbers["SST", "random level", "agreement"] == 0.083
