"""The lab in a real browser: what a person sees and does."""

import contextlib
import re
from pathlib import Path

import pytest

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
    """What a person who never saw the lab does: start, click an orange square, read."""
    page.goto("/train?paradigms=soft&epochs=40")
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
    page.get_by_role("alert").get_by_text("there is no such training").wait_for()
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
