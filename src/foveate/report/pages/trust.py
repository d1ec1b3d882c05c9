"""The page of a verdict on attention: verdict, six questions, bags, next steps; then evidence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foveate.charts.palette import colour, label
from foveate.report.drawing.attention_bars import attention_bars
from foveate.report.rendering import page_writer, render_page
from foveate.report.sentences import places_text, segment_text
from foveate.trust.estimated_ft import INTERVAL_HELD

__all__ = ["MEASURES", "trust_page", "write_trust_page"]

LEVELS = {"trust": "good", "trust with care": "warn", "do not trust": "bad", "cannot tell": "none"}

MARK_TEXT = {
    "good": ("✓", "good"),
    "fair": ("~", "warn"),
    "bad": ("✗", "bad"),
    "unknown": ("?", "none"),
}
OUTCOMES = {
    "right for the right reason": ("Right", "good"),
    "right, but looking elsewhere": ("Lucky", "warn"),
    "right, for a reason that is not known": ("Right", "none"),
    "wrong": ("Wrong", "bad"),
}
RELEVANT_FROM = {
    "declared": "as declared",
    "known": "the median of bags whose relevance is known",
    "inferred": "inferred: the median of bags in which the auditor sees evidence",
    "assumed": "assumed, since the auditor sees no evidence",
}
FEW = 15  # known bags below which counts are shown

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


def trust_page(stored: Mapping[str, Any], *, about: str) -> str:
    """The page as text.

    Args:
        stored: What ``trust.json`` holds: ``source``, ``command``, ``found``, a paradigm each, and
            ``chosen``, the one that a fit chose, or that has the largest weight in its ``mixture``.
        about: Whose attention: "on DATA" of a run, "of MODEL" of a model from elsewhere.
    """
    return render_page(
        "trust.html",
        title=f"Can the attention {about} be trusted?",
        source=stored["source"],
        command=stored["command"],
        advice=stored.get("advice", []),
        held=_percent(INTERVAL_HELD),
        chosen=", which has the largest weight in the fit's mixture"
        if stored.get("mixture")
        else ", which the fit chose",
        views=[
            _view(examination) | {"chosen": examination["paradigm"] == stored.get("chosen")}
            for examination in stored["found"]
        ],
    )


write_trust_page = page_writer(trust_page)


def _view(examination: Mapping[str, Any]) -> dict[str, Any]:
    """What the template shows of one paradigm."""
    from markupsafe import Markup

    from foveate.charts.render import inline_svg
    from foveate.report.drawing.trust_charts import trust_charts

    paradigm = examination["paradigm"]
    charts = trust_charts(examination)
    where = examination["localisation"]
    return {
        "anchor": f"p-{paradigm}",
        "label": label(paradigm),
        "colour": colour(paradigm),
        "level": LEVELS[examination["verdict"]["grade"]],
        "verdict": examination["verdict"],
        "score": _beside_chance(_percent(examination["score"]), _chance(examination, "chance")),
        "accuracy": _interval(examination["evidence"]["accuracy"]),
        "measured": _beside_chance(
            _interval(where["ft"]["all"]), _chance(examination, "measured_chance")
        )
        if where
        else "–",
        "members": examination["members"],
        "bags": examination["bags"],
        "relevant": examination["relevant"],
        "relevant_from": RELEVANT_FROM[examination.get("relevant_from", "declared")],
        "sampled": _sampled(examination.get("audited")),
        "notes": examination.get("notes", []),
        "questions": [_question(answer) for answer in examination.get("answers", {}).values()],
        "examples": [
            _example(bag, examination["classes"]) for bag in examination.get("examples", [])
        ],
        "kinds": [
            kind for class_evidence in examination["by_class"] for kind in _kinds(class_evidence)
        ],
        "classes": [_class(class_evidence) for class_evidence in examination["by_class"]],
        "evidence": _evidence(examination["evidence"]),
        "measures": _measures(where) if where else [],
        "known": where["bags"] if where else 0,
        "names": examination["classes"],
        "figures": {k: Markup(inline_svg(v, f"{paradigm}-{k}")) for k, v in charts.items()},
    }


def _chance(examination: Mapping[str, Any], key: str) -> float | None:
    """FT of a random segment, mean over the classes that have a number, weighed by their bags."""
    pairs = [(row.get(key), row["bags"]) for row in examination["by_class"]]
    known = [(value, bags) for value, bags in pairs if value is not None]
    total = sum(bags for _, bags in known)
    return sum(value * bags for value, bags in known) / total if total else None


def _inferred(class_evidence: Mapping[str, Any]) -> str:
    """What was inferred of the evidence of a class, and why; empty if the auditor sees none."""
    answers = class_evidence.get("answers", {})
    seen = answers.get("visible", {}).get("visible")
    evidence = answers.get("evidence", {})
    if not evidence or evidence["declared"]:  # the summary says so already
        return ""
    return str(evidence["why"]) if (seen or evidence["presence"] != "some") else ""


def _class(class_evidence: Mapping[str, Any]) -> dict[str, Any]:
    verdict = class_evidence["verdict"]
    return {
        "name": class_evidence["name"],
        "grade": verdict["grade"],
        "level": LEVELS[verdict["grade"]],
        "summary": verdict["summary"],
        "inferred": _inferred(class_evidence),
        "bags": class_evidence["bags"],
        "accuracy": _percent(class_evidence["accuracy"]),
        "estimate": _estimated(class_evidence),
        "measured": _measured(class_evidence),
        "model_score": "–"
        if class_evidence.get("model_score") is None
        else f"{class_evidence['model_score']:.2f}",
        "seeds": _percent(class_evidence["marks"]["seeds"]),
    }


def _beside_chance(value: str, chance: float | None) -> str:
    return value if value == "–" or chance is None else f"{value}, chance {_percent(chance)}"


def _estimated(class_evidence: Mapping[str, Any]) -> str:
    """Estimated FT, its interval, and its chance level."""
    ends = {
        "mean": class_evidence["estimate"],
        "low": class_evidence.get("low"),
        "high": class_evidence.get("high"),
    }
    return _beside_chance(_interval(ends), class_evidence.get("chance"))


def _measured(class_evidence: Mapping[str, Any]) -> str:
    """Measured FT: a count where few bags are known, its interval, and its chance level."""
    if not class_evidence["measured"]:
        return "–"
    known, text = class_evidence["known"], _interval(class_evidence["measured"])
    if known < FEW:
        text = f"{class_evidence['measured']['mean'] * known:.0f} of {known}, {text}"
    return _beside_chance(text, class_evidence.get("measured_chance"))


def _question(answer: Mapping[str, Any]) -> dict[str, Any]:
    sign, level = MARK_TEXT[answer["mark"]]
    return {**answer, "sign": sign, "level": level}


def _example(bag: Mapping[str, Any], classes: Sequence[str]) -> dict[str, Any]:
    """A bag by its name: what the models make of it, in words and as a picture."""
    predicted, true = classes[bag["predicted"]], classes[bag["class"]]
    text = f"{bag['kind']}: '{true}'" + ("" if predicted == true else f" read as '{predicted}'")
    seen = segment_text(bag["segment"], bag.get("word"))
    if bag.get("known"):
        seen += ", which is relevant" if bag["evidence"] else ", which is not relevant"
    elif bag["evidence"] is not None:  # else what is evidence is not settled
        seen += f", evidence with probability {bag['evidence']:.2f}"
    outcome, level = OUTCOMES[bag["kind"]]
    segments = bag.get("segments")  # verdicts of earlier versions have none
    picture = attention_bars(segments, known=bool(bag.get("known"))) if segments else ""
    words = {"outcome": outcome, "level": level, "meaning": f"{text}; looks at {seen}"}
    return {"id": bag["bag"], "picture": picture, **words}


def _kinds(class_evidence: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The kinds of evidence of a class, where there are two and none was chosen."""
    kinds = class_evidence.get("answers", {}).get("kinds")
    if not kinds or not kinds["several"] or kinds["chosen"]:
        return
    shares = dict(zip(("A", "B"), kinds["attended"], strict=True))
    rows = [(name, places_text(places)) for name, places in kinds["examples"].items()]
    attended = " and ".join(f"{_percent(share)} at kind {name}" for name, share in shares.items())
    text = (
        f"The models look {attended}; answer with --evidence '{class_evidence['name']}=A' or '=B'."
    )
    yield {"name": class_evidence["name"], "attended": text, "rows": rows}


def _sampled(audited: Mapping[str, int] | None) -> str:
    """How many bags were audited, where not all were."""
    if not audited or audited["bags"] >= audited["of_bags"]:
        return ""
    return f"Audited: {audited['bags']} of {audited['of_bags']} bags, drawn at random."


def _evidence(evidence: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Rows of name, what it is, value, control."""
    rows = []
    for key, (title, about, control) in EVIDENCE.items():
        if key in evidence and evidence[key]["mean"] is not None:
            control_text = _number(evidence[control]) if control and control in evidence else ""
            rows.append((title, about, _number(evidence[key]), control_text))
    return rows


def _measures(where: Mapping[str, Any]) -> list[tuple[str, str, list[str]]]:
    rows = []
    for key, (title, about) in MEASURES.items():
        numbers = where[key]
        extra = f"; pooled over all bags {numbers['pooled']:.3f}" if numbers.get("pooled") else ""
        cells = [_number(numbers["all"]), *(_number(part) for part in numbers["classes"])]
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
