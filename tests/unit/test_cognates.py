"""Questions in another language than the book's: which of the book's words are searched for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from app.domain.indexed_book import BookList, BookManifest
from app.domain.retrieval.query import SearchMode, SearchQuery
from app.services.cognates import MOST_BOOKS, FindCognates, cognates, folded
from app.services.term_upper_bounds import TermUpperBounds
from app.services.vocabulary import BookVocabulary
from tests.retrieval_fakes import (
    FakeEmbedder,
    FakeIndex,
    FakeTerms,
    make_chunk,
    make_manifest,
    retrieving,
)

BOOK = folded(
    {
        "immunity": (9, "immunity"),
        "innate": (4, "Innate"),
        "tokenizer": (7, "tokenizer"),
        "résumé": (1, "résumé"),
        "resume": (2, "resume"),
        "naïve": (1, "naïve"),
        "cell": (5, "cell"),
        "клетка": (2, "клетка"),
    }
)
QUESTION = "¿Qué es la inmunidad innata y para qué sirve?"


def count_words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("¿Qué es un tokenizador?", ("tokenizer",)),
        ("¿Qué es la respuesta innata?", ("Innate",)),
        ("¿Qué es la célula?", ("cell",)),
        ("¿Qué es el perro?", ()),
        ("¿Qué es naive?", ()),  # known but for its accents
        ("¿Cuándo y para qué?", ()),
        ("что такое иммунитет", ()),
    ],
)
def test_a_word_is_searched_for_as_the_most_similar_word_of_the_book(
    question: str, found: tuple[str, ...]
) -> None:
    assert cognates(question, "es", BOOK) == found


def test_of_words_that_differ_in_accents_alone_the_most_frequent_is_known() -> None:
    assert BOOK["resume"] == "resume"


def test_words_of_other_scripts_and_short_ones_are_left_out() -> None:
    assert set(BOOK) == {"immunity", "innate", "tokenizer", "resume", "naive", "cell"}


BOOKS = BookList([make_manifest()])


def finder(index: FakeIndex) -> FindCognates:
    lexical = FakeTerms().lexical
    return FindCognates(BookVocabulary(index, lexical, TermUpperBounds(index), count_words))


def found_by(finder: FindCognates, question: str, books: list[BookManifest]) -> tuple[str, ...]:
    return asyncio.run(finder.of(question, "es", books))


def test_they_are_spelled_as_in_the_book() -> None:
    index = FakeIndex([make_chunk("innate immunity")])
    assert found_by(finder(index), QUESTION, [make_manifest()]) == ("innate",)


def test_many_books_are_not_read_for_them() -> None:
    index = FakeIndex([make_chunk("innate immunity")])
    assert found_by(finder(index), QUESTION, [make_manifest()] * (MOST_BOOKS + 1)) == ()


def test_a_question_in_another_language_finds_the_book_s_own_words() -> None:
    index = FakeIndex([make_chunk("stacks grow", index=0), make_chunk("innate immunity", index=1)])
    plain = retrieving(FakeEmbedder(), FakeTerms(), index)
    query = SearchQuery(QUESTION)
    assert not any(one.sparse_score for one in asyncio.run(plain.search(query)).hits)
    within = replace(plain, analysis=replace(plain.analysis, cognates=finder(index)))
    found = asyncio.run(within.search(query))
    assert found.hits[0].chunk.text_content == "innate immunity"


async def test_a_question_in_the_book_s_language_is_searched_as_it_is() -> None:
    index = FakeIndex([make_chunk("stacks grow", index=0), make_chunk("innate immunity", index=1)])
    plain = retrieving(FakeEmbedder(), FakeTerms(), index)
    within = replace(plain.analysis, cognates=finder(index))
    asked = await within.of_query(SearchQuery("What is innat and how does it work?"), BOOKS)
    assert asked.texts.lexical == "What is innat and how does it work?"
    asked = await within.of_query(SearchQuery(QUESTION), BOOKS)
    assert (asked.texts.question, asked.texts.lexical) == (QUESTION, f"{QUESTION} innate")


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.SPARSE])
async def test_a_multilingual_embedder_is_asked_instead_of_words(mode: SearchMode) -> None:
    index = FakeIndex([make_chunk("innate immunity")])
    plain = retrieving(FakeEmbedder(), FakeTerms(), index)
    within = replace(plain.analysis, cognates=finder(index), multilingual=True)
    asked = await within.of_query(SearchQuery(QUESTION, mode=mode), BOOKS)
    by_vectors = mode is SearchMode.HYBRID
    assert (asked.query.mode is SearchMode.DENSE) is by_vectors
    assert asked.texts.lexical == (QUESTION if by_vectors else f"{QUESTION} innate")
    same_language = SearchQuery("What is innate and how does it work?", mode=mode)
    assert (await within.of_query(same_language, BOOKS)).query.mode is mode
