"""What the tests in a browser share: Playwright, and how Debian's Chromium is started."""

import os
import re
from pathlib import Path

import pytest

__all__ = ["CHROMIUM", "FOCUSED", "SWITCHES", "WAIT", "downloads", "sync_api"]

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install playwright"
)
CHROMIUM = Path("/usr/bin/chromium")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT = int(os.environ.get("FOVEATE_BROWSER_WAIT", "60_000"))  # milliseconds
sync_api.expect.set_options(timeout=WAIT)
# The name of the element that has the focus.
FOCUSED = """(() => {
  const at = document.activeElement;
  return at.labels?.[0]?.textContent ?? at.getAttribute("aria-label") ?? at.textContent;
})()"""


def downloads(page, figure):
    """Both downloads of a figure."""
    for kind, begins in (("SVG", "<svg"), ("CSV", "")):
        with page.expect_download() as saved:
            figure.get_by_role("button", name=re.compile(f"as {kind}$")).click()
        text = Path(saved.value.path()).read_text()
        assert text.startswith(begins)
        assert len(text.splitlines()) > 1 or kind == "SVG"
        yield text
