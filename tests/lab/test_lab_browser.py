"""The lab in a real browser: what a person sees and does."""

import contextlib
import os
import re
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foveate.dynamics import vr23
from foveate.runs import open_run

from .conftest import HOSTILE

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install playwright"
)
CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="needs Debian's chromium: apt-get install chromium"
)
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT = 60_000
sync_api.expect.set_options(timeout=WAIT)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, lab):
    """A page that must not complain."""
    opened = browser.new_page(base_url=lab, viewport={"width": 1440, "height": 900})
    complaints = []
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else 0)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.set_default_timeout(WAIT)
    yield opened
    opened.close()
    assert complaints == []


@pytest.mark.parametrize("width", [360, 1440])
def test_every_page_opens_and_fits(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for view, title in {
        "": "Attention that looks at the right thing",
        "flow": "Why does soft attention",
        "train": "Right answer, wrong place",
        "runs": "Runs",
        "words": "What does a text model",
        "own": "Own data",
        "claims": "The ledger of claims",
    }.items():
        page.goto(f"/{view}")
        page.get_by_role("heading", name=title).wait_for()
        assert page.locator("nav [aria-current]").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for control in page.locator("input, select, textarea").all():
            named = control.evaluate("e => e.labels?.length || e.getAttribute('aria-label')")
            assert named, f"{view}: a control has no label"


def test_a_slider_moves_the_figures_and_the_address(page):
    page.goto("/flow")
    line = page.locator("[data-figure=alpha] .mark-line path").first
    before = line.get_attribute("d")
    slider = page.get_by_label("m, segments in a bag")
    slider.focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"m=\d+"))
    sync_api.expect(line).not_to_have_attribute("d", before)
    said = page.locator("p[role=status][aria-busy=false]")
    sync_api.expect(said).to_contain_text("At t = 1000")
    address, words = page.url, said.inner_text()
    page.goto("/own")
    page.goto(address)
    sync_api.expect(said).to_have_text(words)
    sync_api.expect(page.get_by_label("m, segments in a bag")).to_have_value(
        re.compile(r"^1\.3[1-9]")
    )


def test_every_figure_says_what_it_shows(page):
    page.goto("/flow")
    page.locator("[data-figure=alpha] .mark-line path").first.wait_for()
    for figure in page.locator("figure").all():
        figure.get_by_text("What am I looking at?").click()
        assert len(figure.locator("details p").first.inner_text()) > 40
    raised = page.locator("[data-figure=alpha] .equation sup").all_inner_texts()
    assert raised == ["ν", "ν"]


def test_figures_can_be_kept(page):
    page.goto("/flow?m=5&classes=3&until=50")
    page.locator("[data-figure=mu] .mark-line path").first.wait_for()
    with page.expect_download() as kept:
        page.get_by_label("Download μ, the classifier as CSV").click()
    text = Path(kept.value.path()).read_text()
    assert text.splitlines()[0] == "t,mu,paradigm,kind"
    assert text.splitlines()[1].startswith("0,0,Soft,flow")
    with page.expect_download() as kept:
        page.get_by_label("Download μ, the classifier as SVG").click()
    assert Path(kept.value.path()).read_text().startswith("<svg")


def _names_its_class(page, square):
    """Whether a start, once clicked, is said to read from the background the class it marks."""
    square.click()
    marked = page.locator(".member tr.astray th")
    with contextlib.suppress(sync_api.TimeoutError):
        marked.first.wait_for(timeout=5000)
        page.wait_for_timeout(500)  # sentence and table come with one frame; let it be the new one
        said = page.locator(".member .sentence").inner_text()
        named = re.search(r"(class \d) is read from the background", said)
        return bool(named) and marked.first.inner_text() == named[1]
    return False


