"""What every strategy guarantees, and what each is for."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from app.adapters.langchain_splitters import split_recursively
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import (
    ChunkingConfig,
    FixedConfig,
    PackingConfig,
    RecursiveConfig,
    SemanticConfig,
    Separators,
    StrategyName,
)
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Document
from app.domain.errors import ConfigError
from tests.chunking_documents import Made, book_of, documents, made, place, tools
from tests.chunking_oracle import ANY_STRATEGY, breaches, repeated_text
from tests.cohere_double import embedding


def embed(texts: Sequence[str]) -> list[list[float]]:
    return [embedding(text, 16) for text in texts]


TOOLS = replace(tools(), embed=embed)


def chunk(document: Document, strategy: StrategyName, **settings: object) -> list[Chunk]:
    config = replace(ChunkingConfig(strategy=strategy), **settings)  # type: ignore[arg-type]
    return list(stream_chunks(document, book_of(document), config, TOOLS))


def prose(text: str) -> Made:
    return Made(BlockKind.PARAGRAPH, text)


@pytest.mark.parametrize("strategy", StrategyName)
@settings(max_examples=25)
@given(document=documents())
def test_every_strategy_gives_the_text_of_the_book_and_loses_nothing(
    strategy: StrategyName, document: Document
) -> None:
    chunks = chunk(document, strategy)
    assert breaches(document, chunks, checks=ANY_STRATEGY) == {}
    assert chunks == chunk(document, strategy)
    for before, after in pairwise(chunks):
        assert before.overlap_end == after.overlap_start


def test_semantic_without_an_embedder_says_what_it_needs() -> None:
    document = place([prose("A text.")])
    config = ChunkingConfig(strategy=StrategyName.SEMANTIC)
    with pytest.raises(ConfigError, match="'semantic' needs an embedder"):
        list(stream_chunks(document, book_of(document), config, tools()))


def test_fixed_windows_have_their_size_and_overlap_in_characters() -> None:
    text = "word " * 1000
    chunks = chunk(place([prose(text.strip())]), StrategyName.FIXED)
    assert {len(each.text_content) for each in chunks[:-1]} <= {898, 899, 900}
    assert 115 <= len(repeated_text(chunks[0], chunks[1])) <= 120


@pytest.mark.parametrize(
    "sentence", ["This is number {} of the text. ", "これは本文の{}番目の文です。"]
)
def test_fixed_windows_may_prefer_sentence_ends(sentence: str) -> None:
    text = "".join(map(sentence.format, range(200)))
    sizes = FixedConfig(1000, 200, prefer_sentence_ends=True)
    chunks = chunk(place([prose(text)]), StrategyName.FIXED, fixed=sizes)
    assert all(each.text_content.endswith((".", "。")) for each in chunks)


@settings(max_examples=60)
@given(st.text(st.sampled_from("ab \n.`#"), max_size=400), st.integers(0, 9))
def test_recursive_chunks_are_those_of_langchain(text: str, overlap: int) -> None:
    splitter = RecursiveCharacterTextSplitter.from_language(
        Language.MARKDOWN,
        chunk_size=10,
        chunk_overlap=overlap,
        length_function=TOOLS.count_tokens,
        strip_whitespace=False,
        keep_separator="start",
    )
    sizes = RecursiveConfig(10, overlap, Separators.MARKDOWN)
    spans = split_recursively(TOOLS.count_tokens, text, sizes)
    assert [text[start:end] for start, end in spans] == splitter.split_text(text)


def test_sentence_chunks_end_with_sentences_and_repeat_at_least_one() -> None:
    text = " ".join(f"This is sentence number {n} of the text." for n in range(400))
    sizes = PackingConfig(low=100, high=100, minimum=20, maximum=200, overlap=15)
    chunks = chunk(place([prose(text)]), StrategyName.SENTENCE, sentence=sizes)
    assert len(chunks) > 20
    assert all(each.text_content.endswith(".") for each in chunks)
    assert all(each.token_count <= 200 for each in chunks)
    assert all(each.overlap_start >= 15 for each in chunks[1:])


@pytest.mark.parametrize("seed", range(5))
def test_sentence_repeats_the_end_of_a_long_block_too(seed: int) -> None:
    source = Random(seed)
    kinds = (BlockKind.LIST, BlockKind.PARAGRAPH)
    blocks = [made(source.choice(kinds), 30, n) for n in range(30)]
    chunks = chunk(place(blocks), StrategyName.SENTENCE)
    assert len(chunks) > 10
    assert all(each.token_count <= 768 for each in chunks)
    assert all(each.overlap_start >= 50 for each in chunks[1:])
    assert [one.overlap_end for one in chunks[:-1]] == [one.overlap_start for one in chunks[1:]]


def test_auto_takes_the_strategy_that_suits_the_document() -> None:
    sentences = " ".join(f"This is sentence number {n} of the text." for n in range(200))
    heading = Made(BlockKind.HEADING, "More", level=2)

    def text_of(document: Document, strategy: StrategyName, **settings: object) -> list[str]:
        return [each.text_content for each in chunk(document, strategy, **settings)]

    short = place([heading, prose("A few words.")])
    assert text_of(short, StrategyName.AUTO) == ["A few words."]
    running = place([prose(sentences)])
    assert text_of(running, StrategyName.AUTO) == text_of(running, StrategyName.SENTENCE)
    marked = place([heading, prose(sentences), heading, prose(sentences)])
    assert text_of(marked, StrategyName.AUTO) == text_of(
        marked, StrategyName.RECURSIVE, recursive=RecursiveConfig(separators=Separators.MARKDOWN)
    )


def test_auto_counts_the_words_of_text_without_blanks_by_its_letters() -> None:
    short = "书被分成若干片段，以便搜索能找到正确的位置。"
    assert len(chunk(place([prose(short)]), StrategyName.AUTO)) == 1
    chunks = chunk(place([prose(short * 300)]), StrategyName.AUTO)
    assert len(chunks) > 5
    assert max(each.token_count for each in chunks) <= 768


def test_semantic_cuts_where_the_words_change() -> None:
    first = [f"cats purr softly and cats sleep {'long' * (n % 2)}." for n in range(20)]
    second = [f"engines burn heavy fuel while engines roar {'loud' * (n % 2)}." for n in range(20)]
    text = " ".join(each.capitalize() for each in first + second)
    sizes = SemanticConfig(percentile=95, window=0, minimum=20)
    chunks = chunk(place([prose(text)]), StrategyName.SEMANTIC, semantic=sizes)
    assert [each.text_content.split()[0] for each in chunks] == ["Cats", "Engines"]


def test_late_chunks_do_not_overlap() -> None:
    document = place([made(BlockKind.PARAGRAPH, 6, n) for n in range(30)])
    assert any(each.overlap_start for each in chunk(document, StrategyName.STRUCTURE))
    assert not any(each.overlap_start for each in chunk(document, StrategyName.LATE))


def test_chunks_of_other_settings_have_other_ids() -> None:
    document = place([prose("A text.")])
    sizes = (FixedConfig(300), FixedConfig(400))
    one, other = (chunk(document, StrategyName.FIXED, fixed=size) for size in sizes)
    assert one[0].chunk_id != other[0].chunk_id
    assert chunk(document, StrategyName.SENTENCE)[0].chunk_id != one[0].chunk_id
