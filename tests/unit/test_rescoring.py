"""Fusion of result lists, and the features of the second stage: each makes a chunk win."""

import math
import zlib
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.definitions import question_targets
from app.domain.retrieval.chunk_terms import chunk_terms
from app.domain.retrieval.query import Candidates, Hit, ScoredId, fuse
from app.domain.retrieval.rescoring import QuestionTerms, RescoringWeights, rescore
from tests.fake_world import make_chunk

NOTHING = RescoringWeights(*[0] * len(fields(RescoringWeights)))


def terms_of(text: str, language: str = "en") -> list[int]:
    return [zlib.crc32(word.strip(".,?!()").encode()) for word in text.lower().split()]


def order(
    question: str,
    hits: Sequence[Hit],
    weights: RescoringWeights,
    *,
    frame_words: str = "",
    rare: str = "",
) -> list[str]:
    said = terms_of(question)
    targets = question_targets(said, frozenset(terms_of(frame_words)))
    asked = QuestionTerms(said, dict.fromkeys(terms_of(rare), 5.0), targets)
    terms = [chunk_terms(hit.chunk, terms_of) for hit in hits]
    return [hit.chunk.text_content for hit in rescore(hits, terms, {"en": asked}, weights)]


def defining(chunk: Chunk, term: str) -> Chunk:
    (passage,) = chunk.passages
    return replace(chunk, passages=(replace(passage, terms=(term,)),))


def pages(*texts: str) -> list[Hit]:
    """Each on a page of its own, by falling fused score."""
    return [
        Hit(make_chunk(text, file=f"{number}.md"), 0.5 - number / 100)
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("feature", "asked", "other", "first"),
    [
        ("sentence", "stack grows", "stack. grows.", "stack grows. x"),
        ("window", "stack grows", "stack. a. b. grows.", "stack. a. grows. b."),
        ("sentence", "stack heap", "stack a", "b heap"),
        ("pairs", "red black tree", "red x black y tree", "x y red black tree"),
    ],
    ids=["one sentence", "adjacent sentences", "a rare term", "side by side"],
)
def test_where_the_words_stand_counts(feature: str, asked: str, other: str, first: str) -> None:
    weights = replace(NOTHING, **{feature: 0.5})
    assert order(asked, pages(other, first), weights, rare="heap")[0] == first


@pytest.mark.parametrize(
    ("asked", "other", "marked", "wins"),
    [
        ("last in first out", "last in first out", "stack is last in first out", True),
        ("storage", "storage", "stack rocks. storage", False),
    ],
    ids=["holds its marked term", "in another sentence"],
)
def test_a_sentence_that_holds_its_marked_term_counts_as_a_definition(
    asked: str, other: str, marked: str, *, wins: bool
) -> None:
    plain, definer = pages(other, marked)
    definer = replace(definer, chunk=defining(definer.chunk, "stack"))
    found = order(asked, [plain, definer], replace(NOTHING, definition=0.5))
    assert (found[0] == marked) is wins


def test_headings_that_name_what_is_asked_count() -> None:
    first, second = pages("a", "b")
    second = replace(second, chunk=replace(second.chunk, heading_path=("Stacks", "Growth")))
    weights = replace(NOTHING, heading=0.5)
    assert order("growth of stacks", [first, second], weights)[0] == "b"


@pytest.mark.parametrize(
    ("question", "term", "wins"),
    [
        ("stack", "stack", True),
        ("mean", "mean", True),  # a carrier that is itself the term
        ("pros and cons stack frame allocation", "stack frame allocation", True),
        ("stack example", "stack", True),
        ("pros and cons stack", "stack", False),
        ("stack", "stack frame", False),
        ("acid deoxyribonucleic", "deoxyribonucleic acid", False),
    ],
)
def test_the_place_that_defines_just_what_is_asked_goes_first(
    question: str, term: str, wins: bool
) -> None:
    user, definer = pages("user", "definer")
    definer = replace(definer, chunk=defining(definer.chunk, term))
    weights = replace(NOTHING, defined=1.0)
    found = order(question, [user, definer], weights, frame_words="define mean")
    assert (found[0] == "definer") is wins


def same_page(*scores: float, file: str) -> list[Hit]:
    return [
        Hit(make_chunk(f"{file} {index}", file=file, index=index), score)
        for index, score in enumerate(scores)
    ]


def test_a_page_with_several_good_chunks_lifts_them() -> None:
    hits = same_page(0.6, file="lone.md") + same_page(0.55, 0.5, 0.5, file="rich.md")
    assert order("x", hits, replace(NOTHING, page=0.5))[0] == "rich.md 0"


