import pickle
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, cross_val_score
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from foveate.bags.bag import pad
from foveate.errors import DataWarning, FoveateError
from foveate.training.evaluation import read
from foveate.userdata.estimator import FocusClassifier
from foveate.userdata.training_rules import usual_epochs

QUICK = {"epochs": 12, "lr": 0.02, "batch": 16}


def ragged(n=40, d=3, shift=6.0, seed=0, classes=("calm", "storm")):
    """Bags of 2 to 6 segments; one segment's column c is high for class c, and its place."""
    chance = np.random.default_rng(seed)
    y = chance.integers(len(classes), size=n)
    bags = [chance.normal(size=(chance.integers(2, 7), d)) for _ in range(n)]
    place = [int(chance.integers(len(bag))) for bag in bags]
    for bag, c, j in zip(bags, y, place, strict=True):
        bag[j, c] += shift
    return bags, np.array(classes)[y], place


@pytest.fixture(scope="module")
def fitted():
    bags, y, place = ragged(80)
    return FocusClassifier("hybrid", seeds=2, **QUICK | {"epochs": 40}).fit(bags, y), bags, y, place


def test_it_learns_which_segment_and_which_class(fitted):
    model, _, _, _ = fitted
    bags, y, place = ragged(60, seed=9)
    assert model.classes_.tolist() == ["calm", "storm"]
    assert model.score(bags, y) > 0.9
    assert (
        np.mean([a.argmax() == j for a, j in zip(model.attention(bags), place, strict=True)]) > 0.9
    )


def test_probabilities_are_the_mean_over_seeds_of_what_each_member_reads(fitted):
    model, bags, _, _ = fitted
    rows = [
        torch.tensor((bag - model.standard_.mean.numpy()) / model.standard_.scale.numpy())
        for bag in bags
    ]
    bag = pad([row.float() for row in rows], torch.zeros(len(bags), dtype=torch.long))
    readings = [read(model.stack_.member(i), bag, "hard") for i in range(2)]
    expected = np.mean([np.exp(r.log_p.numpy()) for r in readings], 0)
    np.testing.assert_allclose(model.predict_proba(bags), expected, atol=1e-6)
    alpha = torch.stack([r.alpha for r in readings]).mean(0)
    for i, attention in enumerate(model.attention(bags)):
        np.testing.assert_allclose(attention, alpha[i][: len(bags[i])], atol=1e-6)
        assert attention.sum() == pytest.approx(1, abs=1e-5)


def test_bags_are_read_alike_together_and_one_by_one(fitted):
    model, bags, _, _ = fitted
    together = model.predict_proba(bags), model.attention(bags), model.evidence(bags)
    for i in (0, 7, 31):
        np.testing.assert_allclose(
            model.predict_proba(bags[i : i + 1])[0], together[0][i], atol=1e-6
        )
        np.testing.assert_allclose(model.attention([bags[i]])[0], together[1][i], atol=1e-6)
        np.testing.assert_allclose(model.evidence([bags[i]])[0], together[2][i], atol=1e-5)


def test_the_order_of_segments_does_not_matter(fitted):
    model, bags, _, _ = fitted
    turned = [bag[::-1] for bag in bags]
    np.testing.assert_allclose(model.predict_proba(turned), model.predict_proba(bags), atol=1e-6)
    for a, b in zip(model.attention(turned), model.attention(bags), strict=True):
        np.testing.assert_allclose(a[::-1], b, atol=1e-6)


def test_the_decision_is_the_log_odds(fitted):
    model, bags, _, _ = fitted
    p = model.predict_proba(bags)
    np.testing.assert_allclose(model.decision_function(bags), np.log(p[:, 1] / p[:, 0]), rtol=1e-6)
    three, y, _ = ragged(30, classes=("a", "b", "c"))
    scores = FocusClassifier("soft", **QUICK | {"epochs": 2}).fit(three, y).decision_function(three)
    assert scores.shape == (30, 3)


def test_the_same_random_state_gives_the_same_bits_and_another_does_not():
    bags, y, _ = ragged(20)
    first, second, third = (
        FocusClassifier("soft", random_state=s, **QUICK).fit(bags, y) for s in (0, 0, 5)
    )
    assert torch.equal(first.stack_.flat, second.stack_.flat)
    assert not torch.equal(first.stack_.flat, third.stack_.flat)


