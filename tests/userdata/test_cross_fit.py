"""Cross-fitting: folds, out-of-fold scores, the ensemble, resuming, workers, bad input."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate.bags.bag import Bag
from foveate.cli import main
from foveate.errors import FoveateError
from foveate.jobs.engine import Engine
from foveate.jobs.fit import resume_fit, start_fit
from foveate.metrics.calibration import calibrated
from foveate.records.record import load_arrays
from foveate.records.runs import open_run
from foveate.report.pages.cross_fit import cross_fit_lead, model_label
from foveate.report.pages.fit import fit_page
from foveate.userdata.baselines import BASELINES, LINEAR, MEAN
from foveate.userdata.boosted_trees import TREES
from foveate.userdata.ensemble import load_fitted, open_ensemble, part_name
from foveate.userdata.folds import FEWEST_INNER, draw_cross_fit, load_folds
from foveate.userdata.pooled_segments import pooled
from foveate.userdata.predict import answer
from foveate.userdata.settings import FitSettings

from .made import numbers, texts

QUICK = {"folds": 3, "seeds": 2, "epochs": 3, "batch": 16, "paradigms": ("soft", "lvml")}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A cross-fitted run of numbers in groups."""
    out = tmp_path_factory.mktemp("cross") / "run"
    return start_fit(numbers(groups=True), FitSettings(**QUICK), out)


def test_every_bag_is_held_out_once_and_groups_are_undivided():
    collection = numbers(groups=True)
    folds = draw_cross_fit(collection, FitSettings(folds=4, repeats=2))
    y = collection.bag.y.numpy()
    for repeat in range(2):
        held = [folds.held_out(repeat, k) for k in range(4)]
        assert sorted(np.concatenate(held).tolist()) == list(range(60))
        for k, rows in enumerate(held):
            groups = set(collection.bag.group[rows].tolist())
            training = folds.training(repeat, k)
            assert not groups & set(collection.bag.group[training].tolist())
            members = folds.validation(repeat, k, y, 6)
            together = np.concatenate([rows.numpy() for rows in members[:5]])
            assert sorted(together.tolist()) == list(range(len(training)))
            assert members[5].tolist() == members[0].tolist()
            for inner in members:
                assert min(np.bincount(y[training][inner])) >= FEWEST_INNER
                inside = set(collection.bag.group[training[inner]].tolist())
                rest = np.delete(training, inner)
                assert not inside & set(collection.bag.group[rest].tolist())
    assert (folds.fold[0] != folds.fold[1]).any()


def test_a_named_or_drawn_test_part_stays_apart():
    names = ["test" if i % 4 == 0 else "train" for i in range(60)]
    named = draw_cross_fit(numbers(split=names), FitSettings(folds=3))
    assert named.test.tolist() == list(range(0, 60, 4))
    drawn = draw_cross_fit(numbers(), FitSettings(folds=3, test_share=0.25))
    assert len(drawn.test) == 15
    assert not set(drawn.test) & set(drawn.rows)


@pytest.mark.parametrize(("share", "bags"), [(0.05, 3), (0.1, 6), (0.3, 18), (0.4, 24), (0.5, 30)])
def test_a_test_part_has_the_share_that_was_asked_for(share, bags):
    drawn = draw_cross_fit(numbers(), FitSettings(folds=2, test_share=share))
    assert abs(len(drawn.test) - bags) <= 1  # parts differ by one bag at most
    with pytest.raises(FoveateError, match=r"test-share: .* less than or equal to 0\.5"):
        FitSettings(test_share=0.6)


def test_scores_are_those_of_the_stored_out_of_fold_predictions(run):
    arrays = load_arrays(run.path / "out_of_fold.npz")
    y = arrays["y"]
    assert set(run.manifest["scores"]) == {"mixture", "soft", "lvml", *BASELINES}
    for name, entry in run.manifest["scores"].items():
        p = arrays[f"p/{name}"]
        np.testing.assert_allclose(p.sum(1), 1)
        accuracy = np.mean(p.argmax(1) == y)
        assert entry["out_of_fold"]["accuracy"][0] == pytest.approx(accuracy)
        low, high = entry["out_of_fold"]["auroc"][1:]
        assert 0 <= low <= entry["out_of_fold"]["auroc"][0] <= high <= 1
    assert sum(run.manifest["weights"].values()) == pytest.approx(1)


