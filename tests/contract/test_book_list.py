"""The page of `serve`: the books that are indexed, and no book that is not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from app.domain.book_id import BookId
from app.services.ingest import IngestRequest
from tests.html_page import Page
from tests.serving import ingest, offline_settings, serving


def page_of(folder: Path, books: Mapping[str, str], damaged: str = "") -> tuple[str, Page]:
    """Return the page of a server with a book for each id, with this title."""
    settings = offline_settings(folder / "rag")
    for book, title in books.items():
        source = folder / f"{book}.md"
        source.write_text(f"# {title}\n\nIt hunts at night.\n", "utf-8")
        address = f"https://{book}.example" if book != "lost" else ""
        ingest(settings, IngestRequest(source, book=BookId(book), base_url=address))
    if damaged:
        for file in (settings.home / f"index/{damaged}").rglob("*"):
            if file.is_file():
                file.write_bytes(b"damaged")
    with serving(settings) as address:
        html = httpx.get(address).raise_for_status().text
    return html, Page(html)


def test_each_book_leads_to_its_site_if_it_has_one_and_the_box_asks_them_all(
    tmp_path: Path,
) -> None:
    html, page = page_of(tmp_path, {"owls": "Owls", "lost": "Bats & mice"})
    links = {link.attrib["href"] for link in page.all("a")}
    assert "https://owls.example" in links
    assert "" not in links
    assert "Bats &amp; mice" in html
    (box,) = page.all("script")
    assert box.attrib["data-label"] == "Ask these books"
    assert "data-book" not in box.attrib


def test_titles_are_text(tmp_path: Path) -> None:
    _, page = page_of(tmp_path, {"owls": "`<script>alert(1)</script><img src=x>`"})
    assert [script.attrib.get("src") for script in page.all("script")] == ["/widget.js"]
    assert not page.all("img")


@pytest.mark.parametrize(
    ("damaged", "said", "unsaid"),
    [
        ("owls", "<code>owls</code> is damaged", "holds no book yet"),
        ("", "textbook-rag ingest", "is damaged"),
    ],
)
def test_a_page_without_books_says_why_and_has_no_box(
    damaged: str, said: str, unsaid: str, tmp_path: Path
) -> None:
    html, page = page_of(tmp_path, {damaged: "Owls"} if damaged else {}, damaged)
    assert said in html
    assert unsaid not in html
    assert not page.all("script")
