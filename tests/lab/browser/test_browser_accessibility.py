"""axe-core over every page, light and dark, narrow and wide; focus and reduced motion."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .chromium import WAIT, sync_api

PAGES = {
    "/": "#moment",
    "/flow": "[data-figure=beta] svg",
    "/train": "#start",
    "/data": ".drop",
    "/words": "#start",
    "/runs": "tbody tr",
    "/runs?run=boxes": "[data-figure=heat] svg",
    "/runs?compare=boxes,digits": "[data-figure=curve] svg",
    "/claims": ".claim",
    "/nosuch": ".state.empty",
}


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The source of axe-core: from FOVEATE_AXE, else by npm."""
    if given := os.environ.get("FOVEATE_AXE"):
        return Path(given).read_text("utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm to fetch axe-core, or FOVEATE_AXE to name axe.min.js")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--silent", "--prefix", str(folder), "axe-core@4"]
    if subprocess.run(command, capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("npm cannot fetch axe-core here")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (360, "dark")])
def test_axe_finds_nothing(browser, lab, axe, width, scheme):
    found = []
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
        page.evaluate(axe)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{path} {violation['id']}: {node['html'][:120]}"
            for violation in result["violations"]
            for node in violation["nodes"][:3]
        ]
        page.close()
    context.close()
    assert found == []


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


def test_nothing_plays_where_motion_is_reduced(browser, lab):
    page = browser.new_page(base_url=lab, reduced_motion="reduce")
    page.set_default_timeout(WAIT)
    page.goto("/")
    moment = page.locator("#moment")
    sync_api.expect(moment).to_contain_text("Epoch 100")
    sync_api.expect(page.locator("#play")).to_have_text("Play")
    page.close()
