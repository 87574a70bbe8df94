"""Similar words of a book: right spellings of a question's words, or those like them."""

import asyncio
from collections.abc import Callable

import pytest

from app.adapters.tokens import token_counter
from app.domain.answer import Answer
from app.domain.answering.request import AskRequest
from app.domain.errors import ProviderUnavailable
from app.domain.indexed_book import BookList
from app.services.analyse_question import AnalyseQuestion
from app.services.vocabulary import (
    MOST_BOOKS,
    closest,
    correctable,
    long_words,
    similar_words,
    without_accents,
)
from tests.fake_world import FakeEmbedder, FakeIndex, World, make_chunk, passage, retrieving
from tests.made_chunks import made_manifest
from tests.recorded_cases import case_lines

BOOK = {
    "photosynthesis": (9, "photosynthesis"),
    "closure": (3, "closure"),
    "closures": (2, "closures"),
    "eukaryotes": (1, "eukaryotes"),
    "createasyncthunk": (4, "createAsyncThunk"),
    "months": (7, "months"),
    "usstate": (3, "UsState"),
    "cycle": (5, "cycle"),
    "validation": (1, "validation"),
    "électron": (1, "électron"),
    "알고리즘을": (1, "알고리즘을"),
    "validación": (2, "validación"),
}


@pytest.mark.parametrize(("word", "right"), case_lines("misspelled_words"))
def test_a_misspelled_word_is_replaced_by_the_most_similar_word(word: str, right: str) -> None:
    assert closest(word, BOOK) == right


def test_of_equally_similar_words_the_most_frequent_is_taken() -> None:
    known = {"closures": (2, "closures"), "clossure": (5, "clossure")}
    assert closest("clossurs", known) == "clossure"


def test_names_and_short_words_are_not_corrected() -> None:
    found = correctable("Does Gradio or redux use useStat in a hash table, or redux?")
    assert found == ["redux", "useStat", "table"]


def ask(
    question: str, text: str = "A closure captures values.", count: Callable[[str], int] = len
) -> tuple[Answer, list[str]]:
    world = World((passage(text), passage("Owls hunt.", "p-owls")), count_tokens=count)
    answering = world.answering()
    found = asyncio.run(answering.answer(AskRequest(question)))
    return found, [query.question for query in world.retriever.asked]


@pytest.mark.parametrize(
    ("question", "searched_for"),
    [
        ("wat is clousure", "wat is closure"),  # too short to detect its language
        ("was ist clousure", "was ist closure"),
        ("que es clousure", "que es closure"),
        ("was ist denn eine clousure in dieser Sprache", ""),
        ("Who built the clousure of pyramids?", "Who built the closure of pyramids?"),  # refused
        ("A closure captures what values?", ""),
        ("Who built the pyramids?", ""),
    ],
)
def test_the_answer_says_what_was_searched_for_if_a_word_was_corrected(
    question: str, searched_for: str
) -> None:
    found, asked = ask(question)
    assert found.searched_for == searched_for
    assert asked == [searched_for or question]


@pytest.mark.parametrize(
    ("question", "searched_for"),
    [
        ("What are monhts?", "What are months?"),
        ("What are moths?", ""),  # " moth" is one token
        ("What is easter?", ""),  # " Easter" is
    ],
)
def test_a_common_word_that_the_book_lacks_is_no_misspelling(
    question: str, searched_for: str
) -> None:
    found, _ = ask(question, "The months after it are easier.", token_counter())
    assert found.searched_for == searched_for


@pytest.mark.parametrize(
    ("question", "searched_for"),
    [
        ("What did Kohler see in owls?", "What did Köhler see in owls?"),
        ("What did Kahler see in owls?", ""),  # another name
        ("a resume of owls", "a résumé of owls"),  # " resume" is one token
    ],
)
def test_names_and_common_words_only_get_the_accents_of_the_book(
    question: str, searched_for: str
) -> None:
    found, _ = ask(question, "Köhler wrote a résumé of what he saw in owls.", token_counter())
    assert found.searched_for == searched_for


ENGLISH = {
    "immunity": (9, "immunity"),
    "innate": (4, "Innate"),
    "tokenizer": (7, "tokenizer"),
    "résumé": (1, "résumé"),
    "resume": (2, "resume"),
    "naïve": (1, "naïve"),
    "cell": (5, "cell"),
    "клетка": (2, "клетка"),
}
SPANISH = "¿Qué es la inmunidad innata y para qué sirve?"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("¿Qué es un tokenizador?", ("tokenizer",)),
        ("¿Qué es la respuesta innata?", ("Innate",)),
        ("¿Qué es la célula?", ("cell",)),
        ("¿Qué es el perro?", ()),
        ("¿Qué es un resumen?", ("resume",)),
        ("¿Cuándo y para qué?", ()),
        ("что такое иммунитет", ()),
        ("части клетки", ("клетка",)),
    ],
)
def test_a_word_that_the_book_lacks_has_the_most_similar_one(
    question: str, found: tuple[str, ...]
) -> None:
    known = without_accents(ENGLISH)
    assert tuple(similar_words(long_words(question), "es", known).values()) == found


BOOKS = BookList([made_manifest()])
INDEX = FakeIndex([make_chunk("stacks grow", index=0), make_chunk("innate immunity", index=1)])


def analysis(*, multilingual: bool = False, error: Exception | None = None) -> AnalyseQuestion:
    return retrieving(INDEX, FakeEmbedder(error=error, multilingual=multilingual)).analysis


def test_a_question_in_another_language_finds_the_words_of_the_book() -> None:
    found = asyncio.run(retrieving(INDEX).search(AskRequest(SPANISH)))
    assert found.hits[0].chunk.text_content == "innate immunity"
    assert found.hits[0].sparse_score


async def test_many_books_are_not_read_for_similar_words() -> None:
    many = BookList([made_manifest(f"book{number}") for number in range(MOST_BOOKS + 1)])
    vocabulary = analysis().vocabulary
    assert await vocabulary.similar(SPANISH, "es", many) == {}
    assert await vocabulary.corrected("What is innat imunity?", many) == "What is innat imunity?"


@pytest.mark.parametrize(
    ("language", "question", "searched"),
    [
        ("en", SPANISH, "inmunidad innata innate"),
        ("es", SPANISH, f"{SPANISH} innate"),
        ("es", "¿Qué es innate?", "¿Qué es innate?"),
        ("en", "What is innateness?", "What is innateness?"),
    ],
)
async def test_words_that_the_book_lacks_are_searched_by_similar_ones(
    language: str, question: str, searched: str
) -> None:
    books = BookList([made_manifest(language=language)])
    asked = await analysis().of_query(AskRequest(question), books)
    assert (asked.texts.question, asked.texts.lexical) == (question, searched)


@pytest.mark.parametrize("error", [None, ProviderUnavailable("down")])
async def test_a_multilingual_embedder_is_asked_instead_unless_it_fails(
    error: Exception | None,
) -> None:
    multilingual = analysis(multilingual=True, error=error)
    asked = await multilingual.of_query(AskRequest(SPANISH), BOOKS)
    assert asked.texts.lexical == SPANISH
    assert bool(asked.sparse) == bool(asked.terms) == (error is not None)
    english = AskRequest("What is innate and how does it work?")
    assert (await multilingual.of_query(english, BOOKS)).sparse
