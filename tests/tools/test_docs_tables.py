"""Pages of the docs show what is stored."""

import re
from pathlib import Path

import pytest

from docs_tables import update_pages, update_tables
from foveate.studies.reproduction import stored_results
from real_bags_tables import joined_runs
from result_tables import group_table

ROOT = Path(__file__).parents[2]
BAGS = {"bag AUC": ".3f", "segment AUROC": ".3f", "pointing %": ".0f"}
PAGES = {
    "README.md": {"readme", "real-bags-short"},
    "docs/which-paradigm.md": {"witness-in-short"},
    "docs/guide/real-bags.md": {"real-bags", "real-maps"},
    "docs/guide/witness.md": {
        "taught",
        "witness",
        "witness-calm",
        "witness-linear",
        "witness-tried",
        "witness-unbalanced",
    },
    "docs/guide/reproduce.md": {"table1-two-hours"},
    "docs/guide/peers.md": {"mil-assumptions", "mnist-bags"},
    "docs/guide/words.md": {"diagnosis-said", "diagnosis-left"},
}


@pytest.mark.parametrize("page", PAGES)
def test_pages_contain_the_stored_tables(page):
    text, results = (ROOT / page).read_text(), stored_results()
    assert set(re.findall(r"<!-- stored: ([\w-]+) -->", text)) == PAGES[page]
    assert update_tables(text, results) == text
    emptied = re.sub(r"(<!-- stored: [\w-]+ -->\n).*?\n(<!-- end -->)", r"\1\2", text, flags=re.S)
    assert len(emptied) < len(text)
    assert update_tables(emptied, results) == text  # nothing behind an empty table is taken for it


def bag_auc(mean):
    return {"group": "500 bags", "setting": "", "name": "soft", "measure": "bag AUC", "mean": mean,
            "low": None, "high": None, "seeds": 1}  # fmt: skip


def test_only_pages_with_markers_are_updated(tmp_path):
    result = {"table": "mnist-bags", "cells": [bag_auc(0.8)]}
    docs = tmp_path / "docs"
    docs.mkdir()
    query = "before\n<!-- stored: mnist-bags -->\n\n<!-- end -->\nafter\n"
    (docs / "a.md").write_text(query)
    (docs / "b.md").write_text("no table\n")
    (tmp_path / "README.md").write_text(query)
    assert update_pages(docs, [result]) == [docs / "a.md", tmp_path / "README.md"]
    table = group_table(result, BAGS)
    assert (docs / "a.md").read_text() == query.replace("-->\n\n<!--", f"-->\n{table}\n<!--")
    assert update_pages(docs, [result]) == []
    # A changed table under a label of its own is not what pages mean.
    other = {**result, "label": "mine", "cells": [bag_auc(0.1)]}
    assert update_pages(docs, [other]) == []


def _of_set(group, mean, draws=1):
    return {**bag_auc(mean), "group": group, "name": "mixture", "values": [mean] * draws,
            "seeds": draws}  # fmt: skip


def test_later_runs_of_real_bags_replace_numbers_of_the_first():
    first = {"table": "real-bags", "cells": [_of_set("MUSK1", 0.5), _of_set("Digits-bags", 0.8)]}
    later = {"table": "real-bags", "label": "repeated", "cells": [_of_set("MUSK1", 0.9, 5)]}
    joined = joined_runs([first, later])
    assert joined["former"] == ["Digits-bags"]
    cells = {cell["group"]: cell for cell in joined["cells"]}
    assert {name: (cell["mean"], cell["seeds"]) for name, cell in cells.items()} == {
        "MUSK1": (0.9, 5),
        "Digits-bags": (0.8, 1),
        "Mean of the design sets": (pytest.approx(0.85), 2),
    }
