"""The widget in a browser: asking, and answers of the test's own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence

from playwright.sync_api import Page, Route, expect

from app.api.events import ChatEvents
from app.api.problems import ErrorEvent
from app.domain.answer import AnswerEvent

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--no-first-run",
]
CITED = "[data-textbook-rag-cited]"


def ask(page: Page, question: str) -> None:
    """Ask by keyboard alone and wait for the end of the answer."""
    if page.get_by_role("button", name="Ask this book").is_visible():
        page.get_by_role("button", name="Ask this book").focus()
        page.keyboard.press("Enter")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.insert_text(question)
    page.keyboard.press("Enter")
    expect(page.locator(".tbr-question").last).to_have_text(question)
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()


def fulfill(page: Page, *events: AnswerEvent | ErrorEvent) -> None:
    """Answer the page's questions with these events instead of the server's."""
    page.route("**/v1/chat", lambda route: stream(route, *events))


def stream(route: Route, *events: AnswerEvent | ErrorEvent) -> None:
    body = b"".join(frame for event in events for frame in ChatEvents().frames(event))
    route.fulfill(status=200, content_type="text/event-stream", body=body)


def turn(question: str = "Question", **answer: object) -> dict[str, object]:
    """Return a finished turn as the widget keeps it."""
    empty: dict[str, object] = {
        "answer": "",
        "mode": "generated",
        "confidence": "answered",
        **{name: [] for name in ("citations", "passages", "sources", "statements", "degraded")},
        "exercise": "",
        "follow_ups": [],
        "searched_for": "",
    }
    body = {"question": question, "page_url": "", "history": [], "stream": True}
    return {**empty, "body": body, "done": True, "error": "", "notice": "", **answer}


def restore(page: Page, address: str, turns: Sequence[Mapping[str, object]], book: str) -> None:
    """Open the page with the panel open and these turns in it."""
    saved = json.dumps({"open": True, "turns": turns})
    script = f"sessionStorage.setItem({json.dumps('textbook-rag:' + book)}, {json.dumps(saved)})"
    page.add_init_script(script)
    page.goto(address)
