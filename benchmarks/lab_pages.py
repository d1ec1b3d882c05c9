"""How fast the pages of the lab are in Chromium: the first page, a slider, a grid of 1,000 bags.

Times are by the clock, so the machine should be quiet; beside them is the processor time of the
page's main thread, which does not depend on what else the machine does. Needs playwright and
Debian's chromium.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from foveate.lab.server.app import create_app
from foveate.lab.server.serving import bind_socket

CHROMIUM = "/usr/bin/chromium"
PATIENCE = 300_000  # milliseconds, on a machine that does other things too
LINE = "[data-figure=alpha] .lines path"
# Resolves with the milliseconds from moving a slider to the first change of the curve.
MOVE = """([label, value]) => new Promise((resolve) => {
  const range = [...document.querySelectorAll('input[type=range]')]
    .find((one) => one.labels[0].textContent === label);
  const figure = document.querySelector('[data-figure=alpha]');
  const start = performance.now();
  const watch = new MutationObserver(() => {
    watch.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - start));
  });
  const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ['d'] };
  watch.observe(figure, changes);
  range.value = Number(range.value) + value;
  range.dispatchEvent(new Event('input', { bubbles: true }));
})"""
# Scrolls to the end of the page in steps and resolves with the time of each frame.
SCROLL = """(step) => new Promise((resolve) => {
  const frames = [];
  let before = performance.now();
  const next = (now) => {
    frames.push(now - before);
    before = now;
    const end = document.documentElement.scrollHeight - innerHeight;
    if (scrollY >= end - 2 || frames.length > 2000) return resolve(frames);
    scrollBy({ top: step, behavior: 'instant' });
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--bags", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FOVEATE_RUNS"] = folder
        fit_bags(Path(folder), options.bags)
        with lab() as address, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            first_page(browser, address, options.times)
            slider(browser, address, 2 * options.times)
            grid(browser, address)
            browser.close()


def fit_bags(folder: Path, bags: int) -> None:
    """Fit a table of which ``bags`` bags are test bags."""
    chance = np.random.default_rng(0)
    rows = ["bag,label,split,a,b"]
    for i in range(bags + 200):
        split = "test" if i < bags else ("train" if i < bags + 150 else "validation")
        for j in range(6):
            a, b = chance.normal(4 * (i % 2 and j == i % 6), 0.5, 2).round(3)
            rows.append(f"case {i},{['well', 'sick'][i % 2]},{split},{a},{b}")
    table = folder / "cases.csv"
    table.write_text("\n".join(rows))
    command = [sys.executable, "-m", "foveate", "fit", str(table), "--paradigms", "soft"]
    command += ["--seeds", "1", "--epochs", "10", "--folds", "1", "--out", str(folder / "cases")]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def lab() -> Iterator[str]:
    """The address of a lab in this process."""
    app, listener = create_app(), bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        app.state.sessions.closed = True
        server.should_exit = True
        thread.join()


def first_page(browser: Browser, address: str, times: int) -> None:
    """The start page with an empty cache: its sentence, and all its figures."""
    sentence, figures = [], []
    for _ in range(times + 1):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        start = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.locator("#why").wait_for()
        sentence.append(1000 * (time.perf_counter() - start))
        page.locator("[data-figure=beta] .lines path").first.wait_for()
        figures.append(1000 * (time.perf_counter() - start))
        context.close()
    print(f"first page, the very first time: {sentence[0]:.0f} ms to its sentence")
    print(f"first page, empty cache: {spread(sentence[1:])} to its sentence")
    print(f"first page, empty cache: {spread(figures[1:])} to all figures")


def slider(browser: Browser, address: str, times: int) -> None:
    """From moving a slider of the flow page to the redrawn curves."""
    page = browser.new_page(base_url=address, viewport={"width": 1440, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto("/flow")
    page.locator(LINE).first.wait_for()
    metrics = metrics_of(page)
    clock, busy = [], []
    for k in range(times + 1):
        before = busy_seconds(metrics)
        clock.append(page.evaluate(MOVE, ["m, segments in a bag", 0.01 * (1 + k % 3)]))
        page.wait_for_timeout(200)
        busy.append(1000 * (busy_seconds(metrics) - before))
    print(f"slider to curves: {spread(clock[1:])}; main thread {spread(busy[1:])}")
    page.close()


def grid(browser: Browser, address: str) -> None:
    """Scroll through the bags of a fit, which are drawn when they are seen."""
    page = browser.new_page(base_url=address, viewport={"width": 1440, "height": 900})
    page.set_default_timeout(PATIENCE)
    start = time.perf_counter()
    page.goto("/data?run=cases")
    page.locator(".bag-card svg").first.wait_for()
    shown = time.perf_counter() - start
    cards = page.locator(".bag-card").count()
    page.evaluate("scrollTo(0, 0)")
    metrics = metrics_of(page)
    before = busy_seconds(metrics)
    frames = page.evaluate(SCROLL, 60)
    busy = 1000 * (busy_seconds(metrics) - before) / len(frames)
    late = sum(frame > 50 for frame in frames)
    print(f"grid of {cards} bags: first drawn bag after {1000 * shown:.0f} ms")
    print(f"scrolling {len(frames)} steps of 60 pixels: {spread(frames)} a frame,")
    print(f"{late} frames over 50 ms; main thread {busy:.1f} ms a frame")
    start = time.perf_counter()
    page.locator(".bag-card").last.locator("svg").wait_for()
    print(f"last bag drawn {1000 * (time.perf_counter() - start):.0f} ms after the end is reached")
    page.close()


def busy_seconds(session: CDPSession) -> float:
    """The processor time of the main thread of a page so far."""
    values: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return float(next(item["value"] for item in values if item["name"] == "TaskDuration"))


def metrics_of(page: Page) -> CDPSession:
    """A session that reads the metrics of a page."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    return session


def spread(values: list[float]) -> str:
    """The median and the 95 % quantile in milliseconds."""
    worst = statistics.quantiles(values, n=20)[-1] if len(values) > 1 else values[0]
    return f"{statistics.median(values):.0f} ms (95 %: {worst:.0f})"


if __name__ == "__main__":
    main()