def test_predictions_of_a_fold_come_from_models_without_it(run):
    collection, folds = numbers(groups=True), load_folds(run.path)
    held = folds.held_out(0, 1)
    fitted = open_ensemble(run, "soft", [(0, 1)])
    bag = fitted.bags(collection.take(torch.from_numpy(held)))
    record = run.record(part_name("soft", 0, 1))
    expected = np.exp(record.final["log_p"].astype(float)).mean(0)
    np.testing.assert_allclose(fitted.explain(bag, with_evidence=False).p, expected, atol=1e-6)


def test_the_mixture_is_the_weighted_mean_of_its_parts(run):
    new = numbers(8, seed=9, labelled=False)
    mixture = load_fitted(run.path)
    found, weights = answer(mixture, new), run.manifest["weights"]
    parts = {name: answer(load_fitted(run.path, name), new) for name in ("soft", "lvml")}
    x = pooled(found.bag, mixture.preparation, BASELINES[TREES])
    trees = calibrated(mixture.trees.probabilities(x).mean(0), mixture.trees_temperature)
    mixed = sum(weights[name] * part.p for name, part in parts.items())
    for name, linear in zip(LINEAR, mixture.linear, strict=True):
        x = torch.from_numpy(pooled(found.bag, mixture.preparation, BASELINES[name]))
        t = run.manifest["scores"][name]["temperature"]
        mixed = mixed + weights[name] * calibrated(linear.probabilities(x).mean(0).numpy(), t)
    mixed = mixed + weights[TREES] * trees
    t = run.manifest["scores"]["mixture"]["temperature"]
    np.testing.assert_allclose(found.p, calibrated(mixed, t))
    total = weights["soft"] + weights["lvml"]
    for i, alpha in enumerate(found.explained.alpha):
        own = [weights[name] * part.explained.alpha[i] / total for name, part in parts.items()]
        np.testing.assert_allclose(alpha, sum(own), rtol=1e-6)
        assert found.explained.evidence[i].shape == (len(alpha), 2)


def test_evidence_of_the_mixture_is_its_logit_of_a_bag_of_one_segment(tmp_path):
    settings = FitSettings(folds=2, seeds=1, epochs=3, batch=16, paradigms=("soft", "max"))
    run = start_fit(numbers(), settings, tmp_path / "run")
    mixture = open_ensemble(run, folds=[(0, 0)])
    new = mixture.bags(numbers(3, seed=9, labelled=False))
    alone = mixture.explain(new).alone
    without_trees = replace(
        mixture, weights=mixture.weights[:-1] / mixture.weights[:-1].sum(), trees=None
    )
    for i, logits in enumerate(alone):
        m = len(logits)
        x = new.bank[new.index[i][new.mask[i]]][:, None]
        single = without_trees.explain(Bag(x, torch.zeros(m, dtype=torch.long)))
        expected = np.log(single.p)
        np.testing.assert_allclose(
            logits, expected - expected.mean(1, keepdims=True), rtol=1e-4, atol=1e-5
        )


def test_an_interrupted_run_and_two_workers_give_the_same_scores(run, tmp_path):
    class Stop(Exception):
        pass

    def stop(part, done, total):
        if part == "lvml-fold2":
            raise Stop

    bags = numbers(groups=True)
    with pytest.raises(Stop):
        start_fit(bags, FitSettings(**QUICK), tmp_path / "stopped", report=stop)
    half = open_run(tmp_path / "stopped")
    assert "not finished" in fit_page(half)
    resumed = resume_fit(half, collection=bags, engine=Engine(workers=2))
    assert resumed.manifest["scores"] == run.manifest["scores"]
    assert resumed.manifest["weights"] == run.manifest["weights"]


