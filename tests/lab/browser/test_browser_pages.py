"""Pages of the lab in a real browser: names do no harm, light and dark differ."""

from ..conftest import HOSTILE


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
