"""The page of a verdict on attention: the verdict first, then the evidence, then what to do."""

from collections.abc import Mapping
from typing import Any

from foveate.charts.palette import colour, label
from foveate.report.rendering import page_writer, render_page

__all__ = ["MEASURES", "trust_page", "write_trust_page"]

LEVELS = {"trust": "good", "trust with care": "warn", "do not trust": "bad", "cannot tell": "none"}

EVIDENCE = {
    "accuracy": ("Accuracy", "as the models are read", None),
    "top_accuracy": ("Top segment alone", "accuracy when only the most attended is read", None),
    "mixed_accuracy": ("Mixture", "accuracy when the mixture of segments is read", None),
    "gap": ("Gap", "between the two readings: total variation of their probabilities", None),
    "even_accuracy": ("Uniform attention", "accuracy with the same weight on all segments", None),
    "sufficiency": ("Sufficiency", "fall of the answer with only top segments; low is good", None),
    "comprehensiveness": ("Comprehensiveness", "fall without top segments; high is good", None),
    "deletion": ("Deletion", "area under the left curve; low is good", "deletion_random"),
    "insertion": ("Insertion", "area under the right curve; high is good", "insertion_random"),
    "agreement": ("Agreement with β", "the top is among the 5 % best for g", "agreement_random"),
    "entropy": ("Entropy", "of attention, 1 is uniform", None),
    "seeds_top": ("Seeds, top", "pairs of models with the same top segment", None),
    "seeds_rank": ("Seeds, ranks", "rank correlation of attention between models", None),
    "unattended_accuracy": ("Unattended, by g", "accuracy of g's mean prediction there", None),
    "probe_accuracy": ("Unattended, by a probe", "of a fresh classifier", "guess_accuracy"),
}

MEASURES = {
    "ft": ("FT", "a relevant segment has strictly the most attention"),
    "saif": ("SAIF", "attention on the relevant and probability of the class both at least .8"),
    "pointing_game": ("Pointing game", "the top segment is relevant; ties are shared"),
    "segment_auroc": ("Segment AUROC", "within bags"),
    "average_precision": ("Average precision", "within bags"),
    "froc": ("FROC", "found at ¼, ½, 1, 2, 4, 8 false positives a bag, averaged"),
    "relevance_mass": ("Relevance mass", "attention on relevant segments"),
    "f1": ("F1 at .5", "segments with attention of at least .5 are marked"),
    "iou": ("IoU at .5", "the same"),
    "f1_best_k": ("F1 at best k", "the one number of top segments that suits best"),
    "iou_best_k": ("IoU at best k", "the same"),
}


def trust_page(kept: Mapping[str, Any], *, name: str) -> str:
    """The page as text.

    Args:
        kept: What ``trust.json`` holds: ``source``, ``command``, ``found``, a paradigm each, and
            ``chosen``, the one that a fit chose.
        name: What the models were trained on.
    """
    return render_page(
        "trust.html",
        title=f"Can the attention on {name} be trusted?",
        source=kept["source"],
        command=kept["command"],
        views=[
            _view(found) | {"chosen": found["paradigm"] == kept.get("chosen")}
            for found in kept["found"]
        ],
    )


write_trust_page = page_writer(trust_page)


def _view(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows of one paradigm."""
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.trust_charts import trust_charts

    paradigm = found["paradigm"]
    charts = trust_charts(found)
    where = found["localisation"]
    return {
        "anchor": f"p-{paradigm}",
        "label": label(paradigm),
        "colour": colour(paradigm),
        "level": LEVELS[found["verdict"]["grade"]],
        "verdict": found["verdict"],
        "score": _percent(found["score"]),
        "accuracy": _interval(found["evidence"]["accuracy"]),
        "measured": _interval(where["ft"]["all"]) if where else "–",
        "members": found["members"],
        "bags": found["bags"],
        "relevant": found["relevant"],
        "classes": [_class(own) for own in found["by_class"]],
        "evidence": _evidence(found["evidence"]),
        "measures": _measures(where) if where else [],
        "known": where["bags"] if where else 0,
        "names": found["classes"],
        "figures": {k: Markup(inline_svg(v, f"{paradigm}-{k}")) for k, v in charts.items()},
    }


def _class(own: Mapping[str, Any]) -> dict[str, Any]:
    verdict = own["verdict"]
    return {
        "name": own["name"],
        "grade": verdict["grade"],
        "level": LEVELS[verdict["grade"]],
        "said": verdict["said"],
        "bags": own["bags"],
        "accuracy": _percent(own["accuracy"]),
        "estimate": "–" if verdict["grade"] == "cannot tell" else _percent(own["estimate"]),
        "measured": _interval(own["measured"]) if own["measured"] else "–",
        "unattended": "–" if own["unattended"] is None else f"{own['unattended']:.2f}",
        "seeds": _percent(own["marks"]["seeds"]),
    }


def _evidence(evidence: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows of name, what it is, value, control."""
    rows = []
    for key, (title, about, control) in EVIDENCE.items():
        if key in evidence and evidence[key]["mean"] is not None:
            beside = _number(evidence[control]) if control and control in evidence else ""
            rows.append((title, about, _number(evidence[key]), beside))
    return rows


def _measures(where: Mapping[str, Any]) -> list[tuple[str, str, list[str]]]:
    rows = []
    for key, (title, about) in MEASURES.items():
        own = where[key]
        extra = f"; pooled over all bags {own['pooled']:.3f}" if own.get("pooled") else ""
        cells = [_number(own["all"]), *(_number(part) for part in own["classes"])]
        rows.append((title, about + extra, cells))
    return rows


def _number(value: Mapping[str, Any]) -> str:
    if value["mean"] is None:
        return "–"
    mean, *ends = (
        None if value[key] is None else f"{value[key]:.2f}".replace("-0.00", "0.00")
        for key in ("mean", "low", "high")
    )
    return f"{mean}" if ends[0] is None else f"{mean} [{ends[0]}, {ends[1]}]"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _interval(value: Mapping[str, Any]) -> str:
    if value["mean"] is None:
        return "–"
    spread = (
        "" if value["low"] is None else f" [{100 * value['low']:.0f}, {100 * value['high']:.0f}]"
    )
    return f"{100 * value['mean']:.0f} %{spread}"