def test_the_page_says_first_how_the_mixture_compares_to_baselines(run):
    page = fit_page(run)
    comparison, scores = run.manifest["comparison"], run.manifest["scores"]
    start = page.index('<p class="lead">')
    lead = page[start : page.index("</p>", start)]
    areas = {name: entry["out_of_fold"]["auroc"][0] for name, entry in scores.items()}
    assert list(comparison["of_mixture"]) == sorted(BASELINES, key=lambda name: -areas[name])
    for name, (gap, low, high) in comparison["of_mixture"].items():
        assert gap == pytest.approx(areas["mixture"] - areas[name])
        assert low <= gap <= high
    best = comparison["baseline"]
    first, numbers = lead.split(" AUROC: ", 1)
    assert f"the best of 4 baselines without attention ({model_label(best)}" in first
    assert ("attention is of use to see which segments" in first) == comparison["as_good"]
    assert numbers.startswith(
        f"the mixture {areas['mixture']:.3f}; that baseline {areas[best]:.3f} (difference "
        f"{comparison['of_mixture'][best][0]:+.3f} ["
    )
    share = run.manifest["weights"][TREES]
    assert f"{100 * share:.0f}\u00a0% of the weight" in page.replace(" %", "\u00a0%")
    assert "Mean pooling, logistic regression (baseline)" in page


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        ([0.1, 0.05, 0.15], "alone (LVML) ranks them better than that baseline."),
        ([0.1, -0.05, 0.15], "which is not clearly worse than the best attention model alone"),
        ([-0.1, -0.15, -0.05], "which is better than the best attention model alone (LVML)"),
    ],
)
def test_the_first_sentence_says_whether_attention_is_better_than_the_best_baseline(
    run, difference, words
):
    gaps = {"max-lr": [-0.02, -0.04, -0.01], MEAN: [0.05, 0.01, 0.09]}
    comparison = {
        "attention": "lvml", "baseline": "max-lr", "difference": difference, "of_mixture": gaps,
        "as_good": difference[1] <= 0,
    }  # fmt: skip
    lead = cross_fit_lead({**run.manifest, "comparison": comparison})
    first = lead[: lead.index(" AUROC: ")]
    assert "ranks these bags worse than the best of 2 baselines without attention" in first
    assert words in first
    assert "difference of the mixture from it +0.050 [+0.010, +0.090]" in lead


def test_a_test_part_scores_the_ensemble(tmp_path):
    settings = FitSettings(**{**QUICK, "paradigms": ("soft",), "test_share": 0.25})
    run = start_fit(numbers(), settings, tmp_path / "run")
    assert all("test" in entry for entry in run.manifest["scores"].values())
    assert "test bags" in fit_page(run).lower()


def test_texts_are_cross_fitted(tmp_path):
    settings = FitSettings(**{**QUICK, "paradigms": ("soft",), "epochs": 2})
    run = start_fit(texts(), settings, tmp_path / "run")
    found = answer(load_fitted(run.path), texts(4, seed=3, labelled=False))
    assert found.p.shape == (4, 2)


def test_where_a_class_is_too_rare_for_early_stopping_training_is_short(tmp_path):
    settings = FitSettings(folds=3, seeds=1, paradigms=("soft",))
    run = start_fit(numbers(24), settings, tmp_path / "run")
    record = run.record("soft-fold1")
    assert not record.meta["early_stopping"]
    assert record.meta["epochs_run"] == 100
    assert "fewer than 3 bags of a class" in fit_page(run)


def few_of_a_class():
    collection = numbers(60)
    y = torch.zeros(60, dtype=torch.long)
    y[:2] = 1
    return replace(collection, bag=replace(collection.bag, y=y))


def one_class():
    collection = numbers(60)
    return replace(collection, bag=replace(collection.bag, y=torch.zeros(60, dtype=torch.long)))


def all_different():
    collection = numbers(6)
    classes = tuple(f"c{i}" for i in range(6))
    return replace(collection, classes=classes, bag=replace(collection.bag, y=torch.arange(6)))


def measurements():
    collection = numbers(60)
    y, names = torch.arange(60) % 3, ("0.5", "1.25", "2.0")
    return replace(collection, classes=names, bag=replace(collection.bag, y=y))


def test_a_bag_without_segments_is_named(tmp_path):
    from foveate.io.arrays import from_arrays

    with pytest.raises(FoveateError, match="a bag needs a segment, this one has none"):
        from_arrays([np.ones((2, 3)), np.ones((0, 3))], ["no", "yes"])


def grouped(group):
    collection = numbers(60)
    return replace(collection, bag=replace(collection.bag, group=group))


