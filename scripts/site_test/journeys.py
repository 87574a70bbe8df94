"""Use the widget like readers do.

    python scripts/site_test/journeys.py SITE PICTURES [--generator NAME]

SITE is the sample book's site, built by this generator with the widget. Each journey checks what
depends on the site and saves pictures in the folder PICTURES for visual inspection.
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import expect, sync_playwright

from scripts.site_test.reader import SITES, Reader
from tests.browsing import ARGUMENTS, CHROMIUM, CITED
from tests.local_http import static_site

_DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
_PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 780},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}

# --- on a desktop -------------------------------------------------------------------------------


def ask_click_back_follow_up(reader: Reader) -> None:
    page = reader.page
    reader.open(reader.site.why)
    reader.ask("How is BM25 computed?")
    reader.shot("answer")
    page.locator(".tbr-passage .tbr-section").first.click()
    expect(page).to_have_url(re.compile(re.escape(reader.site.ranking)))
    reader.landed()
    reader.shot("landed")
    page.go_back()
    expect(page.locator(".tbr-question")).to_have_text("How is BM25 computed?")
    expect(page.locator(CITED)).to_have_count(0)
    page.locator(".tbr-follow-up").first.click()
    expect(page.locator(".tbr-question")).to_have_count(2)
    reader.finished()
    reader.shot("follow-up")


def ask_about_a_selection(reader: Reader) -> None:
    page = reader.page
    reader.open(reader.site.ranking)
    page.locator(f"{reader.site.main} p").first.select_text()
    reader.shot("selected")
    page.get_by_role("button", name="Ask about this").click()
    reader.shot("panel")
    page.get_by_role("button", name="Explain this").click()
    reader.finished()
    reader.shot("explained")


def ask_about_what_is_pointed_at(reader: Reader) -> None:
    page = reader.page
    reader.open(reader.site.ranking)
    button = page.locator(".tbr-at-block")
    for selector in filter(None, ("pre", reader.site.formula, "table")):
        pointed = page.locator(f"{reader.site.main} {selector}").first
        pointed.hover()
        expect(button).to_have_text("Ask about this")
        reader.shot(selector.strip("."))
    button.click()
    page.get_by_role("button", name="Explain this").click()
    reader.finished()
    # Exercises are known once the panel is in use.
    page.locator(reader.site.exercise).first.hover()
    expect(button).to_have_text("A hint")
    reader.shot("exercise")
    button.click()
    expect(page.locator(".tbr-question")).to_have_count(2)
    reader.finished()
    expect(page.locator(".tbr-reply").last.locator(".tbr-passage")).to_have_count(1)
    reader.shot("first hint")
    page.get_by_role("button", name="Next hint").click()
    expect(page.locator(".tbr-reply").last.locator(".tbr-passage")).to_have_count(2)


def glossary(reader: Reader) -> None:
    page = reader.page
    reader.open(reader.site.ranking)
    page.keyboard.press("Control+i")
    page.get_by_role("tab", name="Terms").click()
    page.get_by_label("Underline them on the page").check()
    page.wait_for_function("CSS.highlights.has('textbook-rag-term')")
    reader.shot("underlined")
    box = page.evaluate(
        "() => { const [range] = CSS.highlights.get('textbook-rag-term');"
        " range.startContainer.parentElement.scrollIntoView({block: 'center'});"
        " const box = range.getBoundingClientRect(); return [box.x + 3, box.y + box.height / 2]; }"
    )
    page.mouse.click(*box)
    expect(page.locator(".tbr-term-card")).to_contain_text("Where it is defined")
    reader.shot("card")


def dark_by_the_sites_switch(reader: Reader) -> None:
    page = reader.page
    reader.open(reader.site.ranking)
    reader.ask("How is BM25 computed?")
    reader.site.dark(page)
    expect(page.locator("textbook-rag")).to_have_attribute("data-theme", "dark")
    reader.shot("answer")
    page.locator(".tbr-passage .tbr-section").first.click()
    reader.landed()
    reader.shot("landed")


# --- on a phone ---------------------------------------------------------------------------------


def on_a_phone(reader: Reader) -> None:
    page = reader.page
    reader.open(reader.site.why)
    reader.shot("closed")
    page.locator(".tbr-launch").tap()
    reader.shot("open")
    page.locator("textbook-rag textarea").fill("How is BM25 computed?")
    page.locator(".tbr-send").tap()
    reader.finished()
    reader.shot("answer")
    page.locator(".tbr-passage .tbr-section").first.tap()
    reader.landed()
    reader.shot("landed")
    # A formula makes this page wider than the screen; Playwright would tap beside the buttons.
    press = "button => button.click()"
    page.locator(".tbr-launch").evaluate(press)
    expect(page.locator(".tbr-question")).to_be_visible()
    page.get_by_role("tab", name="Quiz").evaluate(press)
    page.get_by_role("button", name="Quiz me on this page").evaluate(press)
    page.get_by_role("button", name="Show the answer").evaluate(press)
    page.get_by_role("button", name="I knew it").wait_for()
    reader.shot("quiz")


_JOURNEYS: Sequence[tuple[Callable[[Reader], None], dict[str, Any]]] = (
    (ask_click_back_follow_up, _DESKTOP),
    (ask_about_a_selection, _DESKTOP),
    (ask_about_what_is_pointed_at, _DESKTOP),
    (glossary, _DESKTOP),
    (dark_by_the_sites_switch, _DESKTOP),
    (on_a_phone, _PHONE),
)


def tried(reader: Reader, journey: Callable[[Reader], None], name: str) -> int:
    try:
        journey(reader)
        assert not reader.errors, reader.errors
    except Exception as error:  # noqa: BLE001 - the others are tried, too
        reader.shot("FAILED")
        print(f"FAILED {name}: {str(error)[:600]}", flush=True)
        return 1
    print(name, flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--generator", choices=SITES, default="docusaurus")
    options = parser.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    failed = 0
    with sync_playwright() as playwright, static_site(options.folder) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for journey, size in _JOURNEYS:
            name = journey.__name__.replace("_", " ")
            context = browser.new_context(**size)
            reader = Reader(context, address, SITES[options.generator], options.pictures, name)
            failed += tried(reader, journey, f"{options.generator}: {name}")
            context.close()
        browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
