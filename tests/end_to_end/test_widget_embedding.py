"""One tag on anybody's page: how the widget is loaded, how it fits in, where its links lead."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import (
    BOOK,
    PAGE,
    ForeignSite,
    ask,
    citation,
    open_by_shortcut,
    restore,
    send,
    tag,
    turn,
)
from tests.command_line import Run
from tests.owl_server import added
from tests.serving import offline_settings, serving

QUESTION = "What is an inverted index?"


@pytest.fixture
def state(sample_home: Path, home: Path) -> Path:
    """The command line's state folder, with the sample book."""
    return Path(shutil.copytree(sample_home, home / "state"))


@pytest.mark.parametrize("attributes", ["defer", "async", 'type="module"'])
def test_the_tag_is_enough(page: Page, server: str, owls: ForeignSite, attributes: str) -> None:
    owls.tag = tag(server, attributes)
    page.goto(owls.address)
    ask(page, QUESTION)
    expect(page.locator(".tbr-passage").first).to_contain_text("nverted index")


def test_a_site_without_attributes_puts_the_book_into_the_address(
    page: Page, server: str, owls: ForeignSite
) -> None:
    owls.tag = f'<script src="{server}/widget/widget.js?book={BOOK}&label=Frag+mich"></script>'
    page.goto(owls.address)
    page.get_by_role("button", name="Frag mich").click()
    page.get_by_label("Your question").fill(QUESTION)
    with page.expect_request("**/v1/chat") as request:
        page.keyboard.press("Enter")
    assert json.loads(request.value.post_data or "")["book"] == BOOK


def test_two_tags_and_a_late_one_show_one_panel(page: Page, server: str, owls: ForeignSite) -> None:
    owls.tag = tag(server) + tag(server)
    page.goto(owls.address)
    late = f"const s = document.createElement('script'); s.src = '{server}/widget.js'"
    page.evaluate(f"new Promise(done => {{ {late}; s.onload = done; document.head.append(s); }})")
    expect(page.locator("textbook-rag")).to_have_count(1)
    expect(page.get_by_role("button", name="Ask this book")).to_have_count(1)


