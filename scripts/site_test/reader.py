"""A reader of the book's site in a browser, on each of the sites."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browsing import CITED


def _docusaurus_dark(page: Page) -> None:
    _pressed_until_dark(
        page, page.get_by_role("button", name=re.compile("Switch between dark and light"))
    )


def _book_theme_dark(page: Page) -> None:
    _pressed_until_dark(page, page.locator(".article-header-buttons .theme-switch-button"))


def _pressed_until_dark(page: Page, switch: Locator) -> None:
    for _ in range(3):
        if page.locator("textbook-rag").get_attribute("data-theme") == "dark":
            break
        switch.click()


def _material_dark(page: Page) -> None:
    page.locator("label[for=__palette_1]").click()


def _mdbook_dark(page: Page) -> None:
    page.locator("#theme-toggle").click()
    page.locator("#theme-list button", has_text="Coal").click()


@dataclass(frozen=True)
class BookSite:
    """The sample book as built by a generator: its pages, and the elements that readers use."""

    why: str
    ranking: str
    dark: Callable[[Page], None]
    formula: str
    main: str = "article"
    exercise: str = "#exercise-42 + p"
    own_error: str = ""
    """Part of the message of an error in the site's own scripts."""


SITES: Mapping[str, BookSite] = {
    "docusaurus": BookSite("/docs/why-search", "/docs/ranking", _docusaurus_dark, ".katex-display"),
    "jupyter-book": BookSite(
        "/01-why-search.html",
        "/04-ranking.html",
        _book_theme_dark,
        "div.math",
        exercise="#exercise-4-2 > p",
        own_error="'THEBE_JS_URL' has already been declared",
    ),
    "mkdocs": BookSite("/01-why-search/", "/04-ranking/", _material_dark, "div.arithmatex"),
    "mdbook": BookSite("/01-why-search.html", "/04-ranking.html", _mdbook_dark, "", "main"),
}


class Reader:
    """A reader with a browser of their own on the book's site."""

    def __init__(
        self, context: BrowserContext, address: str, site: BookSite, pictures: Path, name: str
    ) -> None:
        self.page, self.site, self.errors = context.new_page(), site, list[str]()
        self._address, self._pictures, self._name, self._shots = address, pictures, name, 0
        self.page.on("pageerror", self._keep)

    def _keep(self, error: object) -> None:
        if not self.site.own_error or self.site.own_error not in str(error):
            self.errors.append(str(error))

    def open(self, path: str) -> None:
        self.page.goto(self._address + path)
        self.page.locator("textbook-rag .tbr-launch").wait_for()
        self.page.wait_for_load_state("networkidle")

    def ask(self, question: str) -> None:
        field = self.page.locator("textbook-rag textarea")
        if not field.is_visible():
            self.page.keyboard.press("Control+i")
        field.fill(question)
        field.press("Enter")
        self.page.locator(".tbr-question", has_text=question).last.wait_for()
        self.finished()

    def finished(self) -> None:
        expect(self.page.locator(".tbr-pending")).to_have_count(0, timeout=60_000)
        self.page.locator(".tbr-actions").last.wait_for()

    def landed(self) -> None:
        expect(self.page.locator(CITED).first).to_be_in_viewport(timeout=15_000)

    def shot(self, what: str) -> None:
        self.page.wait_for_timeout(500)  # the picture shows the end of every animation
        self._shots += 1
        name = f"{self._name}-{self._shots}-{what}.png".replace(" ", "-")
        self.page.screenshot(path=self._pictures / name)
