"""Training in a real browser: it streams, is stopped, stepped through and explained."""

import os
import re
import signal
import time
from pathlib import Path

import numpy as np

from .chromium import WAIT, sync_api


def _names_its_class(page, square):
    """Whether a start, once clicked, is said to read from the background the class it marks."""
    seed = re.search(r"#(\d+)", square.inner_text())[1]
    square.click()
    page.get_by_role("heading", name=re.compile(f"^Seed {seed}\\b")).wait_for()
    marked = page.locator(".model tr.misplaced th")
    sentence = page.locator(".model .sentence").inner_text()
    named = re.search(r"(class \d) is read from the background", sentence)
    return bool(named) and marked.count() > 0 and marked.first.inner_text() == named[1]


def test_a_start_in_error_mode_1_is_found_and_explained(page):
    """What a person who never saw the lab does: start, click a square with a mark, read."""
    page.goto("/")
    page.get_by_role("link", name="Find a start that is right for the wrong reason →").click()
    for name in ("Hard", "LVML", "Hybrid", "Witness"):  # one will do, and is quicker
        page.get_by_role("checkbox", name=name, exact=True).uncheck()
    page.get_by_label("Epochs").fill("40")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Start training").click()
    page.locator("#state", has_text="Training").wait_for()
    page.locator("#state", has_text="Done").wait_for()
    page.locator(".tile.misplaced").first.wait_for()
    sentence = page.locator(".model .sentence")
    assert any(_names_its_class(page, square) for square in page.locator(".tile.misplaced").all())
    assert page.locator("[data-figure=regions] image").get_attribute("href").startswith("data:")
    address, words = page.url, sentence.inner_text()
    assert re.search(r"seed=\d+", address)
    page.go_back()
    sync_api.expect(page).not_to_have_url(address)
    page.goto("/runs")
    page.goto(address)  # a closed tab has lost nothing
    sync_api.expect(page.locator(".model .sentence")).to_have_text(words)
    with page.expect_download() as download:
        page.get_by_label("Download What the classifier reads as CSV").click()
    assert "point" in Path(download.value.path()).read_text()


def test_a_training_streams_and_stops(page):
    page.goto("/train?task=digits&paradigms=soft&seeds=2&epochs=3000")
    page.get_by_role("button", name="Start training").click()
    page.locator("#state", has_text="Training").wait_for()
    sync_api.expect(page.locator("#epoch")).to_contain_text(re.compile(r"epoch [1-9]\d* of"))
    page.locator(".model .bags svg").first.wait_for()
    top = page.locator(".model").first.bounding_box()["y"]
    page.get_by_role("button", name="Pause").click()
    page.locator("#state", has_text="Paused").wait_for()
    before = page.locator("#epoch").inner_text()
    page.get_by_role("button", name="Step").click()
    sync_api.expect(page.locator("#epoch")).not_to_have_text(before)
    assert page.locator(".model").first.bounding_box()["y"] == top  # nothing jumped
    page.get_by_role("button", name="Stop").click()
    page.locator("#state", has_text="Stopped").wait_for()


def test_from_the_heat_map_to_a_bag(page):
    page.goto("/runs")
    page.get_by_role("link", name="boxes").click()
    cell = page.locator("[data-figure=heat] g.cell").filter(has_text=re.compile(r"\d")).first
    cell.focus()
    page.keyboard.press("Enter")
    page.locator(".bags button").first.click()
    page.get_by_role("heading", name=re.compile(r"Bag \d+, truly class")).wait_for()
    page.locator("[data-figure=bag-soft] svg").wait_for()
    assert re.search(r"cell=\d%2C\d.*bag=\d+", page.url)
    address = page.url
    page.goto("/flow")
    page.goto(address)
    page.get_by_role("heading", name=re.compile(r"Bag \d+, truly class")).wait_for()


def test_a_million_points_are_drawn_and_exact_from_near(page):
    page.goto("/runs?run=long&quantity=train_loss&at=500000")
    words = page.locator("[data-figure=curve] .subtitle")
    sync_api.expect(words).to_contain_text("Thinned from 1,000,000 points")
    for _ in range(12):
        page.get_by_role("button", name="Closer").click()
    sync_api.expect(words).to_contain_text(re.compile(r"All \d+ points are drawn"))
    sync_api.expect(page.locator("p[role=status]").first).to_contain_text("Soft 9")


def test_a_training_of_another_lab_process_is_reported_as_missing(browser, lab):
    page = browser.new_page(base_url=lab)  # a error_response is an error in the console, rightly
    page.goto("/train?id=nothing&seed=3")
    sync_api.expect(page.get_by_role("alert")).to_contain_text("there is no such job")
    sync_api.expect(page.get_by_role("button", name="Start training")).to_be_enabled()
    assert page.locator(".tile").count() == 0
    page.close()


def test_ten_tabs_three_trainings_and_a_killed_worker(browser, lab, client, train, until, app):
    job = {"task": "error-mode-1", "paradigms": ["soft"], "seeds": 16, "epochs": 5000}
    names = [train(**job) for _ in range(3)]
    for name in names:
        until(name, "running")
    rooms = [browser.new_context(base_url=lab) for _ in range(10)]
    tabs = [room.new_page() for room in rooms]
    for k, tab in enumerate(tabs):
        tab.set_default_timeout(WAIT)
        tab.goto(f"/train?id={names[k % 3]}")
    for tab in tabs:
        tab.locator("#state", has_text="Training").wait_for()
    os.kill(app.state.sessions.get(names[0]).process.pid, signal.SIGKILL)
    for k, tab in enumerate(tabs):
        status = tab.locator("#state")
        sync_api.expect(status).to_have_text("Failed" if k % 3 == 0 else "Training")
    sync_api.expect(tabs[0].locator(".status")).to_contain_text("signal 9")
    took = []
    for m in range(20, 30):
        start = time.monotonic()
        assert client.get("/api/flow", params={"m": m}).status_code == 200
        took.append(time.monotonic() - start)
    assert np.median(took) < 0.5  # by the clock, on a machine that trains and draws
    before = tabs[1].locator("#epoch").inner_text()
    sync_api.expect(tabs[1].locator("#epoch")).not_to_have_text(before)
    tabs[0].goto("/flow")
    sync_api.expect(tabs[0].locator("[data-figure=mu] .lines path").first).to_be_visible()
    for room in rooms:
        room.close()
