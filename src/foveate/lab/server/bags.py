"""From a cell of the heat map to its bags, and from a bag to what the model makes of it."""

from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response

from foveate.lab.server.catalog import part_record, run_by_name
from foveate.lab.server.responses import json_response, not_found
from foveate.lab.server.timeline import timeline_rows
from foveate.metrics.focus import EDGES, focus_true, heat_map
from foveate.records.record import Array, Record
from foveate.records.runs import Run

__all__ = ["bags_in_cell", "routes"]

routes = APIRouter()

MAX_BAGS = 60
MOMENTS = 240  # of a training that a slider steps through


@routes.get("/api/run/heat")
def heat(run: str, part: str, member: int = -1) -> Response:
    """Shares of held-out bags by attention on the relevant segment and probability of the truth.

    At the end, and at the moments of training that a slider steps through. A member of −1 is the
    mean over all.
    """
    record = _focused(run_by_name(run), part)
    a_z, p_y = _scores(record)
    shares = heat_map(a_z, p_y)
    if not -1 <= member < len(shares):
        raise not_found("there is no such member")
    cell_shares = shares.mean(0) if member < 0 else shares[member]
    about = {"edges": EDGES, "members": len(shares), "bags": a_z.shape[1]}
    return json_response(
        {**about, "shares": cell_shares, "timeline": timeline_rows(record, member, MOMENTS)}
    )


@routes.get("/api/run/bags")
def cell(run: str, part: str, row: int, column: int, member: int = 0) -> Response:
    """The bags of one member that lie in a cell."""
    from foveate.report.outcomes import class_names

    opened = run_by_name(run)
    record = _focused(opened, part)
    _must_have(record, member)
    cell_rows = bags_in_cell(record, member, row, column)
    names = class_names(opened, record.final["log_p"].shape[-1])
    rows = [_line(record, member, int(i), names) for i in cell_rows[:MAX_BAGS]]
    return json_response({"count": len(cell_rows), "bags": rows})


@routes.get("/api/run/bag")
def bag(run: str, bag: int, member: int = 0) -> Response:
    """A held-out bag: its segments, and attention and evidence of every part of the run."""
    from foveate.lab.segments import segments_of
    from foveate.report.outcomes import class_names

    opened = run_by_name(run)
    parts = [name for name in opened.manifest["parts"] if opened.has(name)]
    records = {name: part_record(opened, name) for name in parts}
    views = {}
    for name, record in records.items():
        _must_have(record, member)
        if not 0 <= bag < record.final["alpha"].shape[1]:
            raise not_found("there is no such bag")
        names = class_names(opened, record.final["log_p"].shape[-1])
        views[name] = {
            **_line(record, member, bag, names),
            "alpha": _member_values(record, "alpha", member)[bag],
            "scores": _member_values(record, "s", member)[bag],
            "p": np.exp(_member_values(record, "log_p", member)[bag].astype(float)),
        }
    first = next(iter(records.values()), None)
    if first is None:
        raise not_found("no part of the run is finished")
    marks = {
        key: _member_values(first, key, member)[bag] for key in ("z", "mask") if key in first.final
    }
    return json_response(
        {
            "classes": list(class_names(opened, first.final["log_p"].shape[-1])),
            "views": views,
            **marks,
            **segments_of(opened, parts, member, bag),
        }
    )


def bags_in_cell(record: Record, member: int, row: int, column: int) -> Array:
    """Which held-out bags of a member lie in a cell of :func:`foveate.metrics.focus.heat_map`.

    Args:
        record: A part's record.
        member: Which member.
        row: Place along the prediction score, from 0 on.
        column: Place along the focus score.
    """
    a_z, p_y = (score[member] for score in _scores(record))
    # The heat map of a single bag is 1 in the cell it lies in: the rule stands in one place only.
    alone = heat_map(a_z[:, None], p_y[:, None])
    if not (0 <= row < alone.shape[1] and 0 <= column < alone.shape[2]):
        raise not_found("there is no such cell")
    return np.flatnonzero(alone[:, row, column])


def _line(record: Record, member: int, i: int, names: Any) -> dict[str, Any]:
    """A bag in a few words and numbers."""
    from foveate.report.drawing.gallery import verdict

    a_z, p_y = (score[member, i] for score in _scores(record)) if _has_focus(record) else (None, 0)
    log_p, y = (
        _member_values(record, "log_p", member)[i],
        int(_member_values(record, "y", member)[i]),
    )
    predicted = int(log_p.argmax())
    focused = None
    if _has_focus(record):
        mask = _member_values(record, "mask", member)[i][None] if "mask" in record.final else None
        s, z = (_member_values(record, key, member)[i][None] for key in ("s", "z"))
        focused = bool(focus_true(s, z, mask)[0])
    return {
        "bag": i,
        "truth": names[y],
        "says": names[predicted],
        "p_said": float(np.exp(log_p[predicted])),
        "a_z": a_z,
        "p_y": p_y,
        "right": predicted == y,
        "focused": focused,
        "verdict": verdict(predicted == y, focused),
    }


def _scores(record: Record) -> tuple[Array, Array]:
    from foveate.metrics.focus import focus_and_prediction

    return focus_and_prediction(record)


def _has_focus(record: Record) -> bool:
    return all(key in record.final for key in ("alpha", "z", "log_p", "y", "s"))


def _focused(run: Run, part: str) -> Record:
    record = part_record(run, part)
    if not _has_focus(record):
        raise not_found("this part does not know which segments are relevant")
    return record


def _must_have(record: Record, member: int) -> None:
    if "alpha" not in record.final or not 0 <= member < len(record.final["alpha"]):
        raise not_found("there is no such member")


def _member_values(record: Record, name: str, member: int) -> Array:
    """A member's rows; members may share labels, relevance and mask."""
    value: Array = record.final[name]
    return value[member if len(value) > 1 else 0]
