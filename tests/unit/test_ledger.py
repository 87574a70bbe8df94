"""The ledger keeps ids through edits, moves and renames, and marks what is gone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.errors import InputError, StorageError
from app.domain.ledger import Ledger, LedgerParagraph, from_lines, renew, to_lines
from tests.index_points import quick_folder

BOOK = BookId("book")
TEXTS = [f"text {number}" for number in range(16)]
LONG = "theindexmapseverytermtothelistofdocumentsthatholditinorderofnumber"


def paragraph(text: str, file: str = "a.md", author_id: str = "") -> LedgerParagraph:
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return LedgerParagraph(f"p-{digest}", text, file, ("Title",), f"https://book/{file}", author_id)


def test_an_unchanged_book_keeps_every_id() -> None:
    book = [paragraph(LONG), paragraph("second"), paragraph("second"), paragraph("x", "b.md")]
    ids, ledger = renew(Ledger(), book)
    again, renewed = renew(ledger, book)
    assert again == ids
    assert renewed == ledger
    assert len(set(ids)) == len(ids)


def test_an_edited_paragraph_keeps_its_id_and_its_new_hash_becomes_an_alias() -> None:
    (old,), ledger = renew(Ledger(), [paragraph(LONG)])
    edited = paragraph(LONG.replace("every", "each"))
    (kept,), renewed = renew(ledger, [edited])
    assert kept == old
    entry = renewed.resolve(edited.content_id)
    assert entry is not None
    assert entry.paragraph_id == old
    assert 0.5 < renewed.aliases[edited.content_id].score < 1


def test_a_moved_paragraph_keeps_its_id() -> None:
    ids, ledger = renew(Ledger(), [paragraph(LONG), paragraph("stays")])
    moved, _ = renew(ledger, [paragraph("stays"), paragraph(LONG, "other.md")])
    assert moved == [ids[1], ids[0]]


def test_an_edit_on_a_renamed_page_is_followed() -> None:
    # 0.5 <= Dice < 0.6: found only because the page's other paragraphs show the new name.
    half = LONG[:40] + "andthenallchangesattheveryend"
    ids, ledger = renew(Ledger(), [paragraph("one"), paragraph("two"), paragraph(LONG)])
    news = [paragraph("one", "new.md"), paragraph("two", "new.md"), paragraph(half, "new.md")]
    assert renew(ledger, news)[0] == ids


def test_another_text_gets_an_id_of_its_own_and_the_old_one_a_tombstone() -> None:
    (old, near), ledger = renew(Ledger(), [paragraph(LONG), paragraph("neighbour")])
    ids, renewed = renew(ledger, [paragraph("nothing alike at all"), paragraph("neighbour")])
    assert ids[0] != old
    gone = renewed.resolve(old)
    assert gone is not None
    assert not gone.live
    nearest = renewed.nearest(gone)
    assert nearest is not None
    assert nearest.paragraph_id in {ids[0], near}


def test_a_paragraph_that_comes_back_gets_its_old_id_back() -> None:
    (old,), ledger = renew(Ledger(), [paragraph(LONG)])
    _, without = renew(ledger, [paragraph("other")])
    ids, again = renew(without, [paragraph("other"), paragraph(LONG)])
    assert ids[1] == old
    assert again.entries[old].live


def test_the_authors_id_wins_and_a_second_use_of_it_does_not_collide() -> None:
    book = [paragraph(LONG, author_id="mine"), paragraph("copy", author_id="mine")]
    ids, ledger = renew(Ledger(), book)
    assert ids == ["mine", paragraph("copy").content_id]
    entry = ledger.resolve(paragraph(LONG).content_id)
    assert entry is not None
    assert entry.paragraph_id == "mine"


@given(st.lists(st.text("abc", min_size=1, max_size=12), max_size=12), st.data())
def test_ids_are_unique_and_the_same_on_two_machines(texts: list[str], data: st.DataObject) -> None:
    ids, ledger = renew(Ledger(), [paragraph(text) for text in texts])
    assert len(set(ids)) == len(texts)
    edited = data.draw(st.permutations(texts))
    news = [paragraph(text, data.draw(st.sampled_from(("a.md", "b.md")))) for text in edited]
    there = from_lines(to_lines(ledger), "ledger.jsonl")
    assert renew(there, news) == renew(ledger, news)
    assert len(set(renew(ledger, news)[0])) == len(news)


def test_a_ledger_survives_the_disk(tmp_path: Path) -> None:
    _, ledger = renew(Ledger(), [paragraph(LONG), paragraph("two", author_id="mine")])
    _, ledger = renew(ledger, [paragraph("three")])
    store = SqliteLedgers(tmp_path / "ledger")
    asyncio.run(store.save(BookId("book"), ledger))
    assert asyncio.run(store.load(BookId("book"))) == ledger
    assert asyncio.run(store.load(BookId("another"))) == Ledger()


@given(
    st.lists(st.sampled_from(TEXTS), max_size=12, unique=True),
    st.lists(st.sampled_from(TEXTS), max_size=12, unique=True),
    st.data(),
)
def test_one_id_is_located_on_disk_as_in_memory(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    files, paths = st.sampled_from(("a.md", "b.md")), st.sampled_from((("One",), ("Two",)))

    def drawn(texts: list[str]) -> list[LedgerParagraph]:
        read = [paragraph(text, data.draw(files)) for text in texts]
        return [replace(one, heading_path=data.draw(paths)) for one in read]

    _, ledger = renew(Ledger(), drawn(before))
    _, ledger = renew(ledger, drawn(after))

    async def scenario(folder: Path) -> None:
        store = SqliteLedgers(folder)
        await store.save(BOOK, ledger)
        for known in [*ledger.entries, *ledger.aliases, "p-unknown"]:
            assert await store.locate(BOOK, known) == ledger.locate(known)

    with quick_folder() as folder:
        asyncio.run(scenario(folder))


def test_reading_changes_nothing_and_makes_no_file(tmp_path: Path) -> None:
    store = SqliteLedgers(tmp_path)
    foreign = tmp_path / "book.sqlite"
    sqlite3.connect(foreign).execute("create table mine (x)").connection.close()
    before = foreign.read_bytes()
    for call in (store.load(BOOK), store.locate(BOOK, "p-1")):
        with pytest.raises(StorageError, match="no such table"):
            asyncio.run(call)
    assert asyncio.run(store.locate(BookId("other"), "p-1")) is None
    assert foreign.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["book.sqlite"]


def test_a_reader_sees_the_ledger_as_it_was_before_a_save_that_died(tmp_path: Path) -> None:
    store = SqliteLedgers(tmp_path)
    _, ledger = renew(Ledger(), [paragraph(f"{LONG} {number}") for number in range(400)])
    asyncio.run(store.save(BOOK, ledger))
    path = tmp_path / "book.sqlite"
    script = f"""
