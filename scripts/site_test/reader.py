"""A reader of the book's site in a browser, on each of the sites, and a server of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.browsing import CITED

_PORT = int(os.environ.get("SITE_TEST_JOURNEYS_PORT", "8794"))
_PIECE_SECONDS = 0.3


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


@dataclass
class Reader:
    """A reader with a browser of their own on the book's site."""

    context: BrowserContext
    page: Page
    address: str
    site: BookSite
    pictures: Path
    name: str
    shots: int = 0

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)
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
        self.shots += 1
        name = f"{self.name}-{self.shots}-{what}.png".replace(" ", "-")
        self.page.screenshot(path=self.pictures / name)


class Slowly(list[str]):
    """Pieces of a model's answer, each after a delay."""

    def __iter__(self) -> Iterator[str]:
        for piece in super().__iter__():
            time.sleep(_PIECE_SECONDS)
            yield piece


@dataclass
class Server:
    home: Path
    model: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{_PORT}"

    def start(self) -> None:
        settings = {
            "RAG_HOME": str(self.home),
            "RAG_PORT": str(_PORT),
            "RAG_ALLOWED_ORIGINS": "*",
            "RAG_GENERATOR": "openai",
            "RAG_OPENAI_BASE_URL": self.model,
        }
        command = [sys.executable, "-m", "app.cli", "serve"]
        with (self.home.parent / "journeys.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=os.environ | settings, stdout=log, stderr=log
            )
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"{self.address}/readyz"):
                    return
            except OSError:
                time.sleep(0.5)
        message = "the server did not start"
        raise AssertionError(message)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()


@contextmanager
def reading(
    browser: Browser,
    address: str,
    site: BookSite,
    pictures: Path,
    name: str,
    size: dict[str, Any],
) -> Iterator[Reader]:
    context = browser.new_context(**size)
    page = context.new_page()
    errors: list[str] = []

    def keep(error: object) -> None:
        if not site.own_error or site.own_error not in str(error):
            errors.append(str(error))

    page.on("pageerror", keep)
    reader = Reader(context, page, address, site, pictures, name)
    try:
        yield reader
        assert not errors, errors
    except Exception:
        reader.shot("FAILED")
        raise
    finally:
        context.close()


def site_for(folder: Path, server: str, own: str, copy: Path) -> Path:
    """Return a copy of the site that has the widget of another server, for the same book."""
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    server, own = f"{server}/widget.js", f"{own}/widget.js"
    pages = [page for page in copy.rglob("*") if page.suffix in {".html", ".js"}]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if server in text:
            page.write_text(text.replace(server, own), encoding="utf-8")
    return copy
