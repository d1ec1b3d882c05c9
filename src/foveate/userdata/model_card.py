"""The model card of a fit: what the model is, how good it is, and what it must not be used for.

Written to ``model_card.md`` and ``model_card.json`` of the run with every fit, after the headings
of Mitchell et al. (2019), "Model cards for model reporting".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.records.checksums import read_json, seal_json
from foveate.records.record import write_atomically
from foveate.records.runs import Run
from foveate.userdata.mixture import unmapped_note

__all__ = ["CARD_JSON", "CARD_MARKDOWN", "model_card", "write_model_card"]

CARD_JSON, CARD_MARKDOWN = "model_card.json", "model_card.md"
MEASURES = {
    "balanced_accuracy": "balanced accuracy",
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "log_loss": "log loss",
    "calibration_error": "calibration error",
}
MARKDOWN_CHARACTERS = "\\`*_{}[]<>#|"


def model_card(run: Run) -> dict[str, Any]:
    """The model card of a finished fit, for JSON.

    Args:
        run: The run; its manifest has scores and choice.
    """
    manifest = run.manifest
    return {
        "name": manifest["label"],
        "run": run.path.resolve().name,
        "created": manifest["created"],
        "versions": manifest["versions"],
        "model": _model(run),
        "intended_use": _intended_use(manifest),
        "data": _data(manifest),
        "evaluation": _evaluation(manifest),
        "decisions": _decisions(manifest),
        "attention": _attention(run),
        "limits": _limits(manifest),
        "settings": manifest["config"],
        "command": manifest.get("command") or None,
    }


def write_model_card(run: Run) -> None:
    """Write the model card of a finished fit as JSON and Markdown, each atomically."""
    card = model_card(run)
    page = _markdown(card).encode()
    write_atomically(run.path / CARD_MARKDOWN, page)
    write_atomically(run.path / CARD_JSON, seal_json(card, indent=1))


def _model(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    chosen, config = manifest["chosen"], manifest["config"]
    folds = config.get("folds", 1)
    used = manifest.get("weights") or {chosen: 1.0}
    members = len(manifest["seeds"]) * (folds * config.get("repeats", 1) if folds > 1 else 1)
    return {
        "chosen": chosen,
        "rule": manifest["rule"],
        "weights": used,
        "members_of_each": members,
        "parameters_of_a_member": {
            name: entry["parameters"] for name, entry in manifest["resolved"].items()
        },
    }


def _intended_use(manifest: Mapping[str, Any]) -> str:
    return (
        f"Predicts one of the classes {', '.join(manifest['classes'])} for bags of the same kind, "
        f"from the same source, as {manifest['data']['source']}, and says which segments the "
        "prediction rests on."
    )


def _data(manifest: Mapping[str, Any]) -> dict[str, Any]:
    sizes = manifest["sizes"]
    names = ("bags", "segments", "shortest", "longest", "groups", "split", "bags of class")
    return {
        "source": manifest["data"]["source"],
        "kind": manifest["data"]["kind"],
        "sha256": manifest["data"]["fingerprint"],
        **{name: sizes[name] for name in names},
        "missing_cells": manifest.get("missing", {}),
        "warnings": [*manifest.get("warnings", ()), *manifest.get("forced", ())],
    }


def _evaluation(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Scores on bags that the scored models were not trained on."""
    scores = manifest["scores"]
    entry = scores[manifest["chosen"]]
    parts = [part for part in ("out_of_fold", "test") if part in entry]
    result: dict[str, Any] = {
        "intervals": "95 % bootstrap over bags, groups undivided",
        "scores": {part: {name: entry[part][name] for name in MEASURES} for part in parts},
        "auroc_of_all": {
            name: parts_scores[parts[0]]["auroc"][0] for name, parts_scores in scores.items()
        },
    }
    if "comparison" in manifest:
        result["comparison"] = manifest["comparison"]
    if "recall" in manifest:
        result["recall"] = dict(zip(manifest["classes"], manifest["recall"], strict=True))
    return result


def _decisions(manifest: Mapping[str, Any]) -> dict[str, Any]:
    present = {name: manifest[name] for name in ("threshold", "abstention") if name in manifest}
    return present or {"rule": "the most probable class"}


