"""When the book does not say: the score, the rarity of terms, the words of the refusal."""

import asyncio
from typing import TypeAlias

import pytest

from app.domain.answering.answerability import (
    ANSWER_THRESHOLD,
    REFUSAL_THRESHOLD,
    answerability,
    defined_share,
    share_of_bounds,
)
from app.domain.answering.request import AskRequest, recent
from app.domain.indexed_book import BookList
from app.domain.languages import language_of_question, language_of_words, notices, other_language
from app.domain.retrieval.chunk_terms import chunk_terms
from app.domain.retrieval.query import Turn
from app.domain.search_text import bare_question
from app.domain.terms import words
from app.services.lexical import TermUpperBounds
from tests.fake_world import FakeIndex, FakeTerms, World, chunk, make_chunk, passage
from tests.made_chunks import count_words, made_manifest
from tests.recorded_cases import case_lines

CHUNK = chunk([passage("Owls hunt at night. They sleep by day.")])


Hits: TypeAlias = list[tuple[float, float, float]]
SCORES: dict[str, tuple[Hits, float, float, float]] = {
    "all": ([(0.7, 0.9, 0.0)], 1.0, 0.95, 1.0),
    "half": ([(0.5, 0.5, 0.0)], 1.0, ANSWER_THRESHOLD, 1.0),
    "few terms": ([(0.5, 0.5, 0.0)], 0.5, REFUSAL_THRESHOLD, ANSWER_THRESHOLD),
    "little": ([(0.3, 0.2, 0.0)], 0.3, 0.0, REFUSAL_THRESHOLD),
    "nothing": ([(0.0, 0.0, 0.0)], 0.0, 0.0, 0.01),
    "defined": ([(0.2, 0.4, 1.0)], 1.0, ANSWER_THRESHOLD, 1.0),
    "no hit": ([], 0.0, 0.0, 0.01),
    "in two hits": ([(0.6, 0.1, 0.0), (0.1, 0.9, 0.0)], 0.5, 0.0, ANSWER_THRESHOLD),
    "in one hit": ([(0.6, 0.9, 0.0), (0.1, 0.9, 0.0)], 0.5, ANSWER_THRESHOLD, 1.0),
}


@pytest.mark.parametrize(("hits", "covered", "low", "high"), SCORES.values(), ids=SCORES)
def test_score_parts_what_the_book_answers_from_what_it_does_not(
    hits: Hits, covered: float, low: float, high: float
) -> None:
    assert low <= answerability(hits, covered) <= high


def test_only_the_rarest_terms_of_a_long_question_count() -> None:
    rare = dict.fromkeys(range(8), 5.0)
    common = dict.fromkeys(range(8, 80), 0.5)
    assert share_of_bounds(30.0, rare | common) == share_of_bounds(30.0, rare) == 0.75


@pytest.mark.parametrize(
    ("question", "share"),
    [("What is the night owl?", 1.0), ("A night owl sleeps?", 2 / 3), ("Why night?", 0.0)],
)
def test_a_term_counts_as_defined_where_all_of_it_is_asked_for(question: str, share: float) -> None:
    defining = chunk([passage("A night owl hunts.", terms=("night owl", "hunt"))])
    known = chunk_terms(defining, SPARSE.of_document)
    bounds = dict.fromkeys(SPARSE.of_document(question, "en"), 2.0)
    assert defined_share(known, bounds) == pytest.approx(share)


def test_a_larger_book_scores_the_same_evidence_the_same() -> None:
    hunts = passage("Owls hunt at night.", "p-hunts")
    others = [passage(f"Chapter {at} tells of ships.", f"p-{at}") for at in range(40)]
    asked = AskRequest("When do owls hunt?")
    small, large = (
        asyncio.run(World((hunts, *more)).answering().consult.read(asked)).score
        for more in ((), others)
    )
    assert large >= small - 0.05


SPARSE = FakeTerms()


@pytest.mark.parametrize(("asked", "bound"), [(["book"], 1.0), (["book", "other"], 2.0)])
def test_upper_bounds_of_one_book_leave_out_the_others(asked: list[str], bound: float) -> None:
    index = FakeIndex([make_chunk("owl"), make_chunk("owl owl", book="other")])
    books = BookList([made_manifest(one) for one in asked])
    (term,) = SPARSE.of_document("owl", "en")
    assert asyncio.run(TermUpperBounds(index).of([term], books)) == {term: bound}


@pytest.mark.parametrize(
    ("question", "language", "bare"),
    [
        ("¿Qué hace useSelector?", "en", "useSelector?"),
        ("Wie teste ich einen Reducer?", "en", "teste Reducer?"),
        ("Comment fonctionne BERT ?", "en", "BERT"),
        ("What is the Golgi apparatus?", "es", "Golgi apparatus?"),
        ("What does useSelector do?", "en", "What does useSelector do?"),
        ("¿Qué hace la célula?", "es", "célula?"),
        ("¿Qué es?", "en", "¿Qué es?"),
    ],
)
def test_of_a_question_the_words_that_tell_are_left(
    question: str, language: str, bare: str
) -> None:
    asked_in = language_of_words(words(question), language)
    assert bare_question(question, asked_in, language) == bare


@pytest.mark.parametrize(
    ("question", "refusal"),
    [
        ("¿Cuándo se fundó la ciudad de París?", "Está escrito en otro idioma (English)"),
        ("什么是光合作用?", "本书使用另一种语言（English）"),
        ("광합성이란 무엇입니까", "It is written in another language (English)"),
    ],
)
async def test_refused_in_another_language_than_the_books_the_reader_is_told_which_it_is(
    question: str, refusal: str
) -> None:
    found = await World((CHUNK.passages[0],)).answering().answer(AskRequest(question))
    assert found.refused
    assert refusal in found.answer
    assert other_language("en", "en") == ""


@pytest.mark.parametrize(("asked", "language"), case_lines("question_languages"))
def test_the_language_of_a_question_is_told_by_its_words_or_its_script(
    asked: str, language: str
) -> None:
    """Asked of a book in the language before the colon."""
    book, question = asked.split(": ", 1)
    assert language_of_question(tuple(words(question)), book) == language


def test_a_refusal_is_in_the_language_of_the_question_or_in_english() -> None:
    assert notices("de").refused(0) == "Das Buch sagt dazu nichts."
    assert notices("eu").refused(0) == notices("en").refused(0)


async def test_a_term_that_languages_share_is_answered_though_the_question_is_in_another() -> None:
    book = World((passage("The mitosis divides a nucleus."), passage("Owls hunt.", "p-owls")))
    found = await book.answering().answer(AskRequest("¿Qué es la mitosis?"))
    assert found.answer == "The mitosis divides a nucleus."
    like = await book.answering().answer(AskRequest("¿Qué es el núcleo?"))
    assert (like.passages[0].text, like.confidence.value) == (found.answer, "uncertain")


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (100, ["one two three", "four five", "six"]),
        (5, ["four five", "six"]),
        (1, ["six"]),
        (0, []),
    ],
)
def test_of_a_conversation_the_latest_turns_are_kept(budget: int, kept: list[str]) -> None:
    turns = [Turn("user", text) for text in ("one two three", "four five", "six")]
    found = recent(turns, budget, count_words)
    assert [turn.content for turn in found] == kept


def test_of_a_last_turn_that_is_too_long_the_beginning_is_kept() -> None:
    (turn,) = recent([Turn("user", "abcd " * 100)], 10, count_words)
    assert turn.content == "abcd " * 10
