"""A browser, and the sample book's site to open in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.browsing import (
    ARGUMENTS,
    CHROMIUM,
    PAGE,
    ForeignSite,
    foreign_site,
    open_by_shortcut,
    tag,
)
from tests.serving import offline_settings, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium or Chrome on PATH")
    # How long a failing test takes: two busy cores need more than the five seconds of Playwright.
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(sample_home: Path) -> Iterator[str]:
    """Serve the sample book."""
    with serving(offline_settings(sample_home)) as address:
        yield address


@pytest.fixture(scope="session")
def server(sample_home: Path) -> Iterator[str]:
    """Serve the sample book to pages of any origin."""
    with serving(offline_settings(sample_home, allowed_origins="*")) as address:
        yield address


@pytest.fixture
def owls(server: str) -> Iterator[ForeignSite]:
    """A site of somebody else with the widget's tag."""
    with foreign_site() as site:
        site.tag = tag(server)
        yield site


@pytest.fixture
def opened(page: Page, site: str) -> Page:
    """Return the page, opened on a page of the sample book."""
    page.goto(site + PAGE)
    return page


@pytest.fixture
def panel(opened: Page) -> Page:
    """Return the page with the panel open, and the cursor in its question."""
    open_by_shortcut(opened)
    expect(opened.get_by_label("Your question")).to_be_focused()
    return opened


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Return a page on which a script error fails the test; without `owls`, whose book does not
    know its address, also an error in the console.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    errors: list[str] = []

    def keep_error(message: ConsoleMessage) -> None:
        if message.type == "error" and "owls" not in request.fixturenames:
            errors.append(message.text)

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", keep_error)
    yield page
    context.close()
    assert errors == []
