import pytest


@pytest.fixture(scope="package")
def browser():
    from .chromium import CHROMIUM, SWITCHES, sync_api

    if not CHROMIUM.exists():
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=str(CHROMIUM), args=SWITCHES)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def context(browser, lab):
    """One profile for all pages, whose modules and charts come from its cache after the first."""
    opened = browser.new_context(base_url=lab, viewport={"width": 1440, "height": 900})
    yield opened
    opened.close()


@pytest.fixture
def page(context):
    """A page that must not complain."""
    from .chromium import WAIT

    opened = context.new_page()
    complaints = []
    opened.on(
        "console", lambda entry: complaints.append(entry.text) if entry.type == "error" else 0
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.set_default_timeout(WAIT)
    yield opened
    opened.close()
    assert complaints == []
