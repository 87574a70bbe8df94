"""Check the widget and the demo: `python scripts/site_test/axe.py DEMO_URL AXE_JS PICTURES`.

Prints a line for each state and every violation that axe finds; exit code 1 if there is one. A
picture of each state goes into the folder PICTURES.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browsing import ARGUMENTS, CHROMIUM

_PAGE = "/pages/small-book-of-search/04-ranking.html"
_DESKTOP = {"width": 1280, "height": 800}
_PHONE = {"width": 390, "height": 780}


def _ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".tbr-pending")).to_have_count(0)
    page.locator(".tbr-actions").last.wait_for()


def states(page: Page, address: str) -> Iterator[str]:
    """Bring the page into one state after the other; yield the name of each."""
    page.goto(address + _PAGE)
    page.wait_for_load_state("networkidle")
    yield "closed"
    page.get_by_role("button", name="Ask this book").click()
    page.locator(".tbr-follow-up").first.wait_for()
    yield "open"
    _ask(page, "How is BM25 computed?")
    page.locator(".tbr-log math").first.wait_for()
    yield "answered"
    _ask(page, "Show me the diagram of HNSW")
    page.locator(".tbr-figure img").first.scroll_into_view_if_needed()
    yield "figure"
    page.get_by_role("button", name="Enlarge").first.click()
    yield "enlarged"
    page.keyboard.press("Escape")
    _ask(page, "Who won the football championship in Argentina in 1978?")
    yield "refused"
    page.get_by_role("tab", name="Find").click()
    page.get_by_label("Search the book").fill("owl")
    page.locator(".tbr-view .tbr-card").first.wait_for()
    yield "find"
    page.get_by_role("tab", name="Terms").click()
    page.locator(".tbr-terms dt").first.wait_for()
    yield "terms"
    page.get_by_role("tab", name="Quiz").click()
    page.get_by_role("button", name="Quiz me").click()
    page.get_by_role("button", name="Show the answer").click()
    page.get_by_role("button", name="I knew it").wait_for()
    yield "quiz"
    page.get_by_role("button", name="I knew it").click()
    page.get_by_role("tab", name="Terms").click()
    page.get_by_role("tab", name="Quiz").click()
    page.get_by_role("button", name="Forget all cards").wait_for()
    yield "cards"


def violations(page: Page, axe: str) -> list[dict[str, Any]]:
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then(result => result.violations)")
    return found


def check(browser: Browser, address: str, axe: str, pictures: Path) -> int:
    count = 0
    for name, size, scheme in [
        ("desktop light", _DESKTOP, "light"),
        ("desktop dark", _DESKTOP, "dark"),
        ("phone light", _PHONE, "light"),
    ]:
        context = browser.new_context(
            viewport={"width": size["width"], "height": size["height"]},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        page = context.new_page()
        for state in states(page, address):
            page.screenshot(path=pictures / f"{name} {state}.png".replace(" ", "-"))
            found = violations(page, axe)
            count += len(found)
            print(f"{name}, {state}: {len(found)} violations")
            for violation in found:
                print(f"  {violation['id']}: {violation['help']}")
                for node in violation["nodes"][:3]:
                    print(f"    {node['target']} {node['failureSummary'][:200]!r}")
        context.close()
    return count


def main() -> int:
    address, axe_file, folder = sys.argv[1:]
    pictures = Path(folder)
    pictures.mkdir(parents=True, exist_ok=True)
    axe = Path(axe_file).read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        return 1 if check(browser, address, axe, pictures) else 0


if __name__ == "__main__":
    sys.exit(main())