def test_arrays_of_arrays_and_bags_are_taken_too():
    bags, y, _ = ragged(20)
    listed = FocusClassifier("soft", **QUICK).fit(bags, y)
    boxed = np.empty(20, object)
    boxed[:] = bags
    as_objects = FocusClassifier("soft", **QUICK).fit(boxed, y)
    bag = pad(
        [torch.tensor(b, dtype=torch.float32) for b in bags], torch.zeros(20, dtype=torch.long)
    )
    as_bag = FocusClassifier("soft", **QUICK).fit(bag, y)
    for other in (as_objects, as_bag):
        assert torch.equal(other.stack_.flat, listed.stack_.flat)


def test_scikit_learn_can_clone_search_split_calibrate_and_pickle(fitted):
    model, bags, y, _ = fitted
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "stack_")
    groups = np.arange(len(bags)) // 2
    folds = StratifiedGroupKFold(2)
    quick = FocusClassifier("soft", **QUICK)
    scores = cross_val_score(quick, bags, y, groups=groups, cv=folds)
    assert scores.shape == (2,)
    assert scores.min() > 0.6
    search = GridSearchCV(quick, {"lr": [1e-6, 0.02]}, cv=folds).fit(bags, y, groups=groups)
    assert search.best_params_ == {"lr": 0.02}
    calibrated = CalibratedClassifierCV(quick, cv=2, method="sigmoid").fit(bags, y)
    p = calibrated.predict_proba(bags)
    np.testing.assert_allclose(p.sum(1), 1)
    assert (calibrated.classes_[p.argmax(1)] == y).mean() > 0.8
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(bags), model.predict_proba(bags))


def test_relevance_is_split_along_with_the_bags():
    bags, y, place = ragged(24)
    z = [np.arange(len(bag)) == j for bag, j in zip(bags, place, strict=True)]
    path_of = {bag.tobytes(): j for bag, j in zip(bags, place, strict=True)}
    seen = []

    class Watched(FocusClassifier):
        def fit(self, bags, y, relevance=None):
            seen.append(
                [bool(z[path_of[bag.tobytes()]]) for bag, z in zip(bags, relevance, strict=True)]
            )
            return super().fit(bags, y, relevance=relevance)

    supervised = Watched("soft", supervise_focus=1.0, **QUICK)
    cross_val_score(supervised, bags, y, cv=2, params={"relevance": z}, error_score="raise")
    assert seen == [[True] * 12] * 2


def test_a_few_locations_pull_the_focus():
    """Two segments tell the class; only the one that was pointed at is looked at."""
    chance = np.random.default_rng(3)
    y = chance.integers(2, size=60)
    bags = [chance.normal(size=(5, 2)) * 0.3 for _ in y]
    for bag, label in zip(bags, y, strict=True):
        bag[1] += (4, 4 * (2 * label - 1))
        bag[3] += (-4, 4 * (2 * label - 1))
    on = {}
    for j in (1, 3):
        z = [np.arange(5) == j if i < 10 else None for i in range(60)]
        model = FocusClassifier("soft", supervise_focus=5.0, **QUICK | {"epochs": 40})
        on[j] = np.mean([a[j] for a in model.fit(bags, y, relevance=z).attention(bags)])
    assert min(on.values()) > 0.9


