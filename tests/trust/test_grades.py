"""The rule: monotone over random facts, and its limits."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foveate.trust.facts import ClassFacts, exact_interval
from foveate.trust.verdict import grade_all, grade_class
from tests.trust.test_verdict import GOOD

RANK = {"trust": 2, "trust with care": 1, "cannot tell": 0, "do not trust": 0}
share = st.floats(0.0, 1.0)
LOW = ("accuracy", "keep_only", "removal", "stability", "steady", "estimated_worst", "worst", "low")
HIGH = ("background_flips", "poisoned", "repeat_flips", "overridden", "measured_chance")
# Worse facts that leave less known, so that "do not trust" may become "cannot tell".
LESS_KNOWN = ("high", "other_kind", "visible", "presence", "bags")
KEYS = (*LOW, *HIGH, *LESS_KNOWN, "estimate", "measured", "worst_fold", "context", "reread")
# Facts that are neither good nor bad, or that no limit reads.
NEUTRAL = ("name", "members", "model_score", "unattended", "flags", "known", "absent", "chance",
           "overrider", "chosen_kind", "reasons", "needs", "auditors", "overfitted",
           "external")  # fmt: skip


@st.composite
def facts(draw):
    estimate = draw(share)
    width = draw(st.floats(0.0, 0.4))
    known = draw(st.sampled_from([0, 0, 3, 10, 15, 40]))
    hits = draw(st.integers(0, known)) if known else 0
    fold = draw(st.sampled_from([0, 0, 5, 20]))
    several = draw(st.booleans())
    numbers = {key: draw(share) for key in (*LOW, *HIGH) if key not in ("low", "stability")}
    return ClassFacts(
        name="a",
        bags=draw(st.sampled_from([5, 15, 80])),
        members=3 if several else 1,
        measured=exact_interval(hits, known) if known else None,
        known=known,
        presence=draw(
            st.sampled_from(["some", "some", "some", "nothing", "everywhere", "unknown"])
        ),
        absent=draw(st.sampled_from([False, False, False, True])),
        estimate=estimate,
        low=max(0.0, estimate - width),
        high=min(1.0, estimate + width),
        chance=0.1,
        other_kind=draw(st.booleans()),
        stability=draw(share) if several else float("nan"),
        worst_fold=exact_interval(draw(st.integers(0, fold)), fold) if fold else None,
        visible=draw(st.booleans()),
        context=draw(st.sampled_from(["", "", "Segments see each other."])),
        reread=draw(st.sampled_from([True, True, False])),
        **numbers,
    )


def worse(f, key, by):
    """The same facts with one of them worse."""
    if key in LOW:
        return replace(f, **{key: getattr(f, key) * by})
    if key in (*HIGH, "high"):
        return replace(f, **{key: getattr(f, key) + (1 - getattr(f, key)) * (1 - by)})
    if key == "estimate":
        ends = {k: getattr(f, k) * by for k in ("estimate", "low", "high")}
        return replace(f, **ends)
    if key in ("measured", "worst_fold"):
        interval = getattr(f, key)
        n = f.known if key == "measured" else 20
        return (
            f
            if interval is None
            else replace(f, **{key: exact_interval(interval.mean * n * by, n)})
        )
    changed = {"other_kind": True, "visible": False, "presence": "everywhere", "bags": 5,
               "context": "Segments see each other.", "reread": False}  # fmt: skip
    return replace(f, **{key: changed[key]})


def test_the_property_is_tested_for_every_fact():
    assert {field.name for field in fields(ClassFacts)} == {*KEYS, *NEUTRAL}


@given(facts(), st.sampled_from(KEYS), share)
@settings(max_examples=1500, deadline=None)
def test_more_bad_evidence_never_raises_a_grade(f, key, by):
    before, after = grade_class(f), grade_class(worse(f, key, by))
    assert RANK[after] <= RANK[before]
    if key not in LESS_KNOWN and before == "do not trust":
        assert after == "do not trust"


@given(facts())
@settings(max_examples=300, deadline=None)
def test_one_model_is_never_better_than_several(f):
    alone = replace(f, members=1, stability=float("nan"))
    assert RANK[grade_class(alone)] <= RANK[grade_class(f)]
    assert grade_class(alone) != "trust"


@given(st.lists(facts(), min_size=1, max_size=3), st.sampled_from(KEYS), share, st.data())
@settings(max_examples=600, deadline=None)
def test_more_bad_evidence_on_one_class_never_raises_the_grade_of_the_whole(several, key, by, data):
    which = data.draw(st.integers(0, len(several) - 1))
    changed = [worse(f, key, by) if k == which else f for k, f in enumerate(several)]
    before, after = (grade_all([grade_class(f) for f in part], part) for part in (several, changed))
    if key in (
        "bags",
        "high",
        "presence",
        "visible",
    ):  # a class that cannot be judged leaves others
        assert not (after == "trust" and before != "trust")
    else:
        assert RANK[after] <= RANK[before]


@given(facts(), st.sampled_from(["Segments see each other.", "Could not be tested."]))
@settings(max_examples=200, deadline=None)
def test_contextual_models_are_never_trusted_without_known_locations(f, context):
    unknown = replace(f, context=context, measured=None, known=0)
    assert grade_class(unknown) != "trust"
    assert grade_class(replace(unknown, estimate=1.0, low=1.0, high=1.0)) != "trust"


def good_facts(**changed):
    numbers = {"estimate": 0.95, "low": 0.9, "high": 1.0, "estimated_worst": 0.9, "chance": 0.1}
    given_facts = {"name": "a", "bags": 80, "members": 3, "accuracy": 0.95, "stability": 0.9}
    return ClassFacts(**given_facts, **{**numbers, **changed})


@pytest.mark.parametrize(
    ("changed", "grade"),
    [
        ({}, "trust"),
        ({"background_flips": 0.19}, "trust"),
        ({"background_flips": 1.0}, "trust with care"),  # it points right all the same
        ({"repeat_flips": 0.24}, "trust"),
        ({"repeat_flips": 0.25}, "trust with care"),
        ({"low": 0.69}, "trust with care"),
        ({"estimate": 0.65, "low": 0.55}, "trust with care"),
        ({"estimate": 0.65, "low": 0.54}, "cannot tell"),
        ({"estimate": 0.5, "low": 0.4, "high": 0.74}, "do not trust"),
        ({"estimate": 0.5, "low": 0.4, "high": 0.75}, "cannot tell"),
    ],
)
def test_limits_of_the_rule(changed, grade):
    assert grade_class(good_facts(**changed)) == grade


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_a_segment_of_an_empty_class_that_overturns_answers_breaks_trust(share):
    assert grade_class(replace(GOOD, poisoned=share)) == "do not trust"
