import pytest

from foveate.metrics.intervals import Interval
from foveate.report.outcomes import Outcome
from foveate.report.sentences import NO_RELEVANCE, join_words, percent, summary


def outcome(paradigm, accuracy, ft=None, saif=None, spread=1.0, seeds=3):
    def share(mean):
        if seeds == 1:
            return Interval(mean, None, None)
        return Interval(mean, mean - spread, mean + spread)

    summary_values = {"accuracy": share(accuracy), "cpu_seconds": 1.0, "classifier_calls": 10.0}
    if ft is not None:
        summary_values |= {"ft": share(ft), "saif": share(saif)}
    return Outcome("run", paradigm, summary_values, 4, seeds)


def test_summary_of_close_accuracies_and_different_focus():
    text = summary(
        [
            outcome("soft", 98.0, 85.7, 62.5),
            outcome("hard", 97.91, 70.9, 65.9),
            outcome("lvml", 98.6, 76, 70),
        ]
    )
    assert text == (
        "Three ways to train the same model end within 0.7 points of accuracy of each other "
        "(97.9 to 98.6 %), but their attention is strongest on the right segment for between "
        "70.9 % (Hard) and 85.7 % (Soft) of held-out bags. LVML has the highest mean SAIF, 70.0 %, "
        "and its 95 % interval is above all others."
    )


def test_summary_of_overlapping_intervals():
    text = summary(
        [
            outcome("soft", 90, 80, 60, 5),
            outcome("hard", 90, 80, 52, 1),
            outcome("lvml", 90, 80, 66, 5),
        ]
    )
    assert text == (
        "Three ways to train the same model end at the same accuracy, 90.0 %, and their attention "
        "is strongest on the right segment for the same share of held-out bags, 80.0 %. LVML has "
        "the highest mean SAIF, 66.0 %, but its 95 % interval overlaps that of Soft: 3 seeds do "
        "not settle the order."
    )


def test_summary_of_different_accuracies():
    text = summary(
        [
            outcome("soft", 100, 100, 96),
            outcome("hard", 55.3, 33.3, 33.3),
            outcome("em", 100, 100, 96.04),
        ]
    )
    assert text == (
        "Three ways to train the same model end with accuracies between 55.3 % (Hard) and 100.0 % "
        "(Soft and EM), and their attention is strongest on the right segment for between 33.3 % "
        "(Hard) and 100.0 % (Soft and EM) of held-out bags. Soft and EM share the highest mean "
        "SAIF, 96.0 %."
    )


def test_summary_if_focus_differs_less_than_accuracy():
    text = summary([outcome("soft", 98, 80, 60), outcome("hard", 90, 79, 60)])
    assert "8.0 points of accuracy of each other (90.0 to 98.0 %), and their attention" in text
    assert text.endswith("All have the same SAIF, 60.0 %.")


def test_summary_of_one_seed():
    text = summary([outcome("soft", 98, 80, 60, seeds=1), outcome("lvml", 98, 90, 70, seeds=1)])
    assert text.endswith(
        "LVML has the highest mean SAIF, 70.0 %; with one seed a difference may be chance."
    )


def test_summary_of_one_paradigm_of_none_and_without_relevance():
    assert summary([outcome("lvml", 98, 80, 60)]) == (
        "LVML ends with an accuracy of 98.0 %, and its attention is strongest on the right segment "
        "for 80.0 % of held-out bags. For 60.0 % of them both the attention there and the "
        "probability of the true class are at least 0.8 (SAIF)."
    )
    assert summary([outcome("soft", 98)]) == f"Soft ends with an accuracy of 98.0 %. {NO_RELEVANCE}"
    both = summary([outcome("soft", 98), outcome("hard", 97)])
    assert both.startswith("Two ways to train the same model end within 1.0 points of accuracy")
    assert both.endswith(NO_RELEVANCE)
    assert summary([]).startswith("No paradigm has finished training")


def test_summary_with_the_direct_baseline():
    text = summary([outcome("soft", 98, 80, 60), outcome("direct", 40, 5, 0)])
    assert text.startswith("Two ways to train end with accuracies between 40.0 % (Direct)")


@pytest.mark.parametrize(
    ("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_join_words(words, text):
    assert join_words(words) == text


def test_percent_of_none():
    assert percent(None) == "–"
