"""Numbers that follow from the blog's equations, beside the numerical flows. [blog21]"""

from math import cosh, sinh, sqrt

import numpy as np

from foveate.jobs.experiment import Records
from foveate.records.published import Cell, PublishedTable
from foveate.studies.published import cell

__all__ = ["PUBLISHED", "toy_cells"]

TIMES = (0.5, 1.0, 2.0)
UNIFORM, LOW = "Uniform start", "Low-loss start"
GROUPS = {"free": UNIFORM, "gated": f"{UNIFORM}, softmax-gated attention"}
P, DIFFERENCE = "attention p", "difference β₁ − β₀"


def _measure(tau: float) -> str:
    return f"at τ = {tau:g}"


PUBLISHED = PublishedTable(
    "blog21: the two-token classifier",
    "solutions of the blog's equations: p = ½ cosh(√2 τ) and β₁ − β₀ = sinh(√2 τ)/√2 from the "
    "uniform start; a loss of −2K with K = 10",
    {
        **{(UNIFORM, P, _measure(t)): cosh(sqrt(2) * t) / 2 for t in TIMES},
        **{(UNIFORM, DIFFERENCE, _measure(t)): sinh(sqrt(2) * t) / sqrt(2) for t in TIMES},
        (LOW, "loss", "with K = 10"): -20.0,
    },
)


def toy_cells(records: Records) -> list[Cell]:
    """The numerical flows at a few times, of free attention and of gated attention."""
    record = records["starts"]
    members = [tuple(member) for member in record.meta["members"]]
    cells = []
    for gate, group in GROUPS.items():
        uniform = members.index(("uniform", gate))
        curves = {
            P: record.values["p"][:, uniform],
            DIFFERENCE: (record.values["beta1"] - record.values["beta0"])[:, uniform],
        }
        for name, curve in curves.items():
            for tau in TIMES:
                value = np.array([_at(record.t, curve, tau)])
                cells.append(cell((group, name, _measure(tau)), "", value))
    loss = record.values["loss"][:1, members.index(("low_loss", "free"))]
    return [*cells, cell((LOW, "loss", "with K = 10"), "", loss)]


def _at(t: np.ndarray, curve: np.ndarray, tau: float) -> float:
    """The value at a time, by cubic interpolation of the flow's grid."""
    from scipy.interpolate import CubicSpline

    return float(CubicSpline(t, curve)(tau))
