"""Small sets, folds, last epochs of training, and the choice between paradigms."""

from dataclasses import replace

import numpy as np
import pytest

from foveate.bags.bag import Bag
from foveate.errors import FoveateError
from foveate.metrics.intervals import Interval
from foveate.trust.advice import compare
from foveate.trust.auditor import audit
from foveate.trust.crossfitted import CrossFitted
from foveate.trust.examine import examine
from foveate.trust.subject import as_subject
from foveate.trust.verdict import Verdict
from tests.trust.case_bags import (
    CLASSES,
    N,
    audited,
    case_bags,
    examined,
    good,
    grades,
    linear_model,
)


def test_attention_that_oscillates_at_the_end_of_training_is_not_trusted():
    calm, restless = (examined(good(), "plain", last_epochs=share) for share in (0.95, 0.4))
    assert calm.answers["stable"].mark == "good"
    assert restless.answers["stable"].mark == "bad"
    assert "60 % of bags" in restless.answers["stable"].text
    assert "trust" not in grades(restless)
    several = examined(good(), "several", last_epochs=0.4)  # the top may change among three
    assert several.answers["stable"].mark == "good"


def test_a_small_set_with_known_relevance_gets_its_exact_interval():
    bag = case_bags(n=12)
    trust = examine([good(), good()], "soft", bag, CLASSES, probe=False)
    entry = trust.by_class[0]
    assert entry["known"] == 4
    assert entry["measured"].low == pytest.approx(0.398, abs=0.001)
    assert any("4 of 4" in line for line in entry["verdict"]["why"])
    assert np.isnan(trust.score)


def test_cross_fitted_models_read_every_bag_once():
    bag, size = case_bags(), N // 2
    rows = [np.arange(size), np.arange(size, N)]
    inside = good()
    folds = CrossFitted([(as_subject([inside] * 2, "soft"), part) for part in rows])
    whole = as_subject([inside] * 2, "soft")
    np.testing.assert_allclose(folds.read([bag]).alpha, whole.read([bag]).alpha, atol=1e-6)
    checked = audit([bag], 3)
    first, second = (
        examine(s, "soft", bag, CLASSES, audited=checked, probe=False) for s in (folds, whole)
    )
    assert first.score == pytest.approx(second.score)
    assert first.by_class[0]["removal"] == pytest.approx(second.by_class[0]["removal"])
    assert first.bags == N
    with pytest.raises(FoveateError, match="every bag exactly once"):
        CrossFitted([(whole, rows[0]), (whole, rows[0])])


def test_a_fold_whose_models_look_elsewhere_is_enough_against_trust():
    bag, rows = case_bags(), np.array_split(np.arange(N), 4)
    lost = linear_model([0.0, 0.0, 0.0, 0.0, 6.0], good().g.weight.tolist(), [0.0] * 3)
    models = [good(), good(), good(), lost]
    folds = CrossFitted(
        [(as_subject([m] * 2, "soft"), part) for m, part in zip(models, rows, strict=True)]
    )
    for z in (None, bag.z):  # estimated and measured
        trust = examine(folds, "soft", Bag(bag.x, bag.y, z), CLASSES, audited=audited("plain"),
                        probe=False)  # fmt: skip
        for entry in trust.by_class:
            *others, last = entry["answers"]["stable"]["folds"]
            assert min(others) >= 0.7
            assert last < 0.4
            assert entry["worst_fold"].mean == last
            assert entry["verdict"]["grade"] != "trust"
        assert trust.answers["stable"].mark == "bad"
        assert "one fold" in trust.answers["stable"].text
    both = CrossFitted([(as_subject([good()] * 2, "soft"), part) for part in rows])
    trust = examine(both, "soft", bag, CLASSES, audited=audited("plain"), probe=False)
    assert trust.answers["stable"].mark == "good"
    assert "worst fold has FT" in trust.answers["stable"].text


def test_a_set_of_usual_size_gets_a_verdict_out_of_fold():
    """As many bags as MUSK1 has: a fifth of them is too few, all of them by folds are enough."""
    bag = case_bags(n=92)
    bag = Bag(bag.x, bag.y)
    held_out = bag.take(slice(0, 18))
    assert examine_good(held_out).verdict.grade == "cannot tell"
    parts = np.array_split(np.arange(92), 5)
    folds = CrossFitted([(as_subject([good()] * 2, "soft"), rows) for rows in parts])
    trust = examine(folds, "soft", bag, CLASSES, probe=False)
    assert trust.bags == 92
    assert trust.verdict.grade in ("trust", "trust with care")


def examine_good(bag):
    return examine([good(), good()], "soft", bag, CLASSES, probe=False)


def test_of_equally_accurate_models_the_better_looking_one_is_named():
    one = replace(examined(good(), "plain"), paradigm="hard")
    other = replace(one, paradigm="soft", score=0.4, verdict=Verdict("do not trust", ""))
    [line] = compare([one, other], "soft")
    assert line.startswith("hard is as accurate")
    assert compare([one, other], "hard") == ()
    assert compare([one], "hard") == ()
    [line] = compare([other, replace(other, paradigm="lvml")], "soft")
    assert line == "None of the accurate models can be trusted (soft, lvml)."
    good_one = replace(one, evidence={**one.evidence, "accuracy": Interval(0.8, None, None)})
    [_, line] = compare([other, good_one], "soft")
    assert line == "hard has 'trust', but is less accurate (80 % against 94 %)."
