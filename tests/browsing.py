"""The widget in a browser: asking, and answers of the test's own."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Page, Route, expect

from app.api.events import chat_events
from app.api.problems import ErrorEvent
from app.api.responses import as_json
from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    Citation,
    Finished,
    Started,
    TextDelta,
)
from app.domain.book_id import BookId
from tests.local_http import Handler, local_server
from tests.made_chunks import made_citation

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUMS = map(shutil.which, _NAMES)
CHROMIUM = next(filter(None, CHROMIUMS), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--no-first-run",
]
BOOK = "small-book-of-search"
PAGE = f"/pages/{BOOK}/04-ranking.html"
"""A page of the sample book, with text enough to scroll."""
CITED = "[data-textbook-rag-cited]"


def open_by_shortcut(page: Page) -> None:
    """Press the shortcut once the widget, which loads after the page, listens for it."""
    expect(page.get_by_role("button", name="Ask this book")).to_be_visible()
    page.keyboard.press("Control+i")


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


def send(page: Page, question: str) -> None:
    """Open the panel and ask, without waiting for an answer."""
    page.get_by_role("button", name="Ask this book").click()
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")


def fulfill(page: Page, *events: AnswerEvent | ErrorEvent) -> None:
    """Answer the page's questions with these events instead of the server's."""
    page.route("**/v1/chat", lambda route: stream(route, *events))


def stream(route: Route, *events: AnswerEvent | ErrorEvent) -> None:
    body = b"".join(frame for event in events for frame in chat_events(event))
    route.fulfill(status=200, content_type="text/event-stream", body=body)


def reply(page: Page, text: str, mode: AnswerMode = AnswerMode.GENERATED, **fields: object) -> None:
    """Answer the page's questions with this text instead of the server's."""
    answer = Answer(text, mode, **fields)  # type: ignore[arg-type]
    started = Started(mode, answer.sources, answer.confidence)
    fulfill(page, started, TextDelta(text), Finished(answer))


def claim(end: int, url: str = "/docs/a", quote: str = "q", **changes: object) -> Citation:
    """Return a citation of an answer's beginning."""
    return made_citation(end=end, url=url, quote=quote, book=BookId(BOOK), **changes)


def turn(question: str = "Question", **answer: object) -> dict[str, object]:
    """Return a finished turn as the widget keeps it."""
    empty = Answer("", AnswerMode.GENERATED)
    body = {"question": question, "page_url": "", "history": [], "stream": True}
    return {**as_json(empty), "body": body, "done": True, "error": "", "notice": "", **answer}


def citation(**changes: object) -> dict[str, object]:
    """Return a citation of a turn, of its first four letters unless that is changed."""
    place = {"paragraph_id": "p-1", "url": "/docs/a", "permalink": f"/cite/p-1?book={BOOK}"}
    quote = {"title": "T", "heading_path": [], "quote": "q", "prefix": "", "suffix": ""}
    return {"index": 1, "start": 0, "end": 4, **place, **quote, **changes}


def restore(page: Page, address: str, turns: Sequence[Mapping[str, object]], book: str) -> None:
    """Open the page with the panel open and these turns in it."""
    saved = json.dumps({"open": True, "turns": turns})
    script = f"sessionStorage.setItem({json.dumps('textbook-rag:' + book)}, {json.dumps(saved)})"
    page.add_init_script(script)
    page.goto(address)


def tag(server: str, attributes: str = "defer") -> str:
    return f'<script src="{server}/widget.js" data-book="{BOOK}" {attributes}></script>'


@dataclass
class ForeignSite:
    """Serves the same page at every path; the page may be changed between requests."""

    address: str = ""
    tag: str = ""
    policy: str = ""
    article: str = "<h1>Owls</h1><p>Owls hunt at night.</p>"
    head: str = ""
    doctype: str = "<!doctype html>"
    """Without it, as in pages of DocBook, browsers scroll the body."""

    def html(self) -> str:
        return (
            f'{self.doctype}<html lang="en"><head><meta charset="utf-8"><title>Owls</title>'
            f'<link rel="icon" href="data:,">{self.head}{self.tag}</head>'
            f"<body><main>{self.article}</main></body></html>"
        )


@contextmanager
def foreign_site() -> Iterator[ForeignSite]:
    site = ForeignSite()

    class Page(Handler):
        def do_GET(self) -> None:
            policy = {"Content-Security-Policy": site.policy} if site.policy else {}
            headers = {"Content-Type": "text/html; charset=utf-8", **policy}
            self.respond(200, headers, site.html().encode())

    with local_server(Page) as server:
        site.address = server.url
        yield site
