"""Verdicts on attention as a table in the terminal, or as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foveate.report.sentences import places_text
from foveate.report.trust_files import TrustResults

__all__ = ["print_trust"]

SIGNS = {"good": "+", "fair": "~", "bad": "-", "unknown": "?"}
FEW = 15  # known bags below which counts are printed


def print_trust(results: TrustResults, *, as_json: bool) -> None:
    """Print verdicts, reasons and next steps, or everything as JSON."""
    if as_json:
        print(json.dumps(list(results.examinations), ensure_ascii=False))
        return
    _print_table(results)
    for line in results.advice:
        print(line)
    for examination in results.examinations:
        verdict = examination["verdict"]
        print(f"{_with_mark(results, examination)}: {verdict['grade']}. {verdict['summary']}")
        for line in _evidence_lines(examination):
            print(f"  {line}")
    for step in _next_steps(results.examinations):
        print(f"next: {step}")
    first = results.examinations[0]
    print(f"segments of a bag taken to be evidence: {first['relevant']} ({first['relevant_from']})")
    if first["audited"]["bags"] < first["audited"]["of_bags"]:
        print("audited: {bags} of {of_bags} bags, drawn at random".format(**first["audited"]))
    print(f"page: {results.page}")


def _evidence_lines(examination: Mapping[str, Any]) -> Iterator[str]:
    """Notes, the six answers, reasons that these do not hold already, and examples of kinds."""
    yield from examination["notes"]
    for answer in examination["answers"].values():
        yield f"{SIGNS[answer['mark']]} {answer['question']} {answer['text']}"
    verdict, texts = examination["verdict"], [a["text"] for a in examination["answers"].values()]
    already = [verdict["summary"], *texts]
    for reason in verdict["why"]:
        if not any(reason in text for text in already):
            yield f"- {reason}"
    yield from _kind_examples(examination)


def _next_steps(examinations: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What to do next, once; after the names of the models that it is for, if not for all."""
    models: dict[str, list[str]] = {}
    for examination in examinations:
        for step in examination["verdict"]["next"]:
            models.setdefault(step, []).append(examination["paradigm"])
    for step, names in models.items():
        yield step if len(names) == len(examinations) else f"{', '.join(names)}: {step}"


def _kind_examples(examination: Mapping[str, Any]) -> Iterator[str]:
    """Segments of each kind of evidence, for classes that have two and none was chosen."""
    for entry in examination["by_class"]:
        kinds = entry["answers"]["kinds"]
        if kinds["several"] and not kinds["chosen"]:
            for (name, examples), share in zip(
                kinds["examples"].items(), kinds["attended"], strict=True
            ):
                attended = f"looked at in {100 * share:.0f} % of bags"
                yield f"kind {name} of '{entry['name']}' ({attended}): {places_text(examples)}"


def _print_table(results: TrustResults) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"can the attention of {escape(results.name)} be trusted?")
    first = "paradigm" if results.chosen or len(results.examinations) > 1 else "model"
    for heading in (first, "class", "verdict", "accuracy, %", "FT, estimated %", "measured %"):
        table.add_column(heading, justify="right" if "%" in heading else "left")
    for examination in results.examinations:
        for entry in examination["by_class"]:
            cells = [_percent(entry["accuracy"]), _estimated(entry), _measured(entry)]
            caption = (
                escape(_with_mark(results, examination))
                if entry is examination["by_class"][0]
                else ""
            )
            table.add_row(caption, escape(entry["name"]), entry["verdict"]["grade"], *cells)
        table.add_section()
    Console(width=None if Console().is_terminal else 140).print(table)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}"


def _estimated(entry: Mapping[str, Any]) -> str:
    """Estimated FT with its chance level; a dash where nothing is estimated."""
    value = _percent(entry["estimate"])
    return value if value == "–" else f"{value} (chance {_percent(entry['chance'])})"


def _measured(entry: Mapping[str, Any]) -> str:
    """Measured FT with its chance level, as a count where few bags are known."""
    if entry["measured"] is None:
        return "–"
    mean, count = entry["measured"]["mean"], entry["known"]
    value = f"{mean * count:.0f} of {count}" if count < FEW else _percent(mean)
    return f"{value} (chance {_percent(entry['measured_chance'])})"


def _with_mark(results: TrustResults, examination: Mapping[str, Any]) -> str:
    """A paradigm's name, with a star where it is the one that the fit chose."""
    name: str = examination["paradigm"]
    return f"{name} *" if name == results.chosen else name
