import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, log_loss

from foveate.errors import FoveateError
from foveate.jobs.fit import resume_fit, start_fit
from foveate.records.record import Record, load_checkpoint
from foveate.records.runs import open_run
from foveate.report.pages.fit import fit_page
from foveate.training.evaluation import read
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.scores import mean_probability
from foveate.userdata.select import choose
from foveate.userdata.settings import FitSettings
from foveate.userdata.split import split_bags

from .made import QUICK, numbers, texts, tiles


def test_the_manifest_says_what_was_fitted(run):
    manifest = run.manifest
    assert (manifest["kind"], manifest["status"]) == ("fit", "done")
    assert manifest["classes"] == ["no", "yes"]
    assert manifest["sizes"]["parts"] == {"train": 36, "validation": 12, "test": 12}
    parts = json.loads((run.path / "split.json").read_text())
    names = [name for part in ("train", "validation", "test") for name in parts[part]]
    assert sorted(names) == sorted(numbers().ids)


def test_the_choice_is_made_on_validation_bags_alone(run):
    ranks = {}
    for name, record in run.records().items():
        y, p = record.final["y"][0], mean_probability(record.final["log_p"])
        scores = run.manifest["scores"][name]
        assert scores["validation"]["balanced_accuracy"][0] == pytest.approx(
            balanced_accuracy_score(y, p.argmax(1))
        )
        t = scores["temperature"]
        scaled = p ** (1 / t) / (p ** (1 / t)).sum(1, keepdims=True)
        assert scores["validation"]["log_loss"][0] == pytest.approx(log_loss(y, scaled), rel=1e-5)
        ranks[name] = (
            -scores["validation"]["balanced_accuracy"][0],
            scores["validation"]["log_loss"][0],
        )
    assert run.manifest["chosen"] == min(ranks, key=ranks.get)
    numbers_ = {k: {**v, "test": None} for k, v in run.manifest["scores"].items()}
    assert choose(numbers_, "accuracy") == run.manifest["chosen"]


def test_test_bags_change_neither_weights_nor_choice(run, tmp_path):
    """Other contents in the test bags: the same scales, weights, temperature and choice."""
    collection = numbers()
    rows = split_bags(collection, 0).test
    index = collection.bag.x.index[rows][collection.bag.mask[rows]]
    bank = collection.bag.x.bank.clone()
    bank[index] = bank[index] * 3 + 7
    bag = replace(collection.bag, x=collection.bag.x._replace(bank=bank))
    other = start_fit(replace(collection, bag=bag), FitSettings(**QUICK), tmp_path / "other")
    assert other.manifest["chosen"] == run.manifest["chosen"]
    for name in QUICK["paradigms"]:
        first, second = (
            load_checkpoint(r.path / name / "weights.safetensors")[0] for r in (run, other)
        )
        assert all(torch.equal(first[k], second[k]) for k in first)
        assert (
            run.manifest["scores"][name]["validation"]
            == other.manifest["scores"][name]["validation"]
        )
        assert run.manifest["scores"][name]["test"] != other.manifest["scores"][name]["test"]


def test_stopped_and_resumed_equals_uninterrupted(run, tmp_path, monkeypatch):
    class Stop(Exception):
        pass

    def stop(part, done, total):
        if (part, done) == ("hard", 3):
            raise Stop

    settings = FitSettings(**QUICK, save_seconds=0)
    with pytest.raises(Stop):
        start_fit(numbers(), settings, tmp_path / "stopped", report=stop)
    half = open_run(tmp_path / "stopped")
    assert half.manifest["status"] == "running"
    assert "not finished" in fit_page(half)
    with pytest.raises(FoveateError, match="not finished: 'foveate resume'"):
        load_fitted(half.path)
    with pytest.raises(FoveateError, match="was fitted from Python"):
        resume_fit(half)
    with pytest.raises(FoveateError, match="is not what it was"):
        resume_fit(half, collection=numbers(seed=1))
    resumed = resume_fit(half, collection=numbers())
    assert resumed.manifest["scores"] == run.manifest["scores"]
    for name in QUICK["paradigms"]:
        a, b = (Record.load(r.path / name / "record.npz") for r in (run, resumed))
        for kind in ("values", "final"):
            for key, value in getattr(a, kind).items():
                np.testing.assert_array_equal(value, getattr(b, kind)[key])
        assert not (resumed.path / name / "checkpoint.safetensors").exists()


