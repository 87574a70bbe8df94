"""Builds the use case that ingests, and cuts books into chunks by the strategy and sizes of the
request and of the book's authors. A server does without: this imports all that reads books.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from app.adapters.index_terms import IndexTerms
from app.adapters.reading.rendered_pages import rendered_pages
from app.adapters.reading.source_files import SourceFiles
from app.adapters.sentences import split_sentences
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.tokens import token_counter
from app.bootstrap.books import chunking_config, read_source
from app.bootstrap.storage import BookContents, BookPages, PageEntry, address_of, book_pages
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, ChunkingTools, RecursiveConfig
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Book, Document, Span
from app.domain.errors import BookError
from app.domain.scripts import script_scale
from app.services.ingest import IngestBook
from app.services.ingest_plan import IngestRequest
from app.services.lexical import FINGERPRINT as LEXICAL_FINGERPRINT
from app.services.phases import Advance, ignore
from app.services.ports import BookStore, Embedder
from app.services.similarity import embed_documents
from app.settings import Settings

EmbedTexts: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
_IMAGE = 10_000_000
"""Bytes of an image; a larger one is not shown."""
_IMAGES = 500_000_000
"""Bytes of all images of a book; those behind are not shown."""


def ingest_book(
    settings: Settings, embedder: Embedder, index: BookStore, ledgers: SqliteLedgers
) -> IngestBook:
    terms = IndexTerms()
    return IngestBook(
        read_book=read_source,
        chunk_book=partial(
            chunk_book,
            embed=embed_from_thread(embedder),
            longest_text=embedder.tariff.tokens_per_text,
        ),
        embedder=embedder,
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


def embed_from_thread(embedder: Embedder) -> EmbedTexts:
    """Return a function that embeds texts on this event loop, for chunking in another thread."""
    loop = asyncio.get_running_loop()

    def embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return asyncio.run_coroutine_threadsafe(embed_documents(embedder, texts), loop).result()

    return embed


def chunk_book(
    book: Book,
    request: IngestRequest,
    advance: Advance = ignore,
    embed: EmbedTexts | None = None,
    longest_text: int | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of one document after the other.

    `longest_text` is the embedder's limit in tokens: chunk sizes are not scaled beyond it. Raises
    BookError if `rag.toml` is invalid, ConfigError if the strategy needs `embed` and it is None.
    """
    count_tokens = token_counter()
    config = _config(book, request, count_tokens, longest_text)
    tools = ChunkingTools(
        count_tokens=count_tokens,
        split_sentences=split_sentences,
        split_recursively=partial(_split_recursively, count_tokens),
        embed=embed,
    )
    for document in book.documents:
        yield from stream_chunks(document, book, config, tools)
        advance(1)


def _config(
    book: Book, request: IngestRequest, count_tokens: Callable[[str], int], longest_text: int | None
) -> ChunkingConfig:
    """Return the settings of the request and the book, scaled by the book's script."""
    own = chunking_config(request.folder, request.strategy)
    config = replace(own, exclude=tuple(sorted(request.exclude_kinds)))
    scale = script_scale((block.text for block in book.blocks()), count_tokens)
    if longest_text is not None:
        scale = max(1.0, min(scale, longest_text / config.structure.maximum))
    return config.scaled(scale)


def _split_recursively(
    count_tokens: Callable[[str], int], text: str, config: RecursiveConfig
) -> list[Span]:
    # The import takes 0.2 s, so only this strategy pays for it.
    from app.adapters.langchain_splitters import split_recursively  # noqa: PLC0415

    return split_recursively(count_tokens, text, config)