import os, sqlite3
connection = sqlite3.connect({str(path)!r})
connection.execute("pragma cache_size = 1")
connection.execute("delete from entry")
connection.execute("create table more as select randomblob(1000000)")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert (tmp_path / "book.sqlite-journal").stat().st_size > 0
    assert asyncio.run(store.load(BOOK)) == ledger


def test_a_damaged_ledger_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "book.sqlite").write_bytes(b"not a database, not at all, whatever it says" * 50)
    with pytest.raises(StorageError, match=r"book\.sqlite: the ledger"):
        asyncio.run(SqliteLedgers(tmp_path).load(BookId("book")))


_LINE: dict[str, Any] = {
    "paragraph_id": "p-1",
    "paragraph": {
        "content_id": "p-1",
        "text": "owls",
        "file": "owls.md",
        "heading_path": ["Owls"],
        "url": "/owls",
    },
    "order": 0,
}


@pytest.mark.parametrize(
    "change",
    [
        {"paragraph_id": 7},
        {"order": "first"},
        {"order": 10**30},
        {"order": -1},
        {"live": []},
        {"paragraph": {**_LINE["paragraph"], "text": 7}},
        {"paragraph": {**_LINE["paragraph"], "file": None}},
        {"paragraph": {**_LINE["paragraph"], "heading_path": [["Owls"]]}},
        {"alias": "p-2", "score": "high"},
    ],
)
def test_a_line_with_a_field_of_another_type_is_named(change: dict[str, object]) -> None:
    assert from_lines([json.dumps(_LINE)], "ledger.jsonl").entries
    line = {"paragraph_id": "p-1", **change} if "alias" in change else _LINE | change
    with pytest.raises(InputError, match=r"ledger\.jsonl:1: not a line of a ledger"):
        from_lines([json.dumps(line)], "ledger.jsonl")


def test_a_line_nested_too_deep_is_named() -> None:
    with pytest.raises(InputError, match=r"ledger\.jsonl:1: not a line of a ledger"):
        from_lines(["[" * 100_000], "ledger.jsonl")


def test_a_line_that_is_no_ledger_line_is_named() -> None:
    with pytest.raises(InputError, match=r"ledger\.jsonl:2: not a line of a ledger"):
        from_lines(
            ['{"alias": "a", "paragraph_id": "p", "score": 1.0}', '{"x": 1}'], "ledger.jsonl"
        )
