"""Stored results in a few lines."""

from foveate.studies.beyond.diagnosis.cells import ATTENTION, FORECAST, LEFT, TRAINED
from foveate.studies.beyond.witness.cells import CALIBRATED_SAIF, CALM_GAIN, GAIN, RULES
from result_tables import (
    MEASURED,
    calibrated_table,
    diagnosis_table,
    group_table,
    permutation_table,
    short_table,
    table_with_duration,
    variants_table,
    witness_table,
)

BAGS = {"bag AUC": ".3f", "segment AUROC": ".3f", "pointing %": ".0f"}


def cell(name, measure, mean, spread=0.0, setting="", group="Digits m=5"):
    ends = {"low": mean - spread, "high": mean + spread} if spread else {"low": None, "high": None}
    return {"group": group, "setting": setting, "name": name, "measure": measure, "mean": mean,
            **ends, "seeds": 3}  # fmt: skip


def test_witness_table_row():
    cells = [cell(rule, "SAIF %", 10.0 * k) for k, rule in enumerate(RULES)]
    cells += [cell("witness", GAIN, -0.8, 0.3), cell("witness", CALM_GAIN, 0.1)]
    cells += [cell("witness", f"{key} of the oracle's, %", 99.0) for key in ("SAIF", "FT")]
    cells += [cell("LVML", f"{key} %", 50.0, setting="validation bags") for key in ("SAIF", "FT")]
    table = witness_table({"cells": cells}).splitlines()
    assert len(table) == 3
    first, last = table[2].split(" | 40.0 | ")
    assert first == "| Digits m=5 | 0.0 | 10.0 | 20.0 | 30.0"
    assert last == "50.0 | -0.8 [-1.1, -0.5] | +0.1 | 99.0 %, 99.0 % |"
    assert witness_table({"cells": cells}, without="m=5").count("\n") == 1
    assert variants_table({"cells": cells}).splitlines()[2] == "| LVML | 50.0, 50.0 |"


def test_short_table_has_the_best_published_and_real_data_first():
    means = dict(zip(RULES, (10.0, 20.0, 40.0, 30.0, 50.0, 60.0), strict=True))
    cells = [cell(rule, "SAIF %", mean) for rule, mean in means.items()]
    cells += [{**c, "group": "MNIST m=5"} for c in cells]
    rows = short_table({"cells": cells}, without=", pixels").splitlines()[2:]
    assert rows == [
        "| MNIST m=5 | 10 | 40 (LVML) | 50 | 60 |",
        "| Digits m=5 | 10 | 40 (LVML) | 50 | 60 |",
    ]


def test_calibrated_table_row():
    cells = [cell(rule, CALIBRATED_SAIF, 10.04 * k) for k, rule in enumerate(RULES)]
    cells += [cell(rule, "log loss", 0.5) for rule in RULES]
    line = calibrated_table({"cells": cells}).splitlines()[2]
    assert line.startswith("| Digits m=5 | 0.0; 0.50 | 10.0; 0.50 | 20.1; 0.50 |")


def test_group_table():
    cells = [cell("soft", "bag AUC", 0.8, 0.05), cell("soft", "pointing %", 60.4)]
    line = group_table({"cells": cells}, BAGS).splitlines()[2]
    assert line == "| Digits m=5 | Soft | 0.800 [0.750, 0.850] |  | 60 |"


def test_table_with_duration():
    cells = [cell("soft", "bag AUC", 0.8)]
    result = {"cells": cells, "manifest": {"seconds": 5400.0, "cpu_seconds": 9000.0}}
    table, time = table_with_duration(result, BAGS).split("\n\n")
    assert table == group_table(result, BAGS)
    assert time == "It took 2.5 h of CPU."


def test_diagnosis_table():
    def one(group, name, measure, mean):
        return {**cell(name, measure, mean), "group": group}

    cells = [one(FORECAST, "copies", measure, 0.5) for measure in MEASURED]
    cells += [one(FORECAST, "copies", ATTENTION, 1), one(FORECAST, "copies", LEFT[0], 12.34)]
    cells += [
        one(FORECAST, "copies", LEFT[1], 0.05),
        one(TRAINED, "copies", "seeds that learn %", 50),
    ]
    lines = diagnosis_table({"cells": cells}).splitlines()
    assert lines[0].split(" | ")[7:] == ["attention", "seeds that learn %", "steps, median |"]
    assert lines[2] == "| copies | 0 | 0.5 | 0.5 | 0 | 0.5 | 0 | may be | 50 |  |"
    left = permutation_table({"cells": cells}).splitlines()
    assert left == [
        "|  | copies |",
        "| --- | --- |",
        f"| {LEFT[0]} | 12 |",
        f"| {LEFT[1]} | 0.05 |",
    ]
