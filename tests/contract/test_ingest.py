"""Ingest touches what changed, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.qdrant.edge import EdgeIndex
from app.adapters.qdrant.edge_writer import EdgeWriter
from app.adapters.qdrant.sealed_text import read_sealed, write_sealed
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind, Book
from app.domain.errors import BookError, IndexBusy, ProviderUnavailable
from app.domain.ledger import Ledger, LedgerParagraph
from app.domain.ledger_renewal import renew
from app.domain.retrieval.query import SearchQuery
from app.services.ingest import IngestReport, IngestRequest
from app.services.paragraphs import find_paragraph
from app.services.phases import Advance, Phases
from app.services.ports import BookManifest
from tests.ingesting import BOOK, Bench, bench, edit, make_book, page, prose, state_of
from tests.serving import Silent
from tests.unit.test_ledger import LONG, paragraph

Scenario: TypeAlias = Callable[[Bench], Awaitable[None]]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps")


def play(home: Path, scenario: Scenario) -> None:
    async def run() -> None:
        async with bench(home) as opened:
            await scenario(opened)

    asyncio.run(run())


def must_not_read(request: IngestRequest, advance: Advance) -> Book:
    raise AssertionError("the book was read")


def test_an_unchanged_book_is_not_read_embedded_or_written(home: Path, book: Path) -> None:
    async def scenario(run: Bench) -> None:
        first = await run.ingest(book)
        assert first.embedded == first.chunks == first.added > 4
        run.embedder.texts.clear()
        before = state_of(home)
        run.use_case = replace(run.use_case, read_book=must_not_read)
        again = await run.ingest(book)
        assert again.unchanged
        assert (again.embedded, again.tokens, again.added, again.batches) == (0, 0, 0, 0)
        assert replace(again, seconds=0.0) == replace(first.of_the_next_run(), seconds=0.0)
        assert state_of(home) == before
        assert not run.embedder.texts

    play(home, scenario)


def test_an_unchanged_book_is_known_without_the_short_cut(home: Path, book: Path) -> None:
    """The memory of the last run may be lost or damaged; the first full run restores it."""

    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        (memory,) = (home / "runs").iterdir()
        for damage in ("", "{", "null", '{"stamp": 1}'):
            memory.write_text(damage)
            before = state_of(home)
            report = await run.ingest(book)
            assert report.unchanged
            assert "read" in report.phases
            changed = {name for name, was in state_of(home).items() if before.get(name) != was}
            assert changed == {f"runs/{BOOK}.json"}
        assert (await run.ingest(book)).phases == {}

    play(home, scenario)


LOOKS_AGAIN: dict[str, Callable[[Path], object]] = {
    "an edited file": lambda book: edit(book / "page1.md", "# Page 1", "# Page one"),
    "a new file": lambda book: (book / "new.md").write_text(page("new", [prose("new")])),
    "a removed file": lambda book: (book / "page1.md").unlink(),
    "a renamed file": lambda book: (book / "page1.md").rename(book / "other.md"),
    "a file that a page might include": lambda book: (book / "code.rs").write_text("fn a() {}"),
}


@pytest.mark.parametrize("change", LOOKS_AGAIN)
def test_a_change_in_the_folder_is_looked_at(home: Path, book: Path, change: str) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        LOOKS_AGAIN[change](book)
        assert "read" in (await run.ingest(book)).phases
        assert (await run.ingest(book)).phases == {}

    play(home, scenario)


def test_a_change_of_request_program_or_ledger_is_looked_at(home: Path, book: Path) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        for options in (
            {"base_url": "https://elsewhere"},
            {"strategy": "fixed"},
            {"exclude_kinds": frozenset([BlockKind.CODE])},
        ):
            assert "read" in (await run.ingest(book, **options)).phases, options
            assert (await run.ingest(book, **options)).phases == {}
        await run.ingest(book)
        another = replace(run.use_case, hash_source=lambda request: "another program")
        run.use_case, ours = another, run.use_case
        assert "read" in (await run.ingest(book)).phases
        run.use_case = replace(ours, encoder="another one")
        assert not (await run.ingest(book)).unchanged
        await run.app.ledgers.save(BookId(BOOK), Ledger())
        assert "read" in (await run.ingest(book)).phases

    play(home, scenario)


def test_an_edited_paragraph_embeds_the_chunks_that_hold_it_and_no_other(
    home: Path, book: Path
) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        run.embedder.texts.clear()
        edit(book / "page2.md", "Page2 part1", "Changed here")
        report = await run.ingest(book)
        assert all("Changed here" in text for text in run.embedder.texts)
        holding = [one for one in await run.chunks() if "Changed here" in one.text_content]
        assert 0 < report.embedded == len(run.embedder.texts) == len(holding) < report.chunks
        assert report.reused == report.chunks - report.embedded
        assert (report.added, report.changed, report.removed) == (0, len(holding), 0)
        assert {one.book_version for one in await run.chunks()} == {report.book_version}

    play(home, scenario)


def test_moved_and_renamed_files_embed_nothing(home: Path, book: Path) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        before = {one.text_content: one for one in await run.chunks()}
        run.embedder.texts.clear()
        (book / "deep").mkdir()
        (book / "page1.md").rename(book / "deep" / "page1.md")
        (book / "page3.md").rename(book / "a-first.md")
        report = await run.ingest(book)
        assert not report.unchanged
        assert report.embedded == report.added == report.removed == 0
        assert report.changed > 0
        assert not run.embedder.texts
        after = {one.text_content: one for one in await run.chunks()}
        assert after.keys() == before.keys()
        for text, one in after.items():
            assert one.paragraph_ids == before[text].paragraph_ids
        assert "deep/page1.md" in {one.file for one in after.values()}

    play(home, scenario)


def test_removed_paragraphs_leave_the_index(home: Path, book: Path) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        gone = prose("page3 part1")
        held = [one for one in await run.chunks() if gone[:40] in one.text_content]
        paragraph_id = next(
            passage.paragraph_id
            for passage in held[0].passages
            if passage.text.startswith(gone[:40])
        )
        assert await find_paragraph(run.app.index, paragraph_id, BookId(BOOK))
        edit(book / "page3.md", gone, "")
        assert (await run.ingest(book)).removed > 0
        assert not any(gone[:40] in one.text_content for one in await run.chunks())
        assert await find_paragraph(run.app.index, paragraph_id, BookId(BOOK)) is None
        hits = (await run.app.retrieve.search(SearchQuery("page3 part1", k=20))).hits
        assert not any(gone[:40] in hit.chunk.text_content for hit in hits)

    play(home, scenario)


def test_what_was_embedded_once_is_never_embedded_again(home: Path, book: Path) -> None:
    """Neither for another address, nor after a rollback, a removal or in another book."""

    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        edit(book / "page0.md", "Page0 part0", "Edited now")
        await run.ingest(book)
        run.embedder.texts.clear()
        await run.ingest(book, base_url="https://moved")
        assert (await run.chunks())[0].deep_link_url.startswith("https://moved/")
        await run.app.index.rollback(BookId(BOOK))
        await run.ingest(book)
        edit(book / "page0.md", "Edited now", "Page0 part0")
        await run.ingest(book)
        await run.app.index.remove(BookId(BOOK))
        report = await run.ingest(book)
        assert (report.embedded, report.reused) == (0, report.chunks)
        await run.ingest(book, book="another")
        assert not run.embedder.texts

    play(home, scenario)


def timeless(report: IngestReport) -> IngestReport:
    return replace(report, seconds=0.0, phases={}, generation=0, dry_run=False)


def test_a_dry_run_says_what_the_run_then_does(home: Path, book: Path) -> None:
    async def scenario(run: Bench) -> None:
        async def both() -> None:
            before = state_of(home)
            dry = await run.ingest(book, dry_run=True)
            assert dry.dry_run
            assert state_of(home) == before
            real = await run.ingest(book)
            assert timeless(dry) == timeless(real)

        await both()
        edit(book / "page1.md", "Page1 part0", "Another start")
        (book / "page3.md").unlink()
        await both()
        await both()

    play(home, scenario)


def test_an_index_of_another_program_version_is_replaced(home: Path, book: Path) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        manifest = home / "index" / BOOK / "000001" / "manifest"
        data = json.loads(read_sealed(manifest))
        data["manifest"]["layout"] = 0
        write_sealed(manifest, json.dumps(data))

    play(home, scenario)

    async def later(run: Bench) -> None:
        report = await run.ingest(book)
        assert (report.generation, report.embedded) == (2, 0)
        assert [*await run.app.index.books()] == [BOOK]

    play(home, later)


def test_an_error_of_the_embedder_keeps_what_was_paid_and_the_next_run_pays_the_rest(
    home: Path, book: Path
) -> None:
    async def scenario(run: Bench) -> None:
        run.embedder.fails_after = 2
        with pytest.raises(ProviderUnavailable) as caught:
            await run.ingest(book)
        assert caught.value.__notes__ == [
            "6 of 8 texts are embedded and cached: run the ingest again for the rest"
        ]
        assert not await run.app.index.books()
        run.embedder.fails_after = None
        report = await run.ingest(book)
        assert report.embedded == 2
        assert set(run.embedder.texts.values()) == {1}
        assert len(run.embedder.texts) == report.chunks == 8

    play(home, scenario)


def test_a_second_ingest_of_a_book_is_refused_and_another_book_goes_on(
    home: Path, book: Path
) -> None:
    async def scenario(run: Bench) -> None:
        holding = await run.app.index.begin(BookId(BOOK), run.embedder.dimension)
        with pytest.raises(IndexBusy, match=rf"'{BOOK}' is being written .*process \d+, started "):
            await run.ingest(book)
        assert not run.embedder.texts
        assert (await run.ingest(book, book="other")).generation == 1
        await holding.abandon()
        assert (await run.ingest(book)).generation == 1

    play(home, scenario)


def test_a_run_that_was_overtaken_while_it_read_does_not_undo_the_other(
    home: Path, book: Path
) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        loop = asyncio.get_running_loop()
        quick, versions = run.use_case, []

        def read_slowly(request: IngestRequest, advance: Advance) -> Book:
            read = quick.read_book(request, advance)
            edit(book / "page0.md", "Page0 part1", "Newer words")
            newer = asyncio.run_coroutine_threadsafe(quick.run(request, Phases(Silent())), loop)
            versions.append(newer.result().book_version)
            return read

        edit(book / "page0.md", "Page0 part0", "Stale words")
        run.use_case = replace(quick, read_book=read_slowly)
        with pytest.raises(BookError, match="files changed during the ingest"):
            await run.ingest(book)
        assert {one.book_version for one in await run.chunks()} == set(versions)

    play(home, scenario)


def test_a_ledger_that_was_replaced_meanwhile_is_not_overwritten(home: Path, book: Path) -> None:
    async def scenario(run: Bench) -> None:
        loop = asyncio.get_running_loop()
        quick = run.use_case

        def chunk_slowly(book: Book, request: IngestRequest, advance: Advance) -> Sequence[Chunk]:
            saving = run.app.ledgers.save(BookId(BOOK), imported)
            asyncio.run_coroutine_threadsafe(saving, loop).result()
            return [*quick.chunk_book(book, request, advance)]

        _, imported = renew(Ledger(), [paragraph(LONG)])
        run.use_case = replace(quick, chunk_book=chunk_slowly)
        with pytest.raises(
            IndexBusy, match="another ingest wrote book 'lamps' while this one read it"
        ):
            await run.ingest(book)
        assert await run.app.ledgers.load(BookId(BOOK)) == imported

    play(home, scenario)


def test_the_ledger_of_an_unchanged_book_is_saved_with_the_lock_of_the_book(
    home: Path, book: Path
) -> None:
    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        edit(book / "page0.md", "Page0 part0", "Other words")
        await run.ingest(book)
        edit(book / "page0.md", "Other words", "Page0 part0")
        await run.app.index.rollback(BookId(BOOK))
        known = await run.app.ledgers.load(BookId(BOOK))
        holding = await run.app.index.begin(BookId(BOOK), run.embedder.dimension)
        with pytest.raises(IndexBusy):
            await run.ingest(book)
        assert await run.app.ledgers.load(BookId(BOOK)) == known
        await holding.abandon()
        report = await run.ingest(book)
        assert (report.unchanged, report.generation) == (True, 1)
        assert await run.app.ledgers.load(BookId(BOOK)) != known
        await run.app.index.rollback(BookId(BOOK))

    play(home, scenario)


class Died(Exception):
    """As if the process had been killed."""


class DyingIndex(EdgeIndex):
    """Its writers die just before the switch."""

    async def begin(self, book: BookId, dimension: int, number: int = 1) -> EdgeWriter:
        writer = await super().begin(BookId(book), dimension, number)

        async def publish(manifest: BookManifest) -> BookManifest:
            raise Died

        writer.publish = publish  # type: ignore[method-assign]
        return writer


def test_ids_are_the_same_after_a_crash_between_ledger_and_switch(home: Path, book: Path) -> None:
    """The ledger is saved first; a run that dies before the switch is done again alike."""

    async def scenario(run: Bench) -> None:
        await run.ingest(book)
        old = await run.chunks()
        edit(book / "page1.md", "Page1 part0 ", "Brand new ")
        whole = run.use_case
        run.use_case = replace(whole, index=DyingIndex(home))
        with pytest.raises(Died):
            await run.ingest(book)
        known = await run.app.ledgers.load(BookId(BOOK))
        assert await run.chunks() == old
        run.use_case = whole
        await run.ingest(book)
        new = await run.chunks()
        assert new != old
        assert await run.app.ledgers.load(BookId(BOOK)) == known
        assert ids_of(new) == ids_of(old) <= set(known.entries)

    play(home, scenario)


def ids_of(chunks: Sequence[Chunk]) -> set[str]:
    return {held for one in chunks for held in one.paragraph_ids}


texts = st.sampled_from(
    [LONG, LONG.replace("every", "each"), LONG[:40] + "anend", LONG[5:], "short", "other"]
)
paragraphs = st.builds(paragraph, texts, st.sampled_from(["a.md", "b.md"]))


@given(st.lists(st.lists(paragraphs, max_size=6), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_giving_ids_twice_gives_the_same_ids_and_the_same_ledger(
    history: list[list[LedgerParagraph]],
) -> None:
    """So a run that died after it saved the ledger can be done again."""
    ledger = Ledger()
    for one in history:
        ids, ledger = renew(ledger, one)
        assert renew(ledger, one) == (ids, ledger)
