"""The stored runs of the study of real bags as Markdown tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from foveate.charts.palette import label
from foveate.studies.beyond.real_bags.sets import SETS
from foveate.studies.beyond.real_bags.summary import mean_cells
from foveate.studies.reproduction import Result
from foveate.trust.segment_maps import MAP_KINDS
from foveate.userdata.baselines import BASELINES, MEAN
from foveate.userdata.ensemble import MIXTURE
from result_tables import cells_by_key, markdown

__all__ = [
    "joined_runs",
    "real_bags_short_table",
    "real_bags_table",
    "real_maps_table",
    "real_removal_table",
]

METHODS = (
    "lvml", "soft", "max", "presence", "hybrid", "witness", "abmil", "dsmil", "transmil",
)  # fmt: skip
REAL_MAPS = {
    **{f"{MIXTURE}, {kind}": kind for kind in MAP_KINDS},
    "soft, attention": "attention of soft alone",
}
TITLES = {real_set.title: name for name, real_set in SETS.items()}


def joined_runs(results: Sequence[Result]) -> Result:
    """One table of several runs: of two numbers with one key, that of the later run counts.

    Means over sets are computed anew. ``former`` names the sets whose default is that of the first
    run, which had a former mixture.

    Args:
        results: Stored runs of the study, the main one first.
    """
    cells: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for result in results:
        cells |= cells_by_key(result)
    real_cells = {key: cell for key, cell in cells.items() if key[0] in TITLES}
    order = list(TITLES)
    defaults = [
        {key[0] for key in cells_by_key(result) if key[2:] == (MIXTURE, "bag AUC")}
        for result in results
    ]
    former = sorted(defaults[0].difference(*defaults[1:]) & set(order))
    listed = sorted(real_cells.values(), key=lambda cell: order.index(cell["group"]))
    values = {
        (TITLES[cell["group"]], cell["name"], cell["measure"]): list(cell["values"])
        for cell in listed
    }
    means = [cell._asdict() for cell in mean_cells(values)]
    return {**results[0], "former": former, "cells": [*listed, *means]}


def real_bags_table(result: Result) -> str:
    """One row per set: AUC of the default fit, baselines, single paradigms and other libraries.

    ``draws`` counts the draws of folds behind the default, baselines and its own paradigms; a star
    marks a default that is a former mixture.
    """
    roles = {of_group.title: of_group.role for of_group in SETS.values()}
    draws = {
        key[0]: str(cell["seeds"])
        for key, cell in cells_by_key(result).items()
        if key[0] in TITLES and key[2:] == (MIXTURE, "bag AUC")
    }
    lines = []
    for group, area, best in _real_bags(result):
        lines.append([
            group, roles.get(group, ""), draws.get(group, ""),
            f"{area[MIXTURE]:.3f}{'*' if group in result.get('former', ()) else ''}",
            f"{area[MEAN]:.3f}", f"{area[best]:.3f} ({best})", f"{area[MIXTURE] - area[best]:+.3f}",
            *(f"{area[name]:.3f}" if name in area else "" for name in METHODS),
        ])  # fmt: skip
    head = ["AUC", "used for", "draws", "default", "mean-lr", "best baseline", "difference"]
    return markdown([*head, *map(label, METHODS)], lines)


def real_bags_short_table(result: Result) -> str:
    """One row per fresh set: AUC of the default, the mean and best baseline; means of the rest."""
    roles = {of_group.title: of_group.role for of_group in SETS.values()}
    lines = [
        [group, *(f"{area[name]:.2f}" for name in (MIXTURE, MEAN)), f"{area[best]:.2f} ({best})"]
        for group, area, best in _real_bags(result)
        if roles.get(group, "fresh") == "fresh" and "design" not in group
    ]
    head = ["AUC", "Default of `fit`", "Mean-pooled logistic regression", "Best of four baselines"]
    return markdown(head, lines)


def _real_bags(result: Result) -> list[tuple[str, dict[str, float], str]]:
    """Every set with the AUC of its methods by name, and its best baseline."""
    cells, groups = cells_by_key(result), {}
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
    return _maps_table(result, {"pointing %": ("FT %", ".0f"), "segment AUROC": ("", ".3f")})


def real_removal_table(result: Result) -> str:
    """One row per set: the drop of the label's log-odds without the top segment of each map."""
    return _maps_table(result, {"removal": ("drop", ".2f")})


def _maps_table(result: Result, measures: Mapping[str, tuple[str, str]]) -> str:
    """One row per set, one column per measure and map.

    Args:
        result: The stored study.
        measures: Name in the table, if it has another one, and number format of each measure.
    """
    cells, lines = cells_by_key(result), []
    forms = [form for _, form in measures.values() for _ in REAL_MAPS]
    for group in dict.fromkeys(key[0] for key in cells):
        values = [
            cells.get((group, "", name, measure)) for measure in measures for name in REAL_MAPS
        ]
        numbers = [
            format(value["mean"], form) for value, form in zip(values, forms, strict=True) if value
        ]
        if len(numbers) == len(forms):
            lines.append([group, *numbers])
    names = [name or measure for measure, (name, _) in measures.items()]
    return markdown(["", *(f"{n}, {words}" for n in names for words in REAL_MAPS.values())], lines)
