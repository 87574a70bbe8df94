"""A browser, and the sample book's site to open in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from app.bootstrap.books import sample_request
from tests.browsing import ARGUMENTS, CHROMIUM
from tests.serving import ingest, offline_settings, sample_routes, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # How long a failing test takes: two busy cores need more than the five seconds of Playwright.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the sample book, read for another address than it is served at."""
    settings = offline_settings(tmp_path_factory.mktemp("home"))
    ingest(settings, sample_request(settings))
    with serving(settings, site=sample_routes(settings)) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Return a page on which a script error fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    errors: list[str] = []

    def keep_error(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", keep_error)
    yield page
    context.close()
    assert errors == []
