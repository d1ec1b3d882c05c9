"""Runs in a real browser: compared, stepped through, kept."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from foveate.records.runs import open_run

from .chromium import downloads, sync_api


def test_runs_are_compared_and_filtered(page):
    page.goto("/runs")
    for name in ("boxes", "digits"):
        page.get_by_label(f"Compare {name}").check()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="2 runs compared").wait_for()
    page.go_back()
    page.get_by_label("Filter").fill("broken")
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("tbody tr")).to_have_count(1)
    assert "damaged" in page.locator("tbody tr").inner_text()


def _heat(page):
    """What stands in the cells, rows of the prediction score from the lowest on."""
    words = page.locator("[data-figure=heat] g.cell text").all_text_contents()
    return [words[5 * row : 5 * row + 5] for row in range(5)]


def _in_percent(shares):
    """The same as the page writes it."""
    return [["" if x == 0 else "<1" if x < 0.0095 else f"{100 * x:.0f}" for x in row]
            for row in shares]  # fmt: skip


def _stands(page, figure):
    """How far across a figure its upright line stands, from 0 to 1, once the figure is drawn."""
    line = page.locator(f"[data-figure={figure}] .mark-rule.role-mark line")
    sync_api.expect(line).to_have_count(1)
    page.wait_for_function("e => e.closest('svg').clientWidth > 100", arg=line.element_handle())
    at = float(re.match(r"translate\(([\d.]+)", line.get_attribute("transform"))[1])
    return at / page.locator(f"[data-figure={figure}] .mark-area path").first.evaluate(
        "e => e.getBBox().width"
    )


def test_a_slider_steps_through_training(page, folder):
    record = open_run(folder / "boxes").record("soft")
    over = np.round(record.values["heat"][:, 1], 4)
    page.goto("/runs?run=boxes&member=1")
    words = page.locator("[data-figure=heat] .subtitle")
    sync_api.expect(words).to_have_text("Soft, seed 1, at the end")
    assert _heat(page) == _in_percent(over[-1])
    cell = page.locator("[data-figure=heat] g.cell").first
    assert _stands(page, "curve") == pytest.approx(1, abs=0.01)
    sync_api.expect(cell).to_have_attribute("aria-disabled", "false")
    page.get_by_label("Step through training: epoch").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    sync_api.expect(words).to_have_text("Soft, seed 1, at epoch 1")
    assert _heat(page) == _in_percent(over[1])
    share = f"both right {100 * record.values['ftpt'][1, 1]:.0f}\u00a0%"
    sync_api.expect(page.locator("[data-figure=quadrants] .subtitle")).to_contain_text(share)
    assert _stands(page, "curve") == pytest.approx(1 / 4, abs=0.01)
    assert _stands(page, "quadrants") == pytest.approx(1 / 4, abs=0.01)
    sync_api.expect(cell).to_have_attribute("aria-disabled", "true")
    assert page.url.endswith("at=1")
    page.reload()
    sync_api.expect(words).to_have_text("Soft, seed 1, at epoch 1")
    page.get_by_role("button", name="To the end").click()
    sync_api.expect(words).to_have_text("Soft, seed 1, at the end")
    sync_api.expect(cell).to_have_attribute("aria-disabled", "false")


def test_a_run_of_an_older_version_has_no_heat_map_over_time(page, folder):
    shutil.copytree(folder / "boxes", folder / "before")
    record = open_run(folder / "before").record("soft")
    rest = {name: rows for name, rows in record.values.items() if name != "heat"}
    replace(record, values=rest).save(folder / "before" / "soft" / "record.npz")
    page.goto("/runs?run=before&at=1")
    sync_api.expect(page.get_by_text("kept its heat map at the end only")).to_be_visible()
    sync_api.expect(page.locator("[data-figure=heat] .subtitle")).to_contain_text("at the end")
    shutil.rmtree(folder / "before")


def test_words_and_all_bags_can_be_kept(page):
    page.goto("/train?task=topic-words&paradigms=soft&seeds=1&epochs=2")
    page.get_by_role("button", name="Start training").click()
    page.locator("#state", has_text="Done").wait_for()
    figures = page.locator(".model figure")
    assert figures.count() == 3
    for figure in figures.all():
        svg, table = downloads(page, figure)
        if figure.get_attribute("data-figure") == "examples":
            assert svg.count("truly topic") == 6
            assert len(table.splitlines()) == 1 + 6 * 11


def test_all_of_a_run_can_be_kept(page):
    page.goto("/runs?run=boxes&part=soft&member=0&bag=0&cell=0,0")
    page.locator("[data-figure=bag-hard] svg").wait_for()
    page.locator("[data-figure=heat-map-soft]").scroll_into_view_if_needed()
    page.locator("[data-figure=heat-map-hard] svg").wait_for()
    # After ten downloads a browser asks its user, so one bag stands for both.
    for name in ("curve", "heat", "quadrants", "bag-hard", "heat-map-soft"):
        assert len(list(downloads(page, page.locator(f"[data-figure={name}]")))) == 2


def test_back_in_an_opened_run_changes_what_the_address_says_and_keeps_the_rest(page):
    page.goto("/runs")
    page.get_by_role("link", name="boxes").click()
    cell = page.locator("[data-figure=heat] g.cell").filter(has_text=re.compile(r"\d")).first
    cell.focus()
    page.keyboard.press("Enter")
    page.locator(".bags button").first.click()
    bag = page.get_by_role("heading", name=re.compile(r"Bag \d+, truly class"))
    bag.wait_for()
    page.get_by_label("Seed").focus()
    page.evaluate("document.querySelector('[data-figure=curve]').dataset.kept = 'yes'")
    page.go_back()
    sync_api.expect(bag).to_have_count(0)
    sync_api.expect(page.locator(".bags button").first).to_be_visible()
    assert page.locator("[data-figure=curve]").get_attribute("data-kept") == "yes"
    assert page.evaluate("document.activeElement.labels[0].textContent") == "Seed"
    page.go_back()
    sync_api.expect(page.get_by_text("Choose a cell of the heat map.")).to_be_visible()
    assert page.locator("[data-figure=curve]").get_attribute("data-kept") == "yes"
    page.go_back()
    sync_api.expect(page.get_by_role("link", name="boxes")).to_be_focused()