def _attention(run: Run) -> dict[str, Any]:
    """The verdict of ``foveate trust``, if there is one."""
    path = run.path / "trust.json"
    if not path.exists():
        return {"verdict": None, "next": f"foveate trust {run.path.name}"}
    examined = read_json(path)["found"][0]
    return {
        "paradigm": examined["paradigm"],
        "verdict": examined["verdict"]["grade"],
        "summary": examined["verdict"]["summary"],
        "by_class": {entry["name"]: entry["verdict"]["grade"] for entry in examined["by_class"]},
        "without_evidence": [
            entry["name"] for entry in examined["by_class"] if entry.get("presence") == "nothing"
        ],
    }


def _limits(manifest: Mapping[str, Any]) -> list[str]:
    limits = [
        "Scores hold for bags that come from where the training bags came from; 'foveate predict' "
        "warns of bags that differ.",
        "Which segments decide was learnt from labels of bags: a segment that goes along with a "
        "class may be pointed at although it does not cause it.",
    ]
    comparison = manifest.get("comparison")
    if comparison is not None and comparison["as_good"]:
        limits.append(
            f"The best attention model ({comparison['attention']}) does not rank these bags "
            f"clearly better than a baseline without attention ({comparison['baseline']})."
        )
    if note := unmapped_note(manifest.get("weights") or {}):
        limits.append(note)
    if manifest["sizes"]["groups"] is None:
        limits.append(
            "No groups were named: if bags share a patient, a device or a source, the scores are "
            "too good."
        )
    return limits


def _markdown(card: Mapping[str, Any]) -> str:
    model, data, attention = card["model"], card["data"], card["attention"]
    weights = [f"{escaped(name)} {value:.2f}" for name, value in model["weights"].items()]
    verdict = attention["verdict"] or f"not examined; `{attention.get('next')}` does"
    lines = [
        f"# Model card: {escaped(card['name'])}",
        "",
        f"Fitted {card['created'][:10]} by foveate {card['versions'].get('foveate', '')}.",
        "",
        "## Model",
        f"New bags are predicted by {escaped(model['chosen'])}: {escaped(model['rule'])}.",
        "",
        f"Weights: {', '.join(weights)}; {model['members_of_each']} members of each attention "
        "model.",
        "",
        "## Intended use",
        escaped(card["intended_use"]),
        "",
        "## Data",
        *_table(("", ""), [(key, _text(value)) for key, value in data.items()]),
        "",
        "## Evaluation",
        *_scores_table(card["evaluation"]),
        "",
        "## Decisions",
        *_table(("", ""), [(key, _text(value)) for key, value in card["decisions"].items()]),
        "",
        "## Attention",
        f"Verdict: {escaped(verdict) if attention['verdict'] else verdict}. "
        f"{escaped(attention.get('summary', ''))}",
        "",
        "## Limits",
        *(f"- {escaped(limit)}" for limit in card["limits"]),
        "",
    ]
    return "\n".join(lines)


def _scores_table(evaluation: Mapping[str, Any]) -> list[str]:
    parts = evaluation["scores"]
    rows = [
        (words, *(_interval(parts[part][name]) for part in parts))
        for name, words in MEASURES.items()
    ]
    head = ("", *(part.replace("_", " ") for part in parts))
    lines = _table(head, rows)
    others = ", ".join(f"{escaped(k)} {v:.3f}" for k, v in evaluation["auroc_of_all"].items())
    lines += ["", f"Intervals: {evaluation['intervals']}. AUROC of all models: {others}."]
    if "recall" in evaluation:
        recall = ", ".join(
            f"{escaped(name)} {'–' if value is None else f'{value:.2f}'}"
            for name, value in evaluation["recall"].items()
        )
        lines += ["", f"Share of each class that is predicted right: {recall}."]
    return lines


def _interval(values: Sequence[float | None]) -> str:
    mean, low, high = values
    return f"{mean:.3f}" if low is None else f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _text(value: Any) -> str:
    """A value of the card in words.

    Example:
        >>> _text({"no": 45, "yes": [0.123456, None]}), _text([])
        ('no: 45; yes: 0.123, none', 'none')
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, float):
        return f"{value:.3f}"
    return "none" if value is None else str(value)


def escaped(text: str) -> str:
    r"""Text of a user as Markdown shows it literally, in one line.

    Example:
        >>> print(escaped("a|b <i>"))
        a\|b \<i\>
    """
    flat = " ".join(str(text).split())
    return "".join(f"\\{sign}" if sign in MARKDOWN_CHARACTERS else sign for sign in flat)
