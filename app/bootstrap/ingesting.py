"""Builds the use case that ingests. A server does without: it imports all that reads books."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.adapters.fastembed.embedder import FastembedEmbedder
from app.adapters.index_terms import IndexTerms
from app.adapters.reading.rendered_pages import rendered_pages
from app.adapters.reading.source_files import SourceFiles
from app.adapters.sqlite.ingest_stores import SqliteEmbeddingCache, SqliteLedgers
from app.bootstrap.books import read_source
from app.bootstrap.chunking import chunk_book, embed_from_thread
from app.bootstrap.providers import OwnEmbedder
from app.bootstrap.storage import BookContents, BookPages, PageEntry, address_of, book_pages
from app.domain.document import BlockKind, Book, Document
from app.domain.errors import BookError
from app.services.ingest import IngestBook
from app.services.lexical import FINGERPRINT as LEXICAL_FINGERPRINT
from app.services.ports import BookStore
from app.settings import Settings

_IMAGE = 10_000_000
"""Bytes of an image; a larger one is not shown."""
_IMAGES = 500_000_000
"""Bytes of all images of a book; those behind are not shown."""


def ingest_book(
    settings: Settings, embedder: OwnEmbedder, index: BookStore, ledgers: SqliteLedgers
) -> IngestBook:
    terms = IndexTerms()
    neural = embedder if isinstance(embedder, FastembedEmbedder) else None
    embed_in_context = neural.embed_in_context if neural else None
    return IngestBook(
        read_book=read_source,
        chunk_book=partial(
            chunk_book,
            embed=embed_from_thread(embedder),
            longest_text=embedder.tariff.tokens_per_text,
        ),
        embedder=embedder,
        embed_in_context=embed_in_context,
        cache=SqliteEmbeddingCache(settings.home / "embeddings.sqlite"),
        ledgers=ledgers,
        terms_of=terms.of_document,
        index=index,
        store_pages=partial(_store_pages, book_pages(settings)),
        encoder=f"{terms.fingerprint} {LEXICAL_FINGERPRINT}",
    )


def _store_pages(store: BookPages, book: Book, folder: Path) -> None:
    """Store the pages of a book without a site; delete what an earlier ingest stored of others."""
    if book.base_url != address_of(book.id):
        store.remove(book.id)
        return
    html, images = rendered_pages(book)
    pages = [_entry(one, book) for one in book.documents]
    articles = {
        page.name: html[one.file].encode("utf-8", "replace")
        for page, one in zip(pages, book.documents, strict=True)
    }
    contents = BookContents(book.title, book.language, tuple(pages))
    store.save(book.id, contents, {**dict(_images(folder, sorted(images))), **articles})


def _entry(document: Document, book: Book) -> PageEntry:
    url = urlsplit(document.url).path
    outline = tuple(
        (one.anchor, one.text)
        for one in document.blocks
        if one.kind is BlockKind.HEADING and one.level == 2 and one.anchor
    )
    name = unquote(url).removeprefix(book.base_url).lstrip("/")
    return PageEntry(name, url, document.title, document.chapter, outline)


def _images(folder: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the images that lie in the folder and are not too large."""
    files, left = SourceFiles(folder), _IMAGES
    for name in names:
        try:
            content = files.data(name, min(_IMAGE, left))
        except BookError:
            continue
        left -= len(content)
        yield name, content