def test_it_works_under_a_strict_policy(page: Page, server: str, owls: ForeignSite) -> None:
    owls.policy = (
        f"default-src 'none'; script-src {server}; connect-src {server}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    page.goto(owls.address)
    ask(page, "How is BM25 computed?")
    expect(page.locator(".tbr-passage math").first).to_be_visible()
    launch = page.locator(".tbr-panel").evaluate("e => getComputedStyle(e).position")
    assert launch == "absolute"  # its styles apply


def test_an_origin_that_the_server_does_not_know_is_told_what_to_set(
    page: Page, owls: ForeignSite, tmp_path: Path
) -> None:
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    with serving(offline_settings(tmp_path, allowed_origins="")) as closed:
        owls.tag = tag(closed)
        page.goto(owls.address)
        send(page, QUESTION)
        error = page.locator(".tbr-error")
        expect(error).to_contain_text(f"RAG_ALLOWED_ORIGINS={owls.address}")
        expect(error).to_contain_text(closed)
    assert any("RAG_ALLOWED_ORIGINS" in text for text in told)


def test_a_server_with_keys_is_asked_with_the_sites_key(
    page: Page, owls: ForeignSite, run: Run, state: Path
) -> None:
    # In a thread: playwright's synchronous interface keeps a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        key = pool.submit(added, run, "--origin", owls.address).result()
        others = pool.submit(added, run, "--origin", "https://other.example").result()
    with serving(offline_settings(state)) as server:
        owls.tag = tag(server, f'data-key="{key}" defer')
        page.goto(owls.address)
        ask(page, QUESTION)
        expect(page.locator(".tbr-passage").first).to_be_visible()
        page.get_by_role("tab", name="Find").click()
        page.get_by_label("Search the book").fill("posting list gaps")
        expect(page.locator(".tbr-view a.tbr-card").first).to_be_visible()
        for attributes, told in (
            ("defer", "data-key"),
            ('data-key="pk_wrong" defer', "data-key"),
            (f'data-key="{others}" defer', "is not valid for the origin"),
        ):
            owls.tag = tag(server, attributes)
            page.goto(owls.address)
            page.get_by_role("button", name="Clear").click()
            ask(page, QUESTION)
            expect(page.locator(".tbr-error")).to_contain_text(told)
            expect(page.locator(".tbr-error")).to_contain_text(f"--origin {owls.address}")


def test_an_opened_citation_is_counted_in_the_owners_report(
    page: Page, owls: ForeignSite, run: Run, state: Path
) -> None:
    settings = offline_settings(state, question_log_days=90)
    with ThreadPoolExecutor(1) as pool:
        key = pool.submit(added, run, "--origin", owls.address).result()
        with serving(settings) as server:
            owls.tag = tag(server, f'data-key="{key}" defer')
            page.goto(owls.address)
            ask(page, QUESTION)
            page.locator(".tbr-passage .tbr-section").first.click()
            opened: list[int] = []
            while not any(opened):  # the page is left before the server has the beacon
                page.wait_for_timeout(50)
                report = pool.submit(run, "report", BOOK, "--json").result().json()
                opened = [use["clicked"] for use in report["paragraphs"]]
    assert sum(opened) == 1


def test_a_policy_against_the_server_is_named(page: Page, server: str, owls: ForeignSite) -> None:
    owls.policy = f"script-src {server}; connect-src 'none'"
    page.goto(owls.address)
    send(page, QUESTION)
    expect(page.locator(".tbr-error")).to_contain_text("connect-src")


# --- room on the page -------------------------------------------------------------------------

_HEADER = "<header style='position:fixed;top:0;left:0;right:0;height:80px;z-index:1020'></header>"


def test_the_panel_is_above_the_sites_header(page: Page, owls: ForeignSite) -> None:
    owls.article = f"{_HEADER}<p>Owls hunt at night.</p>"
    for width in (390, 1050, 1280):
        page.set_viewport_size({"width": width, "height": 600})
        page.goto(owls.address)
        page.get_by_role("button", name="Ask this book").click()
        page.get_by_role("button", name="Clear").click(trial=True)
        page.get_by_role("button", name="Close").click()


@pytest.mark.parametrize(("width", "docked"), [(1280, False), (1440, True)])
def test_the_panel_floats_where_the_text_would_be_too_narrow(
    page: Page, owls: ForeignSite, width: int, docked: bool
) -> None:
    owls.article = "<p style='margin: 0 200px'>Owls hunt at night.</p>"
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(owls.address)
    text, panel = page.locator("main p"), page.locator(".tbr-panel")
    before = text.evaluate("e => e.clientWidth")
    page.get_by_role("button", name="Ask this book").click()
    expect(panel).to_have_css("height", "800px" if docked else "680px")
    assert text.evaluate("e => e.clientWidth") == before - (400 if docked else 0)
    # A window of another width is judged anew.
    page.set_viewport_size({"width": 2720 - width, "height": 800})
    expect(panel).to_have_css("height", "680px" if docked else "800px")


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


def test_on_a_page_wider_than_a_phone_the_button_is_shown(browser: Browser, site: str) -> None:
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


# --- where links lead -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "path", "cited", "leads_to"),
    [
        ("https://book.example", "/docs/a", "https://book.example/docs/b/", "/docs/b/"),
        ("https://book.example/", "/docs/a/", "https://book.example/docs/b", "/docs/b"),
        ("https://book.example/redux", "/redux/a", "https://book.example/redux/b/", "/redux/b/"),
        ("https://book.example/redux/", "/redux/", "https://book.example/redux/b", "/redux/b"),
        # Served at the root, such as a preview.
        ("https://book.example/redux", "/a", "https://book.example/redux/b#s", "/b#s"),
        # Of another book, and of one whose name only begins alike.
        ("https://book.example/redux", "/redux/a", "https://other.example/redux/b", None),
        ("https://book.example/redux", "/redux/a", "https://book.example/redux-old/b", None),
        ("https://book.example", "/docs/a", "https://book.example//evil.example/b", "//evil"),
    ],
)
def test_links_lead_to_the_site_that_the_page_is_on(
    page: Page, server: str, owls: ForeignSite, base_url: str, path: str, cited: str, leads_to: str
) -> None:
    owls.tag = tag(server, f'defer data-base-url="{base_url}"')
    shown = turn(answer="Owls.", citations=[citation(url=cited)])
    restore(page, owls.address + path, [shown], BOOK)
    href = page.locator(".tbr-ref").get_attribute("href") or ""
    if leads_to is None:
        assert href.startswith(cited)
    else:
        page_part, _, anchor = leads_to.partition("#")
        assert href.startswith(f"{owls.address}{page_part}")
        assert "cite=p-1" in href
        assert href.endswith(f"#{anchor}") or not anchor


def test_the_canonical_address_says_where_the_book_is_served_otherwise(
    page: Page, owls: ForeignSite
) -> None:
    owls.head = '<link rel="canonical" href="https://book.example/docs/a">'
    shown = turn(answer="Owls.", citations=[citation(url="https://book.example/docs/b")])
    restore(page, f"{owls.address}/docs/a/", [shown], BOOK)
    expect(page.locator(".tbr-ref")).to_have_attribute("href", f"{owls.address}/docs/b?cite=p-1")
