"""Semantic similarity of texts in any language, by the local model.

The model was trained on English: unrelated texts in another language have a cosine of about 0.6. To
correct this, function words of the other language are removed from its texts, and the direction of
the function words' vector is removed from each vector, as in "All-but-the-top" (Mu and Viswanath,
ICLR 2018).
"""

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import hypot
from operator import mul

from cachetools import LRUCache

from app.domain.languages import known_language, without_words
from app.domain.retrieval.query import Vector
from app.services.ports import Embedder

MODEL_LANGUAGE = "en"
"""The language that the model was trained on, as an ISO 639-1 code."""
OTHER_LANGUAGE_LENGTH = 0.9
"""Length of the vector of a question in another language, which scales its cosines. With it,
questions of xquad-es score like those of xquad-en."""
UNKNOWN_LANGUAGE_LENGTH = 0.57
"""The same for languages without a list of function words, where BM25 decides: Spanish without its
list has nearly the same refusals as with it."""

BY_CHARACTERS = frozenset({"zh", "ja", "ko", "th", "lo", "km", "my"})
"""Languages indexed by character bigrams. BM25 is weaker there, so similarity is not scaled."""

_CACHED_TEXTS = 16_000
"""Texts whose vectors are cached, about 25 MB."""


@dataclass(slots=True)
class SimilarityEncoder:
    """Encodes questions and texts as vectors whose inner product is their similarity, -1 to 1."""

    embedder: Embedder
    """The local model, even if another one searches: cosines of two models are not comparable."""
    inner_products: Callable[[Vector, Sequence[Vector]], list[float]]
    """Returns the inner products of the first vector with each of the others."""
    _known: LRUCache[tuple[str, str], Vector] = field(
        default_factory=lambda: LRUCache(_CACHED_TEXTS), init=False, compare=False, repr=False
    )
    """By language and text."""
    _shared: dict[str, Vector] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Language -> unit vector of the common direction of its texts."""

    async def question(self, text: str, language: str) -> Vector:
        common = _common(language)
        vector = await self.embedder.embed_query(without_words(text, common) if common else text)
        if common:
            vector = _without(await self._direction(language), vector)
        if language in (MODEL_LANGUAGE, *BY_CHARACTERS):
            return vector
        return _scaled(vector, OTHER_LANGUAGE_LENGTH if common else UNKNOWN_LANGUAGE_LENGTH)

    async def texts(self, texts: Sequence[str], language: str) -> list[Vector]:
        """Return one vector for each text, in order; vectors are cached."""
        found = {
            text: vector
            for text in dict.fromkeys(texts)
            if (vector := self._known.get((language, text))) is not None
        }
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found.update(zip(missing, await self._embed(missing, language), strict=True))
            self._known.update({(language, text): found[text] for text in missing})
        return [found[text] for text in texts]

    async def similarities(
        self, asked: Vector, texts: Sequence[str], language: str
    ) -> dict[str, float]:
        """Return text -> cosine with the question, -1 to 1; `asked` is the question's vector."""
        vectors = await self.texts(texts, language)
        return dict(zip(texts, self.inner_products(asked, vectors), strict=True))

    async def _embed(self, texts: Sequence[str], language: str) -> list[Vector]:
        common = _common(language)
        if not common:
            return await embed_documents(self.embedder, texts)
        bare = [without_words(text, common) for text in texts]
        vectors = await embed_documents(self.embedder, bare)
        direction = await self._direction(language)
        return [_without(direction, vector) for vector in vectors]

    async def _direction(self, language: str) -> Vector:
        if language not in self._shared:
            said = " ".join(sorted(_common(language)))
            self._shared[language] = await self.embedder.embed_query(said)
        return self._shared[language]


async def embed_documents(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    """Return one vector for each text, in order."""
    return [vector async for batch in embedder.embed_batches(texts) for vector in batch]


def _common(language: str) -> Collection[str]:
    """Return the function words of a language that the model was not trained on."""
    return () if language == MODEL_LANGUAGE else known_language(language).words


def _without(direction: Vector, vector: Vector) -> Vector:
    """Return the component orthogonal to the unit vector `direction`, scaled to length 1.

    Zeros if the vector is parallel to it.
    """
    along = sum(map(mul, direction, vector))
    rest = [value - along * part for value, part in zip(vector, direction, strict=True)]
    return _scaled(rest, 1 / (hypot(*rest) or 1.0))


def _scaled(vector: Sequence[float], scale: float) -> Vector:
    return array("f", [value * scale for value in vector])


@dataclass(frozen=True, slots=True)
class CrossLingualScorer:
    """Scores paragraphs for questions in another language than the book's, as a `RelevanceModel`.

    Scores are cosines, scaled so that the least similar paragraph has 0: models differ in the
    cosine of unrelated texts (0.7 in E5).
    """

    embedder: Embedder
    inner_products: Callable[[Vector, Sequence[Vector]], list[float]]

    def reads(self, asked_in: str, language: str) -> bool:
        return asked_in != language

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        vectors = await embed_documents(self.embedder, texts)
        cosines = self.inner_products(await self.embedder.embed_query(question), vectors)
        lowest = min(cosines, default=0.0)
        return [(cosine - lowest) / max(1 - lowest, 1e-6) for cosine in cosines]
