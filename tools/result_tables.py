"""Stored results in a few lines of Markdown, for the README and the guide."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import label
from foveate.report.durations import time_of
from foveate.studies.beyond.diagnosis.cells import ATTENTION, LEFT, SAID, VERDICTS
from foveate.studies.beyond.witness.cells import CALM, CALM_GAIN, GAIN, REACHED, RULES, VALIDATION
from foveate.studies.reproduction import Result

__all__ = [
    "calm_table",
    "group_table",
    "left_table",
    "said_table",
    "timed_table",
    "tried_table",
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
BECAME = {"seeds that learn %": ".0f", "steps, median": ".0f"}


def witness_table(result: Result, without: str | None = None) -> str:
    """A line a set: SAIF of every paradigm and the oracle, and the witness held against them.

    Args:
        result: The stored study.
        without: Sets whose names end so are left out.
    """
    cells = _by_key(result)
    places = dict.fromkeys(k[:2] for k in cells if not k[1].endswith(VALIDATION))
    head = ["SAIF, %", *map(label, RULES), "above the better of LVML and hybrid",
            "the same, answers calibrated", "of the oracle's SAIF, FT"]  # fmt: skip
    lines = [
        [_name(*place), *_row(cells, *place)]
        for place in places
        if without is None or not _name(*place).endswith(without)
    ]
    return _markdown(head, lines)


def calm_table(result: Result) -> str:
    """A line a set: SAIF of calibrated answers, and log loss, of every paradigm and the oracle."""
    cells = _by_key(result)
    lines = [
        [_name(*place), *(_calm(cells, *place, rule) for rule in RULES)]
        for place in dict.fromkeys(k[:2] for k in cells if k[3] == CALM)
    ]
    return _markdown(["SAIF of calibrated answers, %; log loss", *map(label, RULES)], lines)


def tried_table(result: Result) -> str:
    """A line a variant: SAIF and FT on the validation bags of every set it was tried on."""
    cells = {k: v for k, v in _by_key(result).items() if k[1].endswith(VALIDATION)}
    groups = list(dict.fromkeys(k[0] for k in cells))
    places = {group: next(k[1] for k in cells if k[0] == group) for group in groups}
    lines = []
    for name in dict.fromkeys(k[2] for k in cells):
        pairs = [
            [cells.get((group, places[group], name, f"{key} %")) for key in ("SAIF", "FT")]
            for group in groups
        ]
        lines.append([name, *(_pair(*pair) for pair in pairs)])
    return _markdown(["SAIF, FT on validation bags, %", *groups], lines)


def group_table(result: Result, measures: Mapping[str, str]) -> str:
    """A line a group and name, a column a measure.

    Args:
        result: A stored study.
        measures: Its measures that are shown, each with how a number is written (".2f").
    """
    cells = _by_key(result)
    lines = []
    for group, setting, name in dict.fromkeys(key[:3] for key in cells):
        own = [(cells.get((group, setting, name, m)), form) for m, form in measures.items()]
        lines.append([_name(group, setting), label(name), *(_written(*pair) for pair in own)])
    return _markdown(["", "", *measures], lines)


def timed_table(result: Result, measures: Mapping[str, str]) -> str:
    """:func:`group_table`, and below it how long that took."""
    return f"{group_table(result, measures)}\n\nIt took {time_of(result['manifest'])}."


def _written(cell: Mapping[str, Any] | None, form: str) -> str:
    if cell is None:
        return ""
    ends = () if cell["low"] is None else (cell["low"], cell["high"])
    spread = f" [{', '.join(format(end, form) for end in ends)}]" if ends else ""
    return f"{cell['mean']:{form}}{spread}"


def said_table(result: Result) -> str:
    """A line a corpus: what the diagnosis measures, what it says, and what became of it."""
    cells = {(c["name"], c["measure"]): c["mean"] for c in result["cells"]}
    lines = []
    for name in dict.fromkeys(c["name"] for c in result["cells"] if c["group"] == SAID):
        before, after = (
            [_plain(cells.get((name, measure)), form) for measure, form in part.items()]
            for part in (MEASURED, BECAME)
        )
        lines.append([name, *before, VERDICTS[int(cells[name, ATTENTION])], *after])
    return _markdown(["", *MEASURED, "attention", *BECAME], lines)


def left_table(result: Result) -> str:
    """A column a corpus: what is left of two tables when outputs are permuted, in per cent."""
    cells = {(c["measure"], c["name"]): c["mean"] for c in result["cells"]}
    names = [name for measure, name in cells if measure == LEFT[1]]
    lines = [
        [measure, *(_plain(cells.get((measure, name)), ".2g") for name in names)]
        for measure in LEFT
    ]
    return _markdown(["", *names], lines)


def _plain(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _by_key(result: Result) -> Cells:
    return {(c["group"], c["setting"], c["name"], c["measure"]): c for c in result["cells"]}


def _name(group: str, setting: str) -> str:
    return f"{group}, {setting}" if setting else group


def _row(cells: Cells, group: str, setting: str) -> list[str]:
    def of(rule: str, measure: str) -> Mapping[str, Any]:
        return cells[group, setting, rule, measure]

    gains = [_written(of("witness", measure), "+.1f") for measure in (GAIN, CALM_GAIN)]
    shares = (f"{of('witness', REACHED.format(key))['mean']:.1f} %" for key in ("SAIF", "FT"))
    saif = [f"{of(rule, 'SAIF %')['mean']:.1f}" for rule in RULES]
    return [*saif, *gains, ", ".join(shares)]


def _calm(cells: Cells, group: str, setting: str, rule: str) -> str:
    saif, loss = (cells[group, setting, rule, measure]["mean"] for measure in (CALM, "log loss"))
    return f"{saif:.1f}; {loss:.2f}"


def _pair(saif: Mapping[str, Any] | None, ft: Mapping[str, Any] | None) -> str:
    return "" if saif is None or ft is None else f"{saif['mean']:.1f}, {ft['mean']:.1f}"


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
