"""A flow on the screen and as a figure."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from foveate.dynamics.vr23 import Trajectory, best_switch
from foveate.errors import FoveateError
from foveate.records.record import Record, write_atomically

__all__ = ["print_flow", "write_flow"]


def write_flow(curves: Mapping[str, Trajectory], m: int, C: int, path: Path) -> Path:
    """Draw μ, ν, α and the losses over time to an SVG or PNG file."""
    from foveate.charts.render import to_png, to_svg
    from foveate.report.drawing.flow_charts import flow_panels

    if path.suffix not in (".svg", ".png"):
        raise FoveateError(f"the figure must end in .svg or .png, got {path.name}")
    names = tuple(curves)
    keys = [k for k in ("mu", "nu", "alpha", "loss") if getattr(curves[names[0]], k) is not None]
    values = {k: np.stack([getattr(curves[name], k) for name in names], 1) for k in keys}
    record = Record(curves[names[0]].t, values, {}, {"m": m, "C": C})
    chart = flow_panels(record, names)
    content = to_svg(chart).encode() if path.suffix == ".svg" else to_png(chart)
    write_atomically(path, content)
    return path


def print_flow(curves: Mapping[str, Trajectory], m: int, C: int, until: float) -> None:
    """Where each paradigm is at the end, and when a hybrid would best switch."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"m = {m}, C = {C}, t = {until:g}")
    for heading in ("paradigm", "μ", "ν", "α", "β", "loss"):
        table.add_column(heading, justify="left" if heading == "paradigm" else "right")
    for name, curve in curves.items():
        nu = "–" if curve.nu is None else f"{curve.nu[-1]:.5f}"
        rest = (f"{value[-1]:.5f}" for value in (curve.alpha, curve.beta, curve.loss))
        table.add_row(name, f"{curve.mu[-1]:.5f}", nu, *rest)
    Console().print(table)
    if next(iter(curves.values())).nu is not None:
        switch, loss = best_switch(m, C, until)
        print(f"a hybrid ends lowest (hard loss {loss:.5f}) if it switches at t = {switch:.4g}")
