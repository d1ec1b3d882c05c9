"""axe-core over every page and state, light and dark, narrow and wide; focus, reduced motion."""

import os
from importlib.resources import files
from pathlib import Path

import pytest

from ..uploading import write_bags
from .chromium import FOCUSED, WAIT, sync_api

# The ledger has hundreds of folded parts, all alike.
OPEN_DETAILS = (
    "[...document.querySelectorAll('details')].slice(0, 12).forEach((e) => (e.open = true))"
)
FIT = "/data?run=examples/fit-pumps"
PAGES = {
    "/": "[data-figure=beta] svg",
    "/flow?switch=400": "[data-figure=beta] svg",
    "/flow?m=99999&classes=-3": ".error a",
    "/train": ".model [data-figure=regions] image",
    "/train?id=nothing": ".state.error",
    "/train?task=digits": "#start",
    "/data": "#example",
    FIT: ".bag-card",
    f"{FIT}&bag=0": "#edited",
    "/words": "#decides",
    "/words?what=pairs": "#start",
    "/runs": "tbody tr",
    "/runs?run=boxes": "[data-figure=heat] svg",
    "/runs?run=examples/race-digits&cell=4,4&bag=0": ".bags button",
    "/runs?run=nothing": ".state.error",
    "/runs?compare=boxes,examples/fit-pumps": "[data-figure=curve] svg",
    "/claims": ".claim",
    "/nosuch": ".state.empty",
}


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core: from FOVEATE_AXE, else from a package that ships it."""
    if given := os.environ.get("FOVEATE_AXE"):
        return Path(given).read_text("utf-8")
    pytest.importorskip("axe_playwright_python", reason="needs pip install axe-playwright-python")
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def violations(page, axe, name):
    """What axe-core finds on a page, a line for each element."""
    page.evaluate(axe)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{name} {violation['id']}: {node['html'][:120]}"
        for violation in result["violations"]
        for node in violation["nodes"][:3]
    ]


TITLES = {
    "/": "Why does soft attention stop improving?",
    "/flow": "Why does soft attention stop improving?",
    "/train": "Right answer, wrong segment",
    "/data": "Can I trust attention on my data?",
    "/words": "Which word decides?",
    "/runs": "Runs",
    "/claims": "The ledger of claims",
    "/nosuch": "There is no such page",
}


def overflow(page, name):
    """A line if the page is wider than its window."""
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return [f"{name} is wider than {page.viewport_size['width']} pixels"] if wide else []


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (360, "dark")])
def test_every_page_opens_and_fits_and_axe_finds_nothing(browser, lab, axe, width, scheme):
    problems = []
    context = browser.new_context(
        base_url=lab,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        reduced_motion="reduce",
        bypass_csp=True,  # the check is injected; the pages themselves run no foreign code
    )
    for path, selector in PAGES.items():
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto(path)
        page.locator(selector).first.wait_for()
        if title := TITLES.get(path):
            assert page.get_by_role("heading", level=1).inner_text() == title
            assert page.locator("nav [aria-current]").count() == (path != "/nosuch")
        page.evaluate(OPEN_DETAILS)
        problems += violations(page, axe, path) + overflow(page, path)
        page.close()
    context.close()
    assert problems == []


def test_axe_finds_nothing_in_states_that_come_and_go(browser, lab, axe, train, tmp_path):
    """The list of jobs, a training that runs, the columns of a file, a filter that fits nothing."""
    name = train(task="error-mode-1", paradigms=["soft", "hard"], seeds=24, epochs=5000)
    file = tmp_path / "cases.csv"
    write_bags(file)
    context = browser.new_context(base_url=lab, reduced_motion="reduce", bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(WAIT)
    problems = []

    def check(state):
        for width, scheme in ((1440, "dark"), (360, "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            problems.extend(violations(page, axe, f"{state}, {scheme}") + overflow(page, state))

    page.goto(f"/train?id={name}&task=error-mode-1")
    page.locator(".model [data-figure=regions] image").first.wait_for()
    page.locator(".jobs-panel summary").click()
    page.locator(".jobs li").first.wait_for()
    check("a training and the list of jobs")
    page.goto("/data")
    page.get_by_label("Drop a file here, or choose one").set_input_files(file)
    page.get_by_role("button", name="Fit and examine").wait_for()
    check("the columns of a file")
    page.goto(f"{FIT}&outcome=doubtful&label=healthy")
    page.get_by_text("No bag fits.").wait_for()
    check("no bag fits")
    context.close()
    assert problems == []


def test_focus_stays_where_it_was(page):
    page.goto("/train")
    box = page.get_by_label("Witness", exact=True)
    box.focus()
    page.keyboard.press("Space")
    name = "document.activeElement.closest('label')?.textContent"
    assert page.evaluate(name) == "Witness"
    sync_api.expect(page.get_by_label("Witness", exact=True)).not_to_be_checked()
    task = page.get_by_label("Task")
    task.focus()
    task.select_option("digits")
    assert page.evaluate("document.activeElement.labels[0].textContent") == "Task"
    link = page.get_by_role("link", name="Runs", exact=True)
    link.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Runs").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Runs"


def test_tab_goes_on_from_a_field_that_was_changed(page):
    page.goto("/train?task=digits")
    page.get_by_label("Initial weights to try").fill("13")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "Epochs"
    page.get_by_text("Seeds 0 to 12.").wait_for()
    page.goto("/runs")
    page.get_by_label("Filter").fill("boxes")
    sync_api.expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "Kind"
    head = page.get_by_role("button", name="Run", exact=True)
    head.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(FOCUSED) == "Run ↓"


def test_focus_goes_on_where_its_button_is_gone(page, train):
    train(task="error-mode-1", paradigms=["soft"], seeds=1, epochs=5000)
    page.goto("/runs")
    page.locator(".jobs-panel summary").click()
    page.get_by_role("button", name="Stop Training: error-mode-1").focus()
    page.keyboard.press("Enter")
    sync_api.expect(page.locator(".jobs li", has_text="error-mode-1")).to_have_count(0)
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.goto(f"{FIT}&paradigm=soft")
    page.locator("#use").focus()
    page.keyboard.press("Enter")
    sync_api.expect(page.locator("#use")).to_have_count(0)
    assert page.evaluate(FOCUSED) == "Can the attention of the hybrid models be trusted?"


def test_focus_stays_in_the_grid_of_bags(page):
    page.goto(FIT)
    page.locator(".bag-card svg").first.wait_for()
    for label, value in (("Show", "right"), ("Class", "leak")):
        menu = page.get_by_label(label, exact=True)
        menu.focus()
        menu.select_option(value)
        assert page.evaluate("document.activeElement.labels[0].textContent") == label
    card = page.locator(".bag-card").nth(1)
    name = card.locator("b").inner_text()
    card.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"{name}, label leak").wait_for()
    page.get_by_role("button", name="Close").click()
    assert page.evaluate("document.activeElement.querySelector('b').textContent") == name


def test_nothing_plays_where_motion_is_reduced(browser, lab):
    page = browser.new_page(base_url=lab, reduced_motion="reduce")
    page.set_default_timeout(WAIT)
    page.goto("/")
    moment = page.locator("#moment")
    sync_api.expect(moment).to_contain_text("Epoch 100")
    sync_api.expect(page.locator("#play")).to_have_text("Play")
    page.close()
