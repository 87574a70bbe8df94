"""When the book does not say: the score, the rarity of terms, the words of the refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import log

import pytest

from app.domain.answering.answerability import (
    ANSWER_THRESHOLD,
    REFUSAL_THRESHOLD,
    Support,
    answerability,
    counted_score,
    defined_share,
    phrases,
    share_of_bounds,
)
from app.domain.answering.notices import other_language, refusal_text
from app.domain.answering.question_analysis import bare_question
from app.domain.answering.request import AskRequest, recent
from app.domain.book_id import BookId
from app.domain.languages import guess_language, language_of_question
from app.domain.retrieval.chunk_terms import chunk_terms
from app.domain.retrieval.query import Turn
from app.domain.terms import words
from app.services.lexical import LexicalEncoder
from app.services.term_upper_bounds import TermUpperBounds
from tests.answer_fakes import World, chunk, passage
from tests.retrieval_fakes import FakeIndex, FakeSparse, make_chunk, make_manifest

CHUNK = chunk([passage("Owls hunt at night. They sleep by day.")])
SPARSE = FakeSparse()


@pytest.mark.parametrize(
    ("hits", "low", "high"),
    [
        ([Support(0.7, 0.9, 2.0, 0.0)], 0.9, 1.0),
        ([Support(0.5, 0.5, 0.5, 0.0)], ANSWER_THRESHOLD, 1.0),
        ([Support(0.4, 0.4, 0.0, 0.0)], REFUSAL_THRESHOLD, ANSWER_THRESHOLD),
        ([Support(0.2, 0.2, 0.0, 0.0)], 0.0, REFUSAL_THRESHOLD),
        ([Support(0.0, 0.0, 0.0, 0.0)], 0.0, 0.01),
        ([], 0.0, 0.01),
    ],
)
def test_score_parts_what_the_book_answers_from_what_it_does_not(
    hits: list[Support], low: float, high: float
) -> None:
    assert low <= answerability(hits) <= high


@pytest.mark.parametrize("feature", ["paragraph", "share", "phrases", "defined"])
def test_score_rises_with_each_feature(feature: str) -> None:
    hit = Support(0.4, 0.4, 0.5, 0.0)
    more = replace(hit, **{feature: getattr(hit, feature) + 0.1})
    assert answerability([more]) > answerability([hit])


def test_what_speaks_for_an_answer_must_be_in_one_hit() -> None:
    alike, worded = Support(0.6, 0.1, 0.0, 0.0), Support(0.1, 0.9, 0.0, 0.0)
    both = Support(0.6, 0.9, 0.0, 0.0)
    apart = answerability([alike, worded])
    assert apart == max(answerability([one]) for one in (alike, worded))
    assert apart < answerability([worded, both])


def test_share_is_at_most_one_and_none_without_terms() -> None:
    assert share_of_bounds(5.0, {}) == share_of_bounds(5.0, {1: 0.0}) == 0.0
    assert share_of_bounds(9.0, {1: 10.0}) == 0.9
    assert share_of_bounds(12.0, {1: 10.0}) == 1.0


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
    known = chunk_terms(defining, SPARSE.terms)
    bounds = dict.fromkeys(SPARSE.terms(question, "en"), 2.0)
    assert defined_share(known, bounds) == pytest.approx(share)


@pytest.mark.parametrize(
    ("question", "pairs"),
    [
        ("owls hunt at night", 3),
        ("hunt owls", 0),
        ("do owls hunt mice", 1),
        ("night they", 0),
        ("owls", 0),
        ("", 0),
    ],
)
def test_words_side_by_side_in_a_sentence_count_as_often_as_they_are_asked(
    question: str, pairs: int
) -> None:
    asked = SPARSE.terms(question, "en")
    bounds = dict.fromkeys(asked, 2.0)
    found = phrases(asked, chunk_terms(CHUNK, SPARSE.terms), bounds)
    assert found == pytest.approx(log(1 + 2 * pairs))


P_VALUE = "What is a p value?"


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("Smith, p. 12. Jones, p. 40.", 0),
        ("Smith, p. 12. A value of 3.", 1),
        ("A p value measures surprise.", 2),
    ],
)
def test_a_one_letter_term_counts_only_beside_its_neighbour(text: str, counted: int) -> None:
    asked = SPARSE.terms(P_VALUE, "en")
    bounds = dict.fromkeys(SPARSE.terms("p value", "en"), 2.0)
    letters = SPARSE.terms("p", "en")
    known = chunk_terms(chunk([passage(text)]), SPARSE.terms)
    assert counted_score(4.0, asked, letters, known, bounds) == 2.0 * counted


def test_a_question_of_one_letter_terms_alone_keeps_its_score() -> None:
    letters = SPARSE.terms("r", "en")
    known = chunk_terms(chunk([passage("R is a language.")]), SPARSE.terms)
    assert counted_score(1.5, letters, letters, known, dict.fromkeys(letters, 2.0)) == 1.5


async def test_citations_with_page_numbers_do_not_answer_what_a_p_value_is() -> None:
    listed = passage("Smith, p. 12. Jones, p. 40. Brown, p. 7. Weber, p. 90.", "p-listed")
    telling = passage("A p value is a measure of surprise.", "p-telling")
    asked = AskRequest(P_VALUE)
    with_list = await World((listed,)).answering().answerability(asked)
    with_text = await World((telling,)).answering().answerability(asked)
    assert with_list < ANSWER_THRESHOLD < with_text


def test_a_larger_book_scores_the_same_evidence_the_same() -> None:
    hunts = passage("Owls hunt at night.", "p-hunts")
    others = [passage(f"Chapter {at} tells of ships.", f"p-{at}") for at in range(40)]
    asked = AskRequest("When do owls hunt?")
    small, large = (
        asyncio.run(World((hunts, *more)).answering().answerability(asked)) for more in ((), others)
    )
    assert large >= small - 0.05


LEXICAL = LexicalEncoder(FakeSparse())


def bounds_of(bounds: TermUpperBounds, text: str, books: Sequence[BookId] = ()) -> dict[int, float]:
    known = asyncio.run(bounds.index.books())
    return asyncio.run(bounds.of(LEXICAL.terms(text, "en"), known.only(books)))


def test_upper_bound_is_the_best_score_a_chunk_has_by_the_term_alone() -> None:
    chunks = [make_chunk("owl owl owl mouse"), make_chunk("owl", index=1)]
    bounds = TermUpperBounds(FakeIndex(chunks))
    assert bounds_of(bounds, "owl") == {next(iter(LEXICAL.terms("owl", "en"))): 3.0}


def test_term_that_is_in_no_chunk_counts_as_much_as_the_rarest_could() -> None:
    index = FakeIndex([make_chunk("owl")], [replace(make_manifest(), chunks=1_000)])
    bounds = TermUpperBounds(index)
    (unknown,) = bounds_of(bounds, "zebra").values()
    assert 9.0 < unknown < 11.0


def test_upper_bounds_of_one_book_leave_out_the_others() -> None:
    chunks = [make_chunk("owl"), make_chunk("owl owl", book="other")]
    manifests = [make_manifest(), make_manifest("other")]
    bounds = TermUpperBounds(FakeIndex(chunks, manifests))
    assert list(bounds_of(bounds, "owl", [BookId("book")]).values()) == [1.0]
    assert list(bounds_of(bounds, "owl").values()) == [2.0]


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
        ("Can I use Redux without React?", "en"),
        ("Why do cells die in an old leaf?", "en"),
        ("mitochondria ATP", "en"),
        ("日本語", "en"),
    ],
)
def test_language_of_a_question_is_told_by_its_common_words(text: str, language: str) -> None:
    assert guess_language(text) == language
    assert refusal_text(language, 3).startswith(refusal_text(language, 0))


def test_unknown_words_leave_the_default_language() -> None:
    assert guess_language("mitochondria", "de") == "de"
    assert refusal_text("de", 0) == "Das Buch sagt dazu nichts."
    assert refusal_text("fi", 0) == refusal_text("en", 0)


@pytest.mark.parametrize(
    ("question", "language", "bare"),
    [
        ("¿Qué hace useSelector?", "en", "useSelector?"),
        ("Wie teste ich einen Reducer?", "en", "teste Reducer?"),
        ("Comment fonctionne BERT ?", "en", "BERT"),
        ("What is the Golgi apparatus?", "es", "Golgi apparatus?"),
        ("What does useSelector do?", "en", "What does useSelector do?"),
        ("¿Qué hace la célula?", "es", "célula?"),
        ("Was machen Mitochondrien?", "de", "Mitochondrien?"),
        ("Mitä solu tekee?", "fi", "Mitä solu tekee?"),
        ("¿Qué es?", "en", "¿Qué es?"),
    ],
)
def test_of_a_question_the_words_that_tell_are_left(
    question: str, language: str, bare: str
) -> None:
    asked_in = guess_language(question, language)
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


@pytest.mark.parametrize(
    ("question", "book", "language"),
    [
        ("什么是光合作用?", "en", "zh"),
        ("computed是什么", "en", "zh"),
        ("光合成とは何ですか", "en", "ja"),
        ("光合成とは何ですか", "zh", "ja"),
        ("光合作用", "ja", "ja"),
        ("Что такое фотосинтез?", "de", "ru"),
        ("Що таке фотосинтез?", "uk", "uk"),
        ("광합성이란 무엇입니까", "en", "ko"),
        ("how do i print 你好", "en", "en"),
        ("what is the angle θ", "en", "en"),
        ("什么是光合作用?", "zh", "zh"),
        ("¿Qué es la mitosis?", "ja", "es"),
        ("", "en", "en"),
    ],
)
def test_the_language_of_a_question_is_told_by_its_words_or_its_script(
    question: str, book: str, language: str
) -> None:
    assert language_of_question(tuple(words(question)), book) == language


async def test_a_term_that_languages_share_is_answered_though_the_question_is_in_another() -> None:
    book = World((passage("The mitosis divides a nucleus."), passage("Owls hunt.", "p-owls")))
    found = await book.answering().answer(AskRequest("¿Qué es la mitosis?"))
    assert found.answer == "The mitosis divides a nucleus."


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
    found = recent(turns, budget, lambda text: len(text.split()))
    assert [turn.content for turn in found] == kept


def test_of_a_last_turn_that_is_too_long_the_beginning_is_kept() -> None:
    (turn,) = recent([Turn("user", "abcd " * 100)], 10, lambda text: len(text.split()))
    assert turn.content == "abcd " * 10


async def test_what_the_book_defines_is_answered_however_unlike_the_question_it_is() -> None:
    term = passage("Of all of these the lignum is the stiffest.", terms=("lignum",))
    others = [passage(f"Owls hunt {n} mice at night.", f"p-{n}") for n in range(20)]
    strict = World((term, *others)).answering(refusal_threshold=0.99)
    assert not (await strict.answer(AskRequest("What is a lignum?"))).refused
    assert (await strict.answer(AskRequest("Where is a lignum?"))).refused
