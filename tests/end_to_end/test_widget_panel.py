"""What one can do in the panel beside asking."""

import csv
import json
import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from app.domain.answer import Answer, AnswerMode, Finished, Started
from tests.browsing import (
    BOOK,
    CITED,
    PAGE,
    ask,
    citation,
    claim,
    open_by_shortcut,
    reply,
    restore,
    send,
    stream,
    turn,
)

QUESTION = "What is an inverted index?"


def sent(page: Page) -> list[dict[str, object]]:
    """Answer every question from now on; return the list that their bodies are put into."""
    bodies: list[dict[str, object]] = []
    answer = Answer("So.", AnswerMode.EXTRACTIVE, exercise="p-1")

    def keep(route: Route) -> None:
        bodies.append(json.loads(route.request.post_data or ""))
        stream(route, Started(answer.mode, ()), Finished(answer))

    page.route("**/v1/chat", keep)
    return bodies


def test_the_shortcut_opens_and_closes_and_escape_returns(panel: Page) -> None:
    dialog = panel.get_by_role("dialog", name="Ask this book")
    expect(dialog).to_be_visible()
    expect(panel.get_by_label("Your question")).to_be_focused()
    panel.keyboard.press("Control+i")
    expect(dialog).to_be_hidden()
    panel.keyboard.press("Control+i")
    panel.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(panel.get_by_role("button", name="Ask this book")).to_be_focused()


def test_keys_typed_in_the_panel_are_not_the_sites(opened: Page) -> None:
    opened.evaluate(
        "() => { document.onkeydown = (e) => { if (e.key === 's') e.preventDefault(); }; }"
    )
    open_by_shortcut(opened)
    question = opened.get_by_label("Your question")
    expect(question).to_be_focused()
    opened.keyboard.type("searches")
    expect(question).to_have_value("searches")


@pytest.mark.parametrize("key", ["Enter", "Escape"])
def test_a_key_that_ends_a_composition_is_the_input_methods(panel: Page, key: str) -> None:
    question = panel.get_by_label("Your question")
    question.fill("にほん")
    # As WebKit sends it, after the end of the composition.
    question.dispatch_event("keydown", {"key": key, "keyCode": 229, "isComposing": False})
    expect(question).to_have_value("にほん")
    expect(panel.get_by_role("dialog")).to_be_visible()
    reply(panel, "So.", AnswerMode.EXTRACTIVE)
    question.press("Enter")
    expect(panel.locator(".tbr-question")).to_have_text(["にほん"])


def test_views_are_reached_by_arrow_keys(panel: Page) -> None:
    panel.get_by_role("tab", name="Ask").focus()
    panel.keyboard.press("ArrowLeft")
    expect(panel.get_by_role("tab", name="Quiz")).to_be_focused()
    expect(panel.get_by_role("tab", name="Quiz")).to_have_attribute("aria-selected", "true")
    panel.keyboard.press("ArrowLeft")
    expect(panel.get_by_role("tabpanel", name="Terms")).to_be_visible()


def test_the_open_view_differs_also_in_forced_colours(panel: Page) -> None:
    panel.emulate_media(forced_colors="active")
    line = "all => all.map(each => getComputedStyle(each).borderBottomColor)"
    opened, *others = panel.get_by_role("tab").evaluate_all(line)
    assert opened not in others


def test_selected_text_is_asked_about(opened: Page) -> None:
    bodies = sent(opened)
    opened.locator("article p").first.select_text()
    opened.get_by_role("button", name="Ask about this").click()
    opened.get_by_role("button", name="Explain this").click()
    expect(opened.locator(".tbr-about")).to_be_visible()
    expect(opened.locator(".tbr-actions").first).to_be_visible()
    selection = bodies[0]["selection"]
    assert isinstance(selection, dict)
    assert selection["text"].startswith("The query")
    assert selection["paragraph_id"].startswith("p-")
    assert bodies[0]["question"] == "Explain this."


def test_the_scope_is_sent_with_the_question(panel: Page, site: str) -> None:
    bodies = sent(panel)
    panel.get_by_label("Where to look").select_option("Up to here")
    panel.get_by_label("Your question").fill(QUESTION)
    panel.get_by_label("Your question").press("Enter")
    expect(panel.locator(".tbr-actions").first).to_be_visible()
    assert bodies[0]["scope"] == "so_far"
    assert bodies[0]["page_url"] == site + PAGE
    assert bodies[0]["book"] == BOOK


def test_an_exercise_has_a_hint_and_a_solution(opened: Page) -> None:
    bodies = sent(opened)
    ask(opened, QUESTION)
    opened.get_by_role("button", name="A hint").click()
    expect(opened.locator(".tbr-question")).to_have_count(2)
    opened.get_by_role("button", name="Show the solution").last.click()
    expect(opened.locator(".tbr-question")).to_have_count(3)
    assert [body.get("solutions") for body in bodies] == [None, "hint", "show"]


def test_a_place_is_found_while_typing(panel: Page) -> None:
    panel.get_by_role("tab", name="Find").click()
    panel.get_by_label("Search the book").fill("posting list gaps")
    card = panel.locator(".tbr-view a.tbr-card").first
    expect(card).to_be_visible()
    card.click()
    expect(panel.locator(CITED).first).to_be_in_viewport()


def test_terms_of_the_page_are_listed_and_explained(panel: Page) -> None:
    panel.get_by_role("tab", name="Terms").click()
    expect(panel.locator(".tbr-terms dt").first).to_be_visible()
    panel.get_by_label("Underline them on the page").check()
    panel.wait_for_function("CSS.highlights.has('textbook-rag-term')")
    box = panel.evaluate(
        "() => { const [range] = CSS.highlights.get('textbook-rag-term');"
        " range.startContainer.parentElement.scrollIntoView({block: 'center'});"
        " const box = range.getBoundingClientRect(); return [box.x + 3, box.y + box.height / 2]; }"
    )
    panel.mouse.click(*box)
    expect(panel.locator(".tbr-term-card")).to_contain_text("Where it is defined")


