"""The page of `serve`: the books that are indexed, and no book that is not."""

from __future__ import annotations

from pathlib import Path

import httpx

from app.api.book_list import BookBody, BooksBody
from app.api.pages import books_page
from tests.html_page import Page
from tests.serving import offline_settings, serving


def book(book_id: str, **changes: object) -> BookBody:
    fields: dict[str, object] = {
        "id": book_id,
        "title": f"Title of {book_id}",
        "version": "1.2",
        "language": "en",
        "site": "plain",
        "base_url": f"https://{book_id}.example/book",
        **dict.fromkeys(("files", "chunks", "tokens", "dimension"), 1),
        **dict.fromkeys(("strategy", "model", "created_at"), "x"),
    }
    return BookBody.model_validate({**fields, **changes})


def page_of(*books: BookBody, quarantined: tuple[str, ...] = ()) -> tuple[str, Page]:
    html = books_page(BooksBody(books=list(books), quarantined=list(quarantined)))
    return html, Page(html)


def test_each_book_leads_to_its_own_site() -> None:
    html, page = page_of(book("owls"), book("bats", title="Fledermäuse", language="de"))
    links = {link.attributes["href"] for link in page.all("a")}
    assert {"https://owls.example/book", "https://bats.example/book"} <= links
    assert '<span lang="de">Fledermäuse</span>' in html
    assert html.count("Version 1.2") == 2


def test_a_book_without_an_address_has_no_link() -> None:
    html, page = page_of(book("owls", base_url=""))
    assert "Title of owls" in html
    assert "" not in [link.attributes["href"] for link in page.all("a")]


def test_titles_are_text() -> None:
    _, page = page_of(book("owls", title="<script>alert(1)</script>", version='"><img src=x>'))
    assert [script.attributes.get("src") for script in page.all("script")] == ["/widget.js"]
    assert not page.all("img")


def test_the_box_asks_all_books_and_is_not_there_without_one() -> None:
    _, page = page_of(book("owls"), book("bats"))
    (box,) = page.all("script")
    assert box.attributes["data-label"] == "Ask these books"
    assert "data-book" not in box.attributes
    assert not page_of()[1].all("script")


def test_a_damaged_book_is_named() -> None:
    html, page = page_of(quarantined=("owls",))
    assert "<code>owls</code> is damaged" in html
    assert "holds no book yet" not in html
    assert not page.all("script")


def test_an_empty_index_says_how_to_ingest(tmp_path: Path) -> None:
    with serving(offline_settings(tmp_path)) as address:
        assert "textbook-rag ingest" in httpx.get(address).text
