"""Verdicts: their sentences, reasons and next steps."""

from dataclasses import replace

from foveate.metrics.intervals import Interval
from foveate.trust.answers import answers_of
from foveate.trust.error_modes import Flag
from foveate.trust.facts import ClassFacts, exact_interval
from foveate.trust.verdict import class_verdict, grade_class, overall_verdict

GOOD = ClassFacts(
    name="a", bags=80, members=3, accuracy=0.97, estimate=0.95, low=0.9, high=1.0, chance=0.1,
    estimated_worst=0.93, removal=0.9, stability=0.95,
)  # fmt: skip


def flag(mode, members):
    return Flag(mode, "mode", 0.9, 0.5, members, {})


def test_trust_needs_every_question_answered_well():
    assert grade_class(GOOD) == "trust"
    changes = (
        {"estimate": 0.8, "low": 0.75},
        {"low": 0.6},
        {"removal": 0.1},
        {"keep_only": 0.4},
        {"worst_fold": exact_interval(3, 20)},
        {"background_flips": 0.3},
        {"repeat_flips": 0.6},
        {"overridden": 0.9},
        {"stability": 0.5},
        {"stability": float("nan")},
        {"steady": 0.5},
        {"other_kind": True},
        {"visible": False},
        {"presence": "everywhere"},
        {"estimated_worst": 0.2},
        {"bags": 10},
    )
    for change in changes:
        assert grade_class(replace(GOOD, **change)) != "trust", change


def test_a_class_without_right_answers_is_not_said_to_depend_on_nothing():
    wrong = replace(GOOD, accuracy=0.0, keep_only=float("nan"), removal=0.0)
    sentence = "No answer 'a' is right"
    assert grade_class(wrong) != "trust"
    assert sentence in class_verdict(wrong).summary + " ".join(class_verdict(wrong).why)
    depends = answers_of([wrong], [1.0])["depends"]
    assert (depends.mark, sentence in depends.text) == ("bad", True)


def test_an_error_mode_in_a_minority_of_models_raises_nothing():
    bad = replace(GOOD, estimate=0.5, low=0.4, high=0.6, estimated_worst=0.0)
    assert grade_class(bad) == "do not trust"
    assert grade_class(replace(bad, flags=(flag(1, 1),))) == "do not trust"
    assert grade_class(replace(GOOD, estimated_worst=0.0)) == "trust with care"


def test_tried_paradigms_are_not_recommended_again():
    bad = replace(GOOD, estimate=0.3, low=0.2, high=0.4, flags=(flag(1, 3),))
    assert any("--paradigms witness" in step for step in class_verdict(bad).next)
    steps = class_verdict(bad, tried=("witness", "soft")).next
    assert not any("witness" in step for step in steps)
    assert not any("--paradigms" in step for step in class_verdict(bad, ("witness", "lvml")).next)


def test_models_from_elsewhere_get_no_option_of_this_training():
    bad = replace(
        GOOD, estimate=0.3, low=0.2, high=0.4, accuracy=0.6, flags=(flag(1, 3),), removal=0.1,
        stability=float("nan"), external=True,
    )  # fmt: skip
    options = ("--paradigms", "--supervise-focus", "--folds", "Train", "stop earlier")
    for facts_of_class in (bad, replace(bad, reread=False)):
        steps = " ".join(class_verdict(facts_of_class).next)
        assert not [word for word in options if word in steps]
        assert "Mark the relevant segments of 20 bags of 'a'" in steps
    measured = replace(bad, measured=exact_interval(10, 40), known=40, measured_chance=0.1)
    assert not any(
        "Mark" in step for step in class_verdict(measured).next
    )  # they are marked already
    own = " ".join(class_verdict(replace(bad, external=False)).next)
    assert all(word in own for word in ("--paradigms", "--supervise-focus", "Train three seeds"))


def test_every_reason_of_the_same_grade_is_given():
    weak = replace(GOOD, background_flips=0.4, stability=0.5)
    verdict = class_verdict(weak)
    assert verdict.grade == "trust with care"
    assert "background segment" in verdict.summary
    assert any("Models agree on 50 %" in line for line in verdict.why)


def test_the_same_step_of_several_classes_is_said_once():
    blind = [
        replace(GOOD, name=name, visible=False, reasons=("Nothing is seen.",),
                needs=(f"Mark the relevant segments of 20 bags of '{name}'.",))
        for name in "ab"
    ]  # fmt: skip
    steps = overall_verdict([class_verdict(f) for f in blind], blind, float("nan")).next
    assert steps == ("Mark the relevant segments of 20 bags each of 'a' and 'b'.",)


