import re

from foveate.metrics.intervals import Interval
from foveate.report.drawing.attention_bars import attention_bars
from foveate.report.first_screen import bag_examples, confidence_examples
from foveate.report.next_steps import Step, explain_steps, fit_steps, race_steps
from foveate.report.outcomes import Outcome


def view(name, correct, focused=None, p=0.9):
    return {"id": name, "correct": correct, "focused": focused, "probabilities": [("a", p)]}


def summary(examples):
    return [(example.outcome, example.id) for example in examples]


def test_one_example_per_outcome():
    views = [view("a", False), view("b", True, True), view("c", True, False), view("d", True, True)]
    assert summary(bag_examples(views)) == [("Right", "b"), ("Lucky", "c"), ("Wrong", "a")]


def test_missing_outcomes_are_omitted():
    assert summary(bag_examples([view("a", True, True)])) == [("Right", "a")]
    assert bag_examples([view("a", None)]) == []


def test_bags_with_known_relevance_are_preferred():
    (example,) = bag_examples([view("a", True, None), view("b", True, True)])
    assert (example.id, example.meaning) == (
        "b",
        "correct prediction, top segment relevant",
    )
    (example,) = bag_examples([view("a", True, None)])
    assert example.meaning == "correct prediction; which segment is relevant is not known"


def test_a_bag_without_relevant_segments_says_so():
    (example,) = bag_examples([{**view("a", True), "empty": True}])
    assert example.meaning == "correct prediction; no segment is relevant"


def test_bars_of_attention_mark_the_evidence_and_say_it_in_words():
    segments = [[2, 0.2, 0.1], [5, 0.8, 0.9], [7, 0.0, None]]
    picture = attention_bars(segments, known=False)
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" fill="#8250f0"', picture)]
    assert heights == [17.5, 70.0, 0.0]
    assert picture.count("l4 8h-8z") == 1
    words = "most on segment 5 (0.80). Probably evidence: segment 5."
    assert f'aria-label="Attention on 3 segments: {words}"' in picture


def test_unlabelled_bags_are_ordered_by_confidence():
    views = [view("a", None, p=0.7), view("b", None, p=0.99), view("c", None, p=0.4)]
    assert [example.id for example in confidence_examples(views)] == ["b", "a", "c"]
    assert [example.id for example in confidence_examples(views[:1])] == ["a"]


def outcome(paradigm, accuracy, saif, seeds=10):
    values = {k: Interval(v, v - 1, v + 1) for k, v in (("accuracy", accuracy), ("saif", saif))}
    return Outcome("run", paradigm, values, 4, seeds)


def test_race_recommends_the_best_focus_among_the_accurate():
    results = [outcome("soft", 98, 60), outcome("hard", 97, 70), outcome("lvml", 80, 90)]
    steps = race_steps(results, "demo", done=True)
    assert steps[0] == Step(
        "Use Hard here: about as accurate as Soft, and it looks at the relevant segment most often."
    )
    assert steps[-1].command == "foveate trust demo"


def test_race_with_few_seeds_suggests_more():
    steps = race_steps([outcome("soft", 98, 60, seeds=3)], "demo", done=True)
    assert "3 leave wide intervals" in steps[0].text
    assert race_steps([], "demo", done=False) == [Step("Finish this run.", "foveate resume demo")]


def test_fit_with_few_test_bags_suggests_more():
    steps = fit_steps({"sizes": {"parts": {"test": 12}}}, "pumps", done=True)
    assert steps[0].command == "foveate trust pumps"
    assert steps[-1].text == "Collect more test bags: 12 leave wide intervals."
    assert len(fit_steps({"sizes": {"parts": {"test": 80}}}, "pumps", done=True)) == 3
    examined = fit_steps({"sizes": {"parts": {"test": 80}}}, "pumps", done=True, examined=True)
    assert examined[0].text == "Predict new bags."
    assert len(explain_steps(labelled=True, examined_by="foveate trust pumps")) == 1
