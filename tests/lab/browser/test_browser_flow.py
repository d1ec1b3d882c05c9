"""Flows in a real browser: sliders, addresses, figures to keep."""

import re
from pathlib import Path

from foveate.dynamics import vr23

from .chromium import sync_api


def test_a_slider_moves_the_figures_and_the_address(page):
    page.goto("/flow")
    line = page.locator("[data-figure=alpha] .lines path").first
    before = line.get_attribute("d")
    slider = page.get_by_label("m, segments in a bag")
    slider.focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"m=\d+"))
    sync_api.expect(line).not_to_have_attribute("d", before)
    status = page.locator("p[role=status][aria-busy=false]")
    sync_api.expect(status).to_contain_text("At t = 3000")
    address, words = page.url, status.inner_text()
    page.goto("/data")
    page.goto(address)
    sync_api.expect(status).to_have_text(words)
    sync_api.expect(page.get_by_label("m, segments in a bag")).to_have_value(
        re.compile(r"^1\.3[1-9]")
    )


def test_every_figure_says_what_it_shows(page):
    page.goto("/flow")
    page.locator("[data-figure=alpha] .lines path").first.wait_for()
    for figure in page.locator("figure").all():
        figure.get_by_text("What am I looking at?").click()
        assert len(figure.locator("details p").first.inner_text()) > 40
    raised = page.locator("[data-figure=alpha] .equation sup").all_inner_texts()
    assert raised == ["ν", "ν"]


def test_figures_can_be_kept(page):
    page.goto("/flow?m=5&classes=3&until=50")
    page.locator("[data-figure=mu] .lines path").first.wait_for()
    with page.expect_download() as download:
        page.get_by_label("Download μ, the classifier as CSV").click()
    text = Path(download.value.path()).read_text()
    assert text.splitlines()[0] == "t,mu,paradigm,kind"
    assert text.splitlines()[1].startswith("0,0,Soft,flow")
    with page.expect_download() as download:
        page.get_by_label("Download μ, the classifier as SVG").click()
    assert Path(download.value.path()).read_text().startswith("<svg")


def test_the_best_switch_is_set_and_its_gain_told(page):
    page.goto("/flow?m=6&classes=5&until=150")
    page.get_by_role("button", name="Best switch").click()
    result = vr23.best_switch(6, 5, 150)
    status = page.locator("#gain")
    sync_api.expect(status).to_contain_text(f"At {result[0]:.3g}")
    sync_api.expect(status).to_contain_text(re.compile(r"[1-9]\d*\s% less"))
    sync_api.expect(page.get_by_label("Hybrid: soft, then hard")).to_be_checked()
    assert re.search(rf"switch={result[0]:.4g}", page.url)
    page.locator("[data-figure=loss] .lines path").nth(3).wait_for()
