"""Every page of the lab in a real browser: it opens, fits, explains itself and does no harm."""

import pytest

from ..conftest import HOSTILE


@pytest.mark.parametrize("width", [360, 1440])
def test_every_page_opens_and_fits(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    for view, title in {
        "": "Why does soft attention stop",
        "flow": "Why does soft attention",
        "train": "Right answer, wrong segment",
        "runs": "Runs",
        "words": "Which word decides",
        "data": "Can I trust attention on my data",
        "claims": "The ledger of claims",
    }.items():
        page.goto(f"/{view}")
        page.get_by_role("heading", name=title).wait_for()
        assert page.locator("nav [aria-current]").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        named = "e.labels?.length || e.getAttribute('aria-label')"
        controls = "[...document.querySelectorAll('input, select, textarea')]"
        page.wait_for_function(f"() => {controls}.every((e) => {named})")


def test_a_hostile_name_does_no_harm(page):
    page.goto("/runs")
    page.get_by_role("link", name=HOSTILE).click()
    page.get_by_role("heading", name=HOSTILE).wait_for()
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.hurt") is None


def test_dark_and_light(browser, lab):
    grounds = []
    for scheme in ("light", "dark"):
        page = browser.new_page(base_url=lab, color_scheme=scheme)
        page.goto("/flow")
        page.locator("[data-figure=mu] .lines path").first.wait_for()
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        grounds.append(page.locator("[data-figure=mu] svg text").first.get_attribute("fill"))
        page.close()
    assert len(set(grounds)) == 4
