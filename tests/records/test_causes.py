from foveate.records.causes import Cause, Reference, compare
from foveate.records.published import PublishedTable
from foveate.report.pages.causes import causes_markdown

TABLE = PublishedTable("A table", "a paper", {("A m=5", "soft", "SAIF %"): 80.0,
                                              ("A m=5", "hard", "SAIF %"): 50.0,
                                              ("A m=5", "soft", "NNZ"): 4.0})  # fmt: skip


def cell(name, measure, mean, setting="clean"):
    return {"group": "A m=5", "setting": setting, "name": name, "measure": measure, "mean": mean,
            "seeds": 2}  # fmt: skip


def result(*cells, label=""):
    return {"table": "t", "label": label, "cells": list(cells)}


REFERENCES = (
    Reference("t", "", "released"),
    Reference("t", "", "released", "{measure}, seen images %"),
)
CAUSES = {"t": (Cause("split", "Images leak.", ("A",), "clean", REFERENCES, ("soft",)),)}


def test_a_difference_above_five_points_has_its_cause_and_the_numbers_that_show_it():
    stored = result(
        cell("soft", "SAIF %", 30.0),
        cell("soft", "SAIF %", 78.0, "released"),
        cell("soft", "SAIF, seen images %", 90.0, "released"),
        cell("hard", "SAIF %", 40.0),
        cell("soft", "NNZ", 40.0),
    )
    rows = {(c.name, c.setting, c.measure): c for c in compare([stored], {"t": TABLE}, CAUSES)}
    soft = rows["soft", "clean", "SAIF %"]
    assert (soft.cause.kind, soft.difference) == ("split", -50.0)
    assert soft.evidence == "SAIF % 78.0 (released); SAIF, seen images % 90.0 (released)"
    assert rows["soft", "released", "SAIF %"].cause is None  # two points apart
    assert rows["hard", "clean", "SAIF %"].cause.kind == "open"
    assert rows["soft", "clean", "NNZ"].cause is None  # no percentage
    page = causes_markdown(list(rows.values()))
    assert "4 comparisons, 2 above 5 points: split 1 (1 measured), open 1." in page
    assert "| 80 | 30.0 | -50.0 | *split*: Images leak. Measured: SAIF % 78.0 (released);" in page


def test_an_estimate_is_no_comparison():
    assert compare([{"table": "t", "seconds": 3.0}], {"t": TABLE}, CAUSES) == []