def test_models_load_from_the_directory_alone(run, tmp_path):
    """A copied run, its data gone, gives the numbers that its test bags had."""
    shutil.copytree(run.path, tmp_path / "elsewhere")
    collection = numbers()
    test = collection.take(split_bags(collection, 0).test)
    for name in (None, "soft", "hard"):
        fitted = load_fitted(tmp_path / "elsewhere", name)
        bag = fitted.bags(test)
        expected = run.record(fitted.name).final["test_log_p"]
        for model, log_p in zip(fitted.models, expected, strict=True):
            np.testing.assert_allclose(read(model, bag, fitted.name).log_p, log_p, atol=1e-5)
    assert load_fitted(run.path).name == run.manifest["chosen"]


def test_bags_are_standardised_by_the_training_part(run):
    collection = numbers()
    fitted = load_fitted(run.path)
    rows = split_bags(collection, 0).train
    used = collection.bag.take(rows)
    values = used.x.bank[used.x.index[used.mask]].double()
    torch.testing.assert_close(
        fitted.preparation.standard.mean.double(), values.mean(0), rtol=1e-5, atol=1e-5
    )
    bank = fitted.bags(collection).x.bank
    expected = (collection.bag.x.bank - values.mean(0)) / values.std(0, correction=0)
    torch.testing.assert_close(bank.double(), expected.double(), rtol=1e-4, atol=1e-4)


def test_columns_are_found_by_name(run):
    fitted, collection = load_fitted(run.path), numbers()
    order = [2, 0, 1]
    bank = collection.bag.x.bank[:, order]
    turned = replace(
        collection,
        bag=replace(collection.bag, x=collection.bag.x._replace(bank=bank)),
        columns=tuple(collection.columns[k] for k in order),
    )
    assert torch.equal(fitted.bags(turned).x.bank, fitted.bags(collection).x.bank)


def renamed(collection, columns):
    return replace(collection, columns=columns)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: renamed(c, ("c0", "c1", "d")), "toy.csv lacks the column 'c2' of training"),
        (
            lambda c: renamed(c, ("c0", "c1", "c2", "d")),
            "has a column 'd', which the model was not",
        ),
        (lambda c: replace(c, kind="series"), "must be features as in training, got series"),
        (lambda c: replace(c, classes=("no", "maybe")), "class 'maybe' is none of no, yes"),
    ],
)
def test_other_data_is_refused(run, change, sentence):
    with pytest.raises(FoveateError, match=sentence):
        load_fitted(run.path).bags(change(numbers()))


def test_another_width_is_refused(run):
    collection = replace(numbers(), columns=())
    wide = replace(collection.bag, x=collection.bag.x._replace(bank=torch.ones(300, 5)))
    with pytest.raises(FoveateError, match="must have 3 numbers as in training, got 5"):
        load_fitted(run.path).bags(replace(collection, bag=wide))


def test_labels_follow_the_names_of_classes(run):
    collection = numbers()
    turned = replace(
        collection, classes=("yes", "no"), bag=replace(collection.bag, y=1 - collection.bag.y)
    )
    assert torch.equal(load_fitted(run.path).bags(turned).y, collection.bag.y)