def test_a_class_without_visible_evidence_beside_one_that_has_some_may_be_declared_absent():
    unseen = replace(GOOD, name="b", presence="unknown", visible=False)
    pair = [replace(GOOD, visible=False), unseen]
    steps = overall_verdict([class_verdict(f) for f in pair], pair, float("nan")).next
    assert any("--absent 'b'" in step for step in steps)
    both = [replace(unseen, name=name) for name in "ab"]
    steps = overall_verdict([class_verdict(f) for f in both], both, float("nan")).next
    assert not any("--absent" in step for step in steps)


def test_what_a_blind_auditor_finds_is_no_good_answer():
    blind = replace(GOOD, visible=False, reasons=("Nothing is seen.",))
    answers = answers_of([blind, blind], [1.5, 1.5])
    assert [answers[key].mark for key in ("evidence", "looks", "kinds")] == ["unknown"] * 3
    answers = answers_of([GOOD, blind], [1.5, 1.5])
    assert answers["evidence"].mark == "good"


def test_measured_ft_needs_a_lower_end_for_trust():
    hits = {15: 13, 40: 35}  # .87 [.60, .98] and .88 [.73, .96]
    grades = [
        grade_class(replace(GOOD, measured=exact_interval(h, n), known=n, measured_chance=0.1,
                            worst=0.85))
        for n, h in hits.items()
    ]  # fmt: skip
    assert grades == ["trust with care", "trust"]


def test_known_locations_answer_what_the_auditor_does_not_see():
    blind = replace(GOOD, visible=False, reasons=("Nothing is seen.",), accuracy=0.6)
    known = replace(
        blind, measured=exact_interval(38, 40), known=40, measured_chance=0.1, worst=0.9
    )
    empty = replace(blind, name="b", absent=True)
    answers = answers_of([known, empty], [1.0, 0.0])
    assert {answer.mark for answer in answers.values()} == {"good"}
    assert answers["evidence"].text == "Relevant segments are known; 'b' has none."
    weak = replace(known, measured=exact_interval(28, 40), worst=0.6)
    steps = " ".join(class_verdict(weak).next)
    assert "Mark" not in steps
    assert "Train with --supervise-focus: relevant segments are known." in steps


def test_options_that_were_used_are_not_advised():
    bad = replace(GOOD, estimate=0.3, low=0.2, high=0.4)
    assert "--supervise-focus" in " ".join(class_verdict(bad).next)
    steps = " ".join(class_verdict(bad, ("supervise-focus",)).next)
    assert "--supervise-focus" not in steps
    assert "Mark the relevant segments of 20 bags of 'a' and examine again" in steps


def test_a_model_that_counts_is_told_of_paradigms_that_do_not():
    counts = replace(GOOD, repeat_flips=0.5, measured=exact_interval(39, 40), known=40,
                     measured_chance=0.1, worst=0.9)  # fmt: skip
    assert class_verdict(counts).next == ("Train with --paradigms lvml and examine again.",)
    assert class_verdict(counts, ("lvml",)).next == (
        "Train with --paradigms hard and examine again.",
    )
    assert class_verdict(counts, ("lvml", "hard", "witness")).next == ()


def test_a_class_that_overturns_another_may_mean_that_nothing_is_there():
    weak = replace(GOOD, removal=0.0, overridden=0.9, overrider="no")
    assert "If 'no' means that nothing is there, say --absent 'no'." in class_verdict(weak).next
    assert not any(
        "--absent 'a'" in step for step in class_verdict(weak).next
    )  # its evidence is seen
    unseen = replace(weak, estimate=float("nan"), measured=None, accuracy=0.4)
    assert class_verdict(unseen).grade == "cannot tell"


def test_a_class_with_two_kinds_of_evidence_asks_before_the_whole_is_graded():
    asked = replace(GOOD, name="b", bags=20, estimate=float("nan"), other_kind=True)
    both = [GOOD, asked]
    verdict = overall_verdict([class_verdict(f) for f in both], both, 0.95)
    assert verdict.grade == "cannot tell"
    assert verdict.summary.startswith("Nothing can be said of where these models look for 'b'. Two")
    assert any("--evidence" in step and "3 bags of 'b'" in step for step in verdict.next)
    settled = replace(GOOD, name="b", bags=20, chosen_kind="A")
    both = [GOOD, settled]
    assert overall_verdict([class_verdict(f) for f in both], both, 0.95, 0.1).grade == "trust"
    kinds = answers_of(both, [1.0, 1.0])["kinds"]
    assert (kinds.mark, kinds.text) == (
        "good", "There are two; A of 'b' is meant, as declared or marked."
    )  # fmt: skip


