"""Measure what the widget costs a page: `python scripts/site_test/budget.py DEMO_URL`.

Prints the main thread's CPU time in ms, the median of nine loads, and the layout shift; exit code 1
if a budget is exceeded.
"""

import sys
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from tests.browsing import ARGUMENTS, CHROMIUM

_PAGE = "/pages/small-book-of-search/01-why-search.html"
_LOADS = 9
_MAX_MS = 50.0
_SHIFT = (
    "window.shift = 0; new PerformanceObserver(list => { for (const entry of list.getEntries())"
    " window.shift += entry.value; }).observe({type: 'layout-shift', buffered: true})"
)


def load(browser: Browser, address: str, *, widget: bool) -> tuple[float, float]:
    """Return the main thread's ms of CPU and the layout shift of one load."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    if not widget:
        page.route("**/widget.js", lambda route: route.abort())
    page.add_init_script(_SHIFT)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address + _PAGE)
    page.wait_for_load_state("networkidle")
    metrics = {
        each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]
    }
    shift: float = page.evaluate("window.shift")
    page.close()
    return metrics["TaskDuration"] * 1000, shift


def main() -> int:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        alone = [load(browser, sys.argv[1], widget=False)[0] for _ in range(_LOADS)]
        loads = [load(browser, sys.argv[1], widget=True) for _ in range(_LOADS)]
        browser.close()
    cost = median(ms for ms, _ in loads) - median(alone)
    shift = max(shift for _, shift in loads)
    print(f"main thread: {cost:.0f} ms (at most {_MAX_MS:.0f}); layout shift: {shift:.3f} (0)")
    return 0 if cost <= _MAX_MS and shift == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