@pytest.mark.parametrize(
    ("third", "found"),
    [
        (0.7, ["crowd.md 0", "crowd.md 1", "other.md 0", "crowd.md 2"]),
        (0.78, ["crowd.md 0", "crowd.md 1", "crowd.md 2", "other.md 0"]),
    ],
    ids=["makes room", "loses no more than the second"],
)
def test_chunks_of_one_page_make_room_for_another(third: float, found: list[str]) -> None:
    hits = same_page(0.9, 0.8, third, file="crowd.md") + same_page(0.65, file="other.md")
    assert order("x", hits, replace(NOTHING, crowding=0.12)) == found


_texts = st.lists(st.sampled_from("stack heap tree grows. rocks".split()), min_size=1).map(" ".join)
_hits = st.lists(
    st.builds(
        lambda text, file, index, score: Hit(make_chunk(text, file=file, index=index), score),
        _texts,
        st.sampled_from(["a.md", "b.md"]),
        st.integers(0, 9),
        st.floats(0, 1),
    ),
    max_size=8,
)


@given(_hits, _texts)
def test_no_hit_is_lost_and_scores_stay_from_0_to_1_and_never_rise(
    hits: list[Hit], question: str
) -> None:
    terms = [chunk_terms(hit.chunk, terms_of) for hit in hits]
    asked = {"en": QuestionTerms(terms_of(question))}
    found = rescore(hits, terms, asked, RescoringWeights())
    assert sorted(hit.chunk.chunk_id for hit in found) == sorted(h.chunk.chunk_id for h in hits)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_a_question_without_terms_keeps_the_fused_order() -> None:
    hits = pages("a", "b", "c")
    assert order("", hits, RescoringWeights()) == ["a", "b", "c"]


def test_a_section_whose_headings_mean_what_is_asked_comes_first() -> None:
    hits = pages("leaves", "roots")
    terms = [chunk_terms(hit.chunk, terms_of) for hit in hits]
    asked = {"en": QuestionTerms(terms_of("foliage"))}
    weights = replace(NOTHING, similar=1.0)
    found = rescore(hits, terms, asked, weights, similar=[-0.5, 0.4])
    assert [hit.chunk.text_content for hit in found] == ["roots", "leaves"]
    assert [hit.score for hit in found] == pytest.approx([(0.49 + 0.4) / 2, 0.5 / 2])


def scored(**scores: float) -> tuple[ScoredId, ...]:
    return tuple(ScoredId(BookId("book"), chunk, score) for chunk, score in scores.items())


def ranking(candidates: Candidates) -> list[tuple[str, object]]:
    return [(one.chunk_id, pytest.approx(one.score)) for one in fuse(candidates)]


BOTH = Candidates(dense=scored(a=0.9, b=0.7, c=0.5), sparse=scored(c=20.0, a=10.0, d=5.0))


def test_weighted_is_minmax_of_dense_plus_share_of_the_best_sparse_score() -> None:
    assert ranking(BOTH) == [
        ("c", 0.7 * 1.0),
        ("a", 0.3 * 1.0 + 0.7 * 0.5),
        ("d", 0.7 * 0.25),
        ("b", 0.3 * 0.5),
    ]


def test_the_same_chunk_id_in_two_books_is_two_chunks() -> None:
    x, y = BookId("x"), BookId("y")
    candidates = Candidates(dense=(ScoredId(x, "1", 0.9), ScoredId(y, "1", 0.8)))
    assert [(one.book, one.chunk_id) for one in fuse(candidates)] == [("x", "1"), ("y", "1")]


_ids = st.sampled_from("abcdefgh")
_lists = st.dictionaries(_ids, st.floats(-1, 50, allow_nan=False), max_size=8).map(
    lambda found: tuple(sorted(scored(**found), key=lambda one: (-one.score, one.chunk_id)))
)


@given(_lists, _lists)
def test_every_candidate_appears_once_with_a_score_from_0_to_1_in_descending_order(
    dense: tuple[ScoredId, ...], sparse: tuple[ScoredId, ...]
) -> None:
    fused = fuse(Candidates(dense, sparse))
    ids = [one.chunk_id for one in fused]
    assert sorted(ids) == sorted({one.chunk_id for one in dense + sparse})
    assert all(math.isfinite(one.score) and -1e-9 <= one.score <= 1 + 1e-9 for one in fused)
    assert fused == sorted(fused, key=lambda one: (-one.score, one.chunk_id))  # ties by id
