"""What one can do in the panel beside asking, and how it fits into the page it stands on."""

from __future__ import annotations

import csv
import json
import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from app.domain.answer import Answer, AnswerMode, Citation, Finished, Started, TextDelta
from app.domain.book_id import BookId
from tests.browsing import CHROMIUM, CITED, ask, fulfill, restore, stream, turn

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium or Chrome on PATH")
BOOK = "small-book-of-search"
PAGE = "/pages/small-book-of-search/04-ranking.html"
QUESTION = "What is an inverted index?"


def open_by_shortcut(page: Page) -> None:
    """Press the shortcut once the widget, which loads after the page, listens for it."""
    expect(page.get_by_role("button", name="Ask this book")).to_be_visible()
    page.keyboard.press("Control+i")


def sent(page: Page) -> list[dict[str, object]]:
    """Answer every question from now on; return the list that their bodies are put into."""
    bodies: list[dict[str, object]] = []
    answer = Answer("So.", AnswerMode.EXTRACTIVE, exercise="p-1")

    def keep(route: Route) -> None:
        bodies.append(json.loads(route.request.post_data or ""))
        stream(route, Started(answer.mode, ()), Finished(answer))

    page.route("**/v1/chat", keep)
    return bodies


def test_the_shortcut_opens_and_closes_and_escape_returns(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    dialog = page.get_by_role("dialog", name="Ask this book")
    open_by_shortcut(page)
    expect(dialog).to_be_visible()
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.press("Control+i")
    expect(dialog).to_be_hidden()
    page.keyboard.press("Control+i")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Ask this book")).to_be_focused()


def test_keys_typed_in_the_panel_are_not_the_sites(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    page.evaluate(
        "() => { document.onkeydown = (e) => { if (e.key === 's') e.preventDefault(); }; }"
    )
    open_by_shortcut(page)
    question = page.get_by_label("Your question")
    expect(question).to_be_focused()
    page.keyboard.type("searches")
    expect(question).to_have_value("searches")


@pytest.mark.parametrize("key", ["Enter", "Escape"])
def test_a_key_that_ends_a_composition_is_the_input_methods(
    page: Page, site: str, key: str
) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    question = page.get_by_label("Your question")
    question.fill("にほん")
    # As WebKit sends it, after the end of the composition.
    question.dispatch_event("keydown", {"key": key, "keyCode": 229, "isComposing": False})
    expect(question).to_have_value("にほん")
    expect(page.get_by_role("dialog")).to_be_visible()
    fulfill(
        page, Started(AnswerMode.EXTRACTIVE, ()), Finished(Answer("So.", AnswerMode.EXTRACTIVE))
    )
    question.press("Enter")
    expect(page.locator(".tbr-question")).to_have_text(["にほん"])


def test_views_are_reached_by_arrow_keys(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    page.get_by_role("tab", name="Ask").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Quiz")).to_be_focused()
    expect(page.get_by_role("tab", name="Quiz")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tabpanel", name="Terms")).to_be_visible()


def test_selected_text_is_asked_about(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    bodies = sent(page)
    page.locator("article p").first.select_text()
    page.get_by_role("button", name="Ask about this").click()
    page.get_by_role("button", name="Explain this").click()
    expect(page.locator(".tbr-about")).to_be_visible()
    expect(page.locator(".tbr-actions").first).to_be_visible()
    selection = bodies[0]["selection"]
    assert isinstance(selection, dict)
    assert selection["text"].startswith("The query")
    assert selection["paragraph_id"].startswith("p-")
    assert bodies[0]["question"] == "Explain this."


def test_the_scope_is_sent_with_the_question(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    bodies = sent(page)
    open_by_shortcut(page)
    page.get_by_label("Where to look").select_option("Up to here")
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".tbr-actions").first).to_be_visible()
    assert bodies[0]["scope"] == "so_far"
    assert bodies[0]["page_url"] == site + PAGE
    assert bodies[0]["book"] == BOOK


def test_an_exercise_has_a_hint_and_a_solution(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    bodies = sent(page)
    ask(page, QUESTION)
    page.get_by_role("button", name="A hint").click()
    expect(page.locator(".tbr-question")).to_have_count(2)
    page.get_by_role("button", name="Show the solution").last.click()
    expect(page.locator(".tbr-question")).to_have_count(3)
    assert [body.get("solutions") for body in bodies] == [None, "hint", "show"]


def test_a_place_is_found_while_typing(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    page.get_by_role("tab", name="Find").click()
    page.get_by_label("Search the book").fill("posting list gaps")
    card = page.locator(".tbr-view a.tbr-card").first
    expect(card).to_be_visible()
    card.click()
    expect(page.locator(CITED).first).to_be_in_viewport()


def test_terms_of_the_page_are_listed_and_explained(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    page.get_by_role("tab", name="Terms").click()
    expect(page.locator(".tbr-terms dt").first).to_be_visible()
    page.get_by_label("Underline them on the page").check()
    page.wait_for_function("CSS.highlights.has('textbook-rag-term')")
    box = page.evaluate(
        "() => { const [range] = CSS.highlights.get('textbook-rag-term');"
        " range.startContainer.parentElement.scrollIntoView({block: 'center'});"
        " const box = range.getBoundingClientRect(); return [box.x + 3, box.y + box.height / 2]; }"
    )
    page.mouse.click(*box)
    expect(page.locator(".tbr-term-card")).to_contain_text("Where it is defined")


def test_a_quiz_repeats_what_was_missed(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    page.get_by_role("tab", name="Quiz").click()
    page.get_by_role("button", name="Quiz me on this page").click()
    left = page.get_by_text("to go")
    expect(left).to_be_visible()
    count = int((left.text_content() or "0").split()[0])
    for answer in ["Not yet"] + ["I knew it"] * count:
        page.get_by_role("button", name="Show the answer").click()
        page.get_by_role("button", name=answer).click()
    expect(page.get_by_text(f"{count - 1} of {count} known at once")).to_be_visible()


def test_terms_are_cards_that_come_again_by_the_day(page: Page, site: str) -> None:
    page.clock.set_fixed_time("2026-03-01T12:00:00")
    page.goto(site + PAGE)
    open_by_shortcut(page)
    page.get_by_role("tab", name="Terms").click()
    terms = page.locator(".tbr-terms dt")
    expect(terms.first).to_be_visible()
    count = terms.count()
    page.get_by_role("button", name="Learn them as cards").click()
    for answer in ["Not yet"] + ["I knew it"] * count:
        page.get_by_role("button", name="Show the answer").click()
        page.get_by_role("button", name=answer).click()
    expect(page.get_by_text(f"{count - 1} of {count} known at once")).to_be_visible()
    page.get_by_role("tab", name="Terms").click()
    expect(page.locator(".tbr-knew", has_text="to repeat")).to_have_count(1)
    expect(page.locator(".tbr-knew", has_text="known")).to_have_count(count - 1)
    for day, due in [("01", 1), ("02", count)]:
        page.clock.set_fixed_time(f"2026-03-{day}T12:00:00")
        page.reload()
        page.get_by_role("tab", name="Quiz").click()
        expect(page.get_by_role("button", name=f"Repeat what is due ({due})")).to_be_visible()
    page.get_by_role("button", name="Repeat what is due").click()
    page.get_by_role("button", name="Show the answer").click()
    expect(page.get_by_role("link", name="Where it is defined")).to_be_visible()
    page.get_by_role("tab", name="Ask").click()
    page.get_by_role("tab", name="Quiz").click()
    page.get_by_role("button", name="Forget all cards").click()
    expect(page.get_by_role("button", name="Repeat what is due")).to_have_count(0)


def test_cards_are_saved_for_anki(page: Page, site: str) -> None:
    page.route("**/v1/glossary*", lambda route: route.fulfill(json={"terms": [
        {"term": "=owl", "definition": 'A "bird",\nby night', "paragraph_id": "p-1",
         "url": "/docs/a", "forms": []}]}))  # fmt: skip
    page.goto(site + PAGE)
    open_by_shortcut(page)
    page.get_by_role("tab", name="Terms").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export for Anki (CSV)").click()
    rows = list(csv.reader(download.value.path().read_text("utf-8").splitlines(keepends=True)))
    assert rows[:2] == [["#separator:Comma"], ["#html:false"]]
    assert rows[2:] == [[" =owl", 'A "bird",\nby night', "/docs/a"]]


# --- a server that is busy or away ------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("busy", "seconds", "shown"),
    [
        (1, 2, "They listen."),
        (2, 2, "busy"),  # asked once more, not for ever
        (1, 3600, "busy"),  # nobody waits that long before a panel
    ],
)
def test_a_busy_server_is_asked_once_more_when_it_says_so(
    browser: Browser, site: str, status: int, busy: int, seconds: int, shown: str
) -> None:
    page = browser.new_page()
    calls: list[int] = []

    def answer(route: Route) -> None:
        calls.append(1)
        if len(calls) <= busy:
            headers = {"Retry-After": str(seconds)}
            route.fulfill(status=status, headers=headers, json={"detail": "busy"})
        else:
            answer = Answer("They listen.", AnswerMode.GENERATED)
            stream(route, Started(answer.mode, ()), Finished(answer))

    page.route("**/v1/chat", answer)
    page.clock.install()
    page.goto(site + PAGE)
    page.get_by_role("button", name="Ask this book").click()
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    if seconds <= 10:
        expect(page.get_by_text("Asking again in")).to_be_visible()
        page.clock.run_for(1_000 * seconds)
    expect(page.locator(".tbr-answer, .tbr-error").filter(has_text=shown)).to_be_visible()
    page.close()


def test_a_failed_question_is_asked_again_at_a_click(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.route("**/v1/chat", lambda route: route.abort())
    page.goto(site + PAGE)
    page.get_by_role("button", name="Ask this book").click()
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".tbr-error")).to_have_text("The server cannot be reached.", timeout=15_000)
    page.unroute("**/v1/chat")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".tbr-passage").first).to_be_visible()
    expect(page.locator(".tbr-error")).to_have_count(0)
    page.close()


# --- the page it stands on --------------------------------------------------------------------


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
    page: Page, site: str, switch: str, light: str, dark: str
) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    page.evaluate(f"{switch} '{dark}'")
    expect(page.locator("textbook-rag")).to_have_attribute("data-theme", "dark")
    night = surface(page)
    page.evaluate(f"{switch} '{light}'")
    expect(page.locator("textbook-rag")).to_have_attribute("data-theme", "light")
    assert surface(page) != night


def test_sizes_do_not_depend_on_the_pages_root_size(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    sizes = "e => [e.offsetWidth, getComputedStyle(e).fontSize]"
    before = page.locator(".tbr-panel").evaluate(sizes)
    page.evaluate("document.documentElement.style.fontSize = '40px'")
    assert page.locator(".tbr-panel").evaluate(sizes) == before


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


def test_the_open_panel_covers_no_text_where_there_is_room(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    open_by_shortcut(page)
    expect(page.locator(".tbr-panel")).to_be_visible()
    panel = page.locator(".tbr-panel").bounding_box()
    article = page.locator("article").bounding_box()
    assert panel is not None
    assert article is not None
    assert article["x"] + article["width"] <= panel["x"]


def test_what_is_being_read_stays_in_its_place_when_the_panel_opens(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    expect(page.locator("article .math.rendered").first).to_be_visible()
    page.evaluate("scrollTo(0, 1500)")
    read = page.evaluate_handle(
        "[...document.querySelectorAll('article p')]"
        ".find(each => each.getBoundingClientRect().bottom > innerHeight / 4)"
    )
    top = "element => element.getBoundingClientRect().top"
    before = read.evaluate(top)
    open_by_shortcut(page)
    expect(page.locator(".tbr-panel")).to_be_visible()
    in_place = "([read, before]) => Math.abs(read.getBoundingClientRect().top - before) < 2"
    page.wait_for_function(in_place, arg=[read, before])


def test_the_button_is_above_the_sites_back_to_top(page: Page, site: str) -> None:
    page.goto(site + PAGE)
    style = "position: fixed; right: 21px; bottom: 21px; width: 48px; height: 48px"
    page.evaluate(
        "style => document.body.append(Object.assign(document.createElement('button'),"
        " {className: 'theme-back-to-top-button', style}))",
        style,
    )
    button = page.locator(".theme-back-to-top-button")
    button.click(trial=True)
    launch, other = page.locator(".tbr-launch").bounding_box(), button.bounding_box()
    assert launch is not None
    assert other is not None
    assert launch["y"] + launch["height"] <= other["y"]
    open_by_shortcut(page)
    button.click(trial=True)


def test_nothing_moves_when_the_page_is_loaded(page: Page, site: str) -> None:
    page.add_init_script(
        "window.shift = 0; new PerformanceObserver(list => { for (const entry of list.getEntries())"
        " window.shift += entry.value; }).observe({type: 'layout-shift', buffered: true})"
    )
    page.goto(f"{site}/pages/small-book-of-search/01-why-search.html")
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


def test_the_conversation_is_there_in_another_tab(browser: Browser, site: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    first = context.new_page()
    answer = Answer("They listen.", AnswerMode.GENERATED)
    fulfill(first, Started(answer.mode, ()), Finished(answer))
    first.goto(site + PAGE)
    ask(first, QUESTION)
    second = context.new_page()
    second.goto(f"{site}/pages/small-book-of-search/01-why-search.html")
    open_by_shortcut(second)
    expect(second.locator(".tbr-question")).to_have_text(QUESTION)
    context.close()


def test_a_screen_reader_hears_the_answer_once_with_its_sources(page: Page, site: str) -> None:
    place = ("p-1", "/docs/a", "Owls", ("Owls",), "q", BookId(BOOK), "f.md", ())
    text = "**Owls** hunt."
    answer = Answer(text, AnswerMode.GENERATED, citations=(Citation(1, 0, len(text), *place),))
    fulfill(page, Started(answer.mode, ()), TextDelta(text), Finished(answer))
    page.goto(site + PAGE)
    ask(page, QUESTION)
    expect(page.locator(".tbr-panel > [role=status]")).to_have_text("Owls hunt. Source 1: Owls")


def test_an_answer_is_copied_with_the_addresses_of_its_sources(browser: Browser, site: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    citation = {"index": 1, "start": 0, "end": 4, "paragraph_id": "p-1", "url": "/docs/a"}
    citation |= {"permalink": f"/cite/p-1?book={BOOK}", "title": "Ears"}
    citation |= {"heading_path": ["Owls [1]", "Ears"]}
    citation |= {"quote": "q", "prefix": "", "suffix": ""}
    restore(page, site + PAGE, [turn("Who?", answer="Owls.", citations=[citation])], BOOK)
    page.get_by_role("button", name="Copy with sources").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    link = f"{site}/cite/p-1?book={BOOK}"
    assert copied == f"**Who?**\n\nOwls [\\[1\\]]({link}).\n\n1. [Owls \\[1\\] › Ears]({link})"
    page.get_by_role("button", name="Copy the permanent link").click()
    assert page.evaluate("navigator.clipboard.readText()") == f"{site}/cite/p-1?book={BOOK}"
    context.close()


@pytest.mark.parametrize(
    ("url", "note", "target"),
    [
        ("https://other.example/a", "opens in a new tab", "_blank"),
        ("/docs/a", "^((?!new tab).)*$", None),
    ],
)
def test_a_citation_names_its_place_and_says_when_it_opens_a_tab(
    page: Page, site: str, url: str, note: str, target: str | None
) -> None:
    citation = {"index": 1, "start": 0, "end": 4, "paragraph_id": "p-1", "url": url}
    citation |= {"permalink": "/cite/p-1", "title": "Ears", "heading_path": ["Owls", "Ears"]}
    citation |= {"quote": "q", "prefix": "", "suffix": ""}
    restore(page, site + PAGE, [turn("Who?", answer="Owls.", citations=[citation])], BOOK)
    links = page.get_by_role("link", name="Owls › Ears").filter(visible=True)
    expect(links).to_have_count(2)
    for link in links.all():
        expect(link).to_have_accessible_name(re.compile(note))
        assert link.get_attribute("target") == target


def test_thumbs_send_a_rating_and_a_reason_where_the_server_takes_them(
    page: Page, site: str
) -> None:
    bodies: list[dict[str, object]] = []

    def take(route: Route) -> None:
        bodies.append(json.loads(route.request.post_data or ""))
        route.fulfill(status=204)

    page.route("**/v1/feedback", take)
    restore(
        page,
        f"{site}/pages/small-book-of-search/01-why-search.html",
        [turn(answer="Yes.", answer_id="a1")],
        BOOK,
    )
    down = page.get_by_role("button", name="This did not help")
    down.click()
    expect(down).to_have_attribute("aria-pressed", "true")
    page.get_by_label("What was missing or wrong?").fill("too long")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Thank you.")).to_be_visible()
    down.click()
    expect(down).to_have_attribute("aria-pressed", "false")
    assert bodies == [
        {"answer_id": "a1", "rating": "down"},
        {"answer_id": "a1", "rating": "down", "reason": "too long"},
        {"answer_id": "a1", "rating": "none"},
    ]


@pytest.mark.parametrize(
    ("language", "notice"),
    [("en", "The answer was cut off"), ("de", "abgeschnitten"), ("zh", "截断")],
)
def test_an_answer_that_was_cut_says_so(page: Page, site: str, language: str, notice: str) -> None:
    page.add_init_script(
        "new MutationObserver(() => document.documentElement.lang = "
        f"'{language}').observe(document, {{childList: true}})"
    )
    cut = turn(answer="Owls hunt", degraded=["truncated"])
    restore(
        page,
        f"{site}/pages/small-book-of-search/01-why-search.html",
        [cut, turn(answer="Owls hunt.")],
        BOOK,
    )
    expect(page.locator(".tbr-reply .tbr-note").filter(has_text=notice)).to_have_count(1)
    expect(page.get_by_text("truncated")).to_have_count(0)


def test_without_feedback_on_the_server_there_are_no_thumbs(page: Page, site: str) -> None:
    restore(
        page, f"{site}/pages/small-book-of-search/01-why-search.html", [turn(answer="Yes.")], BOOK
    )
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    expect(page.get_by_role("button", name="This helped")).to_have_count(0)
