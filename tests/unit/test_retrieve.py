"""The use case Retrieve, on fakes of its ports."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from app.domain.answering.request import AskRequest, Selection
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.errors import ProviderAuthError, ProviderError, ProviderUnavailable
from app.domain.retrieval.query import SearchFilter, Turn
from app.services.lexical import MOST_TERMS
from app.services.ports import QuestionRewriter
from app.services.retrieve import RetrievalResult, Retrieve
from tests.fake_world import (
    FakeEmbedder,
    FakeIndex,
    FakeReranker,
    FakeTerms,
    make_chunk,
    retrieving,
)
from tests.made_chunks import made_manifest

CHUNKS = [
    make_chunk("Stacks are last in, first out.", index=0),
    make_chunk("Queues are first in, first out.", index=1),
    make_chunk("Trees have one root.", file="b.md", index=0),
]


@dataclass
class CountingIndex(FakeIndex):
    terms: int = 0

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
        self.terms += len(terms)
        return await super().best_scores(terms, books)


def retrieve(index: FakeIndex | None = None, **parts: Any) -> Retrieve:
    return retrieving(index or FakeIndex(CHUNKS), **parts)


def by_words() -> Retrieve:
    """The use case without its embedder."""
    return retrieve(embedder=FakeEmbedder(error=ProviderUnavailable("timeout")))


def rewriting(rewriter: QuestionRewriter) -> Retrieve:
    found = retrieve()
    return replace(found, analysis=replace(found.analysis, rewriter=rewriter))


def search(use_case: Retrieve, query: AskRequest) -> RetrievalResult:
    return asyncio.run(use_case.search(query))


def ids(result: RetrievalResult) -> list[str]:
    return [hit.chunk.chunk_id for hit in result.hits]


def test_the_best_chunk_by_both_signals_comes_first_with_all_its_scores() -> None:
    result = search(retrieve(), AskRequest("What are queues?", k=2))
    assert ids(result)[0] == "book-a.md-1"
    assert result.degraded == ()
    best, second = result.hits
    assert 1.0 > best.score > second.score
    assert best.dense_score is not None
    assert best.sparse_score is not None


def test_when_the_embedding_provider_fails_bm25_answers_alone_and_says_so() -> None:
    result = search(by_words(), AskRequest("queues"))
    assert ids(result) == ["book-a.md-1"]
    assert result.degraded == ("embedding",)


def test_a_refused_key_degrades_and_the_log_says_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = retrieve(embedder=FakeEmbedder(error=ProviderAuthError("set CO_API_KEY")))
    assert search(broken, AskRequest("queues")).degraded == ("embedding",)
    (record,) = caplog.records
    assert (record.levelname, record.__dict__["reason"]) == ("ERROR", "set CO_API_KEY")


def test_a_book_that_was_not_asked_for_may_have_another_model() -> None:
    index = FakeIndex(CHUNKS, [made_manifest(), made_manifest("old", model="other")])
    query = AskRequest("queues", filter=SearchFilter(books=(BookId("book"),)))
    assert ids(search(retrieve(index=index), query))[0] == "book-a.md-1"


def test_a_question_without_a_known_word_finds_nothing_by_bm25() -> None:
    assert ids(search(by_words(), AskRequest("xyzzy"))) == []


def test_each_language_among_the_books_is_searched_with_its_own_terms() -> None:
    chunks = [make_chunk("Colas son", book="libro"), make_chunk("Queues are", book="book")]
    index = FakeIndex(chunks, [made_manifest("book"), made_manifest("libro", language="es")])
    sparse = FakeTerms()
    result = search(retrieve(index=index, terms=sparse), AskRequest("colas queues"))
    assert sorted(ids(result)) == ["book-a.md-0", "libro-a.md-0"]
    assert [*dict.fromkeys(sparse.languages)] == ["en", "es"]


def test_a_book_that_is_removed_and_ingested_again_after_the_search_is_searched_again() -> None:
    class Replaced(FakeIndex):
        async def fetch(self, wanted: Mapping[BookId, Sequence[str]]) -> list[Chunk]:
            self.stored = [make_chunk("Queues are first in, first out.", file="new.md")]
            return await super().fetch(wanted)

    assert ids(search(retrieve(index=Replaced(CHUNKS)), AskRequest("queues"))) == ["book-new.md-0"]


def test_the_reranker_sees_candidates_beyond_k_and_decides_their_order() -> None:
    result = search(retrieve(reranker=FakeReranker(word="root")), AskRequest("first out", k=1))
    assert ids(result) == ["book-b.md-0"]
    assert result.hits[0].score == 1.0


@dataclass
class ParagraphReader(FakeReranker):
    """Has the time to read so many paragraphs."""

    reads_paragraphs: bool = True
    read: int = 2

    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float | None]:
        found = await super().scores(question, texts)
        return [one if at < self.read else None for at, one in enumerate(found)]


def test_a_hit_stands_where_its_best_paragraph_does_and_the_unread_ones_keep_their_order() -> None:
    chunks = [make_chunk(f"out {'x ' * 9 * n}", file=f"{n}.md") for n in range(4)]
    own = chunks[1].passages[0]
    below = replace(own, text="It has a root.")
    title = replace(own, kind=BlockKind.HEADING, text="x")
    chunks[1] = replace(chunks[1], passages=(title, own, below))
    before = ids(search(retrieve(index=FakeIndex(chunks)), AskRequest("out")))
    assert before[1] == chunks[1].chunk_id
    for read, first in ((3, before[1]), (2, before[0])):
        reader = ParagraphReader(word="root", read=read)
        found = search(retrieve(index=FakeIndex(chunks), reranker=reader), AskRequest("out"))
        assert ids(found) == [first, *(one for one in before if one != first)]
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)


def test_a_reranker_does_not_see_a_language_that_it_does_not_read() -> None:
    index = FakeIndex([replace(one, language="es") for one in CHUNKS])
    reranker = FakeReranker(word="root", error=ProviderUnavailable("it was asked"))
    found = search(retrieve(index=index, reranker=reranker), AskRequest("first out"))
    assert (found.degraded, found.relevance) == ((), None)


def test_more_hits_keep_the_same_first_ones() -> None:
    chunks = [make_chunk(f"out {'x ' * n}", file=f"{n % 3}.md", index=n) for n in range(60)]
    use_case = retrieve(index=FakeIndex(chunks))
    few = ids(search(use_case, AskRequest("out x", k=5)))
    assert ids(search(use_case, AskRequest("out x", k=50)))[:5] == few


def test_a_long_question_asks_for_a_bounded_number_of_terms() -> None:
    index = CountingIndex(CHUNKS)
    question = "queues " + " ".join(f"word{n}" for n in range(500))
    assert ids(search(retrieve(index=index), AskRequest(question)))
    assert index.terms == MOST_TERMS


def test_a_follow_up_is_found_by_the_terms_of_the_turns_before_it() -> None:
    history = (Turn("user", "What are queues?"), Turn("assistant", "First in, first out."))
    assert ids(search(by_words(), AskRequest("And why?"))) == []
    found = search(by_words(), AskRequest("And why?", history=history))
    assert ids(found)[0] == "book-a.md-1"


@dataclass
class ScriptedRewriter:
    """Says what it is told to, or fails."""

    reply: str | Exception
    asked: list[tuple[str, Sequence[Turn]]] = field(default_factory=list)

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        self.asked.append((question, history))
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


ABOUT_TREES = (Turn("user", "Trees have one root"),)


@pytest.mark.parametrize(
    "query",
    [
        AskRequest("queues"),
        AskRequest("queues", history=ABOUT_TREES, selection=Selection("Queues are first in")),
    ],
    ids=["no history", "selected text"],
)
def test_a_model_is_not_asked_for_nothing(query: AskRequest) -> None:
    rewriter = ScriptedRewriter("trees")
    found = search(rewriting(rewriter), query)
    assert (rewriter.asked, found.degraded) == ([], ())


@pytest.mark.parametrize("error", [ProviderUnavailable("gone"), ProviderAuthError("wrong key")])
def test_without_the_model_the_rule_makes_it_stand_alone(error: ProviderError) -> None:
    rewriter = ScriptedRewriter(error)
    query = AskRequest("And why is it?", history=ABOUT_TREES, k=1)
    found = search(rewriting(rewriter), query)
    assert (ids(found), found.degraded) == (["book-b.md-0"], ("rewrite",))
