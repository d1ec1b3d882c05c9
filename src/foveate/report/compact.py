"""Stored results in a few lines of Markdown, where a page of the docs asks for them.

A page says ``<!-- stored: NAME -->`` and ``<!-- end -->``; what stands between is made here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from foveate.experiments.diagnosis.cells import ATTENTION, LEFT, SAID, VERDICTS
from foveate.experiments.reproduction import Result
from foveate.experiments.witness.cells import GAIN, REACHED, RULES, VALIDATION
from foveate.figures.palette import label
from foveate.record import write_atomically

__all__ = [
    "group_table",
    "left_table",
    "renew",
    "renewed",
    "said_table",
    "tried_table",
    "witness_table",
]

Cells = Mapping[tuple[str, str, str, str], Mapping[str, Any]]
MARKED = re.compile(r"(?<=<!-- stored: )([\w-]+)( -->\n).*?(?=\n<!-- end -->)", re.S)
PIXELS = ", pixels"
SAYING = {
    "sentences": ",.0f",
    "information, nats": ".2g",
    "of the whole table, nats": ".2g",
    "z": ",.0f",
    "lift %": ".3g",
    "sentences without %": ".0f",
    ATTENTION: "g",
    "seeds that learn %": ".0f",
    "steps, median": ".0f",
}


def renew(place: Path, results: Sequence[Result]) -> list[Path]:
    """Renew what pages ask for: all in a folder of docs, and the README beside it.

    Args:
        place: The folder.
        results: What is stored.

    Returns:
        The pages that have changed.
    """
    changed = []
    for path in [*sorted(place.rglob("*.md")), place.parent / "README.md"]:
        text = path.read_text("utf-8") if path.exists() else ""
        if (now := renewed(text, results)) != text:
            content = now.encode()
            write_atomically(path, lambda file, content=content: file.write(content))
            changed.append(path)
    return changed


def renewed(text: str, results: Sequence[Result]) -> str:
    r"""A page with the tables it asks for; one of which nothing is stored stays as it is.

    Example:
        >>> renewed("<!-- stored: witness -->\nold\n<!-- end -->", [])
        '<!-- stored: witness -->\nold\n<!-- end -->'
    """
    kept = {(own["table"], own.get("label", "")): own for own in results if own.get("cells")}

    def made(found: re.Match[str]) -> str:
        table, label, make = MADE[found[1]]
        own = kept.get((table, label))
        return f"{found[1]}{found[2]}{make(own)}" if own else found[0]

    return MARKED.sub(made, text)


def witness_table(result: Result, without: str | None = None) -> str:
    """A line a set: SAIF of every paradigm and the oracle, and the witness held against them.

    Args:
        result: The stored study.
        without: Sets whose names end so are left out.
    """
    cells = _by_key(result)
    places = dict.fromkeys(k[:2] for k in cells if not k[1].endswith(VALIDATION))
    head = ["SAIF, %", *map(label, RULES), "above the better of LVML and hybrid",
            "of the oracle's SAIF, FT"]  # fmt: skip
    lines = [
        [_name(*place), *_row(cells, *place)]
        for place in places
        if without is None or not _name(*place).endswith(without)
    ]
    return _markdown(head, lines)


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


def _written(cell: Mapping[str, Any] | None, form: str) -> str:
    if cell is None:
        return ""
    ends = () if cell["low"] is None else (cell["low"], cell["high"])
    spread = f" [{', '.join(format(end, form) for end in ends)}]" if ends else ""
    return f"{cell['mean']:{form}}{spread}"


def said_table(result: Result) -> str:
    """A line a corpus: what the diagnosis measures, what it says, and what became of it."""
    cells = {(c["name"], c["measure"]): c["mean"] for c in result["cells"]}
    lines = [
        [name, *(_plain(cells.get((name, m)), form) for m, form in SAYING.items())]
        for name in dict.fromkeys(c["name"] for c in result["cells"] if c["group"] == SAID)
    ]
    for line in lines:
        line[1 + list(SAYING).index(ATTENTION)] = VERDICTS[int(cells[line[0], ATTENTION])]
    head = ["attention" if measure == ATTENTION else measure for measure in SAYING]
    return _markdown(["", *head], lines)


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

    gain = of("witness", GAIN)
    spread = "" if gain["low"] is None else f" [{gain['low']:+.1f}, {gain['high']:+.1f}]"
    shares = (f"{of('witness', REACHED.format(key))['mean']:.1f} %" for key in ("SAIF", "FT"))
    saif = [f"{of(rule, 'SAIF %')['mean']:.1f}" for rule in RULES]
    return [*saif, f"{gain['mean']:+.1f}{spread}", ", ".join(shares)]


def _pair(saif: Mapping[str, Any] | None, ft: Mapping[str, Any] | None) -> str:
    return "" if saif is None or ft is None else f"{saif['mean']:.1f}, {ft['mean']:.1f}"


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


MADE: Mapping[str, tuple[str, str, Callable[[Result], str]]] = {
    "witness": ("witness", "", witness_table),
    "witness-in-short": ("witness", "", partial(witness_table, without=PIXELS)),
    "witness-tried": ("witness", "", tried_table),
    "witness-photographs": ("witness", "photographs", witness_table),
    "witness-linear": (
        "witness",
        "linear",
        partial(group_table, measures=dict.fromkeys(("accuracy %", "FT %", "SAIF %"), ".1f")),
    ),
    "trust-validation": (
        "trust-validation",
        "",
        partial(
            group_table,
            measures={
                "models": ".0f",
                "least FT %": ".0f",
                "mean FT %": ".0f",
                "largest FT %": ".0f",
                "FT of the pick %": ".0f",
                "Spearman's ρ": ".2f",
                "mean error": ".3f",
                "classes astray": ".0f",
                "found by the detector": ".0f",
                "false calls": ".0f",
                "found by the lead alone": ".0f",
                "its false calls": ".0f",
            },
        ),
    ),
    "mnist-bags": (
        "mnist-bags",
        "",
        partial(
            group_table, measures={"bag AUC": ".3f", "segment AUROC": ".3f", "pointing %": ".0f"}
        ),
    ),
    "diagnosis-said": ("diagnosis", "", said_table),
    "diagnosis-left": ("diagnosis", "", left_table),
}
"""What a page can ask for: the stored study, its label, and how it is written."""
