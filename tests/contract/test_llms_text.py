"""`llms.txt` and `llms-full.txt` of a book, and its pages as Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.book_id import BookId
from app.domain.document import Site
from app.services.ingest import IngestRequest
from tests.command_line import Run
from tests.owl_server import ORIGIN, added, bearer
from tests.serving import connected, ingest, offline_settings

CODE = "for owl in owls:\n    print(owl)"
FIRST = f"""\
# Owls [1] of \\# Europe

An owl is a bird that hunts at night. It has large eyes.

## Flight

The flight of an owl is silent.

```python
{CODE}
```

## Flight

| part | use |
|---|---|
| fringe | silence |
"""
LONG = "An owl hears a mouse below the snow. " * 400


@pytest.fixture
def book(home: Path, tmp_path: Path) -> Path:
    for name, text in (("a.md", FIRST), ("b.md", f"# Ears\n\n{LONG}\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    state = home / "state"
    request = IngestRequest(tmp_path, book=BookId("owls"), site=Site.PLAIN, base_url=ORIGIN)
    ingest(offline_settings(state), request)
    return state


def sent(state: Path, name: str) -> str:
    with connected(offline_settings(state)) as client:
        return client.get(f"/v1/books/owls/{name}").text


def test_the_contents_link_each_page(book: Path) -> None:
    lines = sent(book, "llms.txt").splitlines()
    assert lines[0].startswith("# ")
    items = [line for line in lines if line.startswith("- ")]
    assert items[0] == (
        rf"- [Owls \[1\] of # Europe]({ORIGIN}/a.html): "
        "An owl is a bird that hunts at night. It has large eyes."
    )
    assert items[1].startswith(f"- [Ears]({ORIGIN}/b.html): An owl hears a mouse")
    assert len(items[1]) < 300


def test_the_full_text_holds_each_paragraph_once_below_its_headings(book: Path) -> None:
    text = sent(book, "llms-full.txt")
    assert text.count("The flight of an owl is silent.") == 1
    assert text.count("An owl hears a mouse below the snow.") == 400
    assert f"```python\n{CODE}\n```" in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings[1:] == ["## Owls [1] of # Europe", "### Flight", "### Flight", "## Ears"]
    assert f"Source: {ORIGIN}/a.html\n" in text


def test_a_listing_in_several_chunks_is_one_in_the_full_text(home: Path, tmp_path: Path) -> None:
    code = "\n".join(f"owl_{n} = hears(mouse_{n}, 'below the snow', metres={n})" for n in range(99))
    (tmp_path / "a.md").write_text(f"# Owls\n\n```python\n{code}\n```\n", encoding="utf-8")
    request = IngestRequest(tmp_path, book=BookId("owls"), site=Site.PLAIN)
    ingest(offline_settings(home / "state"), request)
    assert f"```python\n{code}\n```\n" in sent(home / "state", "llms-full.txt")


def test_the_texts_are_cached_and_need_a_key(run: Run, book: Path) -> None:
    names = ("llms.txt", "llms-full.txt")
    with connected(offline_settings(book)) as client:
        for name in names:
            response = client.get(f"/v1/books/owls/{name}")
            assert response.headers["content-type"] == "text/plain; charset=utf-8"
            kept = {"If-None-Match": response.headers["etag"]}
            assert client.get(f"/v1/books/owls/{name}", headers=kept).status_code == 304
            assert client.get(f"/v1/books/bats/{name}").json()["code"] == "book_not_found"
            assert client.get(f"/v1/books/No!/{name}").status_code == 422
        key = added(run, "--secret", "--book", "bats")
        for name in names:
            assert client.get(f"/v1/books/owls/{name}").json()["code"] == "key_required"
            refused = client.get(f"/v1/books/owls/{name}", headers=bearer(key))
            assert refused.json()["code"] == "book_not_allowed"


def test_a_page_is_sent_as_markdown(book: Path) -> None:
    with connected(offline_settings(book)) as client:
        response = client.get("/v1/books/owls/pages/a.md")
        assert response.headers["content-type"] == "text/markdown; charset=utf-8"
        headings = [line for line in response.text.splitlines() if line.startswith("#")]
        assert headings == ["# Owls [1] of # Europe", "## Flight", "## Flight"]
        assert f"```python\n{CODE}\n```" in response.text
        for path, code in (("owls/pages/no", "page_not_found"), ("bats/pages/a", "book_not_found")):
            assert client.get(f"/v1/books/{path}.md").json()["code"] == code