def test_a_start_in_error_mode_1_is_found_and_explained(page):
    """What a person who never saw the lab does: start, click a square with a mark, read."""
    page.goto("/")
    page.get_by_role("link", name="Right answer, wrong place").click()
    for name in ("Hard", "LVML", "Hybrid", "Witness"):  # one will do, and is quicker
        page.get_by_label(name).uncheck()
    page.get_by_label("Epochs").fill("40")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Start training").click()
    page.locator("#state", has_text="Training").wait_for()
    square = page.locator(".tile.astray").first
    square.wait_for()
    page.locator("#state", has_text="Done").wait_for()
    sentence = page.locator(".member .sentence")
    assert any(_names_its_class(page, square) for square in page.locator(".tile.astray").all())
    assert page.locator("[data-figure=regions] image").get_attribute("href").startswith("data:")
    address, words = page.url, sentence.inner_text()
    assert re.search(r"seed=\d+", address)
    page.go_back()
    sync_api.expect(page).not_to_have_url(address)
    page.goto("/runs")
    page.goto(address)  # a closed tab has lost nothing
    sync_api.expect(page.locator(".member .sentence")).to_have_text(words)
    with page.expect_download() as kept:
        page.get_by_label("Download What the classifier reads as CSV").click()
    assert "point" in Path(kept.value.path()).read_text()


def test_a_training_streams_and_stops(page):
    page.goto("/train?task=digits&paradigms=soft&seeds=2&epochs=3000")
    page.get_by_role("button", name="Start training").click()
    page.locator("#state", has_text="Training").wait_for()
    sync_api.expect(page.locator("#epoch")).to_contain_text(re.compile(r"epoch [1-9]\d* of"))
    page.locator(".member .bags svg").first.wait_for()
    top = page.locator(".member").first.bounding_box()["y"]
    page.get_by_role("button", name="Pause").click()
    page.locator("#state", has_text="Paused").wait_for()
    before = page.locator("#epoch").inner_text()
    page.get_by_role("button", name="Step").click()
    sync_api.expect(page.locator("#epoch")).not_to_have_text(before)
    assert page.locator(".member").first.bounding_box()["y"] == top  # nothing jumped
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


def test_a_hostile_name_does_no_harm(page):
    page.goto("/runs")
    page.get_by_role("link", name=HOSTILE).click()
    page.get_by_role("heading", name=HOSTILE).wait_for()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_a_training_of_another_lab_is_said_to_be_gone(browser, lab):
    page = browser.new_page(base_url=lab)  # a refusal is an error in the console, rightly
    page.goto("/train?id=nothing&seed=3")
    sync_api.expect(page.get_by_role("alert")).to_contain_text("there is no such training")
    sync_api.expect(page.get_by_role("button", name="Start training")).to_be_enabled()
    assert page.locator(".tile").count() == 0
    page.close()


def test_dark_and_light(browser, lab):
    grounds = []
    for scheme in ("light", "dark"):
        page = browser.new_page(base_url=lab, color_scheme=scheme)
        page.goto("/flow")
        page.locator("[data-figure=mu] .mark-line path").first.wait_for()
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        grounds.append(page.locator("[data-figure=mu] svg text").first.get_attribute("fill"))
        page.close()
    assert len(set(grounds)) == 4


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
    share = f"both right {100 * record.values['ftpt'][1, 1]:.0f} %"
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


def test_a_run_of_before_is_shown_without_its_heat_map_over_time(page, folder):
    shutil.copytree(folder / "boxes", folder / "before")
    record = open_run(folder / "before").record("soft")
    kept = {name: rows for name, rows in record.values.items() if name != "heat"}
    replace(record, values=kept).save(folder / "before" / "soft" / "record.npz")
    page.goto("/runs?run=before&at=1")
    sync_api.expect(page.get_by_text("kept its heat map at the end only")).to_be_visible()
    sync_api.expect(page.locator("[data-figure=heat] .subtitle")).to_contain_text("at the end")
    shutil.rmtree(folder / "before")


def test_the_best_switch_is_set_and_its_gain_told(page):
    page.goto("/flow?m=6&classes=5&until=150")
    page.get_by_role("button", name="Best switch").click()
    found = vr23.best_switch(6, 5, 150)
    said = page.locator("#gain")
    sync_api.expect(said).to_contain_text(f"At {found[0]:.3g}")
    sync_api.expect(said).to_contain_text(re.compile(r"[1-9]\d* % less"))
    sync_api.expect(page.get_by_label("Hybrid: soft, then hard")).to_be_checked()
    assert re.search(rf"switch={found[0]:.4g}", page.url)
    page.locator("[data-figure=loss] .mark-line path").nth(3).wait_for()