def test_a_bag_without_evidence_rests_on_the_null_segment():
    chance = np.random.default_rng(4)
    y = np.arange(80) % 2
    bags = [chance.normal(size=(chance.integers(2, 6), 2)) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        bag[0, 0] += 8 * label
    z = [np.arange(len(bag)) == (0 if label else -1) for bag, label in zip(bags, y, strict=True)]
    model = FocusClassifier(
        "soft", null_segment=True, supervise_focus=1.0, **QUICK | {"epochs": 40}
    ).fit(bags, y, relevance=z)
    null = model.null_attention(bags)
    assert null[y == 0].min() > 0.8
    assert null[y == 1].max() < 0.2
    for bag, alpha, e, rest in zip(
        bags, model.attention(bags), model.evidence(bags), null, strict=True
    ):
        assert alpha.shape == (len(bag),)
        assert e.shape == (len(bag), 2)
        assert alpha.sum() + rest == pytest.approx(1, abs=1e-5)


def test_about_fifteen_hundred_steps_by_default():
    assert usual_epochs(320, 32) == 150
    assert usual_epochs(10, 32) == 300
    assert usual_epochs(10**6, 32) == 20


def test_use_before_fit():
    with pytest.raises(NotFittedError):
        FocusClassifier().predict(ragged(3)[0])


GOOD, LABELS, _ = ragged(12)
HOLED = [*GOOD[:3], np.array([[1.0, 2.0, 3.0], [np.nan, 0.0, 0.0]]), *GOOD[4:]]


@pytest.mark.parametrize(
    ("settings", "bags", "y", "sentence"),
    [
        ({}, [], [], "at least one bag|two classes"),
        ({}, GOOD, LABELS[:5], r"12 bags need one label each, got shape \(5,\)"),
        ({}, GOOD, ["a"] * 12, "two classes at least, got"),
        (
            {},
            [*GOOD[:11], np.empty((0, 3))],
            LABELS,
            r"bag 11 must be .* with a segment, got shape",
        ),
        ({}, [*GOOD[:11], np.ones((2, 4))], LABELS, "bag 11 has 4, bag 0 3"),
        ({}, HOLED, LABELS, "bag 3: segment 1 holds NaN"),
        ({}, [*GOOD[:11], [["a", "b", "c"]]], LABELS, "bag 11 must be an array of numbers"),
        ({"paradigm": "sft"}, GOOD, LABELS, "Did you mean 'soft'"),
        ({"paradigm": "direct"}, GOOD, LABELS, "reads whole bags"),
        ({"map": "softmx"}, GOOD, LABELS, "Did you mean 'softmax'"),
        ({"net": "mpl"}, GOOD, LABELS, "Did you mean 'mlp'"),
        ({"class_weight": "even"}, GOOD, LABELS, "class_weight must be 'balanced' or None"),
        ({"supervise_focus": -1.0}, GOOD, LABELS, "must not be negative, got -1"),
        ({"supervise_focus": 1.0}, GOOD, LABELS, "relevant segments are known"),
        ({"random_state": "x"}, GOOD, LABELS, "random_state must be a whole number"),
        ({"seeds": 0}, GOOD, LABELS, "seeds must be at least 1"),
        ({"lr": -1}, GOOD, LABELS, "lr: "),
    ],
)
def test_mistakes_are_sentences(settings, bags, y, sentence):
    with pytest.raises(FoveateError, match=sentence):
        FocusClassifier(**{"epochs": 1, **settings}).fit(bags, y)


def test_other_widths_are_named(fitted):
    with pytest.raises(FoveateError, match="shape of training, 3 numbers, got 4"):
        fitted[0].predict([np.ones((2, 4))])
    with pytest.raises(FoveateError, match="relevance of bag 1 must be None or name its"):
        FocusClassifier(epochs=1).fit(GOOD, LABELS, relevance=[None, [True] * 9, *[None] * 10])
    with pytest.raises(FoveateError, match="no null segment"):
        fitted[0].null_attention(GOOD)


def test_class_weights_as_a_dict_equal_the_balanced_ones_they_spell_out():
    chance = np.random.default_rng(0)
    y = np.array(["no", "no", "no", "yes"] * 4)
    bags = [chance.normal(size=(3, 2)) for _ in y]
    models = [
        FocusClassifier("soft", epochs=2, class_weight=weight).fit(bags, y)
        for weight in ("balanced", {"no": 2 / 3, "yes": 2.0}, {"yes": 5.0})
    ]
    first, same, other = (model.predict_proba(bags) for model in models)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)
    with pytest.raises(FoveateError, match="class_weight names 'maybe'"):
        FocusClassifier(class_weight={"maybe": 1.0}).fit(bags, y)


FOLDED = {"folds": 2, "epochs": 6, "lr": 0.03, "batch": 16, "patience": None}


