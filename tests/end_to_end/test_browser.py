"""The demo site in a real browser: ask, read the streamed answer, follow its citation."""

import json

import pytest
from playwright.sync_api import Page, Route, expect

from app.api.problems import ErrorEvent
from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    AnswerPassage,
    CitationFound,
    Confidence,
    Finished,
    Source,
    Started,
    Statement,
    TextDelta,
)
from app.domain.book_id import BookId
from tests.browsing import CITED, PAGE, ask, claim, fulfill, reply, send, stream

QUESTION = "What is an inverted index?"
FIRST = "/pages/small-book-of-search/01-why-search.html"


def letters(text: str) -> str:
    """Return letters and digits: what mark-up and punctuation between elements cannot change."""
    return "".join(char for char in text.casefold() if char.isalnum())


def test_a_citation_opens_the_page_at_the_very_paragraph(page: Page, site: str) -> None:
    page.goto(f"{site}/pages/small-book-of-search/05-evaluation.html")
    ask(page, QUESTION)
    expect(page.locator(".tbr-mode")).to_have_text("Quoted from the book, word for word:")
    answer = page.locator(".tbr-answer")
    expect(answer).to_contain_text("index")
    quote = page.locator(".tbr-mark").first.inner_text()
    assert len(letters(quote)) > 20
    mark = answer.get_by_role("link").first
    assert mark.get_attribute("rel") == "noopener"
    mark.click()
    cited = page.locator(CITED).first
    expect(cited).to_be_in_viewport()
    expect(cited).to_be_focused()
    assert f"cite={cited.get_attribute('data-paragraph-id')}" in page.url
    assert page.url.startswith(site)
    # A definition is two elements, term and meaning: both are marked.
    marked = "".join(page.locator(CITED).all_inner_texts())
    assert letters(quote) in letters(marked)


def test_the_conversation_goes_on_on_the_next_page(page: Page, site: str) -> None:
    page.goto(f"{site}/pages/small-book-of-search/05-evaluation.html")
    ask(page, QUESTION)
    first = page.locator(".tbr-answer").text_content() or ""
    page.locator(".tbr-answer").get_by_role("link").first.click()
    expect(page.locator(CITED).first).to_be_visible()
    expect(page.locator(".tbr-answer")).to_have_text(first)
    page.get_by_label("Your question").focus()
    with page.expect_request("**/v1/chat") as request:
        page.keyboard.type("What is a posting?")
        page.keyboard.press("Enter")
    sent = json.loads(request.value.post_data or "")
    assert [turn["role"] for turn in sent["history"]] == ["user", "assistant"]
    assert sent["history"][0]["content"] == QUESTION
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".tbr-answer")).to_have_count(0)


def test_a_refusal_shows_the_nearest_sections(opened: Page, site: str) -> None:
    ask(opened, "Who won the football championship in Argentina in 1978?")
    expect(opened.locator(".tbr-mode")).to_have_text("Not answered from the book:")
    nearest = opened.locator(".tbr-citations a")
    expect(opened.get_by_text("Nearest sections", exact=True)).to_be_visible()
    nearest.first.click()
    assert opened.url.startswith(f"{site}/pages/small-book-of-search/")


def test_uncertain_passages_stand_under_a_label_of_their_own(opened: Page, site: str) -> None:
    notice = "Das Buch sagt dazu vielleicht nichts."
    text = "Owls hunt at night."
    passage = AnswerPassage(("p-1",), text, ("Owls",), site + FIRST, "p-1", BookId("b"), ((0, 19),))
    uncertain = {"confidence": Confidence.UNCERTAIN, "passages": (passage,)}
    reply(opened, f"{notice}\n\n{text}", AnswerMode.EXTRACTIVE, **uncertain)
    ask(opened, QUESTION)
    expect(opened.locator(".tbr-uncertain .tbr-mode")).to_have_text(notice)
    expect(opened.locator(".tbr-passage")).to_contain_text(text)
    expect(opened.locator(".tbr-answer")).not_to_contain_text(notice)


def test_a_problem_is_told_in_the_box(opened: Page) -> None:
    fulfill(opened, ErrorEvent(code="internal", message="It broke."))
    ask(opened, QUESTION)
    expect(opened.locator(".tbr-error")).to_have_text("It broke.")


def test_after_a_broken_stream_the_question_is_asked_again(opened: Page, site: str) -> None:
    source = Source("p-1", site + FIRST, "How owls hunt", ("Owls",), 1.0)
    started = Started(AnswerMode.GENERATED, (source,))
    answer = Answer("They listen.", AnswerMode.GENERATED)
    answers: list[list[AnswerEvent]] = [
        [started, TextDelta("They listen."), Finished(answer)],
        [started, TextDelta("They do "), TextDelta("not ")],
        [started],
    ]
    opened.route("**/v1/chat", lambda route: stream(route, *answers.pop()))
    send(opened, "How do owls hunt?")
    expect(opened.get_by_text("Reading: How owls hunt")).to_be_visible()
    expect(opened.locator(".tbr-answer")).to_have_text("They listen.")
    expect(opened.locator(".tbr-error")).to_have_count(0)


def test_a_follow_up_question_is_asked_at_a_click(opened: Page) -> None:
    reply(opened, "So.", AnswerMode.EXTRACTIVE, follow_ups=("And why?", "Who?"))
    ask(opened, QUESTION)
    expect(opened.locator(".tbr-follow-up")).to_have_text(["And why?", "Who?"])
    opened.reload()
    opened.get_by_role("button", name="And why?").click()
    expect(opened.locator(".tbr-question")).to_have_text([QUESTION, "And why?"])
    expect(opened.locator(".tbr-follow-up")).to_have_text(["And why?", "Who?"])