@pytest.mark.parametrize(
    ("collection", "sentence"),
    [
        (one_class, "must have bags of two classes, all bags are 'no'"),
        (all_different, "every bag has a label of its own"),
        (few_of_a_class, "5 folds need 5 bags of every class, class 'yes' has 2: choose at most 2"),
        (lambda: numbers(4), "5 folds need as many bags, got 4: at least 2 folds are needed"),
        (lambda: grouped(torch.arange(60) // 20), "5 folds need as many groups .* got 3"),
        (
            lambda: grouped(torch.where(numbers().bag.y == 1, 0, torch.arange(60) + 1)),
            "all bags of class 'yes' are in one group",
        ),
        (lambda: numbers(labelled=False), "has no labels to learn from"),
        (
            lambda: grouped(
                torch.where(numbers().bag.y == 1, torch.arange(60) % 4, 10 + torch.arange(60))
            ),
            "need 5 groups of every class, every group has one label, and 4 groups have the class "
            "'yes': choose at most 4 with --folds",
        ),
        (measurements, "labels must be classes, got numbers such as 0.5: .* cut the target into"),
    ],
)
def test_what_cannot_be_cross_fitted_is_one_sentence(collection, sentence):
    with pytest.raises(FoveateError, match=sentence) as error:
        draw_cross_fit(collection(), FitSettings())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("collection", "folds"),
    [
        (few_of_a_class, 2),
        (lambda: grouped(torch.arange(60) // 20), 3),
        (
            lambda: grouped(
                torch.where(numbers().bag.y == 1, torch.arange(60) % 4, 10 + torch.arange(60))
            ),
            4,
        ),
    ],
)
def test_the_number_of_folds_that_the_error_names_can_be_drawn(collection, folds):
    with pytest.raises(FoveateError, match=f"choose at most {folds} with --folds"):
        draw_cross_fit(collection(), FitSettings())
    assert len(np.unique(draw_cross_fit(collection(), FitSettings(folds=folds)).fold)) == folds


def test_a_test_part_for_which_bags_are_too_few_needs_a_larger_share():
    few = "a test part in steps of 1/5 needs 5 bags of every class, class 'yes' has 2"
    with pytest.raises(FoveateError, match=f"{few}: choose a larger share with --test-share"):
        draw_cross_fit(few_of_a_class(), FitSettings(folds=2, test_share=0.2))


def test_nothing_is_written_where_bags_are_too_few(tmp_path):
    with pytest.raises(FoveateError):
        start_fit(numbers(9), FitSettings(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_settings_of_folds():
    with pytest.raises(FoveateError, match="repeats and test-share need folds"):
        FitSettings(folds=1, repeats=2)
    assert FitSettings.from_manifest({}).folds == 1
    assert FitSettings.from_manifest(FitSettings().model_dump()) == FitSettings()


def test_one_command_fits_predicts_explains_and_is_examined(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    collection = numbers(48)
    with open("bags.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["bag", "label", "a", "b", "c"])
        for i, name in enumerate(collection.ids):
            rows = collection.bag.x.bank[collection.bag.x.index[i]][collection.bag.mask[i]]
            for row in rows.tolist():
                table.writerow([name, collection.classes[collection.bag.y[i]], *row])
    flags = ["--folds=2", "--seeds=1", "--epochs=2", "--paradigms=soft,lvml", "--out=run"]
    flags.append("--threshold=cost=1000")
    main(["fit", "bags.csv", "--bag=bag", "--label=label", *flags, "--json"])
    results = json.loads(capsys.readouterr().out)
    assert results["chosen"] == "mixture"
    main(["predict", "run", "bags.csv", "--out", "answers.csv"])
    main(["explain", "run", "bags.csv", "--out", "segments.csv", "--page", "page.html"])
    main(["report", "run"])
    with open("answers.csv") as file:
        answers = list(csv.DictReader(file))
    assert len(answers) == 48
    threshold = results["threshold"]["value"]
    for row in answers:  # a missed "yes" costs more than all false alarms
        assert (row["predicted"] == "yes") == (float(row["p_yes"]) >= threshold)
    assert results["threshold"]["sensitivity"] > 0.9
    assert "evidence_yes" in (tmp_path / "segments.csv").read_text().splitlines()[0]
    capsys.readouterr()
    main(["trust", "run", "--json"])
    examined = json.loads(capsys.readouterr().out)
    assert {entry["paradigm"] for entry in examined} == {"soft", "lvml"}
