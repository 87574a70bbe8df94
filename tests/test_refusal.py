"""When the book does not say: the score, the rarity of terms, the words of the refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.domain.answering.followup import standalone_question
from app.domain.answering.languages import guess_language, refusal_text
from app.domain.answering.refusal import (
    GENERATOR_THRESHOLD,
    LEXICAL,
    THRESHOLD,
    Evidence,
    answerability,
    calibration_for,
    evidence,
)
from app.domain.retrieval.query import Hit, Turn
from app.services.term_ceilings import TermCeilings
from tests.answer_fakes import chunk, passage
from tests.retrieval_fakes import FakeIndex, FakeSparse, make_chunk, make_manifest

STATIC = calibration_for("wordllama-l2-supercat-256")
CHUNK = chunk([passage("Owls hunt at night.")])


def hit(dense: float | None, sparse: float | None) -> Hit:
    return Hit(CHUNK, 1.0, dense, sparse)


@pytest.mark.parametrize(
    ("cosine", "sparse", "low", "high"),
    [
        (0.6, 18.0, THRESHOLD, 1.0),
        (0.3, 14.0, THRESHOLD, 1.0),
        (0.2, 10.0, GENERATOR_THRESHOLD, THRESHOLD),
        (0.15, 4.0, 0.0, GENERATOR_THRESHOLD),
        (0.1, 0.0, 0.0, 0.01),
    ],
)
def test_score_rises_with_similarity_and_with_the_share_of_rare_terms_found(
    cosine: float, sparse: float, low: float, high: float
) -> None:
    score = answerability(evidence([hit(cosine, sparse)], {1: 10.0, 2: 6.0, 3: 4.0}), STATIC)
    assert low <= score <= high


def test_best_hit_of_each_kind_counts() -> None:
    assert evidence([hit(0.5, 1.0), hit(0.1, 9.0)], {1: 10.0}) == Evidence(0.5, 0.9)


def test_only_the_rarest_terms_of_a_long_question_count() -> None:
    rare = dict.fromkeys(range(8), 5.0)
    common = dict.fromkeys(range(8, 80), 0.5)
    found = [hit(0.4, 30.0)]
    assert evidence(found, rare | common) == evidence(found, rare)


def test_without_cosines_or_their_meaning_the_terms_alone_decide() -> None:
    ceilings = {1: 10.0, 2: 10.0}
    lexical = answerability(evidence([hit(None, 12.0)], ceilings), STATIC)
    unknown = answerability(evidence([hit(0.9, 12.0)], ceilings), calibration_for("unknown"))
    assert lexical == unknown == LEXICAL.score(0.0, 0.6)


@pytest.mark.parametrize("hits", [[], [hit(0.1, 0.0)], [hit(None, None)]])
@pytest.mark.parametrize("ceilings", [{}, {1: 0.0}])
def test_question_without_terms_or_hits_has_no_answer(
    hits: list[Hit], ceilings: dict[int, float]
) -> None:
    assert answerability(evidence(hits, ceilings), STATIC) < GENERATOR_THRESHOLD


class CountingIndex(FakeIndex):
    """Counts the terms whose best scores were asked for."""

    asked = 0

    async def best_scores(self, terms: Sequence[int], books: Sequence[str] = ()) -> list[float]:
        self.asked += len(terms)
        return await super().best_scores(terms, books)


def ceilings_of(ceilings: TermCeilings, text: str, books: Sequence[str] = ()) -> dict[int, float]:
    return asyncio.run(ceilings.of(ceilings.terms(text, "en"), books))


def test_ceiling_is_the_best_score_a_chunk_has_by_the_term_alone() -> None:
    chunks = [make_chunk("owl owl owl mouse"), make_chunk("owl", index=1)]
    ceilings = TermCeilings(CountingIndex(chunks), FakeSparse())
    assert ceilings_of(ceilings, "owl") == {next(iter(ceilings.terms("owl", "en"))): 3.0}


def test_term_that_is_in_no_chunk_counts_as_much_as_the_rarest_could() -> None:
    index = CountingIndex([make_chunk("owl")], [replace(make_manifest(), chunks=1_000)])
    ceilings = TermCeilings(index, FakeSparse())
    (unknown,) = ceilings_of(ceilings, "zebra").values()
    assert 9.0 < unknown < 11.0


def test_ceilings_are_asked_once_for_each_generation_of_a_book() -> None:
    index = CountingIndex([make_chunk("owl mouse")])
    ceilings = TermCeilings(index, FakeSparse())
    assert ceilings_of(ceilings, "owl mouse") == ceilings_of(ceilings, "mouse owl")
    assert index.asked == 2
    index.manifests = [replace(make_manifest(), generation=2)]
    ceilings_of(ceilings, "owl")
    assert index.asked == 3


def test_ceilings_of_one_book_leave_out_the_others() -> None:
    chunks = [make_chunk("owl"), make_chunk("owl owl", book="other")]
    manifests = [make_manifest(), make_manifest("other")]
    ceilings = TermCeilings(CountingIndex(chunks, manifests), FakeSparse())
    assert list(ceilings_of(ceilings, "owl", ["book"]).values()) == [1.0]
    assert list(ceilings_of(ceilings, "owl").values()) == [2.0]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the difference between the two?", "en"),
        ("¿Qué es la fotosíntesis y por qué es importante?", "es"),
        ("Was ist der Unterschied zwischen den beiden?", "de"),
        ("Quelle est la différence entre les deux ?", "fr"),
        ("O que é a fotossíntese e como ela funciona?", "pt"),
        ("Che cosa è la fotosintesi e come funziona?", "it"),
        ("روشنی کی ترکیب کیا ہے اور یہ کیوں اہم ہے؟", "ur"),
        ("mitochondria ATP", "en"),
        ("日本語", "en"),
    ],
)
def test_language_of_a_question_is_told_by_its_common_words(text: str, language: str) -> None:
    assert guess_language(text) == language
    assert refusal_text(text, 0) == refusal_text(text, 3)[: len(refusal_text(text, 0))]


def test_unknown_words_leave_the_default_language() -> None:
    assert guess_language("mitochondria", "de") == "de"


HISTORY = (Turn("user", "What is BM25?"), Turn("assistant", "A ranking function."))


@pytest.mark.parametrize(
    ("question", "history", "searched"),
    [
        ("Who invented it?", HISTORY, "What is BM25? Who invented it?"),
        ("And why?", HISTORY, "What is BM25? And why?"),
        ("Does that function reward long documents more?", HISTORY, None),
        ("Why are inverted lists compressed on large disks?", HISTORY, "alone"),
        ("Who invented it?", (), "alone"),
        ("Who invented it?", (Turn("assistant", "Hello."),), "alone"),
        ("Who invented it?", (Turn("user", " "),), "alone"),
    ],
)
def test_question_that_leans_on_the_conversation_is_searched_with_the_one_before(
    question: str, history: tuple[Turn, ...], searched: str | None
) -> None:
    expected = {"alone": question, None: f"What is BM25? {question}"}.get(searched, searched)
    assert standalone_question(question, history) == expected
