"""A page of a book as Markdown: `GET /v1/books/{book}/pages/{page}.md`."""

from __future__ import annotations

from pathlib import Path

from app.domain.book_id import BookId
from app.domain.document import Site
from app.services.ingest import IngestRequest
from tests.owl_server import ORIGIN
from tests.serving import connected, ingest, offline_settings

CODE = "\n".join(f"owl_{n} = hears(mouse_{n}, 'below the snow', metres={n})" for n in range(99))
"""A listing in several chunks."""
FIRST = f"""\
# Owls [1] of \\# Europe

An owl is a bird that hunts at night. It has large eyes.

## Flight

The flight of an owl is silent.

## Flight

| part | use |
|---|---|
| fringe | silence |

## Program

```python
{CODE}
```
"""


def test_a_page_is_sent_as_markdown_with_each_paragraph_once(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(FIRST, encoding="utf-8")
    (tmp_path / "b.md").write_text("# Ears\n\nAn owl hears a mouse.\n", encoding="utf-8")
    state = home / "state"
    request = IngestRequest(tmp_path, book=BookId("owls"), site=Site.PLAIN, base_url=ORIGIN)
    ingest(offline_settings(state), request)
    with connected(offline_settings(state)) as client:
        response = client.get("/v1/books/owls/pages/a.md")
        assert response.headers["content-type"] == "text/markdown; charset=utf-8"
        headings = [line for line in response.text.splitlines() if line.startswith("#")]
        assert headings == ["# Owls [1] of # Europe", "## Flight", "## Flight", "## Program"]
        assert f"Source: {ORIGIN}/a.html\n" in response.text
        assert response.text.count("The flight of an owl is silent.") == 1
        assert f"```python\n{CODE}\n```" in response.text
        for path, code in (("owls/pages/no", "page_not_found"), ("bats/pages/a", "book_not_found")):
            assert client.get(f"/v1/books/{path}.md").json()["code"] == code
