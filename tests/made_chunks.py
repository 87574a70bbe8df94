"""Passages, chunks, citations, manifests made up for tests; each field can have another value."""

from dataclasses import replace
from typing import Any

from app.domain.answer import Citation
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.indexed_book import BookManifest


def count_words(text: str) -> int:
    """A token counter that a test can predict."""
    return len(text.split())


def made_passage(
    text: str,
    paragraph_id: str = "p-1",
    kind: BlockKind = BlockKind.PARAGRAPH,
    *,
    start: int = 0,
    **fields: Any,
) -> Passage:
    passage = Passage(
        paragraph_id=paragraph_id,
        kind=kind,
        text=text,
        start=start,
        end=start + len(text),
        url=f"https://book.example/page#{paragraph_id}",
        heading_path=("Book", "Section"),
    )
    return replace(passage, **fields)


def made_chunk(*passages: Passage, **fields: Any) -> Chunk:
    """A chunk of these passages alone."""
    text = "\n\n".join(one.text for one in passages)
    first = passages[0]
    chunk = Chunk(
        chunk_id="c-1",
        book=BookId("book"),
        book_version="v1",
        chunk_index=0,
        file="page.md",
        position=0,
        token_count=count_words(text),
        overlap_start=0,
        overlap_end=0,
        paragraph_ids=tuple(dict.fromkeys(one.paragraph_id for one in passages)),
        content_type=str(first.kind),
        chapter="Chapter",
        section=first.heading_path[-1],
        heading_path=first.heading_path,
        spans=tuple((one.start, one.end) for one in passages),
        deep_link_url=first.url,
        language="en",
        passages=passages,
    )
    return replace(chunk, **fields)


def made_citation(**fields: Any) -> Citation:
    citation = Citation(
        index=1,
        start=0,
        end=0,
        paragraph_id="p-1",
        url="https://book.example/page#a",
        title="Section",
        heading_path=("Section",),
        quote="quote",
        book=BookId("book"),
        file="page.md",
        spans=(),
    )
    return replace(citation, **fields)


def made_manifest(book: str = "book", **fields: Any) -> BookManifest:
    manifest = BookManifest(
        book=BookId(book),
        title=book,
        book_version="v1",
        model="fake",
        dimension=64,
        strategy="structure",
        site="plain",
        base_url="",
        language="en",
        fingerprint="f",
        chunks=1,
        tokens=1,
        files=1,
        created_at="2026-01-01T00:00:00+00:00",
    )
    return replace(manifest, **fields)
