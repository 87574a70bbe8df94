"""Try the widget on a built site of MkDocs Material: `python scripts/site_test/material.py FOLDER`.

The server of the sample book runs at port 8790, which the site's configuration names.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from playwright.sync_api import Page, expect, sync_playwright

from tests.browsing import ARGUMENTS, CHROMIUM, CITED

_SITE = "http://127.0.0.1:8791"
_QUOTES = (
    "Owls hunt at night in the first tab.",
    "Bats listen to echoes in the second tab of this page.",
    "Foxes dig their dens in closed details of the page.",
)


def follow_navigation(page: Page) -> None:
    page.goto(f"{_SITE}/")
    page.keyboard.press("Control+i")
    page.get_by_label("Your question").fill("What is an inverted index?")
    page.keyboard.press("Enter")
    page.locator(".tbr-actions").first.wait_for()
    page.locator(".md-nav__link", has_text="Second page").first.click()
    page.wait_for_url(f"{_SITE}/second/")
    expect(page.locator(".tbr-question")).to_have_text("What is an inverted index?")
    expect(page.locator("textbook-rag")).to_have_count(1)


def land_in_what_is_closed(page: Page, quote: str) -> None:
    target = {"id": "p-1", "url": f"{_SITE}/", "quote": quote, "prefix": "", "suffix": ""}
    kept = json.dumps(json.dumps([target]))
    page.evaluate(f"localStorage.setItem('textbook-rag:targets', {kept})")
    page.goto(f"{_SITE}/?cite=p-1")
    expect(page.locator(CITED)).to_have_text(quote)
    expect(page.locator(CITED)).to_be_in_viewport()
    block, header = page.locator(CITED).bounding_box(), page.locator(".md-header").bounding_box()
    assert block is not None
    assert header is not None
    assert block["y"] >= header["height"]


def follow_theme(page: Page) -> None:
    host = page.locator("textbook-rag")
    expect(host).to_have_attribute("data-theme", "light")
    page.evaluate("document.querySelector('label[for=__palette_1]').click()")
    expect(host).to_have_attribute("data-theme", "dark")


def main() -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 8791), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1360, "height": 850})
        follow_navigation(page)
        for quote in _QUOTES:
            land_in_what_is_closed(page, quote)
        follow_theme(page)
        browser.close()
    print("MkDocs Material: navigation, tabs, details and theme followed")


if __name__ == "__main__":
    main()
