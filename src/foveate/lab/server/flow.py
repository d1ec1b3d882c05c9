"""Flows for the page: the exact solutions as JSON, and a gradient descent beside them."""

from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from foveate.dynamics import vr23
from foveate.dynamics.vr23_table import flow_record, flow_rows
from foveate.errors import FoveateError
from foveate.lab.server.flow_answer import flow_answer, incentive_events
from foveate.lab.server.responses import json_response

__all__ = ["annotated_flow", "descent_rows", "flow_with_incentives", "routes"]

routes = APIRouter()

MAX_POINTS = 2000
LARGEST_STEP = 0.25  # of C: beyond, descent leaves the flow visibly at its start
MAX_STEPS, MAX_NUMBERS = 1500, 40_000  # of a descent: steps, and numbers in its population


@routes.get("/api/flow")
def flow(
    m: int = 20,
    classes: int = 20,
    until: float = 1000.0,
    alpha: float | None = None,
    switch: float | None = None,
    points: int = 160,
) -> Response:
    """The exact flows, their losses and incentives, and what they say about soft attention."""
    return json_response(annotated_flow(m, classes, until, alpha, switch, points))


@routes.get("/api/flow/switch")
def best_switch(m: int = 20, classes: int = 20, until: float = 1000.0) -> Response:
    """The time at which a hybrid switches best, and the hard loss that it outcomes with.

    Beside it the hard losses, and the attention on the foreground, of models that are trained
    softly or hard all the time (both are hybrids, which switch at the horizon and at 0), and the
    share of the smaller of these losses that the switch saves.
    """
    switch, loss = vr23.best_switch(m, classes, until)
    switches = {"hybrid": switch, "soft": until, "hard": 0.0}
    final = {name: _read_hard(m, classes, until, at) for name, at in switches.items()}
    gain = 1 - loss / min(final["soft"]["loss"], final["hard"]["loss"])
    return json_response({"switch": switch, "loss": loss, "final": final, "gain": gain})


@routes.get("/api/flow/descent")
def descent(m: int = 20, classes: int = 20, until: float = 1000.0, steps: int = 200) -> Response:
    """A real gradient descent of the three paradigms, by the library's own loop."""
    return json_response(descent_rows(m, classes, until, steps))


def _read_hard(m: int, C: int, until: float, switch: float) -> dict[str, float]:
    """Hard loss and attention on the foreground of a hybrid at the horizon."""
    mu, nu = vr23.hybrid([until], m, C, switch)
    alpha = vr23.share(nu, m)
    loss = vr23.losses("hard", mu, alpha, C, vr23.rest(nu, m))
    return {"loss": float(loss[0]), "alpha": float(alpha[0])}


def flow_with_incentives(
    m: int, C: int, until: float, alpha: float | None, switch: float | None, points: int
) -> dict[str, Any]:
    """What ``foveate flow --json`` prints, and the incentive of each flow along its way.

    The hybrid's incentive is that of the paradigm it is in at the time.
    """
    if points > MAX_POINTS:
        raise FoveateError(f"points must be at most {MAX_POINTS}, got {points}")
    curves = flow_record(m, C, until, alpha, switch, points)
    rows = flow_rows(curves)
    for name, curve in curves.items():
        left = None if curve.nu is None else vr23.rest(curve.nu, m)
        rows[name]["rest"] = (1 - curve.alpha if left is None else left).tolist()
        if name == "hybrid" and switch is not None:
            soft, hard = (
                vr23.incentive(phase, curve.mu, curve.alpha, C, left) for phase in ("soft", "hard")
            )
            rows[name]["incentive"] = np.where(curve.t <= switch, soft, hard).tolist()
        else:
            delta = vr23.incentive(name, curve.mu, curve.alpha, C, left)  # type: ignore[arg-type]
            rows[name]["incentive"] = np.asarray(delta).tolist()
    return rows


def annotated_flow(
    m: int, C: int, until: float, alpha: float | None, switch: float | None, points: int
) -> dict[str, Any]:
    """The curves, when soft attention's incentive peaks and dies, and the answer in words."""
    rows = flow_with_incentives(m, C, until, alpha, switch, points)
    if alpha is not None:
        return {"curves": rows, "answer": "", "events": {}}
    peak, dead = incentive_events(np.array(rows["soft"]["incentive"]))
    times = {"peak": rows["t"][peak], "dead": None if dead is None else rows["t"][dead]}
    return {"curves": rows, "answer": flow_answer(rows), "events": times}


def descent_rows(m: int, C: int, until: float, steps: int) -> dict[str, Any]:
    """Full-batch descent from zero on the whole population, at as many steps as were asked for.

    A learning rate of ``until / steps`` makes k steps the time k · until / steps of the flow.
    """
    from foveate.training.population_descent import descend_population

    if not 1 <= steps <= MAX_STEPS:
        raise FoveateError(f"steps must be from 1 to {MAX_STEPS}, got {steps}")
    if m < 2 or C < 2 or m * C * C > MAX_NUMBERS:
        raise FoveateError(
            f"a descent here takes m · C² up to {MAX_NUMBERS:,} numbers, got {m * C * C:,}: "
            "lower m or C"
        )
    if not 0 < until <= LARGEST_STEP * C * steps:
        raise FoveateError(
            f"steps of {until / steps:.3g} are too long to follow the flow: lower the horizon to "
            f"{LARGEST_STEP * C * steps:.4g} or take more steps"
        )
    path = descend_population(m, C, until / steps, until)
    rows: dict[str, Any] = {"t": (until / steps * np.arange(steps + 1)).tolist()}
    for k, name in enumerate(vr23.PARADIGMS):
        mu, nu = path["mu"][:, k], path["nu"][:, k]
        alpha, left = vr23.share(nu, m), vr23.rest(nu, m)
        rows[name] = {
            "mu": mu.tolist(),
            "nu": nu.tolist(),
            "alpha": alpha.tolist(),
            "beta": vr23.share(mu, C).tolist(),
            "rest": left.tolist(),
            "loss": vr23.losses(name, mu, alpha, C, left).tolist(),
            "incentive": vr23.incentive(name, mu, alpha, C, left).tolist(),
        }
    return rows
