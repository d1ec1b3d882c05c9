"""Sentences and number formats of the report, computed from the numbers alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import label, paradigm_class
from foveate.metrics.intervals import Interval, wilson_interval
from foveate.metrics.metric import METRICS
from foveate.records.record import Record
from foveate.records.runs import Run
from foveate.report.outcomes import Outcome

__all__ = [
    "NO_RELEVANCE",
    "cell",
    "count_of",
    "glossary",
    "join_words",
    "percent",
    "places_text",
    "seconds",
    "segment_text",
    "share",
    "summary",
    "unfinished",
]

NO_RELEVANCE = (
    "These bags do not say which segment is relevant (there is no z), "
    "so focus cannot be measured: no FT, no SAIF, no heat map."
)

TERMS = (
    ("Bag, segment", "An input of several parts, the segments; its label belongs to one of them."),
    ("α", "Attention: how much weight each segment gets; the weights of a bag sum to 1."),
    ("z", "The relevant segment (or segments): where the label comes from. No loss ever sees it."),
    ("a_z", "The attention on the relevant segment, from 0 to 1."),
)
STATISTICS = (
    ("95 % interval", "By Student's t over seeds: where the mean of other seeds would likely lie."),
    ("Classifier calls", "How often training ran the classifier on something, forward, per seed."),
)
NOT_IN_GLOSSARY = ("loss", "ft_alpha", "a_z", "heat")

CLOSE = 10.0  # points of accuracy up to which paradigms are described as close
_COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def glossary() -> list[tuple[str, str]]:
    """What the words of a page mean: general terms, every registered metric, statistics."""
    metrics = [item for name, item in METRICS.items() if name not in NOT_IN_GLOSSARY]
    return [*TERMS, *((item.title, item.description) for item in metrics), *STATISTICS]


def percent(value: Interval | None) -> str:
    """A mean in percent with its interval, as tables show it.

    Example:
        >>> percent(Interval(62.53, 60.9, 63.94)), percent(Interval(50.0, None, None))
        ('62.5 [60.9, 63.9]', '50.0')
    """
    if value is None:
        return "–"
    if value.low is None or value.high is None:
        return f"{value.mean:.1f}"
    return f"{value.mean:.1f} [{value.low:.1f}, {value.high:.1f}]"


def share(outcome: Outcome, name: str) -> str:
    """A share of a race as its table prints it.

    Seeds that agree exactly have no spread from which an interval could be computed: the cell
    then has the number of seeds instead of an interval of zero width.

    Example:
        >>> same = {"ft": Interval(100.0, 100.0, 100.0)}
        >>> share(Outcome("run", "soft", same, epochs=4, seeds=2), "ft")
        '100.0 (2 of 2 seeds)'
    """
    value = outcome.share(name)
    if value is not None and value.low is not None and value.low == value.high:
        return f"{value.mean:.1f} ({outcome.seeds} of {outcome.seeds} seeds)"
    return percent(value)


def count_of(correct: int, total: int) -> str:
    """A count with the 95 % Wilson interval of its share, which is correct for small samples.

    Example:
        >>> count_of(2, 2), count_of(57, 60), count_of(0, 0)
        ('2 of 2 [34, 100] %', '57 of 60 [86, 98] %', '0 of 0')
    """
    if total == 0:
        return "0 of 0"
    low, high = wilson_interval(correct, total)
    return f"{correct} of {total} [{100 * low:.0f}, {100 * high:.0f}] %"


def cell(share: float) -> str:
    """A share in percent, as printed in the heat map; an empty cell is a plain 0."""
    return f"{share:.1f}" if share else "0"


def segment_text(segment: int, word: str | None = None) -> str:
    """A segment by its number, of a text with its word.

    Example:
        >>> segment_text(3), segment_text(3, "film")
        ('segment 3', "segment 3, 'film'")
    """
    return f"segment {segment}" if word is None else f"segment {segment}, '{word}'"


def places_text(places: Sequence[Sequence[Any]]) -> str:
    """Segments of bags: (bag, segment) or (bag, segment, word) each.

    Example:
        >>> places_text([("r1", 2), ("r7", 0, "film")])
        "bag r1, segment 2; bag r7, segment 0, 'film'"
    """
    return "; ".join(f"bag {bag}, {segment_text(*segment)}" for bag, *segment in places)


def seconds(value: float) -> str:
    """A time to about two digits.

    Example:
        >>> seconds(0.0421), seconds(7.586), seconds(41.5)
        ('0.042', '7.6', '42')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def join_words(words: Sequence[str]) -> str:
    """Join words with commas and a final "and".

    Example:
        >>> join_words(["Soft", "Hard", "LVML"])
        'Soft, Hard and LVML'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def unfinished(run: Run, records: Mapping[str, Record]) -> str:
    """A sentence on what an unfinished run lacks; empty if it is finished."""
    missing = [label(part) for part in run.manifest["parts"] if part not in records]
    if missing:
        return f"This run is not finished: {join_words(missing)} not fully trained yet."
    return "" if run.done else "This run is not finished: its summary is not written yet."


def summary(outcomes: Sequence[Outcome]) -> str:
    """One paragraph that describes the outcomes of a run."""
    if not outcomes:
        return "No paradigm has finished training yet, so there is nothing to compare."
    measured = [o for o in outcomes if o.share("saif") is not None]
    if len(outcomes) == 1:
        return _single_summary(outcomes[0])
    if not measured:
        return f"{_accuracy_clause(outcomes)}. {NO_RELEVANCE}"
    close = _span(outcomes, "accuracy") <= min(CLOSE, _span(measured, "ft"))
    joint = "but" if close and _span(measured, "ft") else "and"
    return (
        f"{_accuracy_clause(outcomes)}, {joint} {_focus_clause(measured)}. {_best_saif(measured)}"
    )


def _single_summary(outcome: Outcome) -> str:
    text = f"{label(outcome.paradigm)} ends with an accuracy of {_mean_text(outcome, 'accuracy')} %"
    if outcome.share("saif") is None:
        return f"{text}. {NO_RELEVANCE}"
    return (
        f"{text}, and its attention is strongest on the right segment for "
        f"{_mean_text(outcome, 'ft')} % of held-out bags. For {_mean_text(outcome, 'saif')} % "
        "of them both the attention there and the probability of the true class are at least 0.8 "
        "(SAIF)."
    )


def _reads_whole_bags(name: str) -> bool:
    kind = paradigm_class(name)
    return kind is not None and kind().whole_bag


def _accuracy_clause(outcomes: Sequence[Outcome]) -> str:
    count = _COUNTS[len(outcomes)] if len(outcomes) < len(_COUNTS) else str(len(outcomes))
    same = "" if any(_reads_whole_bags(o.paradigm) for o in outcomes) else " the same model"
    span, low, high = _span(outcomes, "accuracy"), *_extremes(outcomes, "accuracy")
    subject = f"{count} ways to train{same} end"
    if span == 0:
        return f"{subject} at the same accuracy, {high} %"
    if span > CLOSE:
        least, most = (
            _value_with_names(outcomes, "accuracy", low),
            _value_with_names(outcomes, "accuracy", high),
        )
        return f"{subject} with accuracies between {least} and {most}"
    return f"{subject} within {span:.1f} points of accuracy of each other ({low} to {high} %)"


def _focus_clause(outcomes: Sequence[Outcome]) -> str:
    low, high = _extremes(outcomes, "ft")
    text = "their attention is strongest on the right segment for"
    if low == high:
        return f"{text} the same share of held-out bags, {high} %"
    least, most = _value_with_names(outcomes, "ft", low), _value_with_names(outcomes, "ft", high)
    return f"{text} between {least} and {most} of held-out bags"


def _best_saif(outcomes: Sequence[Outcome]) -> str:
    """Which paradigm has the highest SAIF, and whether its interval is above all others."""
    if len(outcomes) == 1:
        return f"SAIF is {_mean_text(outcomes[0], 'saif')} % for {label(outcomes[0].paradigm)}."
    low, high = _extremes(outcomes, "saif")
    best = [o for o in outcomes if _mean_text(o, "saif") == high]
    names = join_words([label(o.paradigm) for o in best])
    if low == high:
        return f"All have the same SAIF, {high} %."
    if len(best) > 1:
        return f"{names} share the highest mean SAIF, {high} %."
    leads, least = f"{names} has the highest mean SAIF, {high} %", best[0].summary["saif"].low
    if least is None:
        return f"{leads}; with one seed a difference may be chance."
    close_seconds = [o for o in outcomes if o is not best[0] and o.summary["saif"].high >= least]
    if not close_seconds:
        return f"{leads}, and its 95 % interval is above all others."
    overlapping = join_words([label(o.paradigm) for o in close_seconds])
    conclusion = f"{best[0].seeds} seeds do not settle the order"
    return f"{leads}, but its 95 % interval overlaps that of {overlapping}: {conclusion}."


def _mean_text(outcome: Outcome, name: str) -> str:
    return f"{outcome.summary[name].mean:.1f}"


def _extremes(outcomes: Sequence[Outcome], name: str) -> tuple[str, str]:
    """The lowest and highest mean as printed, so that text and table agree to the digit."""
    means = sorted(outcomes, key=lambda o: o.summary[name].mean)
    return _mean_text(means[0], name), _mean_text(means[-1], name)


def _span(outcomes: Sequence[Outcome], name: str) -> float:
    low, high = _extremes(outcomes, name)
    return round(float(high) - float(low), 1)


def _value_with_names(outcomes: Sequence[Outcome], name: str, value: str) -> str:
    """A value with the paradigms that have it: "70.9 % (Hard)"."""
    names = [label(o.paradigm) for o in outcomes if _mean_text(o, name) == value]
    return f"{value} % ({join_words(names)})"
