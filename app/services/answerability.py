"""Judge whether what a search found answers the question, whatever embedder searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain, islice
from operator import itemgetter, mul

from app.domain.answering.refusal import (
    Evidence,
    Support,
    defined_share,
    phrases,
    share_of_ceilings,
)
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.chunk_terms import ChunkTerms, sentences
from app.domain.retrieval.query import Hit, Vector
from app.services.similarity import SimilarityEncoder
from app.services.term_upper_bounds import TermUpperBounds

JUDGED_HITS = 8
"""Hits that answerability is judged by, even if the answer is made from fewer."""
READ_CLOSELY = 3
"""Paragraphs, the likest to the question, that are read sentence by sentence. More gain nothing."""

_REMEMBERED = 4_000
"""Chunks, and paragraphs read closely, whose vectors are kept, about 25 MB."""
_ASKS_ITSELF = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


@dataclass(frozen=True, slots=True)
class AnswerabilityScorer:
    vectors: SimilarityEncoder
    ceilings: TermUpperBounds
    chunk_terms: Callable[[Chunk], ChunkTerms]
    _known: dict[tuple[str, ...], Sequence[Vector]] = field(default_factory=dict, compare=False)

    async def evidence(
        self, question: str, hits: Sequence[Hit], books: Sequence[BookId] = ()
    ) -> Evidence:
        """Weigh the best hits of a search in these books, or in all. Raises StorageError."""
        near = hits[:JUDGED_HITS]
        language = near[0].chunk.language if near else "en"
        asked = self.ceilings.ordered_terms(question, language)
        ceilings = await self.ceilings.of(self.ceilings.terms(question, language), books)
        title, likest = await self._likest(question, [hit.chunk for hit in near], language)
        support: list[Support] = []
        for hit, (paragraph, sentence) in zip(near, likest, strict=True):
            known = self.chunk_terms(hit.chunk)
            support.append(
                Support(
                    paragraph,
                    sentence,
                    share_of_ceilings(hit.sparse_score or 0.0, ceilings),
                    phrases(asked, known, ceilings),
                    defined_share(known, ceilings),
                )
            )
        return Evidence(title, support, await self.ceilings.chunks(books))

    async def likeness(self, question: str, texts: Sequence[str], language: str) -> list[float]:
        """How like the question each of the texts is, -1 to 1."""
        asked = await self.vectors.question(question, language)
        return [_cosine(asked, vector) for vector in await self.vectors.texts(texts, language)]

    async def _likest(
        self, question: str, chunks: Sequence[Chunk], language: str
    ) -> tuple[float, list[tuple[float, float]]]:
        """The greatest cosine of the question and a title; then for each chunk that of its likest
        paragraph, and of the likest sentence of one that is read closely, else of the paragraph
        again. 0 where there is none.
        """
        asked = await self.vectors.question(question, language)
        vectors = await self._vectors(
            language,
            {
                (language, chunk.book, chunk.book_version, chunk.chunk_id): [
                    chunk.section,
                    *(f"{chunk.section} {one.text}" for one in _told(chunk)),
                ]
                for chunk in chunks
            },
        )
        title = max((_cosine(asked, own[0]) for own in vectors), default=0.0)
        paragraphs = [
            (_cosine(asked, vector), at, one)
            for at, (chunk, own) in enumerate(zip(chunks, vectors, strict=True))
            for one, vector in zip(_told(chunk), own[1:], strict=True)
        ]
        near = nlargest(READ_CLOSELY, paragraphs, key=itemgetter(0))
        read: dict[tuple[str, ...], Sequence[str]] = {
            (language, one.kind, one.text): sentences(one) for _, _, one in near
        }
        closely = dict(zip(read, await self._vectors(language, read), strict=True))
        likest = [0.0] * len(chunks)
        for cosine, at, _ in paragraphs:
            likest[at] = max(likest[at], cosine)
        told = [0.0] * len(chunks)
        for _, at, one in near:
            own = (_cosine(asked, vector) for vector in closely[language, one.kind, one.text])
            told[at] = max(told[at], *own, 0.0)
        return title, [(best, said or best) for best, said in zip(likest, told, strict=True)]

    async def _vectors(
        self, language: str, texts: Mapping[tuple[str, ...], Sequence[str]]
    ) -> list[Sequence[Vector]]:
        """The vectors of the texts of each key, remembered."""
        found = {key: known for key in texts if (known := self._known.get(key)) is not None}
        missing = {key: own for key, own in texts.items() if key not in found}
        if missing:
            every = [*chain.from_iterable(missing.values())]
            fresh = iter(await self.vectors.texts(every, language))
            found |= {key: [*islice(fresh, len(own))] for key, own in missing.items()}
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known.update(found)
        return [found[key] for key in texts]


def _told(chunk: Chunk) -> list[Passage]:
    """What tells something, and does not ask itself."""
    return [one for one in chunk.passages if one.kind not in _ASKS_ITSELF]


def _cosine(one: Vector, other: Vector) -> float:
    """Of two vectors of length 1, as `SimilarityEncoder` gives them."""
    return float(sum(map(mul, one, other)))