def test_folds_give_an_ensemble_and_honest_probabilities():
    bags, y, _ = ragged(40)
    model = FocusClassifier("max", **FOLDED).fit(bags, y)
    assert model.out_of_fold_proba_.shape == (40, 2)
    assert len(model.ensemble_.stack) == 2  # one member per fold
    new, truth, _ = ragged(40, seed=5)
    assert model.score(new, truth) > 0.8
    np.testing.assert_allclose(model.predict_proba(new).sum(1), 1)
    assert [len(a) for a in model.attention(new)] == [len(bag) for bag in new]
    assert model.examined().size == 2
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    mixed = FocusClassifier("mixture", **FOLDED | {"epochs": 2}).fit(bags, y)
    assert mixed.ensemble_.name == "mixture"
    with pytest.raises(FoveateError, match="fit with one paradigm"):
        mixed.examined()


def test_labels_of_zeros_and_ones_make_it_multi_label():
    bags, _, place = ragged(40, shift=0.0)
    chance = np.random.default_rng(1)
    y = (chance.random((40, 2)) < 0.5).astype(int)
    for bag, attention, j in zip(bags, y, place, strict=True):
        bag[j] += 7 * np.array([attention[0], -attention[1], 0])
    model = FocusClassifier("max", **FOLDED | {"epochs": 20}).fit(bags, y)
    assert model.predict(bags).shape == y.shape
    assert (model.predict(bags) == y).mean() > 0.8
    assert model.out_of_fold_proba_.shape == (40, 2)
    folds = [one.ensemble_.run.manifest for one in model.label_models_]
    assert len(folds) == 2
    np.testing.assert_allclose(
        model.predict_proba(bags)[:, 1], model.label_models_[1].predict_proba(bags)[:, 1]
    )
    assert model.evidence(bags)[0].shape == (len(bags[0]), 2)
    with pytest.raises(FoveateError, match="label 1 is 1 in all bags"):
        FocusClassifier().fit(bags, np.stack([y[:, 0], np.ones(40)], 1))
    with pytest.raises(FoveateError, match="must be 0 or 1"):
        FocusClassifier().fit(bags, y + 1)


def test_weights_of_bags_and_float_targets():
    bags, y, _ = ragged(20)
    even = FocusClassifier("soft", epochs=2).fit(bags, y)
    scaled = FocusClassifier("soft", epochs=2).fit(bags, y, sample_weight=np.full(20, 3.0))
    other = FocusClassifier("soft", epochs=2).fit(bags, y, sample_weight=np.arange(1, 21))
    assert even.stack_.flat.equal(scaled.stack_.flat)
    assert not even.stack_.flat.equal(other.stack_.flat)
    without = FocusClassifier("soft", epochs=2).fit(bags[1:], y[1:], sample_weight=np.arange(1, 20))
    zero = FocusClassifier("soft", epochs=2).fit(bags, y, sample_weight=np.arange(20))
    assert zero.stack_.flat.equal(without.stack_.flat)
    with pytest.raises(FoveateError, match=r"that of bag 0 is -1\.0"):
        FocusClassifier().fit(bags, y, sample_weight=np.arange(-1, 19))
    with pytest.raises(FoveateError, match="cut the target into classes"):
        FocusClassifier().fit(bags, np.linspace(0, 1, 20))


class OneSegmentBags(FocusClassifier):
    """Rows of a table as bags of one segment, which scikit-learn's checks can call."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = True, False
        tags.classifier_tags.multi_label = False
        return tags

    def fit(self, X, y, sample_weight=None):
        return super().fit(check_array(X)[:, None], y, sample_weight=sample_weight)

    def predict_proba(self, X):
        return super().predict_proba(check_array(X)[:, None])


EXPECTED_FAILURES = {
    "check_n_features_in_after_fitting": "the message speaks of segments, not of features",
    "check_sample_weight_equivalence_on_dense_data": "copies of a bag are in other batches",
    "check_sample_weight_equivalence_on_sparse_data": "bags are dense",
}


@parametrize_with_checks(
    [OneSegmentBags("max", epochs=3, force=("one-bag-class", "label-copy"))],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        check(estimator)
