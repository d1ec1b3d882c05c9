"""Stored results in a few lines, and the docs that show them."""

import re
from pathlib import Path

import pytest

from foveate.experiments.reproduction import stored_results
from foveate.experiments.witness.cells import GAIN, RULES
from foveate.report.compact import group_table, tried_table, witness_table

ROOT = Path(__file__).parents[2]
TRUST = {
    "models": ".0f",
    "least FT %": ".0f",
    "largest FT %": ".0f",
    "Spearman's ρ": ".2f",
    "mean error": ".3f",
    "classes astray": ".0f",
    "found by the detector": ".0f",
    "false calls": ".0f",
    "found by the lead alone": ".0f",
    "its false calls": ".0f",
}
BAGS = {"bag AUC": ".3f", "segment AUROC": ".3f", "pointing %": ".0f"}


def cell(name, measure, mean, spread=0.0, setting="", group="Digits m=5"):
    ends = {"low": mean - spread, "high": mean + spread} if spread else {"low": None, "high": None}
    return {"group": group, "setting": setting, "name": name, "measure": measure, "mean": mean,
            **ends, "seeds": 3}  # fmt: skip


def test_the_witness_is_held_against_the_others_in_a_line():
    cells = [cell(rule, "SAIF %", 10.0 * k) for k, rule in enumerate(RULES)]
    cells += [cell("witness", GAIN, -0.8, 0.3)]
    cells += [cell("witness", f"{key} of the oracle's, %", 99.0) for key in ("SAIF", "FT")]
    cells += [cell("LVML", f"{key} %", 50.0, setting="validation bags") for key in ("SAIF", "FT")]
    table = witness_table({"cells": cells}).splitlines()
    assert len(table) == 3
    first, last = table[2].split(" | 40.0 | ")
    assert first == "| Digits m=5 | 0.0 | 10.0 | 20.0 | 30.0"
    assert last == "50.0 | -0.8 [-1.1, -0.5] | 99.0 %, 99.0 % |"
    assert witness_table({"cells": cells}, sets=["CIFAR10 m=5"]).count("\n") == 1
    assert tried_table({"cells": cells}).splitlines()[2] == "| LVML | 50.0, 50.0 |"


def test_a_table_by_group_and_name():
    cells = [cell("soft", "bag AUC", 0.8, 0.05), cell("soft", "pointing %", 60.4)]
    line = group_table({"cells": cells}, BAGS).splitlines()[2]
    assert line == "| Digits m=5 | Soft | 0.800 [0.750, 0.850] |  | 60 |"


@pytest.mark.parametrize(
    ("table", "page", "made"),
    [
        ("witness", "docs/guide/witness.md", witness_table),
        ("witness", "docs/guide/witness.md", tried_table),
        ("trust-validation", "docs/guide/trust.md", lambda own: group_table(own, TRUST)),
        ("mnist-bags", "docs/guide/peers.md", lambda own: group_table(own, BAGS)),
    ],
)
def test_pages_show_what_is_stored(table, page, made):
    (stored,) = [own for own in stored_results() if own["table"] == table and "cells" in own]
    assert made(stored) in (ROOT / page).read_text()


def test_the_readme_shows_what_is_stored():
    text = (ROOT / "README.md").read_text()
    shown = re.search(r"\| SAIF, % \|.*?(?=\n\n)", text, re.S)[0]
    (stored,) = [own for own in stored_results() if own["table"] == "witness" and "cells" in own]
    sets = [line.split(" | ")[0].removeprefix("| ") for line in shown.splitlines()[2:]]
    assert len(sets) >= 8
    assert witness_table(stored, sets) == shown
