"""The study of real bags: protocol, scores and maps of a part, means over sets."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score

from foveate.records.record import Record, load_arrays
from foveate.records.runs import open_run
from foveate.studies.beyond.real_bags import RealBags, RealBagsSettings
from foveate.studies.beyond.real_bags.fitting import first_of_each_class, fit_part
from foveate.studies.beyond.real_bags.label_fits import fit_labels, label_values
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.studies.beyond.real_bags.sources import _relation
from foveate.studies.beyond.real_bags.summary import real_cells
from foveate.trust.segment_maps import segment_map
from foveate.userdata.ensemble import open_ensemble
from foveate.userdata.folds import load_folds
from foveate.userdata.settings import FitSettings
from foveate.userdata.thresholds import cross_decide

TINY = {"repeats": 1, "bags": 24, "epochs": 1, "seeds": 1, "folds": 2}


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """One part of the study, and the run directory of its fit."""
    folder = tmp_path_factory.mktemp("part")
    settings = RealBagsSettings(sets=("digits-bags",), **TINY)
    record = fit_part(settings, "digits-bags", 0, None, folder / "checkpoint", lambda a, b: None)
    return record, open_run(folder / "fit")


def test_design_and_confirmation_sets_are_those_of_the_protocol():
    design = {name for name, real_set in SETS.items() if real_set.role == "design"}
    assert design == {"musk1", "hockey", "digits-bags", "birds-1", "birds-2", "birds-3"}
    fresh = {name for name, real_set in SETS.items() if real_set.role == "fresh"}
    assert fresh == {"other-posts", "other-documents", "messages", "reviews", "newsgroup-posts"}
    assert SETS["birds"].role == "multi-label"
    assert len(SETS) == 25


def test_a_sentence_and_its_claim_are_compared_by_their_words():
    words = TfidfVectorizer(sublinear_tf=True).fit(["cats drink milk", "dogs bark", "milk is old"])
    sentences = ["cats drink milk", "dogs bark"]
    result = _relation(words.transform(sentences), words.transform(["old cats drink"]))
    weight = words.transform(["old cats drink"]).toarray()[0]
    present = np.array([weight[words.vocabulary_[name]] for name in ("cats", "drink")]).sum()
    cosine = words.transform(sentences).toarray() @ weight
    np.testing.assert_allclose(result[:, 0], cosine, rtol=1e-6)
    np.testing.assert_allclose(result[:, 1], [2 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(result[:, 2], [present / weight.sum(), 0], rtol=1e-6)
    np.testing.assert_allclose(result[:, 3:], [[2 / 3, present / weight.sum(), 3]] * 2, rtol=1e-6)


def test_bags_are_taken_in_turn_from_the_classes():
    whole = SETS["digits-bags"].load()
    some = first_of_each_class(whole, 24)
    assert some.bag.y.bincount().tolist() == [12, 12]
    assert some.ids[:3] == whole.ids[:3]


def test_scores_are_those_of_the_out_of_fold_predictions(part):
    record, run = part
    arrays = load_arrays(run.path / "out_of_fold.npz")
    for name in record.meta["names"]:
        expected = roc_auc_score(arrays["y"], arrays[f"p/{name}"][:, 1])
        assert record.final[f"{name}/auroc"] == pytest.approx(expected)
    assert {"mixture", "mean-lr", "boosted-trees", "presence"} <= set(record.meta["names"])


@pytest.mark.parametrize("kind", ["attention", "evidence", "posterior"])
def test_pointing_is_that_of_models_that_held_the_bag_out(part, kind):
    record, run = part
    collection, folds = first_of_each_class(SETS["digits-bags"].load(), 24), load_folds(run.path)
    hits = []
    for fold in range(2):
        model = open_ensemble(run, "lvml", [(0, fold)])
        real_set = collection.take(torch.from_numpy(folds.held_out(0, fold)))
        maps = segment_map(model.explain(model.bags(real_set)), kind)
        for i in np.flatnonzero(real_set.bag.y.numpy() == 1):
            z = real_set.bag.z[i][real_set.bag.mask[i]].numpy()
            values = maps[i][:, 1]
            top = values == values.max()
            hits.append((top & z).sum() / top.sum())
    assert record.final[f"lvml/{kind}/ft"] == pytest.approx(np.mean(hits))


def test_a_part_that_was_finished_is_not_fitted_again(part):
    record, run = part
    settings = RealBagsSettings(sets=("digits-bags",), **TINY)
    again = fit_part(
        settings, "digits-bags", 0, None, run.path.parent / "checkpoint", lambda a, b: None
    )
    for key, value in record.final.items():
        np.testing.assert_array_equal(again.final[key], value)


def test_multi_label_bags_are_fitted_on_shared_folds_and_scored_over_all_labels(tmp_path):
    made = SETS["digits-bags"].load().take(slice(0, 40))
    labels = torch.stack([made.bag.y == 1, torch.arange(40) % 3 == 0], 1)
    bags = replace(made, labels=labels, label_names=("nine", "third"), classes=(), known=None)
    settings = FitSettings(folds=2, epochs=1, seeds=1, paradigms=("soft",))
    seen = []
    run = fit_labels(
        bags, settings, tmp_path / "fit", lambda done, total: seen.append(done / total)
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1
    values = label_values(run)
    areas, right = [], []
    for label in ("label1", "label2"):
        arrays = load_arrays(tmp_path / "fit" / label / "fit" / "out_of_fold.npz")
        p, y, fold = arrays["p/mixture"][:, 1], arrays["y"], arrays["fold"][0]
        areas.append(roc_auc_score(y, p))
        right.append(cross_decide(p, y, fold, "f1") == (y == 1))
    assert values["mixture/auroc"] == pytest.approx(np.mean(areas))
    assert values["mixture/subset_accuracy"] == pytest.approx(np.mean(right[0] & right[1]))
    assert values["mixture/hamming_loss"] == pytest.approx(1 - np.mean(right))
    assert 0 <= values["mean-lr/macro_f1"] <= 1
    assert fit_labels(bags, settings, tmp_path / "fit", lambda *_: None).manifest == run.manifest


def test_without_repeats_only_further_paradigms_and_models_of_torchmil_are_trained():
    settings = RealBagsSettings(sets=("musk1", "birds-1"), repeats=0, others=("hybrid",), peers=())
    assert list(RealBags().parts(settings)) == ["musk1-others", "birds-1-others"]
    assert RealBagsSettings(peers=False).peers == ()  # as in stored runs
    if find_spec("torchmil"):
        only = settings.model_copy(update={"others": (), "peers": ("transmil",)})
        assert list(RealBags().parts(only)) == ["musk1-transmil"]


def _record(name, auc):
    return Record(np.zeros(1), {}, {"mixture/auroc": np.array(auc)}, {"set": name})


def test_means_weigh_sets_alike():
    records = {
        "a": _record("musk1", 0.9),
        "b": _record("musk1", 0.7),
        "c": _record("hockey", 1.0),
        "d": _record("fox", 0.5),
    }
    cells = {cell.group: cell for cell in real_cells(records)}
    assert cells["MUSK1"].mean == pytest.approx(0.8)
    assert cells["MUSK1"].seeds == 2
    assert cells["Mean of the design sets"].mean == pytest.approx(0.9)
    assert "Mean of the confirmation sets" not in cells


def test_means_are_those_of_the_sets_on_which_the_mixture_was_measured():
    other = Record(np.zeros(1), {}, {"mean-lr/auroc": np.array(0.6)}, {"set": "birds-1"})
    both = {"mixture/auroc": np.array(0.9), "mean-lr/auroc": np.array(0.8)}
    records = {name: Record(np.zeros(1), {}, both, {"set": name}) for name in ("musk1", "hockey")}
    means = {
        cell.name: cell for cell in real_cells(records | {"other": other}) if "Mean" in cell.group
    }
    assert {name: (cell.mean, cell.seeds) for name, cell in means.items()} == {
        "mixture": (pytest.approx(0.9), 2), "mean-lr": (pytest.approx(0.8), 2),
    }  # fmt: skip


@pytest.mark.skipif(find_spec("torchmil") is None, reason="torchmil is not installed")
def test_a_model_of_torchmil_predicts_every_bag_out_of_fold(tmp_path):
    settings = RealBagsSettings(sets=("digits-bags",), others=(), **TINY)
    work = RealBags().parts(settings)["digits-bags-abmil"]
    record = work(tmp_path / "checkpoint", lambda a, b: None)
    assert set(record.final) == {
        *(f"abmil/{name}" for name in ("auroc", "accuracy", "log_loss")),
        *(f"abmil/attention/{name}" for name in ("ft", "segment_auroc")),
    }
    assert all(np.isfinite(value) for value in record.final.values())
