import pytest

from foveate.records.causes import Cause, Reference, compare, needs_cause
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


def compared(*results, cause):
    rows = compare(list(results), {"t": TABLE}, {"t": (cause,)})
    return {(c.label, c.name): c for c in rows}


def test_a_reference_may_name_another_row():
    other = Reference("t", "variant", "clean", name="logit")
    cause = Cause("open", "The variant is not it.", ("A",), measured=(other,), names=("soft",))
    variant = result(cell("logit", "SAIF %", 33.0), label="variant")
    row = compared(result(cell("soft", "SAIF %", 30.0)), variant, cause=cause)["", "soft"]
    assert row.evidence == "SAIF % 33.0 (logit, clean, variant)"


@pytest.mark.parametrize(("other", "kind"), [(60.0, "encoder"), (95.0, "encoder"), (40.0, "open")])
def test_a_cause_applies_if_the_number_without_it_is_nearer_by_a_third(other, kind):
    cause = Cause("encoder", "Features.", ("A",), labels=("",),
                  nearer=Reference("t", "pixels", "clean"))  # fmt: skip
    stored = (
        result(cell("soft", "SAIF %", 30.0)),
        result(cell("soft", "SAIF %", other), label="pixels"),
    )
    row = compared(*stored, cause=cause)["", "soft"]
    assert row.cause.kind == kind
    if kind == "encoder":
        moved = f"{other:.3g} without this difference (2 seeds), which is {other - 30:+.1f} of"
        assert row.evidence == f"{moved} the +50.0 points"


@pytest.mark.parametrize(("values", "kind"), [((20, 81), "spread over seeds"), ((20, 70), "open")])
def test_the_spread_over_seeds_is_a_cause_where_the_published_number_is_within(values, kind):
    cause = Cause("spread over seeds", "One training.", ("A",), shown=True, in_range=True)
    mean = sum(values) / 2
    stored = result({**cell("soft", "SAIF %", mean), "values": [*values, None]})
    row = compared(stored, cause=cause)["", "soft"]
    assert row.cause.kind == kind
    assert row.evidence == ("20 to 81 over 2 seeds" if kind != "open" else "")


def test_shares_count_in_points():
    assert needs_cause("agreement", -0.07)
    assert not needs_cause("agreement", 0.04)
    assert needs_cause("cosine", 0.06)
    assert not needs_cause("NNZ", 3.0)