def test_the_verdict_names_what_overturns_answers_where_pointing_is_right():
    broken = replace(GOOD, poisoned=0.9)
    text = overall_verdict([class_verdict(broken)], [broken], 0.95, 0.1).summary
    assert text.endswith("One segment of a bag where nothing is overturns 90 % of 'a'.")


def test_care_for_another_reason_than_where_models_look_says_that_reason():
    counts = replace(GOOD, repeat_flips=0.4)
    verdict = overall_verdict([class_verdict(counts)], [counts], 0.95, 0.1)
    assert verdict.grade == "trust with care"
    assert "Repeating one segment of a bag overturns 40 %" in verdict.summary
    assert "check where they point" not in verdict.summary
    elsewhere = replace(GOOD, estimate=0.7, low=0.6)
    verdict = overall_verdict([class_verdict(elsewhere)], [elsewhere], 0.7, 0.1)
    assert "check where they point for 'a'" in verdict.summary


def test_chance_stands_beside_the_ft_of_the_whole():
    text = overall_verdict([class_verdict(GOOD)], [GOOD], 0.95, 0.1).summary
    assert text.startswith("They look at the evidence in about 95 % of bags (chance 10 %)")


def test_every_segment_that_tells_is_nothing_to_see():
    stained = replace(GOOD, presence="everywhere", estimate=float("nan"))
    answer = answers_of([stained], [0.0])["visible"]
    assert (answer.mark, answer.text) == (
        "bad", "Every segment tells 'a', so that none stands out."
    )  # fmt: skip


def test_of_words_there_is_one_auditor():
    assert "two auditors agree" in answers_of([GOOD], [1.0])["visible"].text
    assert "one auditor" in answers_of([replace(GOOD, auditors=1)], [1.0])["visible"].text


def test_an_overfitted_model_is_not_told_to_train_longer():
    weak = replace(GOOD, accuracy=0.6, estimate=0.7, low=0.6, high=0.8)
    assert any("Train longer" in step for step in class_verdict(weak).next)
    steps = class_verdict(replace(weak, overfitted=True)).next
    assert not any("Train longer" in step for step in steps)
    assert any("stop earlier" in step for step in steps)


def test_ft_of_zero_is_not_partly_elsewhere():
    lost = replace(GOOD, estimate=0.0, low=0.0, high=0.05, estimated_worst=0.0)
    text = class_verdict(lost).summary
    assert "partly" not in text
    assert "than chance (10 %)" in text


def test_measured_ft_below_chance_is_reported():
    below = replace(GOOD, measured=Interval(0.05, 0.0, 0.2), known=20, measured_chance=0.1)
    verdict = class_verdict(below)
    assert verdict.grade == "do not trust"
    assert "not above chance (10 %)" in verdict.summary
    few = replace(GOOD, measured=exact_interval(1, 10), known=10, measured_chance=0.2)
    assert any("not above chance 20 %" in line for line in class_verdict(few).why)


def test_few_known_bags_are_shown_as_counts_with_their_exact_interval():
    few = replace(GOOD, measured=exact_interval(2, 2), known=2, measured_chance=0.2)
    line = next(text for text in class_verdict(few).why if "Measured" in text)
    assert "2 of 2" in line
    assert "[16, 100]" in line
    missed = replace(GOOD, measured=exact_interval(0, 8), known=8, measured_chance=0.2)
    assert class_verdict(missed).grade == "do not trust"  # even the upper end is below .6


def test_one_class_that_cannot_be_judged_is_enough_against_trust():
    blind = replace(GOOD, name="b", bags=20, visible=False, reasons=("Nothing is seen.",))
    both = [GOOD, blind]
    assert overall_verdict([class_verdict(f) for f in both], both, 0.95).grade == "trust with care"
    empty = replace(GOOD, name="c", presence="nothing")
    pair = [GOOD, empty]
    assert overall_verdict([class_verdict(f) for f in pair], pair, 0.95).grade == "trust"
    assert overall_verdict([class_verdict(blind)], [blind], float("nan")).grade == "cannot tell"


def test_a_whole_without_an_estimate_does_not_say_where_models_look():
    facts_of_class = ClassFacts(name="a", bags=10, members=3, accuracy=0.9, poisoned=0.9)
    verdict = overall_verdict([class_verdict(facts_of_class)], [facts_of_class], float("nan"))
    assert verdict.grade == "do not trust"
    assert verdict.summary.startswith("How often they look at the evidence is not known;")


def test_a_second_empty_class_is_not_advised():
    """Where a class was declared empty, the others are not suspected of meaning nothing."""
    facts = replace(GOOD, removal=0.0, estimate=0.4, low=0.3, high=0.5)
    assert any("--absent" in step for step in class_verdict(facts).next)
    assert not any("--absent" in step for step in class_verdict(facts, ("absent",)).next)
