"""Ingest touches what changed, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.document import BlockKind, Book
from app.domain.errors import IndexBusy, ProviderUnavailable
from app.domain.retrieval.query import SearchFilter
from app.services.ingest_plan import IngestReport, IngestRequest
from app.services.phases import Advance, Phases
from tests.ingesting import BOOK, Bench, edit, make_book, open_bench, prose, state_of


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps")


@pytest.fixture
async def bench(home: Path) -> AsyncIterator[Bench]:
    async with open_bench(home) as opened:
        yield opened


async def test_an_unchanged_book_costs_nothing(bench: Bench, home: Path, book: Path) -> None:
    first = await bench.ingest(book)
    assert first.embedded == first.chunks == first.added > 4
    bench.embedder.texts.clear()
    before = state_of(home)
    again = await bench.ingest(book)
    assert again.unchanged
    assert (again.embedded, again.tokens, again.added, again.batches) == (0, 0, 0, 0)
    assert (again.chunks, again.generation) == (first.chunks, first.generation)
    assert state_of(home) == before
    assert not bench.embedder.texts


async def test_a_change_of_request_or_encoder_is_written(bench: Bench, book: Path) -> None:
    await bench.ingest(book)
    for options in (
        {"base_url": "https://elsewhere"},
        {"strategy": "fixed"},
        {"exclude_kinds": frozenset([BlockKind.HEADING])},
    ):
        assert not (await bench.ingest(book, **options)).unchanged, options
        assert (await bench.ingest(book, **options)).unchanged
    bench.use_case = replace(bench.use_case, encoder="another one")
    assert not (await bench.ingest(book)).unchanged


async def test_an_edited_paragraph_embeds_the_chunks_that_hold_it_and_no_other(
    bench: Bench, book: Path
) -> None:
    await bench.ingest(book)
    bench.embedder.texts.clear()
    edit(book / "page2.md", "Page2 part1", "Changed here")
    report = await bench.ingest(book)
    assert all("Changed here" in text for text in bench.embedder.texts)
    holding = [one for one in await bench.chunks() if "Changed here" in one.text_content]
    assert 0 < report.embedded == len(bench.embedder.texts) == len(holding) < report.chunks
    assert (report.added, report.changed, report.removed) == (0, len(holding), 0)
    assert {one.book_version for one in await bench.chunks()} == {report.book_version}


async def test_moved_and_renamed_files_embed_nothing(bench: Bench, book: Path) -> None:
    await bench.ingest(book)
    before = {one.text_content: one for one in await bench.chunks()}
    bench.embedder.texts.clear()
    (book / "deep").mkdir()
    (book / "page1.md").rename(book / "deep" / "page1.md")
    (book / "page3.md").rename(book / "a-first.md")
    report = await bench.ingest(book)
    assert not report.unchanged
    assert report.embedded == report.added == report.removed == 0
    assert report.changed > 0
    assert not bench.embedder.texts
    after = {one.text_content: one for one in await bench.chunks()}
    assert after.keys() == before.keys()
    for text, one in after.items():
        assert one.paragraph_ids == before[text].paragraph_ids
    assert "deep/page1.md" in {one.file for one in after.values()}


async def test_removed_paragraphs_leave_the_index(bench: Bench, book: Path) -> None:
    await bench.ingest(book)
    gone = prose("page3 part1")
    held = [one for one in await bench.chunks() if gone[:40] in one.text_content]
    paragraph_id = next(
        passage.paragraph_id for passage in held[0].passages if passage.text.startswith(gone[:40])
    )
    asked = SearchFilter(books=(BookId(BOOK),), paragraph_ids=(paragraph_id,))
    assert await bench.app.index.matching(asked)
    edit(book / "page3.md", gone, "")
    assert (await bench.ingest(book)).removed > 0
    assert not any(gone[:40] in one.text_content for one in await bench.chunks())
    assert not await bench.app.index.matching(asked)
    hits = (await bench.app.retrieve.search(AskRequest("page3 part1", k=20))).hits
    assert not any(gone[:40] in hit.chunk.text_content for hit in hits)


async def test_what_was_embedded_once_is_never_embedded_again(bench: Bench, book: Path) -> None:
    """Neither for another address, nor after a rollback, a removal or in another book."""

    await bench.ingest(book)
    edit(book / "page0.md", "Page0 part0", "Edited now")
    await bench.ingest(book)
    bench.embedder.texts.clear()
    await bench.ingest(book, base_url="https://moved")
    assert (await bench.chunks())[0].deep_link_url.startswith("https://moved/")
    await bench.app.index.rollback(BookId(BOOK))
    await bench.ingest(book)
    edit(book / "page0.md", "Edited now", "Page0 part0")
    await bench.ingest(book)
    await bench.app.index.remove(BookId(BOOK))
    report = await bench.ingest(book)
    assert report.embedded == 0
    await bench.ingest(book, book="another")
    assert not bench.embedder.texts


def timeless(report: IngestReport) -> IngestReport:
    return replace(report, seconds=0.0, phases={}, generation=0, dry_run=False)


async def test_a_dry_run_says_what_the_run_then_does(bench: Bench, home: Path, book: Path) -> None:
    async def both() -> None:
        before = state_of(home)
        dry = await bench.ingest(book, dry_run=True)
        assert dry.dry_run
        assert state_of(home) == before
        real = await bench.ingest(book)
        assert timeless(dry) == timeless(real)

    await both()
    edit(book / "page1.md", "Page1 part0", "Another start")
    (book / "page3.md").unlink()
    await both()
    await both()


async def test_an_index_of_another_program_version_is_replaced(
    bench: Bench, home: Path, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.ingest(book)
    monkeypatch.setattr("app.adapters.qdrant.payload.LAYOUT", 0)
    async with open_bench(home) as later:
        report = await later.ingest(book)
        assert (report.generation, report.embedded) == (2, 0)
        assert [*await later.app.index.books()] == [BOOK]


async def test_an_error_of_the_embedder_keeps_what_was_paid_and_the_next_run_pays_the_rest(
    bench: Bench, book: Path
) -> None:
    bench.embedder.fails_after = 2
    with pytest.raises(ProviderUnavailable) as caught:
        await bench.ingest(book)
    assert caught.value.__notes__ == [
        "6 of 8 texts are embedded and cached: run the ingest again for the rest"
    ]
    assert not await bench.app.index.books()
    bench.embedder.fails_after = None
    report = await bench.ingest(book)
    assert report.embedded == 2
    assert set(bench.embedder.texts.values()) == {1}
    assert len(bench.embedder.texts) == report.chunks == 8


async def test_a_second_ingest_of_a_book_is_refused_and_another_book_goes_on(
    bench: Bench, book: Path
) -> None:
    holding = await bench.app.index.begin(BookId(BOOK), bench.embedder.dimension)
    with pytest.raises(IndexBusy, match=rf"'{BOOK}' is being written .*process \d+, started "):
        await bench.ingest(book)
    assert not bench.embedder.texts
    assert (await bench.ingest(book, book="other")).generation == 1
    await holding.abandon()
    assert (await bench.ingest(book)).generation == 1


async def test_a_run_that_was_overtaken_while_it_read_does_not_undo_the_other(
    bench: Bench, book: Path
) -> None:
    await bench.ingest(book)
    loop = asyncio.get_running_loop()
    quick, versions = bench.use_case, []

    def read_slowly(request: IngestRequest, advance: Advance) -> Book:
        read = quick.read_book(request, advance)
        edit(book / "page0.md", "Page0 part1", "Newer words")
        newer = asyncio.run_coroutine_threadsafe(quick.run(request, Phases()), loop)
        versions.append(newer.result().book_version)
        return read

    edit(book / "page0.md", "Page0 part0", "Stale words")
    bench.use_case = replace(quick, read_book=read_slowly)
    with pytest.raises(IndexBusy, match="another ingest wrote book 'lamps'"):
        await bench.ingest(book)
    assert {one.book_version for one in await bench.chunks()} == set(versions)


async def test_the_ledger_of_an_unchanged_book_is_saved_with_the_lock_of_the_book(
    bench: Bench, book: Path
) -> None:
    await bench.ingest(book)
    edit(book / "page0.md", "Page0 part0", "Other words")
    await bench.ingest(book)
    edit(book / "page0.md", "Other words", "Page0 part0")
    await bench.app.index.rollback(BookId(BOOK))
    known = await bench.app.ledgers.load(BookId(BOOK))
    holding = await bench.app.index.begin(BookId(BOOK), bench.embedder.dimension)
    with pytest.raises(IndexBusy):
        await bench.ingest(book)
    assert await bench.app.ledgers.load(BookId(BOOK)) == known
    await holding.abandon()
    report = await bench.ingest(book)
    assert (report.unchanged, report.generation) == (True, 1)
    assert await bench.app.ledgers.load(BookId(BOOK)) != known
    await bench.app.index.rollback(BookId(BOOK))
