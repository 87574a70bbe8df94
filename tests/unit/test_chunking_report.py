"""The chunking report measures sizes and overlap, and finds torn blocks and cut sentences."""

from __future__ import annotations

from random import Random

from app.domain.chunking.config import ChunkingConfig, PackingConfig, StrategyName
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Document
from app.domain.evaluation.chunking_report import Report, chunking_report
from tests.chunking_documents import MAKERS, book_of, place, tools


def _document() -> Document:
    kinds = [BlockKind.HEADING, *[BlockKind.PARAGRAPH] * 8, BlockKind.LIST, BlockKind.CODE]
    made = [MAKERS[kind](Random(n), 5, "en") for n, kind in enumerate(kinds * 3)]
    return place([*made, MAKERS[BlockKind.GLOSSARY_ENTRY](Random(1), 2, "en")])


def _report(document: Document, strategy: StrategyName) -> Report:
    config = ChunkingConfig(strategy=strategy)
    chunks = list(stream_chunks(document, book_of(document), config, tools()))
    return chunking_report(book_of(document), chunks, tools(), PackingConfig())


def test_the_report_measures_sizes_and_overlap() -> None:
    report = _report(_document(), StrategyName.STRUCTURE)
    assert report.smallest <= report.mean_tokens <= report.largest <= 700
    assert 0 < report.overlapping < report.chunks
    assert 0.1 <= report.overlap <= 0.25
    assert sum(report.content_types.values()) == report.chunks
    assert report.broken_blocks == []
    assert report.cut_sentences == 0


def test_the_report_names_the_blocks_that_a_strategy_tears_and_counts_cut_sentences() -> None:
    document = _document()
    report = _report(document, StrategyName.FIXED)
    places = {f"a.md:{block.start} {block.kind}" for block in document.blocks}
    assert report.broken_blocks
    assert places.issuperset(report.broken_blocks)
    assert report.cut_sentences > 5


def test_no_chunks_are_a_report_too() -> None:
    report = _report(place([]), StrategyName.STRUCTURE)
    assert (report.chunks, report.mean_tokens) == (0, 0.0)