def test_a_reply_that_is_no_answer_has_no_caption_and_links_the_chapters(opened: Page) -> None:
    source = Source("p-1", FIRST, "1. Why Search?", ("1. Why Search?",), 0.0)
    for mode, sources in ((AnswerMode.SMALL_TALK, ()), (AnswerMode.CLARIFICATION, (source,))):
        reply(opened, "Which chapter?", mode, sources=sources)
        ask(opened, QUESTION)
        expect(opened.locator(".tbr-answer").last).to_have_text("Which chapter?")
        expect(opened.locator(".tbr-mode")).to_have_count(0)
    expect(opened.get_by_text("Chapters", exact=True)).to_be_visible()
    expect(opened.locator(".tbr-citations").get_by_role("link")).to_contain_text("1. Why Search?")


def test_what_no_paragraph_supports_is_marked(opened: Page) -> None:
    text = "🦉 Owls hunt. Owls read. They fly."
    doubtful = text.index("Owls read."), text.index(" They")
    statements = (
        Statement(0, doubtful[0] - 1, supported=True),
        Statement(*doubtful, supported=False),
        Statement(doubtful[1] + 1, len(text), supported=True),
    )
    reply(opened, text, statements=statements)
    ask(opened, QUESTION)
    expect(opened.locator(".tbr-mode")).to_have_text("Written by a language model from the book:")
    expect(opened.locator(".tbr-unsupported")).to_have_text(["Owls read."])
    expect(opened.locator(".tbr-answer")).to_have_text(text)
    expect(opened.get_by_text("no paragraph was found that says this")).to_be_visible()


def test_on_a_narrow_screen_the_box_makes_way_for_the_paragraph(page: Page, site: str) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    page.goto(site + PAGE)
    ask(page, QUESTION)
    page.locator(".tbr-answer").get_by_role("link").first.click()
    expect(page.locator(CITED).first).to_be_in_viewport()
    expect(page.get_by_role("dialog", name="Ask this book")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_question_under_way_is_asked_again_on_the_next_page(opened: Page, site: str) -> None:
    text = "Owls hunt. They listen."
    url = f"{site}/pages/small-book-of-search/05-evaluation.html"
    cited = claim(10, url, "quote")
    answer = Answer(text, AnswerMode.GENERATED, citations=(cited,))
    begun: list[AnswerEvent] = [
        Started(AnswerMode.GENERATED, ()),
        TextDelta(text[:10]),
        CitationFound(cited),
    ]
    asked: list[str] = []

    def answer_on_the_next_page(route: Route) -> None:
        asked.append(opened.url)
        if opened.url.startswith(url):
            stream(route, *begun, TextDelta(text[10:]), Finished(answer))
        elif len(asked) == 1:
            stream(route, *begun)
        else:
            route.abort()

    opened.context.route("**/v1/chat", answer_on_the_next_page)
    send(opened, "How do owls hunt?")
    opened.locator(".tbr-ref").click()
    opened.wait_for_url("**/pages/small-book-of-search/05-evaluation.html**")
    expect(opened.locator(".tbr-answer")).to_have_text("Owls hunt.[1] They listen.")
    expect(opened.locator(".tbr-question")).to_have_text("How do owls hunt?")


# --- the book's own figures

FIGURE = "Show me the diagram of HNSW"


@pytest.mark.parametrize("width", [1280, 700, 320])
def test_a_figure_is_shown_within_the_panel_and_enlarged(opened: Page, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    ask(opened, FIGURE)
    figure = opened.locator(".tbr-figure")
    expect(figure).to_have_count(1)
    image = figure.get_by_role("img", name="Three layers of points joined by lines")
    image.scroll_into_view_if_needed()
    expect(image).to_have_js_property("complete", value=True)
    expect(image).not_to_have_js_property("naturalWidth", 0)
    log = opened.locator("#tbr-view-ask")
    assert log.evaluate("log => log.scrollWidth <= log.clientWidth")
    expect(figure.get_by_text("Figure 6.1: A search in HNSW.")).to_be_visible()
    opened.get_by_role("button", name="Enlarge: Figure 6.1").click()
    enlarged = opened.locator("dialog.tbr-enlarged")
    expect(enlarged).to_be_visible()
    box = enlarged.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    opened.keyboard.press("Escape")
    expect(enlarged).to_have_count(0)
    expect(opened.get_by_label("Your question")).to_be_visible()
    expect(opened.get_by_role("button", name="Enlarge: Figure 6.1")).to_be_focused()


def test_a_broken_image_leaves_its_caption(opened: Page) -> None:
    opened.route("**/img/hnsw.svg", lambda route: route.fulfill(status=200, body="no image"))
    ask(opened, FIGURE)
    caption = opened.locator(".tbr-figure figcaption")
    caption.scroll_into_view_if_needed()
    expect(caption).to_contain_text("Figure 6.1: A search in HNSW.")
    expect(opened.locator(".tbr-figure img")).to_have_count(0)


def test_a_caption_that_the_text_has_is_shown_once(opened: Page) -> None:
    ask(opened, "What does k1 do and what happens if I set it to zero?")
    expect(opened.get_by_role("button", name="Enlarge: Figure 4.1")).to_be_visible()
    passage = opened.locator(".tbr-passage").first
    expect(passage.get_by_text("Figure 4.1: The term frequency part")).to_have_count(1)


def test_the_caption_leads_to_the_figure_on_its_page(opened: Page) -> None:
    ask(opened, FIGURE)
    opened.locator(".tbr-figure figcaption a").click()
    opened.wait_for_url("**/06-dense-vectors.html?cite=*")
    expect(opened.locator("article img[src$='hnsw.svg']")).to_be_in_viewport()