def test_a_quiz_repeats_what_was_missed(panel: Page) -> None:
    panel.get_by_role("tab", name="Quiz").click()
    panel.get_by_role("button", name="Quiz me on this page").click()
    left = panel.get_by_text("to go")
    expect(left).to_be_visible()
    count = int((left.text_content() or "0").split()[0])
    for answer in ["Not yet"] + ["I knew it"] * count:
        panel.get_by_role("button", name="Show the answer").click()
        panel.get_by_role("button", name=answer).click()
    expect(panel.get_by_text(f"{count - 1} of {count} known at once")).to_be_visible()


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


def test_cards_are_saved_for_anki(panel: Page) -> None:
    panel.route("**/v1/glossary*", lambda route: route.fulfill(json={"terms": [
        {"term": "=owl", "definition": 'A "bird",\nby night', "paragraph_id": "p-1",
         "url": "/docs/a", "forms": []}]}))  # fmt: skip
    panel.get_by_role("tab", name="Terms").click()
    with panel.expect_download() as download:
        panel.get_by_role("button", name="Export for Anki (CSV)").click()
    rows = list(csv.reader(download.value.path().read_text("utf-8").splitlines(keepends=True)))
    assert rows[:2] == [["#separator:Comma"], ["#html:false"]]
    assert rows[2:] == [[" =owl", 'A "bird",\nby night', "/docs/a"]]


# --- a server that is busy or away ------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "busy", "seconds", "shown"),
    [
        (429, 1, 2, "They listen."),
        (503, 1, 2, "They listen."),
        (429, 2, 2, "busy"),  # asked once more, not for ever
        (503, 1, 3600, "busy"),  # nobody waits that long before a panel
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
    send(page, QUESTION)
    if seconds <= 10:
        expect(page.get_by_text("Asking again in")).to_be_visible()
        page.clock.run_for(1_000 * seconds)
    expect(page.locator(".tbr-answer, .tbr-error").filter(has_text=shown)).to_be_visible()
    page.close()


def test_a_failed_question_is_asked_again_at_a_click(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.route("**/v1/chat", lambda route: route.abort())
    page.goto(site + PAGE)
    send(page, QUESTION)
    expect(page.locator(".tbr-error")).to_have_text("The server cannot be reached.", timeout=15_000)
    page.unroute("**/v1/chat")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".tbr-passage").first).to_be_visible()
    expect(page.locator(".tbr-error")).to_have_count(0)
    page.close()


def test_the_conversation_is_there_in_another_tab(opened: Page, site: str) -> None:
    reply(opened, "They listen.")
    ask(opened, QUESTION)
    second = opened.context.new_page()
    second.goto(f"{site}/pages/{BOOK}/01-why-search.html")
    open_by_shortcut(second)
    expect(second.locator(".tbr-question")).to_have_text(QUESTION)


def test_a_screen_reader_hears_the_answer_once_with_its_sources(opened: Page) -> None:
    text = "**Owls** hunt."
    reply(opened, text, citations=(claim(len(text), title="Owls", heading_path=("Owls",)),))
    ask(opened, QUESTION)
    expect(opened.locator(".tbr-panel > [role=status]")).to_have_text("Owls hunt. Source 1: Owls")


def test_an_answer_is_copied_with_the_addresses_of_its_sources(page: Page, site: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cited = citation(title="Ears", heading_path=["Owls [1]", "Ears"])
    restore(page, site + PAGE, [turn("Who?", answer="Owls.", citations=[cited])], BOOK)
    page.get_by_role("button", name="Copy with sources").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    link = f"{site}/cite/p-1?book={BOOK}"
    assert copied == f"**Who?**\n\nOwls [\\[1\\]]({link}).\n\n1. [Owls \\[1\\] › Ears]({link})"
    page.get_by_role("button", name="Copy the permanent link").click()
    assert page.evaluate("navigator.clipboard.readText()") == link


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
    cited = citation(url=url, title="Ears", heading_path=["Owls", "Ears"])
    restore(page, site + PAGE, [turn("Who?", answer="Owls.", citations=[cited])], BOOK)
    links = page.get_by_role("link", name="Owls › Ears").filter(visible=True)
    expect(links).to_have_count(2)
    for link in links.all():
        expect(link).to_have_accessible_name(re.compile(note))
        assert link.get_attribute("target") == target


def test_thumbs_send_a_rating_and_a_reason(page: Page, site: str) -> None:
    bodies: list[dict[str, object]] = []

    def take(route: Route) -> None:
        bodies.append(json.loads(route.request.post_data or ""))
        route.fulfill(status=204)

    page.route("**/v1/feedback", take)
    restore(page, site + PAGE, [turn(answer="Yes.", answer_id="a1")], BOOK)
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


def test_an_answer_that_was_cut_says_so_and_without_feedback_there_are_no_thumbs(
    page: Page, site: str
) -> None:
    cut = turn(answer="Owls hunt", degraded=["truncated"])
    restore(page, site + PAGE, [cut, turn(answer="Owls hunt.")], BOOK)
    notices = page.locator(".tbr-reply .tbr-note").filter(has_text="The answer was cut off")
    expect(notices).to_have_count(1)
    expect(page.get_by_text("truncated")).to_have_count(0)
    expect(page.get_by_role("button", name="Ask again").first).to_be_visible()
    expect(page.get_by_role("button", name="This helped")).to_have_count(0)
