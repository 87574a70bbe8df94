"""A browser, and the sample book's site to open in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from app.bootstrap.books import sample_request
from tests.browsing import ARGUMENTS, CHROMIUM
from tests.serving import ingest, offline_settings, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # How long a failing test takes: two busy cores need more than the five seconds of Playwright.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state folder that holds the sample book's index; for reading only."""
    home = tmp_path_factory.mktemp("home")
    settings = offline_settings(home)
    ingest(settings, sample_request())
    return home


@pytest.fixture(scope="module")
def site(sample_home: Path) -> Iterator[str]:
    """Serve the sample book."""
    with serving(offline_settings(sample_home)) as address:
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
