"""What to do next, in the words of the page: no command-line flags, nothing already tried."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from foveate.metrics.intervals import wilson_interval

__all__ = ["TEACH", "page_advice", "recommend", "without_flags"]

MARK = (
    "Mark the relevant segments of some bags in a column of the file, give that column the role "
    "“relevance”, and fit again with “Teach attention the relevant segments”."
)
TEACH = "Fit again with “Teach attention the relevant segments” (More settings): they are known."
# Sentences of the library that name a flag, and what a reader of the page can do instead.
TRANSLATIONS = {
    "--null-segment": "If a class means that nothing is there, say so below and examine again.",
    "--absent": "If a class means that nothing is there, say so below and examine again.",
    "--evidence": "Say below which of the two kinds of evidence you mean, and examine again.",
    "--group": "Give the column that names the patient or source the role “group”.",
    "--epochs": "Fit again with more epochs.",
}
PARADIGMS = re.compile(r"--paradigms ([\w-]+(?:,[\w-]+)*)")
RANK = {"trust": 0, "trust with care": 1, "cannot tell": 2, "do not trust": 3}


def without_flags(message: str) -> str:
    """A message without the command-line hints that do not help on the page.

    Example:
        >>> without_flags("bags.csv has no column 'bag'; --bag names it")
        "bags.csv has no column 'bag'"
    """
    return re.sub(r"[;,(] ?[^;,(]*--[\w-]+[^;,)]*\)?", "", message).strip()


def page_advice(
    sentences: Sequence[str], tried: Sequence[str], *, taught: bool = False
) -> list[str]:
    """Sentences without flags, and without what was already tried.

    Args:
        sentences: What the library advises.
        tried: Paradigms of the fit.
        taught: Whether known relevant segments have supervised its attention.

    Example:
        >>> page_advice(["Train with --paradigms witness, and examine again."], ["soft"])
        ['Fit with witness too and compare.']
        >>> page_advice(["Train with --paradigms witness, and examine again."], ["witness"])
        []
    """
    advice = [_in_page_words(sentence, tried, taught) for sentence in sentences]
    return list(dict.fromkeys(sentence for sentence in advice if sentence))


def _in_page_words(sentence: str, tried: Sequence[str], taught: bool) -> str:
    if "--supervise-focus" in sentence:
        return "" if taught else TEACH if "are known" in sentence else MARK
    if match := PARADIGMS.search(sentence):
        new = [name for name in match[1].split(",") if name not in tried]
        return f"Fit with {' and '.join(new)} too and compare." if new else ""
    for flag, words in TRANSLATIONS.items():
        if flag in sentence:
            return words
    named = re.search(r"[Tt]rain with (\w+), (\w+) or (\w+) attention", sentence)
    if named and set(named.groups()) <= set(tried):
        return ""
    return "" if "--" in sentence else sentence


def recommend(
    scores: Mapping[str, Mapping[str, Any]],
    verdicts: Mapping[str, Mapping[str, Any]],
    bags: int,
    chosen: str = "",
) -> dict[str, Any] | None:
    """Which paradigm to use: of those about as accurate as the best, the one to be trusted most.

    Accuracy is compared on the validation bags, where the test bags play no part; the verdict is
    the one on the test bags, so that the recommendation is not the number to report.

    Args:
        scores: Of each paradigm, as the manifest of a fit has them.
        verdicts: Of each paradigm that was examined.
        bags: Number of validation bags.
        chosen: What the fit has chosen, which is recommended among equals.

    Returns:
        The paradigm's ``name`` and a ``sentence``; None where nothing was examined.

    Example:
        >>> def of(mean):
        ...     return {"validation": {"balanced_accuracy": [mean, mean - 0.05, mean + 0.05]}}
        >>> verdicts = {"soft": {"grade": "do not trust"}, "hard": {"grade": "trust"}}
        >>> advice = recommend({"soft": of(0.95), "hard": of(0.94)}, verdicts, 80)
        >>> advice["name"], advice["sentence"].partition(" (")[0]
        ('hard', 'hard is about as accurate as soft')
    """
    if not verdicts:
        return None

    def accuracy(name: str) -> float:
        return float(scores[name]["validation"]["balanced_accuracy"][0])

    best = max(verdicts, key=accuracy)
    least = _lower_end(scores[best]["validation"]["balanced_accuracy"], bags)
    classes = len(verdicts[best].get("classes", ()))
    if classes and least <= 1 / classes:
        sentence = _no_better(best, accuracy(best), bags, classes)
        return {"name": best, "best": best, "sentence": sentence}
    accurate = [name for name in verdicts if accuracy(name) >= least]
    name = min(
        accurate, key=lambda n: (RANK.get(verdicts[n]["grade"], 2), n != chosen, -accuracy(n))
    )
    sentence = _comparison(name, best, accuracy, bags) + _use(verdicts[name]["grade"])
    return {"name": name, "best": best, "sentence": sentence}


def _lower_end(interval: Sequence[float | None], bags: int) -> float:
    """The lower end of an interval; Wilson's where resampling gives none, as if all are right.

    Example:
        >>> round(_lower_end([1.0, 1.0, 1.0], 18), 2), _lower_end([0.8, 0.7, 0.9], 18)
        (0.82, 0.7)
    """
    mean, low, _ = interval
    if mean is not None and (low is None or low >= mean):
        return wilson_interval(round(mean * bags), bags)[0]
    return float(low or 0.0)


def _no_better(name: str, accuracy: float, bags: int, classes: int) -> str:
    """What to say where the most accurate paradigm cannot be told from chance.

    Example:
        >>> _no_better("soft", 0.52, 40, 2).partition(" (")[0]
        'soft is the most accurate, but its 52 % cannot be told from chance'
    """
    return (
        f"{name} is the most accurate, but its {100 * accuracy:.0f} % cannot be told from chance "
        f"({100 / classes:.0f} %; balanced accuracy, {bags} validation bags): do not use its "
        "answers; more bags or other features are needed."
    )


def _comparison(name: str, best: str, accuracy: Callable[[str], float], bags: int) -> str:
    where = f"balanced accuracy, {bags} validation bags"
    if name == best:
        return f"{name} is the most accurate ({100 * accuracy(name):.0f} %; {where})"
    both = f"{100 * accuracy(name):.0f} % and {100 * accuracy(best):.0f} %"
    return f"{name} is about as accurate as {best} ({both}; {where})"


def _use(grade: str) -> str:
    """What a grade means for the use of the most accurate paradigm."""
    return {
        "trust": " and looks at the evidence: use it.",
        "trust with care": " and looks at the evidence more often than not: use it with care.",
        "cannot tell": "; nothing can be said of where it looks: use its answers only.",
        "do not trust": "; where it looks is not to be trusted, and no other paradigm does better: "
        "use its answers only.",
    }.get(grade, ".")
