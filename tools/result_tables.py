"""Stored results as Markdown tables for the README and the guide."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import label
from foveate.report.durations import run_duration
from foveate.studies.beyond.diagnosis.cells import ATTENTION, FORECAST, LEFT, VERDICTS
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.studies.beyond.witness.cells import (
    CALIBRATED_SAIF,
    CALM_GAIN,
    GAIN,
    OF_ORACLE,
    RULES,
    VALIDATION,
)
from foveate.studies.reproduction import Result
from foveate.trust.segment_maps import MAP_KINDS
from foveate.userdata.baselines import BASELINES, MEAN
from foveate.userdata.ensemble import MIXTURE

__all__ = [
    "calibrated_table",
    "diagnosis_table",
    "group_table",
    "permutation_table",
    "real_bags_table",
    "real_maps_table",
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
REAL_PARADIGMS = ("lvml", "soft", "max", "presence", "hybrid", "witness", "abmil")
REAL_MAPS = {
    **{f"{MIXTURE}, {kind}": kind for kind in MAP_KINDS},
    "soft, attention": "attention of soft alone",
}
TRAINED = {"seeds that learn %": ".0f", "steps, median": ".0f"}


def witness_table(result: Result, without: str | None = None) -> str:
    """One row per data set: SAIF of every paradigm and the oracle, and gains of the witness.

    Args:
        result: The stored study.
        without: Data sets whose names have this suffix are omitted.
    """
    cells = _by_key(result)
    settings = dict.fromkeys(k[:2] for k in cells if not k[1].endswith(VALIDATION))
    head = ["SAIF, %", *map(label, RULES), "above the better of LVML and hybrid",
            "the same, answers calibrated", "of the oracle's SAIF, FT"]  # fmt: skip
    lines = [
        [_name(*setting), *_row(cells, *setting)]
        for setting in settings
        if without is None or not _name(*setting).endswith(without)
    ]
    return _markdown(head, lines)


def short_table(result: Result, without: str) -> str:
    """One row per data set, real data first: SAIF of soft, best published, witness, oracle.

    Args:
        result: The stored study of the witness.
        without: Data sets whose names have this suffix are omitted.
    """
    cells = _by_key(result)
    settings = dict.fromkeys(k[:2] for k in cells if not k[1].endswith(VALIDATION))
    lines = []
    for setting in sorted(settings, key=lambda setting: REAL_FIRST.index(_family(setting[0]))):
        saif = {rule: cells[*setting, rule, "SAIF %"]["mean"] for rule in RULES}
        best = max(("hard", "lvml", "hybrid"), key=lambda rule: saif[rule])
        if not _name(*setting).endswith(without):
            published = f"{saif[best]:.0f} ({label(best)})"
            witness, oracle = f"{saif['witness']:.0f}", f"{saif['oracle']:.0f}"
            lines.append([_name(*setting), f"{saif['soft']:.0f}", published, witness, oracle])
    return _markdown(["", "Soft", "Best of the other published", "Witness", "Oracle"], lines)


def _family(group: str) -> str:
    return next((name for name in REAL_FIRST if group.startswith(name)), REAL_FIRST[-1])


def calibrated_table(result: Result) -> str:
    """One row per data set: SAIF of calibrated predictions, and log loss, of every paradigm."""
    cells = _by_key(result)
    lines = [
        [_name(*setting), *(_calibrated(cells, *setting, rule) for rule in RULES)]
        for setting in dict.fromkeys(k[:2] for k in cells if k[3] == CALIBRATED_SAIF)
    ]
    return _markdown(["SAIF of calibrated answers, %; log loss", *map(label, RULES)], lines)


def variants_table(result: Result) -> str:
    """One row per variant: SAIF and FT on the validation bags of every data set."""
    cells = {k: v for k, v in _by_key(result).items() if k[1].endswith(VALIDATION)}
    groups = list(dict.fromkeys(k[0] for k in cells))
    settings = {group: next(k[1] for k in cells if k[0] == group) for group in groups}
    lines = []
    for name in dict.fromkeys(k[2] for k in cells):
        pairs = [
            [cells.get((group, settings[group], name, f"{key} %")) for key in ("SAIF", "FT")]
            for group in groups
        ]
        lines.append([name, *(_pair(*pair) for pair in pairs)])
    return _markdown(["SAIF, FT on validation bags, %", *groups], lines)


def group_table(result: Result, measures: Mapping[str, str]) -> str:
    """One row per group and name, one column per measure.

    Args:
        result: A stored study.
        measures: The measures in the table, each with its number format (".2f").
    """
    cells = _by_key(result)
    lines = []
    for group, setting, name in dict.fromkeys(key[:3] for key in cells):
        values = [(cells.get((group, setting, name, m)), form) for m, form in measures.items()]
        lines.append(
            [_name(group, setting), label(name), *(_format_interval(*pair) for pair in values)]
        )
    return _markdown(["", "", *measures], lines)


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
    return _markdown(["", *MEASURED, "attention", *TRAINED], lines)


def permutation_table(result: Result) -> str:
    """One column per corpus: what remains of two tables if outputs are permuted, in percent."""
    cells = {(c["measure"], c["name"]): c["mean"] for c in result["cells"]}
    names = [name for measure, name in cells if measure == LEFT[1]]
    lines = [
        [measure, *(_format_number(cells.get((measure, name)), ".2g") for name in names)]
        for measure in LEFT
    ]
    return _markdown(["", *names], lines)


def real_bags_table(result: Result) -> str:
    """One row per set: AUC of the default fit, baselines, single paradigms and other libraries."""
    roles = {of_group.title: of_group.role for of_group in SETS.values()}
    lines = []
    for group, area, best in _real_bags(result):
        lines.append([
            group, roles.get(group, ""), *(f"{area[name]:.3f}" for name in (MIXTURE, MEAN)),
            f"{area[best]:.3f} ({best})", f"{area[MIXTURE] - area[best]:+.3f}",
            *(f"{area[name]:.3f}" if name in area else "" for name in REAL_PARADIGMS),
        ])  # fmt: skip
    head = ["AUC", "used for", "default", "mean-lr", "best baseline", "difference"]
    return _markdown([*head, *map(label, REAL_PARADIGMS)], lines)


def real_bags_short_table(result: Result) -> str:
    """One row per set that is no design set: AUC of the default, the mean and best baseline."""
    design = {of_group.title for of_group in SETS.values() if of_group.role == "design"}
    lines = [
        [group, *(f"{area[name]:.2f}" for name in (MIXTURE, MEAN)), f"{area[best]:.2f} ({best})"]
        for group, area, best in _real_bags(result)
        if group not in design and "design" not in group
    ]
    head = ["AUC", "Default of `fit`", "Mean-pooled logistic regression", "Best of four baselines"]
    return _markdown(head, lines)


def _real_bags(result: Result) -> list[tuple[str, dict[str, float], str]]:
    """Every set with the AUC of its methods by name, and its best baseline."""
    cells, groups = _by_key(result), {}
    for (group, _, name, measure), cell in cells.items():
        if measure == "bag AUC":
            groups.setdefault(group, {})[name] = cell["mean"]
    return [
        (group, area, max((name for name in BASELINES if name in area), key=lambda n: area[n]))
        for group, area in groups.items()
        if MIXTURE in area
    ]


def real_maps_table(result: Result) -> str:
    """One row per set with known relevance: what maps of the default and of soft attention find."""
    cells = _by_key(result)
    lines = []
    for group in dict.fromkeys(key[0] for key in cells):
        values = [
            cells.get((group, "", name, measure))
            for measure in ("pointing %", "segment AUROC")
            for name in REAL_MAPS
        ]
        forms = [".0f"] * len(REAL_MAPS) + [".3f"] * len(REAL_MAPS)
        numbers = [(v["mean"], form) for v, form in zip(values, forms, strict=True) if v]
        if len(numbers) == len(forms):
            lines.append([group, *(format(*number) for number in numbers)])
    head = [f"{m}, {words}" for m in ("FT %", "segment AUROC") for words in REAL_MAPS.values()]
    return _markdown(["", *head], lines)


def _format_number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _by_key(result: Result) -> Cells:
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


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
