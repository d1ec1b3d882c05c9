"""Stored results as Markdown tables for the README and the guide."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import label
from foveate.report.durations import run_duration
from foveate.studies.beyond.diagnosis.cells import ATTENTION, FORECAST, LEFT, VERDICTS
from foveate.studies.beyond.witness.cells import (
    CALIBRATED_SAIF,
    CALM_GAIN,
    GAIN,
    OF_ORACLE,
    RULES,
    VALIDATION,
)
from foveate.studies.reproduction import Result

__all__ = [
    "calibrated_table",
    "diagnosis_table",
    "group_table",
    "permutation_table",
    "short_table",
    "table_with_duration",
    "variants_table",
    "witness_table",
]

Cells = Mapping[tuple[str, str, str, str], Mapping[str, Any]]
MEASURED = {
    "sentences": ",.0f",
    "information, nats": ".2g",
    "of the whole table, nats": ".2g",
    "z": ",.0f",
    "lift %": ".3g",
    "sentences without %": ".0f",
}
REAL_FIRST = ("HateXplain", "CIFAR", "MNIST", "Digits")
TRAINED = {"seeds that learn %": ".0f", "steps, median": ".0f"}


def witness_table(result: Result, without: str | None = None) -> str:
    """One row per data set: SAIF of every paradigm and the oracle, and gains of the witness.

    Args:
        result: The stored study.
        without: Data sets whose names have this suffix are omitted.
    """
    cells = cells_by_key(result)
    settings = dict.fromkeys(k[:2] for k in cells if not k[1].endswith(VALIDATION))
    head = ["SAIF, %", *map(label, RULES), "above the better of LVML and hybrid",
            "the same, answers calibrated", "of the oracle's SAIF, FT"]  # fmt: skip
    lines = [
        [_name(*setting), *_row(cells, *setting)]
        for setting in settings
        if without is None or not _name(*setting).endswith(without)
    ]
    return markdown(head, lines)


def short_table(result: Result, without: str | tuple[str, ...]) -> str:
    """One row per data set, real data first: SAIF of soft, best published, witness, oracle.

    Args:
        result: The stored study of the witness.
        without: Data sets whose names have one of these suffixes are omitted.
    """
    cells = cells_by_key(result)
    settings = dict.fromkeys(k[:2] for k in cells if not k[1].endswith(VALIDATION))
    lines = []
    for setting in sorted(settings, key=lambda setting: REAL_FIRST.index(_family(setting[0]))):
        saif = {rule: cells[*setting, rule, "SAIF %"]["mean"] for rule in RULES}
        best = max(("hard", "lvml", "hybrid"), key=lambda rule: saif[rule])
        if not _name(*setting).endswith(without):
            published = f"{saif[best]:.0f} ({label(best)})"
            witness, oracle = f"{saif['witness']:.0f}", f"{saif['oracle']:.0f}"
            lines.append([_name(*setting), f"{saif['soft']:.0f}", published, witness, oracle])
    return markdown(["", "Soft", "Best of the other published", "Witness", "Oracle"], lines)


def _family(group: str) -> str:
    return next((name for name in REAL_FIRST if group.startswith(name)), REAL_FIRST[-1])


def calibrated_table(result: Result) -> str:
    """One row per data set: SAIF of calibrated predictions, and log loss, of every paradigm."""
    cells = cells_by_key(result)
    lines = [
        [_name(*setting), *(_calibrated(cells, *setting, rule) for rule in RULES)]
        for setting in dict.fromkeys(k[:2] for k in cells if k[3] == CALIBRATED_SAIF)
    ]
    return markdown(["SAIF of calibrated answers, %; log loss", *map(label, RULES)], lines)


def variants_table(result: Result) -> str:
    """One row per variant: SAIF and FT on the validation bags of every data set."""
    cells = {k: v for k, v in cells_by_key(result).items() if k[1].endswith(VALIDATION)}
    groups = list(dict.fromkeys(k[0] for k in cells))
    settings = {group: next(k[1] for k in cells if k[0] == group) for group in groups}
    lines = []
    for name in dict.fromkeys(k[2] for k in cells):
        pairs = [
            [cells.get((group, settings[group], name, f"{key} %")) for key in ("SAIF", "FT")]
            for group in groups
        ]
        lines.append([name, *(_pair(*pair) for pair in pairs)])
    return markdown(["SAIF, FT on validation bags, %", *groups], lines)


def group_table(result: Result, measures: Mapping[str, str]) -> str:
    """One row per group and name, one column per measure.

    Args:
        result: A stored study.
        measures: The measures in the table, each with its number format (".2f").
    """
    cells = cells_by_key(result)
    lines = []
    for group, setting, name in dict.fromkeys(key[:3] for key in cells):
        values = [(cells.get((group, setting, name, m)), form) for m, form in measures.items()]
        lines.append(
            [_name(group, setting), label(name), *(_format_interval(*pair) for pair in values)]
        )
    return markdown(["", "", *measures], lines)


def table_with_duration(result: Result, measures: Mapping[str, str]) -> str:
    """:func:`group_table` followed by the duration of the run."""
    return f"{group_table(result, measures)}\n\nIt took {run_duration(result['manifest'])}."


def _format_interval(cell: Mapping[str, Any] | None, form: str) -> str:
    if cell is None:
        return ""
    ends = () if cell["low"] is None else (cell["low"], cell["high"])
    spread = f" [{', '.join(format(end, form) for end in ends)}]" if ends else ""
    return f"{cell['mean']:{form}}{spread}"


def diagnosis_table(result: Result) -> str:
    """One row per corpus: measurements of the diagnosis, its verdict, and the training result."""
    cells = {(c["name"], c["measure"]): c["mean"] for c in result["cells"]}
    lines = []
    for name in dict.fromkeys(c["name"] for c in result["cells"] if c["group"] == FORECAST):
        before, after = (
            [_format_number(cells.get((name, measure)), form) for measure, form in part.items()]
            for part in (MEASURED, TRAINED)
        )
        lines.append([name, *before, VERDICTS[int(cells[name, ATTENTION])], *after])
    return markdown(["", *MEASURED, "attention", *TRAINED], lines)


def permutation_table(result: Result) -> str:
    """One column per corpus: what remains of two tables if outputs are permuted, in percent."""
    cells = {(c["measure"], c["name"]): c["mean"] for c in result["cells"]}
    names = [name for measure, name in cells if measure == LEFT[1]]
    lines = [
        [measure, *(_format_number(cells.get((measure, name)), ".2g") for name in names)]
        for measure in LEFT
    ]
    return markdown(["", *names], lines)


def _format_number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def cells_by_key(result: Result) -> Cells:
    return {(c["group"], c["setting"], c["name"], c["measure"]): c for c in result["cells"]}


def _name(group: str, setting: str) -> str:
    return f"{group}, {setting}" if setting else group


def _row(cells: Cells, group: str, setting: str) -> list[str]:
    def of(rule: str, measure: str) -> Mapping[str, Any]:
        return cells[group, setting, rule, measure]

    gains = [_format_interval(of("witness", measure), "+.1f") for measure in (GAIN, CALM_GAIN)]
    shares = (f"{of('witness', OF_ORACLE.format(key))['mean']:.1f} %" for key in ("SAIF", "FT"))
    saif = [f"{of(rule, 'SAIF %')['mean']:.1f}" for rule in RULES]
    return [*saif, *gains, ", ".join(shares)]


def _calibrated(cells: Cells, group: str, setting: str, rule: str) -> str:
    saif, loss = (
        cells[group, setting, rule, measure]["mean"] for measure in (CALIBRATED_SAIF, "log loss")
    )
    return f"{saif:.1f}; {loss:.2f}"


def _pair(saif: Mapping[str, Any] | None, ft: Mapping[str, Any] | None) -> str:
    return "" if saif is None or ft is None else f"{saif['mean']:.1f}, {ft['mean']:.1f}"


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
