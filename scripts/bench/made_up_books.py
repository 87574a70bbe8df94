"""Synthetic books of real sentences, of any number and size; the same for the same seed.

A chunk is two sequences of consecutive sentences from two places of the development books. Its
vector is that of the local model (the mean of its token vectors, which are summed once per
sentence), its BM25 vector that of its terms. So 1,000 chunks take a quarter of a second.
"""

from __future__ import annotations

import random
import uuid
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.adapters.index_terms import IndexTerms
from app.adapters.local_embedder import DIMENSION, MODEL, LocalEmbedder
from app.adapters.sentences import split_sentences
from app.bootstrap.books import read_source
from app.bootstrap.ingesting import chunk_book
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind, Site
from app.domain.identity import keep_ids
from app.domain.indexed_book import BookManifest, IndexPoint
from app.domain.ledger import Ledger
from app.domain.retrieval.query import SparseVector
from app.services.ingest_plan import IngestRequest

_BOOKS = (
    ("openstax-biology", Site.PLAIN),
    ("rust-book-quizzes", Site.MDBOOK),
    ("redux-docs", Site.DOCUSAURUS),
    ("hf-course", Site.PLAIN),
)
_TOKENS = 160
"""Maximum tokens of each of the two sequences: a chunk of the books has 1,166 characters and 65
terms."""
_K1, _B, _AVERAGE = 1.2, 0.75, 200.0
"""Same constants as in `services.lexical`."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences in the order of the books, with their vectors and terms."""

    texts: Sequence[str]
    terms: Sequence[NDArray[np.uint32]]
    tokens: Sequence[int]
    sums: NDArray[np.float32]
    """The sum of each sentence's token vectors."""

    @classmethod
    def of(cls, data: Path) -> Sentences:
        """The sentences of paragraphs and lists of the development books."""
        texts = [
            one.text[start:end]
            for chunk in real_chunks(data)
            for one in chunk.own_passages
            if one.kind is not BlockKind.CODE
            for start, end in split_sentences(one.text, "en")
            if 30 <= end - start <= 600
        ]
        texts = list(dict.fromkeys(texts))
        embedder, sparse = LocalEmbedder.load(), IndexTerms()
        encodings = embedder._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        ids = [one.ids for one in encodings]
        vectors = embedder._token_vectors
        return cls(
            texts,
            [np.array(sparse.of_document(text, "en"), np.uint32) for text in texts],
            [len(one) for one in ids],
            np.stack([vectors[one].sum(axis=0) for one in ids]),
        )

    def run(self, start: int) -> list[int]:
        """Consecutive sentences from this one on, at most `_TOKENS`."""
        after = range(start, min(start + 12, len(self.texts)))
        lengths = accumulate(self.tokens[at] for at in after)
        return list(after)[: max(1, sum(1 for _ in takewhile(lambda n: n <= _TOKENS, lengths)))]


def real_chunks(data: Path) -> Iterator[Chunk]:
    for name, site in _BOOKS:
        asked = IngestRequest(data / "books" / name, book=BookId(name), site=site)
        yield from chunk_book(keep_ids(read_source(asked), Ledger())[0], asked)


def book_name(number: int) -> BookId:
    return BookId(f"made-up-{number:05}")


def made_up_book(sentences: Sentences, number: int, chunks: int) -> Iterator[IndexPoint]:
    """Points of one book. Each chapter of 50 chunks uses one region of the sentences."""
    book, chance = book_name(number), random.Random(number)
    count = len(sentences.texts)
    for index in range(chunks):
        if index % 50 == 0:
            region = chance.randrange(count)
        runs = [chance.randrange(count), (region + chance.randrange(800)) % count]
        at = [one for start in runs for one in sentences.run(start)]
        yield IndexPoint(
            _chunk(sentences, book, index, at), _vector(sentences, at), _terms(sentences, at)
        )


def _vector(sentences: Sentences, at: Sequence[int]) -> array[float]:
    total = sentences.sums[list(at)].sum(axis=0)
    return array("f", (total / (np.linalg.norm(total) or 1.0)).astype(np.float32).tobytes())


def _terms(sentences: Sentences, at: Sequence[int]) -> SparseVector:
    ids = np.concatenate([sentences.terms[one] for one in at])
    terms, counts = np.unique(ids, return_counts=True)
    damping = _K1 * (1 - _B + _B * len(ids) / _AVERAGE)
    weights = counts * (_K1 + 1) / (counts + damping)
    return SparseVector(tuple(terms.tolist()), tuple(weights.tolist()))


def _chunk(sentences: Sentences, book: BookId, index: int, at: Sequence[int]) -> Chunk:
    halves = [at[: len(at) // 2], at[len(at) // 2 :]]
    texts = [" ".join(sentences.texts[one] for one in half) for half in halves if half]
    chapter, page = f"Chapter {index // 50}", index // 10
    url = f"https://{book}.example.org/chapter-{index // 50}/page-{page}"
    passages, start = [], 0
    for half, text in enumerate(texts):
        passages.append(
            Passage(
                paragraph_id=f"p-{book[-5:]}{index:04x}{half}",
                kind=BlockKind.PARAGRAPH,
                text=text,
                start=start,
                end=start + len(text),
                url=f"{url}#:~:text={text[:40].replace(' ', '%20')}",
                heading_path=(chapter, f"Page {page}"),
            )
        )
        start += len(text) + 2
    return Chunk(
        chunk_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{book}/{index}")),
        book=book,
        book_version="0" * 16,
        chunk_index=index % 10,
        file=f"chapter-{index // 50}/page-{page}.md",
        position=page,
        token_count=sum(sentences.tokens[one] for one in at),
        overlap_start=0,
        overlap_end=0,
        paragraph_ids=tuple(one.paragraph_id for one in passages),
        content_type="paragraph",
        chapter=chapter,
        section=f"Page {page}",
        heading_path=(chapter, f"Page {page}"),
        spans=((0, start - 2),),
        deep_link_url=passages[0].url,
        language="en",
        passages=tuple(passages),
    )


def made_up_manifest(number: int, chunks: int) -> BookManifest:
    return BookManifest(
        book=book_name(number),
        title=f"Made-up book {number}",
        book_version="0" * 16,
        model=MODEL,
        dimension=DIMENSION,
        strategy="structure",
        site="plain",
        base_url=f"https://{book_name(number)}.example.org",
        language="en",
        fingerprint="",
        chunks=chunks,
        tokens=340 * chunks,
        files=chunks // 10 + 1,
        created_at="2026-01-01T00:00:00+00:00",
    )
