"""The page of a cross-fitted run: out-of-fold scores of models and baselines."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import has_colour, label
from foveate.records.record import load_arrays
from foveate.records.runs import Run
from foveate.report.pages.score_cells import COLUMNS, score_cell
from foveate.userdata.baselines import MEAN
from foveate.userdata.mixture import unmapped_note
from foveate.userdata.model_card import CARD_MARKDOWN, model_card

__all__ = [
    "BASELINE_LABELS",
    "cross_fit_context",
    "cross_fit_lead",
    "model_label",
    "one_sided_note",
]

BASELINE_LABELS = {
    "mixture": "Mixture",
    "mean-lr": "Mean pooling, logistic regression",
    "max-lr": "Max pooling, logistic regression",
    "mean-max-min-lr": "Mean, max and min pooling, logistic regression",
    "boosted-trees": "Mean, max and min pooling, boosted trees",
}
ONE_SIDED = ("max", "presence", "noisy-or")  # only the second of two classes has evidence
PARTS = {"out_of_fold": "out of fold", "test": "test bags"}
_Gaps = Mapping[str, Sequence[float | None]]  # differences of AUROC to each baseline, best first


def model_label(name: str) -> str:
    """What a model of a cross-fitted run is called on pages.

    Example:
        >>> model_label("max-lr"), model_label("lvml")
        ('Max pooling, logistic regression', 'LVML')
    """
    return BASELINE_LABELS.get(name) or label(name)


def cross_fit_context(run: Run) -> dict[str, Any]:
    """What the template of a cross-fitted run needs beyond that of any fit."""
    manifest = run.manifest
    scores: Mapping[str, Any] = manifest.get("scores", {})
    weights = manifest.get("weights", {})
    tables = {
        words: [_row(name, entry[part], entry["kind"], weights) for name, entry in scores.items()]
        for part, words in PARTS.items()
        if scores and part in next(iter(scores.values()))
    }
    has_test = "test bags" in tables
    attention = model_card(run)["attention"] if scores else {}
    return {
        "lead": cross_fit_lead(manifest) if scores else "",
        "notes": _notes(run) if scores else [],
        "verdict": attention if attention.get("verdict") else None,
        "card": CARD_MARKDOWN if (run.path / CARD_MARKDOWN).exists() else "",
        "rows": list(scores),
        "tables": tables,
        "headings": [heading for heading, _, _ in COLUMNS.values()],
        "has_colour": has_colour,
        "charts": _charts(run) if scores else {},
        "training": _training(manifest),
        "curves": [],
        "gallery_title": "Test bags"
        if has_test
        else "Bags of the first fold, read by models that were not trained on them",
    }


def cross_fit_lead(manifest: Mapping[str, Any]) -> str:
    """First the mixture and attention against the best baseline without attention; then numbers."""
    comparison = manifest["comparison"]
    gaps: _Gaps = comparison["of_mixture"]
    best, attention = comparison["baseline"], comparison["attention"]
    which = f"{model_label(best)}{', the trivial one' if best == MEAN else ''}"
    areas = [
        f"the mixture {_area(manifest, 'mixture')}",
        f"that baseline {_area(manifest, best)} (difference {_signed(gaps[best])})",
        f"{model_label(attention)} {_area(manifest, attention)} (difference from that baseline "
        f"{_signed(comparison['difference'])})",
    ]
    if best != MEAN:
        areas.append(
            f"the trivial baseline ({model_label(MEAN)}) {_area(manifest, MEAN)} (difference of "
            f"the mixture from it {_signed(gaps[MEAN])})"
        )
    return (
        f"The mixture, which predicts new bags, ranks these bags {_compared(gaps[best])} the best "
        f"of {len(gaps)} baselines without attention ({which}), {_attention_clause(comparison)} "
        f"AUROC: {'; '.join(areas)}."
    )


def _attention_clause(comparison: Mapping[str, Any]) -> str:
    """The end of the first sentence: the best attention model against the best baseline."""
    alone = f"the best attention model alone ({model_label(comparison['attention'])})"
    if not comparison["as_good"]:
        return f"and {alone} ranks them better than that baseline."
    high = comparison["difference"][2]
    compared = "better" if high is not None and high < 0 else "not clearly worse"
    return (
        f"which is {compared} than {alone}: here attention is of use to see which segments matter, "
        "not to rank bags."
    )


def _accuracy_note(manifest: Mapping[str, Any]) -> str:
    mixture = manifest["scores"]["mixture"]["out_of_fold"]
    accuracy = score_cell(mixture["balanced_accuracy"], 100, 1)
    chance = 100 / len(manifest["classes"])
    return (
        f"The balanced accuracy of the mixture is {accuracy} % out of fold; guessing gives "
        f"{chance:.1f} %."
    )


def _compared(difference: Sequence[float | None]) -> str:
    """In words whether an interval of a difference lies above, around or below 0.

    Example:
        >>> _compared([0.1, 0.05, 0.15]), _compared([0.01, -0.02, 0.04])
        ('better than', 'not clearly better than')
    """
    mean, low, high = difference
    if low is not None and low > 0:
        return "better than"
    if high is not None and high < 0:
        return "worse than"
    return "not clearly better than" if (mean or 0) >= 0 else "not clearly worse than"


def _area(manifest: Mapping[str, Any], name: str) -> str:
    return f"{manifest['scores'][name]['out_of_fold']['auroc'][0]:.3f}"


def _signed(difference: Sequence[float | None]) -> str:
    mean, low, high = difference
    if mean is None or low is None or high is None:
        return "–" if mean is None else f"{mean:+.3f}"
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


def one_sided_note(run: Run) -> str:
    """Scores of the models that let no segment vote for the classes without evidence.

    Args:
        run: A finished cross-fitted run, examined or not.
    """
    manifest = run.manifest
    scores, classes = manifest["scores"], manifest["classes"]
    declared = tuple(manifest["config"].get("absent", ()))
    absent = declared or ((classes[0],) if len(classes) == 2 else ())
    suggested = model_card(run)["attention"].get("without_evidence", ())
    sentences = []
    one_sided = [name for name in ONE_SIDED if name in scores]
    if absent and one_sided:
        parts = [f"{model_label(n)} {scores[n]['out_of_fold']['auroc'][0]:.3f}" for n in one_sided]
        sentences.append(
            f"{_premise(absent, declared, suggested)} only segments for "
            f"{_quoted([name for name in classes if name not in absent])} should count. AUROC of "
            f"the models with this one-sided reading: {', '.join(parts)}; of the mixture, in which "
            f"all classes may have evidence: {scores['mixture']['out_of_fold']['auroc'][0]:.3f}."
        )
    other = [name for name in suggested if name not in absent]
    if other and len(other) < len(classes):
        sentences.append(
            f"The segments suggest that {_quoted(other)} means that nothing is there: "
            f"--absent '{','.join(other)}' fits the one-sided reading for it."
        )
    return " ".join(sentences)


def _premise(absent: Sequence[str], declared: Sequence[str], suggested: Sequence[str]) -> str:
    """That classes have no evidence: declared, suggested by the verdict, or supposed."""
    if declared:
        return f"{_quoted(absent)} was declared to mean that nothing is there, so"
    if set(absent) <= set(suggested):
        return f"The segments suggest that {_quoted(absent)} means that nothing is there; then"
    return f"If {_quoted(absent)} means that nothing is there,"


def _quoted(names: Sequence[str]) -> str:
    """Names of classes in a sentence.

    Example:
        >>> _quoted(["a", "b", "c"])
        "'a', 'b' and 'c'"
    """
    quoted = [f"'{name}'" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _notes(run: Run) -> list[str]:
    manifest = run.manifest
    return [
        _accuracy_note(manifest),
        unmapped_note(manifest.get("weights", {})),
        *_decision_notes(manifest),
        one_sided_note(run),
    ]


def _decision_notes(manifest: Mapping[str, Any]) -> list[str]:
    """How new bags are decided, where a threshold or an abstention was chosen."""
    notes = []
    if chosen := manifest.get("threshold"):
        notes.append(
            f"'{manifest['classes'][1]}' is predicted from probability {chosen['value']:.3f} on "
            f"({chosen['rule']}); out of fold, sensitivity {chosen['sensitivity']:.3f} and "
            f"specificity {chosen['specificity']:.3f}."
        )
    if entry := manifest.get("abstention"):
        shares = zip(manifest["classes"], entry["coverage"], strict=True)
        covered = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares)
        notes.append(
            f"A bag is answered if exactly one class cannot be excluded; at most "
            f"{100 * entry['error']:g} % of the bags of a class should lose it. Out of fold the "
            f"class was not excluded for {covered}; {100 * entry['answered']:.1f} % of the bags "
            f"were answered, {100 * entry['wrong_answer']:.1f} % of all wrongly."
        )
    return notes


def _row(name: str, scores: Mapping[str, Any], kind: str, weights: Any) -> dict[str, Any]:
    cells = [
        score_cell(scores[key], factor, places) for key, (_, factor, places) in COLUMNS.items()
    ]
    return {
        "name": name,
        "label": model_label(name),
        "baseline": kind == "baseline",
        "weight": f"{weights[name]:.2f}" if name in weights else "",
        "cells": cells,
    }


def _training(manifest: Mapping[str, Any]) -> str:
    """How training was stopped, in a sentence."""
    stopped = [entry.get("early stopping") for entry in manifest.get("resolved", {}).values()]
    if not stopped:
        return ""
    if all(stopped):
        return "Training stopped early, on inner validation bags of each fold."
    return (
        "Training was short and of fixed length: inner validation bags for early stopping would "
        "have fewer than 3 bags of a class."
    )


def _charts(run: Run) -> dict[str, Any]:
    """The calibration curve and the confusion matrix of the mixture, out of fold."""
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.fit_charts import calibration_chart, confusion_chart

    path = run.path / "out_of_fold.npz"
    if not path.exists():
        return {}
    arrays = load_arrays(path)
    p, y, before = arrays["p/mixture"], arrays["y"], arrays["uncalibrated"]
    classes = run.manifest["classes"]
    return {
        "calibration": Markup(inline_svg(calibration_chart(before, p, y), "calibration")),
        "confusion": Markup(inline_svg(confusion_chart(p, y, classes), "confusion")),
    }