@pytest.mark.parametrize(
    ("settings", "collection", "sentence"),
    [
        ({}, lambda: numbers(labelled=False), "has no labels"),
        ({}, lambda: numbers(6), "needs 5 bags to be split, class 'yes' has 2"),
        ({"paradigms": "soft,hrd"}, numbers, "Did you mean 'hard'"),
        ({"paradigms": "direct"}, numbers, "reads whole bags"),
        ({"supervise_focus": 1.0}, numbers, "needs training bags whose relevance is known"),
        ({"net": "vr23"}, numbers, "reads 3×32×32 images"),
        ({"net": "mlp"}, texts, "texts are read by the net 'words'"),
    ],
)
def test_data_that_cannot_be_fitted_leave_no_files(settings, collection, sentence, tmp_path):
    with pytest.raises(FoveateError, match=sentence):
        start_fit(collection(), FitSettings(**{**QUICK, **settings}), tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_other_runs_and_unknown_paradigms_are_refused(run, tmp_path):
    with pytest.raises(FoveateError, match="has no paradigm 'lvml'; it has soft, hard"):
        load_fitted(run.path, "lvml")
    from foveate.records.runs import create_run

    race = create_run(tmp_path / "race", "race", "digits", parts=[], config={})
    with pytest.raises(FoveateError, match="is a race, not a fit"):
        load_fitted(race.path)


@pytest.mark.parametrize("words_per_segment", [1, 3])
def test_texts_are_read_by_words_of_the_training_part(tmp_path, words_per_segment):
    collection = texts(words_per_segment=words_per_segment)
    settings = FitSettings(**QUICK | {"epochs": 30, "paradigms": ("soft",)}, null_segment=True)
    run = start_fit(collection, settings, tmp_path / "run")
    assert run.manifest["scores"]["soft"]["test"]["accuracy"][0] > 0.9
    fitted = load_fitted(run.path)
    train = collection.take(split_bags(collection, 0).train).bag
    seen = {w for row in train.x.index[train.mask].tolist() for w in collection.words[row].split()}
    assert set(fitted.preparation.vocabulary.words[4:]) <= seen
    bag = fitted.bags(collection)
    assert bag.segment_shape == (words_per_segment,)
    assert bag.m == collection.bag.m + 1
    result = fitted.explain(bag)
    top = [
        collection.words[int(collection.bag.x.index[i, a[1:].argmax()])]
        for i, a in enumerate(result.alpha)
    ]
    assert np.mean([word in ("awful", "great") for word in top]) > 0.8


def test_a_few_locations_and_a_null_segment_reach_the_training(tmp_path):
    plain = {**QUICK, "paradigms": ("soft",), "epochs": 3}
    labelled = numbers(relevance=True)
    runs = {
        name: start_fit(labelled, FitSettings(**plain, **extra), tmp_path / name)
        for name, extra in {
            "a": {},
            "b": {"supervise_focus": 2.0},
            "c": {"null_segment": True},
        }.items()
    }
    a, b, c = (load_checkpoint(r.path / "soft" / "weights.safetensors")[0] for r in runs.values())
    assert not torch.equal(a["f.out.weight"], b["f.out.weight"])
    assert c["null"].shape == (2, 3)
    assert float(c["null"].abs().max()) > 0


ENCODER = """
import torch
class Mean(torch.nn.Module):
    def forward(self, x):
        return torch.cat([x.mean((2, 3)), x.amax((2, 3)) * {factor}], 1)
def build():
    return Mean()
def weighted():
    net = Mean()
    net.register_buffer("scale", torch.tensor({factor}))
    return net
"""


def test_tiles_go_through_a_frozen_encoder_named_by_its_weights(tmp_path, monkeypatch):
    collection = tiles()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_encoder.py").write_text(ENCODER.format(factor=1.0))
    settings = FitSettings(**{**QUICK, "epochs": 20, "encoder": "my_encoder:weighted"})
    run = start_fit(collection, settings, tmp_path / "run")
    assert run.manifest["sizes"]["segment"] == [6]
    assert run.manifest["scores"]["soft"]["test"]["accuracy"][0] > 0.9
    fitted = load_fitted(run.path)
    bank = collection.bag.x.bank.float() / 255
    features = fitted.bags(collection).x.bank * fitted.preparation.standard.scale
    features = features + fitted.preparation.standard.mean
    torch.testing.assert_close(features[:, :3], bank.mean((2, 3)), atol=0.02, rtol=0)
    labelled = []
    few = fitted.bags(collection.take([3, 5]), lambda *progress: labelled.append(progress))
    assert labelled[-1] == ("encoding", 8, 8)  # the tiles of two bags, not of all
    torch.testing.assert_close(few.dense(), fitted.bags(collection).take([3, 5]).dense())
    monkeypatch.delitem(sys.modules, "my_encoder")
    (tmp_path / "my_encoder.py").write_text(ENCODER.format(factor=2.0) + "# other weights")
    with pytest.raises(FoveateError, match="has other weights here than in training"):
        fitted.bags(collection)
    assert start_fit(
        collection, FitSettings(**{**QUICK, "epochs": 1, "encoder": "none"}), tmp_path / "b"
    ).manifest["sizes"]["segment"] == [3, 4, 4]
