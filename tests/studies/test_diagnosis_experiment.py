"""The diagnosis experiment: sequences, predictions, ranks; and a user's own texts and pairs."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from foveate.charts.render import to_svg
from foveate.errors import FoveateError
from foveate.jobs.align import AlignPlan, align_pairs
from foveate.jobs.experiment import settings_for, start_experiment
from foveate.jobs.read import ReadingPlan, example_rows, read_texts_job, split_texts
from foveate.randomness import generator
from foveate.records.record import Record
from foveate.studies.beyond.diagnosis import Diagnosed, DiagnosisSettings, conditions
from foveate.studies.beyond.diagnosis.cells import FORECAST, TRAINED, diagnosis_cells
from foveate.studies.beyond.diagnosis.corpora import left_of_counts
from foveate.studies.beyond.diagnosis.ranking import rank_correlation, ranking, steps_to_learn
from foveate.studies.beyond.diagnosis.training import Condition, condition_training, predicted
from foveate.text.corpora import load_pairs, load_texts
from foveate.text.statistics.cross_fitting import Crossing
from foveate.text.tokens import MARKS, UNKNOWN, Tokens

USE = DiagnosisSettings(seeds=4, length=4, words=(5, 8), steps=100, every=10)


def test_sequences_are_drawn_from_one_set_without_repeats():
    x = Condition("mixture", 5, 7, sets=2).draw(400, generator("x")) - len(MARKS)
    assert all(len(set(row)) == 5 for row in x.tolist())
    assert bool(((x < 7).all(1) | (x >= 7).all(1)).all())
    assert 0.4 < float((x[:, 0] < 7).double().mean()) < 0.6
    assert set(x.flatten().tolist()) == set(range(14))
    with pytest.raises(FoveateError, match="few: cannot draw 5 different words from 4"):
        Condition("few", 5, 4)


def test_conditions_are_ordered_by_word_knowledge():
    names = [c.name for c in conditions(USE)]
    assert names == ["permutation", "mixture", "4-of-5", "4-of-8"]
    assert list(Diagnosed().parts(USE.model_copy(update={"texts": (), "pairs": ()}))) == names
    result = {c.name: predicted(c, 300) for c in conditions(USE)}
    assert [level for _, level in result.values()] == ["unlikely", "unlikely", "likely", "likely"]
    information = [float(numbers["information"][0]) for numbers, _ in result.values()]
    assert information[0] == information[1] == 0 < information[2] < information[3]


def test_a_step_is_decided_by_its_number_and_seed():
    settings = DiagnosisSettings(length=4, d=8, batch=4, held_out=3)
    task = Condition("x", 4, 6)
    one, two = condition_training(settings, task, 0), condition_training(settings, task, 0)
    assert one.loss(3).item() == two.loss(3).item() != one.loss(4).item()
    assert condition_training(settings, task, 1).loss(3).item() != one.loss(3).item()
    assert one.should_stop({"accuracy": np.array(0.96)})
    assert not one.should_stop({"accuracy": np.array(0.95)})


def records(first_steps, information):
    """Records whose seeds jump above the level at given steps, and end there; inf never does."""
    t = np.arange(0, 101, 10)
    sample = {}
    for (name, steps), nats in zip(first_steps.items(), information, strict=True):
        accuracy = np.stack([np.where(t >= s, 0.99, 0.1) for s in steps], 1)
        final = {key: np.array([nats]) for key in ("information", "lift", "z")}
        sample[name] = Record(
            t, {"accuracy": accuracy}, final, {"said": "likely", "condition": name}
        )
    return sample


def test_ranks_are_spearmans():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(4, size=(2, 9)).astype(float)
        assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert np.isnan(rank_correlation(np.ones(3), np.arange(3.0)))


def test_what_counts_tell_is_left_when_outputs_are_permuted():
    """Frequent words have large counts, whatever the output: held against dense tables."""
    rng = generator("left")
    ids = (30 * torch.rand(300, 6, generator=rng) ** 2).long()
    source = Tokens(ids.flatten(), torch.arange(301) * 6)
    target = Tokens(ids[:, 0].clone(), torch.arange(301))
    result = left_of_counts(source, target, (30, 30))
    crossing = Crossing(source, target, (30, 30), "diagnosis", 0)
    covariances = []
    for number in range(4):
        order = crossing.order(number)
        dense = [table.toarray() for table in crossing.tables(order)]
        y = crossing.target.ids[order]
        products = []
        for k, fold in enumerate(torch.arange(300).tensor_split(3)):
            for row in fold.tolist():
                seen = [
                    [c[i, int(y[row])] - c[i].mean() for i in crossing.source[row]]
                    for c in (dense[(k + 1) % 3], dense[(k + 2) % 3])
                ]
                a, b = (np.array(v) - np.mean(v) for v in seen)
                products += (a * b).tolist()
        covariances.append(np.mean(products))
    assert result == pytest.approx(np.mean(covariances[1:]) / covariances[0])
    assert 0.05 < result < 1
    copies = predicted(Condition("of 9", 4, 9), 300)[0]
    assert abs(float(copies["left_of_counts"][0])) < 0.05  # all words are as frequent
    assert np.isnan(predicted(Condition("all", 4, 4), 300)[0]["left_of_trans"][0])


def test_cells_hold_forecasts_and_results(tmp_path):
    run = start_experiment("diagnosis", "smoke", {"learnt": 0.001}, out=tmp_path / "run")
    settings = settings_for("diagnosis", "smoke", {"learnt": 0.001})
    cells = {(c.group, c.name, c.measure): c for c in diagnosis_cells(settings, run.records())}
    attention = "attention (0 unlikely, 1 may be, 2 likely)"
    assert cells[FORECAST, "permutation", attention].mean == 0
    assert cells[FORECAST, "keywords", attention].mean == 2
    assert cells[FORECAST, "made-up", "left of Trans, permuted, %"].mean < 5
    assert cells[TRAINED, "6-of-9", "seeds that learn %"].mean == 100
    assert (TRAINED, "keywords", "seeds that learn %") not in cells
    assert (
        FORECAST,
        "permutation",
        "left of Trans, permuted, %",
    ) not in cells  # nothing to be left


def test_corpora_that_are_not_here_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("FOVEATE_DATA", str(tmp_path))
    settings, absent = Diagnosed().runnable(USE.model_copy(update={"texts": ("sst", "keywords")}))
    assert settings.texts == ("keywords",)
    assert settings.pairs == ()
    assert absent == {"sst": "its files are not here", "multi30k": "its files are not here"}


def test_the_more_information_the_sooner():
    sample = records(
        {"a": [np.inf] * 4, "b": [np.inf, 90, 80, 90], "c": [50, 60, 50, 60], "d": [20] * 4},
        [0.0, 0.1, 0.2, 0.3],
    )
    assert steps_to_learn(USE, sample)["b"].tolist() == [np.inf, 90, 80, 90]
    result = ranking(USE, sample)
    assert result.speed.mean == pytest.approx(1)
    assert result.speed.low == pytest.approx(1.0, abs=0.06)
    assert result.success.mean == pytest.approx(spearmanr([0, 1, 2, 3], [0, 0.75, 1, 1]).statistic)
    assert result.most == pytest.approx(result.success.mean)
    other = records({"a": [10] * 4, "b": [20] * 4, "c": [30] * 4}, [0.0, 0.1, 0.2])
    assert ranking(USE, other).speed.mean == pytest.approx(-1)
    assert np.isnan(ranking(USE, other).success.mean)


def test_figures_say_what_was_ranked():
    sample = records({"a": [np.inf] * 4, "b": [np.inf] * 4, "c": [20] * 4}, [0.0, 0.0, 0.3])
    charts = Diagnosed().figures(USE, sample)
    for chart in charts.values():
        chart.to_dict()  # validates
    svg = to_svg(charts["ranking"])
    assert "a (0 of 4), b (0 of 4)" in svg
    assert "c (4 of 4)" in svg
    assert "not learnt" in svg


def test_what_has_learnt_is_trained_no_further(tmp_path):
    run = start_experiment("diagnosis", "smoke", {"learnt": 0.001}, out=tmp_path / "run")
    records = run.records()
    assert records
    for record in [r for r in records.values() if r.values]:
        accuracy = record.values["accuracy"]
        for column in accuracy.T:
            (measured,) = np.nonzero(np.isfinite(column))
            assert len(measured) < len(column)
            assert (column[measured[:-1]] <= 0.001).all()


@pytest.fixture(scope="module")
def keywords():
    return split_texts(load_texts("keywords", train=150, least=1), 0.2, 4, 0)


def test_rare_words_are_unknown_to_the_reader_alone():
    whole = load_texts("keywords", train=60, least=1)
    sample = split_texts(whole, 0.25, 44, 0)
    assert (len(sample.data.train), len(sample.data.validation), len(sample.written)) == (
        45,
        15,
        15,
    )
    counts = torch.bincount(sample.data.train.ids, minlength=len(sample.data.vocabulary))
    assert int(counts[len(MARKS) :].min()) >= 44
    assert int(counts[UNKNOWN]) > 0
    for row in range(15):
        seen = sample.data.vocabulary.decode(sample.data.validation[row])
        exists = sample.words.decode(sample.written[row])
        assert len(seen) == len(exists)
        assert all(a in (b, "<unk>") for a, b in zip(seen, exists, strict=True))
    both = sorted(map(tuple, [whole.train[i] for i in range(60)]))
    full = [sample.words.decode(sample.written[i]) for i in range(15)]
    assert all(tuple(whole.vocabulary.encode(text)) in both for text in full)


def test_example_texts_alternate_classes_and_are_short():
    tokens = Tokens.of([[4] * n for n in (300, 10, 20, 3, 30, 40, 200, 50)])
    y = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    rows = example_rows(tokens, y, ReadingPlan(shown=6)).tolist()
    assert y[rows].tolist() == [0, 1, 0, 1, 0, 1]
    assert set(rows[:4]) <= {1, 2, 4, 5, 7}
    assert len(example_rows(tokens, y, ReadingPlan(shown=50))) == 8


def test_a_reader_leaves_what_the_page_shows(keywords):
    plan = ReadingPlan(steps=30, embedding=8, d=8, shown=3, longest=10)
    record = read_texts_job(keywords, plan).record
    assert record.t.tolist() == [0, 25, 30]
    assert [len(text["tokens"]) for text in record.meta["texts"]] == [10, 10, 10]
    alpha = record.values["alpha"].reshape(3, 3, 10)
    np.testing.assert_allclose(alpha.sum(-1), 1, rtol=1e-5)
    assert ((record.values["beta"] > 0) & (record.values["beta"] < 1)).all()
    assert (record.values["delta"] != 0).any()
    again = read_texts_job(keywords, plan).record
    np.testing.assert_array_equal(again.values["delta"], record.values["delta"])


def test_a_reader_needs_two_classes_on_both_sides(keywords):
    from dataclasses import replace

    one = replace(keywords.data, y_train=torch.zeros_like(keywords.data.y_train))
    with pytest.raises(FoveateError, match="two classes are needed among the texts"):
        read_texts_job(replace(keywords, data=one), ReadingPlan(steps=1))
    with pytest.raises(FoveateError, match="2 texts are too few to hold some out"):
        split_texts(load_texts("keywords", train=2, least=1), 0.1, 1, 0)


def test_attention_learns_to_align():
    """Better than the diagonal and than chance after few steps, on a language of known links."""
    data = load_pairs("made-up", train=400)
    sure, _ = data.train.links.sets(400)
    seen = []
    plan = AlignPlan("attention", steps=150)
    result = align_pairs(data, plan, lambda *at: seen.append(at), examples=True)
    hits = sum(len(a & b) for a, b in zip(result.links, sure, strict=True))
    assert hits / sum(map(len, sure)) > 0.6
    assert seen[-1] == ("aligning", 150, 150)
    assert len(result.tables) == len(result.captions) == 5
    for tables in result.tables:
        np.testing.assert_allclose(tables.sums(), 1, rtol=1e-5)


def test_both_ways_are_trained_for_symmetry():
    data = load_pairs("made-up", train=40)
    plan = AlignPlan("attention", "intersection", steps=2)
    seen = []
    result = align_pairs(data, plan, lambda *at: seen.append(at[0]))
    assert list(dict.fromkeys(seen)) == ["aligning", "backwards"]
    for i, links in enumerate(result.links):
        assert len({t for _, t in links}) == len({s for s, _ in links}) == len(links)
        assert all(s < int(data.train.source.lengths[i]) for s, _ in links)
