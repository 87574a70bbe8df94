"""What may answer, as seen from the reader's page and selection."""

import asyncio
from dataclasses import replace

import pytest

from app.domain.answer import Answer
from app.domain.answering.request import (
    AskRequest,
    Scope,
    Selection,
    narrowed,
    page_preferred,
    selected_paragraph,
)
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.errors import QuestionError
from app.domain.indexed_book import BookList
from app.domain.retrieval.query import Hit, SearchFilter
from app.services.book_scope import BookScope
from tests.fake_world import World, make_chunk
from tests.made_chunks import made_manifest
from tests.serving import ScriptedGenerator


def page(name: str, position: int, chapter: str, text: str) -> Chunk:
    chunk = make_chunk(text, file=f"{name}.md")
    url = f"https://example.org/book/{name}.html#p0:~:text=x"
    passages = tuple(replace(one, url=url) for one in chunk.passages)
    return replace(chunk, position=position, chapter=chapter, deep_link_url=url, passages=passages)


CHUNKS = [
    page("a", 0, "One", "Stacks are last in, first out, as plates are."),
    page("b", 1, "Two", "Queues are first in, first out, as in shops. Shops close at night."),
    page("c", 2, "Two", "Deques are open at both ends, as tunnels are."),
    page("d", 3, "Three", "Heaps keep the smallest item at the root of a tree."),
    page("e", 4, "Two", "A queue of shops is a street."),
]
PLACE = CHUNKS[1]


class Reader:
    """Asks a book of five pages, and knows what the search was given."""

    def __init__(self, generator: ScriptedGenerator | None = None) -> None:
        world = World(chunks=CHUNKS)
        self.retriever = world.retriever
        self.use_case = world.answering(generator, refusal_threshold=0.0)
        self.places = self.use_case.consult.places

    def page(self, url: str) -> Chunk | None:
        books = BookList([made_manifest()])
        scope = BookScope(books, SearchFilter(), books)
        return asyncio.run(self.places.located(scope, url, None)).page

    def ask(self, question: str, **request: object) -> Answer:
        ask = replace(AskRequest(question), **request)  # type: ignore[arg-type]  # by name
        return asyncio.run(self.use_case.answer(ask))

    @property
    def filter(self) -> SearchFilter:
        return self.retriever.asked[-1].filter


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://example.org/book/b.html", PLACE),
        ("https://example.org/book/b/?q=1#p0", PLACE),
        ("http://localhost:3000/book/b", PLACE),
        ("/book/b", PLACE),
        *((url, None) for url in ("/book/z", "https://example.org/", "/b", "\x00")),
    ],
)
def test_a_page_is_found_by_its_address_however_it_is_written(
    url: str, place: Chunk | None
) -> None:
    assert Reader().page(url) == place


BOOK = SearchFilter(books=(BookId("book"),))


@pytest.mark.parametrize(
    ("page", "scope", "expected"),
    [
        ("b", None, SearchFilter()),
        ("nowhere", None, SearchFilter()),
        ("b", Scope.BOOK, BOOK),
        ("b", Scope.PAGE, replace(BOOK, files=("b.md",))),
        ("b", Scope.CHAPTER, replace(BOOK, chapters=("Two",))),
        ("b", Scope.SO_FAR, replace(BOOK, max_position=2)),
    ],
)
def test_the_scope_narrows_what_is_searched(
    page: str, scope: Scope | None, expected: SearchFilter
) -> None:
    reader = Reader()
    assert not reader.ask("What are queues?", page_url=f"/book/{page}", scope=scope).refused
    assert reader.filter == expected


def test_a_page_without_a_chapter_is_its_own_chapter() -> None:
    found = narrowed(SearchFilter(), Scope.CHAPTER, replace(PLACE, chapter=""))
    assert found == replace(BOOK, files=("b.md",))


def test_the_readers_page_counts_more_but_not_beside_what_is_far_better() -> None:
    a, b, c = (Hit(chunk, score) for chunk, score in zip(CHUNKS, (0.9, 0.6, 0.25), strict=False))
    assert page_preferred([a, b, c], PLACE)[0].chunk is b.chunk
    on_c = page_preferred([a, b, c], replace(PLACE, file="c.md"))
    assert [hit.chunk for hit in on_c] == [a.chunk, b.chunk, c.chunk]


@pytest.mark.parametrize("scope", [Scope.PAGE, Scope.CHAPTER, Scope.SO_FAR])
@pytest.mark.parametrize("url", ["", "/nowhere"])
def test_a_scope_without_what_it_is_counted_from_is_an_error(scope: Scope, url: str) -> None:
    with pytest.raises(QuestionError, match=f"scope {scope}"):
        Reader().ask("What are queues?", scope=scope, page_url=url)


@pytest.mark.parametrize("paragraph_id", ["p-book-d.md-0", ""], ids=["told", "found by its text"])
def test_the_selected_paragraph_is_the_first_source(paragraph_id: str) -> None:
    selection = Selection("the  smallest item at\nthe root", paragraph_id)
    answer = Reader().ask("What does this mean?", selection=selection)
    assert answer.sources[0].paragraph_id == "p-book-d.md-0"


def test_a_selection_without_a_word_is_in_no_paragraph() -> None:
    assert selected_paragraph(Selection(" ... "), (), [Hit(one, 0.5) for one in CHUNKS]) == []


def test_a_selection_is_searched_with_and_explained_by_what_stands_around_it() -> None:
    reader = Reader()
    selected = Selection("Queues are first in, first out, as in shops.", "p-book-b.md-0")
    answer = reader.ask("What does that tell about shops?", selection=selected)
    assert "Queues are first in" in reader.retriever.texts[-1]
    assert answer.sources[0].paragraph_id == "p-book-b.md-0"
    assert len(answer.sources) > 1
    cited = [answer.answer[one.start : one.end] for one in answer.citations]
    assert "Shops close at night." in cited
    assert selected.text not in cited


def test_a_generator_is_shown_the_selection_as_a_quotation() -> None:
    generator = ScriptedGenerator(["Shops close at night.", (0, 21, ("p-book-b.md-0",))])
    answer = Reader(generator).ask("Why?", selection=Selection("as in shops.\nShops close"))
    assert [one.paragraph_id for one in answer.citations] == ["p-book-b.md-0"]
    (question,) = (one.question for one in generator.requests)
    assert question.startswith("Why?\n\n")
    assert question.endswith(":\n> as in shops.\n> Shops close")
