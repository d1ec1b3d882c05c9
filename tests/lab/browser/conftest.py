import pytest


@pytest.fixture(scope="module")
def browser():
    from .chromium import CHROMIUM, SWITCHES, sync_api

    if not CHROMIUM.exists():
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, lab):
    """A page that must not complain."""
    from .chromium import WAIT

    opened = browser.new_page(base_url=lab, viewport={"width": 1440, "height": 900})
    complaints = []
    opened.on(
        "console", lambda entry: complaints.append(entry.text) if entry.type == "error" else 0
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.set_default_timeout(WAIT)
    yield opened
    opened.close()
    assert complaints == []
