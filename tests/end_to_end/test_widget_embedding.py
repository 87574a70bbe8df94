"""One tag on anybody's page: how the widget is loaded, what it may reach, where its links lead."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    CitationFound,
    Finished,
    Started,
    TextDelta,
)
from app.domain.book_id import BookId
from tests.browsing import CHROMIUM, CITED, ask, fulfill, restore, stream, turn
from tests.command_line import Run
from tests.foreign_site import ForeignSite, foreign_site
from tests.owl_server import added
from tests.serving import offline_settings, serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium or Chrome on PATH")
BOOK = "small-book-of-search"
QUESTION = "What is an inverted index?"


@pytest.fixture(scope="module")
def server(sample_home: Path) -> Iterator[str]:
    with serving(offline_settings(sample_home, allowed_origins="*")) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Return a page on which a script error fails the test; the book does not know its address."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


@pytest.fixture
def owls() -> Iterator[ForeignSite]:
    with foreign_site() as site:
        yield site


def tag(server: str, attributes: str = "defer", path: str = "/widget.js") -> str:
    return f'<script src="{server}{path}" data-book="{BOOK}" {attributes}></script>'


@pytest.mark.parametrize("attributes", ["defer", "async", 'type="module"'])
def test_the_tag_alone_is_enough(
    page: Page, server: str, owls: ForeignSite, attributes: str
) -> None:
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
    owls.tag = tag(server)
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
    browser: Browser, owls: ForeignSite, tmp_path: object
) -> None:
    page = browser.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    with serving(offline_settings(tmp_path, allowed_origins="")) as closed:  # type: ignore[arg-type]
        owls.tag = tag(closed)
        page.goto(owls.address)
        page.get_by_role("button", name="Ask this book").click()
        page.get_by_label("Your question").fill(QUESTION)
        page.keyboard.press("Enter")
        error = page.locator(".tbr-error")
        expect(error).to_contain_text(f"RAG_ALLOWED_ORIGINS={owls.address}")
        expect(error).to_contain_text(closed)
    assert any("RAG_ALLOWED_ORIGINS" in text for text in told)
    page.close()


def test_a_server_with_keys_is_asked_with_the_sites_key(
    browser: Browser, owls: ForeignSite, run: Run, home: Path, sample_home: Path
) -> None:
    settings = offline_settings(Path(shutil.copytree(sample_home, home / "state")))
    # In a thread: playwright's synchronous interface keeps a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        key = pool.submit(added, run, "--origin", owls.address).result()
        others = pool.submit(added, run, "--origin", "https://other.example").result()
    with serving(settings) as server:

        def replies(attributes: str) -> Page:
            page = browser.new_page()
            owls.tag = tag(server, attributes)
            page.goto(owls.address)
            ask(page, QUESTION)
            return page

        page = replies(f'data-key="{key}" defer')
        expect(page.locator(".tbr-passage").first).to_be_visible()
        page.get_by_role("tab", name="Find").click()
        page.get_by_label("Search the book").fill("posting list gaps")
        expect(page.locator(".tbr-view a.tbr-card").first).to_be_visible()
        page.close()
        for attributes, told in (
            ("defer", "data-key"),
            ('data-key="pk_wrong" defer', "data-key"),
            (f'data-key="{others}" defer', "is not valid for the origin"),
        ):
            page = replies(attributes)
            expect(page.locator(".tbr-error")).to_contain_text(told)
            expect(page.locator(".tbr-error")).to_contain_text(f"--origin {owls.address}")
            page.close()


def test_an_opened_citation_is_counted_in_the_owners_report(
    browser: Browser, owls: ForeignSite, run: Run, home: Path, sample_home: Path
) -> None:
    settings = offline_settings(
        Path(shutil.copytree(sample_home, home / "state")), question_log_days=90
    )
    with ThreadPoolExecutor(1) as pool:
        key = pool.submit(added, run, "--origin", owls.address).result()
        with serving(settings) as server:
            page = browser.new_page()
            owls.tag = tag(server, f'data-key="{key}" defer')
            page.goto(owls.address)
            ask(page, QUESTION)
            page.locator(".tbr-passage .tbr-section").first.click()
            opened: list[int] = []
            while not any(opened):  # the page is left before the server has the beacon
                page.wait_for_timeout(50)
                report = pool.submit(run, "report", BOOK, "--json").result().json()
                opened = [use["clicked"] for use in report["most_cited"]]
            page.close()
    assert sum(opened) == 1


def test_a_policy_that_keeps_the_server_away_is_named(
    browser: Browser, server: str, owls: ForeignSite
) -> None:
    page = browser.new_page()
    owls.tag = tag(server)
    owls.policy = f"script-src {server}; connect-src 'none'"
    page.goto(owls.address)
    page.get_by_role("button", name="Ask this book").click()
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".tbr-error")).to_contain_text("connect-src")
    page.close()


# --- room on the page -------------------------------------------------------------------------

_HEADER = "<header style='position:fixed;top:0;left:0;right:0;height:80px;z-index:1020'></header>"


def test_the_panel_is_above_the_sites_header(page: Page, server: str, owls: ForeignSite) -> None:
    owls.tag, owls.article = tag(server), f"{_HEADER}<p>Owls hunt at night.</p>"
    for width in (390, 1050, 1280):
        page.set_viewport_size({"width": width, "height": 600})
        page.goto(owls.address)
        page.get_by_role("button", name="Ask this book").click()
        page.get_by_role("button", name="Clear").click(trial=True)
        page.get_by_role("button", name="Close").click()


@pytest.mark.parametrize(("width", "docked"), [(1280, False), (1440, True)])
def test_the_panel_floats_where_the_text_would_be_too_narrow(
    page: Page, server: str, owls: ForeignSite, width: int, docked: bool
) -> None:
    owls.tag, owls.article = tag(server), "<p style='margin: 0 200px'>Owls hunt at night.</p>"
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
    citation = {"index": 1, "start": 0, "end": 4, "paragraph_id": "p-1", "url": cited, "title": "T"}
    citation |= {"permalink": "/cite/p-1?book=b", "heading_path": [], "quote": "Owls"}
    citation |= {"prefix": "", "suffix": ""}
    shown = turn(answer="Owls.", citations=[citation])
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
    page: Page, server: str, owls: ForeignSite
) -> None:
    owls.tag = tag(server)
    owls.head = '<link rel="canonical" href="https://book.example/docs/a">'
    citation = {"index": 1, "start": 0, "end": 4, "paragraph_id": "p-1", "title": "T"}
    citation |= {"url": "https://book.example/docs/b", "permalink": "/cite/p-1?book=b"}
    citation |= {"heading_path": [], "quote": "Owls", "prefix": "", "suffix": ""}
    restore(page, f"{owls.address}/docs/a/", [turn(answer="Owls.", citations=[citation])], BOOK)
    expect(page.locator(".tbr-ref")).to_have_attribute("href", f"{owls.address}/docs/b?cite=p-1")


# --- landing ----------------------------------------------------------------------------------

_TEXT = "Owls hunt at night. They see well. Owls hear even better than they see."


def cite(
    page: Page, quote: str, prefix: str = "", anchor: str = "", paragraph: str = "p-1"
) -> None:
    """Follow a citation of this quote on the page that is open."""
    address = page.url + (f"#{anchor}" if anchor else "")
    heading, claim = ("T",), "Claim"
    citation = Citation(
        1, 0, 5, paragraph, address, "T", heading, quote, BookId(BOOK), "f.md", (), prefix=prefix
    )
    answer = Answer(claim, AnswerMode.GENERATED, citations=(citation,))
    fulfill(page, Started(AnswerMode.GENERATED, ()), TextDelta(claim), Finished(answer))
    ask(page, "Question?")
    page.locator(".tbr-ref").click()


_SEES = "They see well."
_TABS = f"""
<div><div role="tablist"><button role="tab">A</button>
<button role="tab" onclick="document.getElementById('x').hidden = false">B</button></div>
<div><div role="tabpanel"><p>No.</p></div>
<div role="tabpanel" id="x" hidden><p id="b">{_TEXT}</p></div></div></div>
"""
_RADIO_TABS = f"""
<style>#i:not(:checked) ~ div #y {{ display: none }}</style>
<div class="tabbed-set"><input type="radio" name="t" checked><input type="radio" name="t" id="i">
<div class="tabbed-content"><div class="tabbed-block">x</div>
<div class="tabbed-block" id="y"><p id="b">{_TEXT}</p></div></div></div>
"""
_EDITED = "<p id=a>Bats.</p><p id=b>Most owls hunt in the night, they see quite well.</p>"
_TWICE = "<p id=a>One. It is so here.</p><p id=b>Two. It is so here.</p>"
_FORMULA = "<p id=a>So <span class=katex>E = mc2 E=mc^2</span> holds.</p>"
_CODE = "def owl():\n    return 'hoot'"


@pytest.mark.parametrize(
    ("article", "quote", "prefix", "marked"),
    [
        pytest.param(f"<p id=a>No.</p><p id=b>{_TEXT}</p>", _SEES, "", "b", id="paragraph"),
        pytest.param("<ul><li id=a>Owls <b>hunt</b><li>Bats</ul>", "Owls hunt", "", "a", id="item"),
        pytest.param(_TWICE, "It is so here.", "Two. ", "b", id="twice, another prefix"),
        pytest.param(_EDITED, "Owls hunt at night. They see well.", "", "b", id="edited since"),
        pytest.param(f"<details><p id=a>{_TEXT}</p></details>", _SEES, "", "a", id="details"),
        pytest.param(_TABS, _SEES, "", "b", id="tabs of Docusaurus"),
        pytest.param(_RADIO_TABS, _SEES, "", "b", id="tabs of MkDocs"),
        pytest.param(_FORMULA, "So $E = mc^2$ holds.", "", "a", id="formula"),
        pytest.param(f"<pre id=a>{_CODE}</pre>", _CODE, "", "a", id="code"),
    ],
)
def test_a_citation_lands_on_its_block(
    page: Page, server: str, owls: ForeignSite, article: str, quote: str, prefix: str, marked: str
) -> None:
    owls.tag = tag(server)
    filler = "<p>Nothing of that kind stands here at all.</p>" * 60
    header = "<header style='position:sticky;top:0;height:80px;background:#fff'>Header</header>"
    owls.article = f"{header}{filler}{article}{filler}"
    page.goto(owls.address)
    cite(page, quote, prefix)
    block = page.locator(f"#{marked}")
    expect(page.locator(CITED)).to_have_count(1)
    expect(page.locator(CITED)).to_have_attribute("id", marked)
    expect(block).to_be_in_viewport()
    box = block.bounding_box()
    assert box is not None
    assert box["y"] >= 80, "below the header"
    panel = page.locator(".tbr-panel").bounding_box()
    assert panel is None or box["x"] + box["width"] <= panel["x"], "beside the panel"


_LISTINGS = (
    f"<h2 id=s>First</h2><pre id=a>{_CODE}</pre><p>And again:</p><pre id=b>{_CODE}</pre>"
    f"<h2 id=t>Second</h2><pre id=c>{_CODE}</pre>"
)


@pytest.mark.parametrize(
    ("anchor", "paragraph", "marked"),
    [
        ("s", "p-00000000000", "a"),
        ("s", "p-00000000000-2", "b"),
        ("t", "p-00000000000-3", "c"),
        ("t", "p-00000000000-2", "c"),  # the first one is on another page
        ("", "p-00000000000-2", "b"),
    ],
)
def test_of_equal_listings_the_one_of_the_section_is_marked(
    page: Page, server: str, owls: ForeignSite, anchor: str, paragraph: str, marked: str
) -> None:
    owls.tag = tag(server)
    owls.article = _LISTINGS
    page.goto(owls.address)
    cite(page, _CODE, anchor=anchor, paragraph=paragraph)
    expect(page.locator(CITED)).to_have_count(1)
    expect(page.locator(CITED)).to_have_attribute("id", marked)


def test_a_glossary_entry_is_marked_without_the_others(
    page: Page, server: str, owls: ForeignSite
) -> None:
    owls.tag = tag(server)
    entry = "<dt>Owl</dt><dd>a bird that hunts at night.</dd>"
    owls.article = f"<dl><dt>Bat</dt><dd>a mammal that flies.</dd>{entry}</dl>"
    page.goto(owls.address)
    cite(page, "Owl\na bird that hunts at night.")
    expect(page.locator(CITED)).to_have_text(["Owl", "a bird that hunts at night."])


def test_a_quote_of_formulas_alone_is_found_by_the_words_of_the_address(
    page: Page, server: str, owls: ForeignSite
) -> None:
    owls.tag = tag(server)
    formula = "<span class=arithmatex>\\\\(x = 2\\\\)</span>"
    owls.article = f"<p id=a>Here.</p><p id=b>So {formula} is the weight.</p>"
    page.goto(owls.address)
    cite(page, "$x = 2$", anchor=":~:text=is%20the%20weight")
    expect(page.locator(CITED)).to_have_attribute("id", "b")


def test_of_a_block_taller_than_the_screen_the_quote_is_shown(
    page: Page, server: str, owls: ForeignSite
) -> None:
    owls.tag = tag(server)
    items = [f"<li><p>Item {number} of the list.</p></li>" for number in range(60)]
    items[40] = f"<li><p>{_TEXT}</p><p id=more>More.</p></li>"
    owls.article = f"<ul id=all>{''.join(items)}</ul>"
    page.goto(owls.address)
    cite(page, "better than they see. More.")
    expect(page.locator(CITED)).to_have_attribute("id", "all")
    expect(page.locator("#more")).to_be_in_viewport()


def test_a_page_that_changed_says_so_and_goes_to_the_section(
    page: Page, server: str, owls: ForeignSite
) -> None:
    owls.tag = tag(server)
    filler = "<p>Nothing of that kind stands here at all.</p>" * 60
    owls.article = f"{filler}<h2 id='owls'>Owls</h2><p>Rewritten from the ground up.</p>{filler}"
    page.clock.install()
    page.goto(owls.address)
    cite(page, "The barn owl's hearing is asymmetric, one ear above the other.", anchor="owls")
    page.clock.run_for(6_000)
    expect(page.locator(".tbr-landing")).to_contain_text("has changed")
    expect(page.locator("#owls")).to_be_in_viewport()
    expect(page.locator(CITED)).to_have_count(0)


def test_marks_come_again_when_the_site_replaces_its_nodes(
    page: Page, server: str, owls: ForeignSite
) -> None:
    owls.tag = tag(server)
    owls.article = f"<div id=root><p id=a>{_TEXT}</p></div>"
    page.goto(owls.address)
    cite(page, "They see well.")
    expect(page.locator(CITED)).to_have_count(1)
    page.evaluate(
        "const r = document.querySelector('#root'); r.innerHTML = r.innerHTML;"
        "r.firstChild.removeAttribute('data-textbook-rag-cited')"
    )
    expect(page.locator(CITED)).to_have_count(1)


def test_a_question_under_way_is_asked_again_on_the_next_page(page: Page, site: str) -> None:
    text = "Owls hunt. They listen."
    url = f"{site}/pages/small-book-of-search/05-evaluation.html"
    citation = Citation(1, 0, 10, "p-1", url, "T", ("T",), "quote", BookId(BOOK), "f.md", ())
    answer = Answer(text, AnswerMode.GENERATED, citations=(citation,))
    begun: list[AnswerEvent] = [
        Started(AnswerMode.GENERATED, ()),
        TextDelta(text[:10]),
        CitationFound(citation),
    ]
    asked: list[str] = []

    def answer_on_the_next_page(route: Route) -> None:
        asked.append(page.url)
        if page.url.startswith(url):
            stream(route, *begun, TextDelta(text[10:]), Finished(answer))
        elif len(asked) == 1:
            stream(route, *begun)
        else:
            route.abort()

    page.context.route("**/v1/chat", answer_on_the_next_page)
    page.goto(f"{site}/pages/small-book-of-search/01-why-search.html")
    page.get_by_role("button", name="Ask this book").click()
    page.get_by_label("Your question").fill("How do owls hunt?")
    page.keyboard.press("Enter")
    page.locator(".tbr-ref").click()
    page.wait_for_url("**/pages/small-book-of-search/05-evaluation.html**")
    expect(page.locator(".tbr-answer")).to_have_text("Owls hunt.[1] They listen.")
    expect(page.locator(".tbr-question")).to_have_text("How do owls hunt?")
