"""Figures and example files of the docs are those that their tools make."""

from importlib.resources import files
from pathlib import Path

import pytest

import docs_figures
import make_examples
import readme_picture

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def test_stand_in_recordings_are_reproduced():
    shipped = files("foveate.data") / "examples" / "birds.csv"
    assert make_examples.birds_table() == shipped.read_text("utf-8")


def test_a_wren_is_marked_exactly_in_segments_with_its_call():
    rows = [line.split(",") for line in make_examples.birds_table(seed=3).splitlines()[1:]]
    faults = {row[0]: row[1] == "yes" for row in rows}
    marked = {name: any(row[-1] == "1" for row in rows if row[0] == name) for name in faults}
    assert faults == marked


def test_picture_of_the_readme_is_reproduced(tmp_path, monkeypatch):
    (tmp_path / "docs" / "images").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    readme_picture.main()
    drawn = (tmp_path / "docs" / "images" / "two-panels.svg").read_text("utf-8")
    assert drawn == (IMAGES / "two-panels.svg").read_text("utf-8")
    assert "Right for the wrong reason" in drawn
    assert "Right for the right reason" in drawn


def test_rows_of_the_chart_hold_the_stored_numbers():
    cells = docs_figures.stored_cells("mnist-bags")
    rows = {(row["bags"], row["method"]): row for row in docs_figures.auc_rows(cells)}
    for cell in cells:
        if cell.measure == "segment AUROC":
            row = rows[int(cell.group.split()[0]), cell.name]
            assert row["segment_auroc"] == pytest.approx(cell.mean)
            assert row["segment_auroc_high"] == pytest.approx(cell.high)


def test_every_chart_of_the_docs_is_there():
    assert {f"{name}.svg" for name in docs_figures.charts()} <= {p.name for p in IMAGES.iterdir()}