def _kept(page, figure):
    """Both downloads of a figure."""
    for kind, begins in (("SVG", "<svg"), ("CSV", "")):
        with page.expect_download() as kept:
            figure.get_by_role("button", name=re.compile(f"as {kind}$")).click()
        text = Path(kept.value.path()).read_text()
        assert text.startswith(begins)
        assert len(text.splitlines()) > 1 or kind == "SVG"
        yield text


def test_words_and_all_bags_can_be_kept(page):
    page.goto("/train?task=topic-words&paradigms=soft&seeds=1&epochs=2")
    page.get_by_role("button", name="Start training").click()
    page.locator("#state", has_text="Done").wait_for()
    figures = page.locator(".member figure")
    assert figures.count() == 3
    for figure in figures.all():
        svg, table = _kept(page, figure)
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
        assert len(list(_kept(page, page.locator(f"[data-figure={name}]")))) == 2


def test_a_file_with_a_hostile_name_is_checked(page, tmp_path, client):
    file = tmp_path / f"{HOSTILE}.csv"
    file.write_text("bag,label,a\ns1,x,1\ns2,y,2\n")
    page.goto("/own")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    page.get_by_role("heading", name=file.name).wait_for()
    sync_api.expect(page.get_by_role("button", name="Fit and examine")).to_be_enabled()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.hurt") is None
    name = re.search(r"id=(\w+)", page.url)[1]
    assert client.post(f"/api/trainings/{name}/stop").json()["state"] == "stopped"


def test_a_fit_is_chosen_by_its_attention(page, tmp_path):
    labels = ["no", "yes"]
    file = tmp_path / "bags.csv"
    rows = [
        f"s{i},{labels[i % 2]},{0 if j else 2 * i % 4 - 1},{i + j / 10}"
        for i in range(60)
        for j in range(3)
    ]
    file.write_text("\n".join(["bag,label,a,b", *rows]))
    page.goto("/own")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    page.get_by_label("Models of each").fill("1")
    page.get_by_label("Epochs (by size unless given)").fill("3")
    for name in ("Hard", "LVML", "Hybrid", "Witness"):
        page.get_by_label(name, exact=True).uncheck()
    page.get_by_label("of those about as accurate").check()
    page.get_by_role("button", name="Fit and examine").click()
    page.get_by_role("columnheader", name="Attention, label-free score").wait_for(timeout=60_000)
    said = page.get_by_text("known locations play no part")
    sync_api.expect(said).to_be_visible()


def test_a_text_model_is_asked_and_opened_again_another_day(page, client):
    name = client.post("/api/words", json={"steps": 20}).json()["id"]
    page.goto(f"/words?id={name}")
    page.locator("[data-figure=alpha] .tokens span").first.wait_for()
    page.get_by_label("A text to read").fill(f"1 2 {HOSTILE}")
    page.get_by_role("button", name="Read", exact=True).click()
    sync_api.expect(page.locator("[data-figure=alpha] .tokens span").nth(2)).to_have_text("<img")
    assert page.evaluate("window.hurt") is None
    svg, table = _kept(page, page.locator("[data-figure=delta]"))
    assert "&lt;img" in svg
    assert table.splitlines()[0] == "word,known,alpha,beta,delta"
    answer = page.locator("p.strong[role=status]").inner_text()
    kept = client.get(f"/api/trainings/{name}").json()["result"]["model"]
    client.post(f"/api/trainings/{name}/stop")
    page.goto(f"/words?model={kept}&text=1+2+{HOSTILE.replace('=', '%3D')}")
    sync_api.expect(page.locator("p.strong[role=status]")).to_have_text(answer)
    sync_api.expect(page.get_by_label("Or ask one that was trained before")).to_have_value(kept)
    again = re.search(r"id=(\w+)", page.url)[1]
    assert again != name
    client.post(f"/api/trainings/{again}/stop")


def test_ten_tabs_three_trainings_and_a_killed_worker(browser, lab, client, train, until, app):
    job = {"task": "error-mode-1", "paradigms": ["soft"], "seeds": 1, "epochs": 5000}
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
        said = tab.locator("#state")
        sync_api.expect(said).to_have_text("Failed" if k % 3 == 0 else "Training")
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
    sync_api.expect(tabs[0].locator("[data-figure=mu] .mark-line path").first).to_be_visible()
    for room in rooms:
        room.close()
