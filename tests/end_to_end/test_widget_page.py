"""How the widget fits into the page it stands on: room, colours, language, position."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import BOOK, PAGE, open_by_shortcut


def surface(page: Page) -> str:
    background: str = page.locator(".tbr-panel").evaluate(
        "e => getComputedStyle(e).backgroundColor"
    )
    return background


_HTML, _BODY = "document.documentElement", "document.body"
_SWITCHES = {
    "Docusaurus": (f"{_HTML}.dataset.theme =", "light", "dark"),
    "Material": (f"{_BODY}.dataset.mdColorScheme =", "default", "slate"),
    "mdBook": (f"{_HTML}.className =", "rust", "navy"),
    "its background alone": (f"{_BODY}.style.backgroundColor =", "#fff", "#111"),
}


@pytest.mark.parametrize(("switch", "light", "dark"), _SWITCHES.values(), ids=_SWITCHES)
def test_the_theme_is_the_sites_own_and_follows_it(
    panel: Page, switch: str, light: str, dark: str
) -> None:
    panel.evaluate(f"{switch} '{dark}'")
    expect(panel.locator("textbook-rag")).to_have_attribute("data-theme", "dark")
    night = surface(panel)
    panel.evaluate(f"{switch} '{light}'")
    expect(panel.locator("textbook-rag")).to_have_attribute("data-theme", "light")
    assert surface(panel) != night


def test_sizes_do_not_depend_on_the_pages_root_size(panel: Page) -> None:
    sizes = "e => [e.offsetWidth, getComputedStyle(e).fontSize]"
    before = panel.locator(".tbr-panel").evaluate(sizes)
    panel.evaluate("document.documentElement.style.fontSize = '40px'")
    assert panel.locator(".tbr-panel").evaluate(sizes) == before


@pytest.mark.parametrize(
    ("language", "label", "direction"),
    [
        ("de-AT", "Dieses Buch fragen", "ltr"),
        ("ar", "اسأل هذا الكتاب", "rtl"),
        ("xx", "Ask this book", "ltr"),
    ],
)
def test_the_panel_speaks_the_pages_language(
    page: Page, site: str, language: str, label: str, direction: str
) -> None:
    page.add_init_script(
        "new MutationObserver(() => document.documentElement.lang = "
        f"'{language}').observe(document, {{childList: true}})"
    )
    page.goto(site + PAGE)
    expect(page.get_by_role("button", name=label)).to_be_visible()
    assert page.locator("textbook-rag").evaluate("e => getComputedStyle(e).direction") == direction


def test_what_is_being_read_stays_in_its_place_when_the_panel_opens(opened: Page) -> None:
    expect(opened.locator("article .math.rendered").first).to_be_visible()
    opened.evaluate("scrollTo(0, 1500)")
    read = opened.evaluate_handle(
        "[...document.querySelectorAll('article p')]"
        ".find(each => each.getBoundingClientRect().bottom > innerHeight / 4)"
    )
    top = "element => element.getBoundingClientRect().top"
    before = read.evaluate(top)
    open_by_shortcut(opened)
    expect(opened.locator(".tbr-panel")).to_be_visible()
    in_place = "([read, before]) => Math.abs(read.getBoundingClientRect().top - before) < 2"
    opened.wait_for_function(in_place, arg=[read, before])


def test_the_button_is_above_the_sites_back_to_top(opened: Page) -> None:
    style = "position: fixed; right: 21px; bottom: 21px; width: 48px; height: 48px"
    opened.evaluate(
        "style => document.body.append(Object.assign(document.createElement('button'),"
        " {className: 'theme-back-to-top-button', style}))",
        style,
    )
    button = opened.locator(".theme-back-to-top-button")
    button.click(trial=True)
    launch, other = opened.locator(".tbr-launch").bounding_box(), button.bounding_box()
    assert launch is not None
    assert other is not None
    assert launch["y"] + launch["height"] <= other["y"]
    open_by_shortcut(opened)
    button.click(trial=True)


def test_nothing_moves_when_the_page_is_loaded(page: Page, site: str) -> None:
    page.add_init_script(
        "window.shift = 0; new PerformanceObserver(list => { for (const entry of list.getEntries())"
        " window.shift += entry.value; }).observe({type: 'layout-shift', buffered: true})"
    )
    page.goto(f"{site}/pages/{BOOK}/01-why-search.html")
    expect(page.get_by_role("button", name="Ask this book")).to_be_visible()
    assert page.evaluate("window.shift") == 0


def test_on_a_page_wider_than_the_phone_the_button_is_on_the_screen(
    browser: Browser, site: str
) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 780}, is_mobile=True, has_touch=True
    )
    page = context.new_page()
    page.goto(site + PAGE)
    page.evaluate("document.querySelector('article').style.width = '1200px'")
    page.evaluate("document.querySelector('meta[name=viewport]').content = 'width=1200'")
    box = page.get_by_role("button", name="Ask this book").bounding_box()
    assert box is not None
    visible = page.evaluate("[visualViewport.offsetLeft, visualViewport.width]")
    assert box["x"] + box["width"] <= sum(visible) + 1
    context.close()
