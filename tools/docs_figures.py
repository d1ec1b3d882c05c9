"""Draw the charts of the docs from stored results, as SVG.

Usage: ``python tools/docs_figures.py`` in the root of the repository.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foveate.charts.palette import label
from foveate.charts.render import to_svg
from foveate.records.published import Cell
from foveate.records.record import write_atomically
from foveate.studies.beyond.mnist_bags.figures import auc_chart
from foveate.studies.beyond.witness.figures import flow_chart, paradigms_chart
from foveate.studies.reproduction import stored_results
from foveate.studies.vr23.released_split.figures import decomposition

MEASURES = {"bag AUC": "bag_auc", "segment AUROC": "segment_auroc"}


def stored_cells(table: str, label: str = "") -> list[Cell]:
    """The numbers of a stored study, at small scale.

    Args:
        table: Its name.
        label: What its changed settings are called; none are changed unless given.
    """
    (result,) = [
        r
        for r in stored_results()
        if r["table"] == table
        and (r.get("label") or "") == label
        and r["scale"] == "small"
        and "cells" in r
    ]
    return [Cell(**{key: c[key] for key in Cell._fields if key in c}) for c in result["cells"]]


def auc_rows(cells: list[Cell]) -> list[dict[str, Any]]:
    """Rows of the chart of MNIST-bags: one per number of training bags and method.

    Args:
        cells: The stored numbers.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in cells:
        if name := MEASURES.get(cell.measure):
            bags = int(cell.group.split()[0].replace(",", ""))
            row = {"method": cell.name, "label": label(cell.name), "bags": bags}
            row = rows.setdefault((cell.group, cell.name), row)
            row |= {name: cell.mean, f"{name}_low": cell.low, f"{name}_high": cell.high}
    return list(rows.values())


def charts() -> Mapping[str, Any]:
    """The charts by file name."""
    rows = auc_rows(stored_cells("mnist-bags"))
    return {
        "witness": paradigms_chart(stored_cells("witness"), "SAIF %"),
        "witness-flow": flow_chart(),
        "released-split": decomposition(stored_cells("released-split", "cifar100")),
        "mnist-bags": auc_chart(rows, sorted({row["bags"] for row in rows})),
    }


if __name__ == "__main__":
    for name, chart in charts().items():
        write_atomically(Path("docs/images") / f"{name}.svg", to_svg(chart).encode())
