"""Classes that are declared to mean that nothing is there: fit, predictions, page, verdict."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from foveate.cli import main
from foveate.errors import FoveateError
from foveate.jobs.fit import start_fit
from foveate.report.pages.cross_fit import one_sided_note
from foveate.report.pages.fit import fit_page
from foveate.userdata.ensemble import load_fitted
from foveate.userdata.estimator import FocusClassifier
from foveate.userdata.settings import FitSettings
from foveate.userdata.training_rules import absent_classes, inference

from .made import numbers

QUICK = {
    "folds": 2, "seeds": 1, "epochs": 3, "batch": 16, "paradigms": ("soft", "max", "presence"),
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A cross-fitted run in which "yes", the second class, was declared absent."""
    out = tmp_path_factory.mktemp("absent") / "run"
    return start_fit(numbers(), FitSettings(absent=("yes",), **QUICK), out)


def test_the_logit_of_an_absent_class_is_constant_and_others_pool_their_segments(run):
    fitted = load_fitted(run.path, "max")
    bag = fitted.bags(numbers(10, seed=4, labelled=False))
    log_p = fitted.explain(bag, with_evidence=False).log_p
    for member, model in enumerate(fitted.models):
        for i in range(len(bag)):
            rows = bag.bank[bag.index[i]][bag.mask[i]]
            logits = torch.stack([model.g(rows).amax(0)[0], torch.tensor(0.0)])
            expected = logits.log_softmax(0).detach()
            np.testing.assert_allclose(log_p[member, i], expected, atol=1e-5)


def test_one_more_segment_never_makes_an_absent_class_more_probable(run):
    fitted = load_fitted(run.path, "presence")
    bag = fitted.bags(numbers(12, seed=5, labelled=False))
    fewer = bag.mask.clone()
    fewer[:, 0] = False
    p = fitted.explain(bag, with_evidence=False).p[:, 1]
    without = fitted.explain(replace(bag, mask=fewer), with_evidence=False).p[:, 1]
    assert (p < without).all()


def test_the_page_and_the_terminal_give_the_one_sided_scores(run, capsys):
    note = one_sided_note(run)
    area = run.manifest["scores"]["presence"]["out_of_fold"]["auroc"][0]
    assert note.startswith("'yes' was declared to mean that nothing is there, so only segments for")
    assert "'no' should count. AUROC of the models with this one-sided reading: Max" in note
    assert f"Presence {area:.3f}; of the mixture" in note
    assert note.replace("'", "&#39;") in fit_page(run)


def test_the_flag_reaches_the_models_the_verdict_and_the_card(tmp_path, capsys):
    collection, lines = numbers(40), ["bag,label,a,b,c"]
    for i in range(40):
        rows = collection.bag.bank[collection.bag.index[i]][collection.bag.mask[i]]
        name = collection.classes[collection.bag.y[i]]
        lines += [f"b{i},{name},{','.join(map(str, row))}" for row in rows.tolist()]
    table, out = tmp_path / "bags.csv", tmp_path / "run"
    table.write_text("\n".join(lines), "utf-8")
    flags = ["--folds", "2", "--seeds", "2", "--epochs", "2", "--paradigms", "soft,max"]
    main(["fit", str(table), "--out", str(out), "--absent", "yes", *flags])
    assert "'yes' was declared to mean that nothing is there" in capsys.readouterr().out
    assert load_fitted(out, "max").paradigm.absent == (1,)
    stored = json.loads((out / "trust.json").read_text("utf-8"))
    assert stored["absent"] == ["yes"]
    card = json.loads((out / "model_card.json").read_text("utf-8"))
    assert card["attention"]["without_evidence"] == ["yes"]


def test_a_class_that_the_segments_suggest_is_named_with_the_flag(run, tmp_path):
    other = start_fit(numbers(), FitSettings(**QUICK), tmp_path / "run")
    suggested = {
        "paradigm": "soft",
        "verdict": {"grade": "trust", "summary": ""},
        "by_class": [
            {"name": "no", "verdict": {"grade": "trust"}, "presence": "some"},
            {"name": "yes", "verdict": {"grade": "cannot tell"}, "presence": "nothing"},
        ],
    }
    (other.path / "trust.json").write_text(json.dumps({"found": [suggested]}))
    note = one_sided_note(other)
    assert note.startswith("If 'no' means that nothing is there, only segments for 'yes'")
    assert note.endswith(
        "The segments suggest that 'yes' means that nothing is there: --absent 'yes' fits the "
        "one-sided reading for it."
    )


def test_classes_must_exist_and_leave_one():
    with pytest.raises(FoveateError, match="absent must name some of the classes a, b, got 'c'"):
        absent_classes(["c"], ["a", "b"])
    with pytest.raises(FoveateError, match="must leave a class that segments can be evidence for"):
        absent_classes(["a", "b"], ["a", "b"])


def test_a_wrong_name_stops_the_fit_before_training(tmp_path):
    with pytest.raises(FoveateError, match="absent must name some of the classes no, yes"):
        start_fit(numbers(), FitSettings(absent=("normal",), **QUICK), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("folds", [1, 2])
def test_the_estimator_takes_labels(folds):
    collection = numbers(40)
    bags = [collection.bag.bank[collection.bag.index[i]][collection.bag.mask[i]].numpy()
            for i in range(40)]  # fmt: skip
    y = collection.bag.y.numpy() + 5
    model = FocusClassifier("presence", epochs=2, folds=folds, absent=[6]).fit(bags, y)
    p = model.predict_proba(bags)[:, 1]
    fewer = model.predict_proba([bag[1:] for bag in bags])[:, 1]
    assert (p < fewer).all()
    with pytest.raises(FoveateError, match="got '7'"):
        FocusClassifier("presence", epochs=1, folds=folds, absent=[7]).fit(bags, y)


def test_paradigms_without_such_classes_stay_as_they_are():
    assert inference("soft", (1,)) == inference("soft")
    assert inference("max", (1,)).absent == (1,)
