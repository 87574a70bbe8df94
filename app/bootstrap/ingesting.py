"""Builds the use case that ingests. A server does without: it imports all that reads books."""

from __future__ import annotations

from functools import partial

from app.adapters.fastembed.embedder import FastembedEmbedder
from app.adapters.index_terms import IndexTerms
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.tokens import token_counter
from app.bootstrap.book_pages import book_pages, store_pages
from app.bootstrap.books import read_source
from app.bootstrap.chunking import chunk_book, embed_from_thread
from app.bootstrap.providers import OwnEmbedder
from app.services.ingest import IngestBook
from app.services.lexical import FINGERPRINT as LEXICAL_FINGERPRINT
from app.services.ports import BookStore
from app.settings import Settings


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
            embeds_tokens=embed_in_context is not None,
            longest_text=embedder.tariff.tokens_per_text,
        ),
        embedder=embedder,
        embed_in_context=embed_in_context,
        cache=SqliteEmbeddingCache(settings.home / "embeddings.sqlite"),
        ledgers=ledgers,
        terms_of=terms.of_document,
        index=index,
        count_tokens=token_counter(),
        store_pages=partial(store_pages, book_pages(settings)),
        encoder=f"{terms.fingerprint} {LEXICAL_FINGERPRINT}",
    )
