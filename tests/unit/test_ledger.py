"""The ledger keeps ids through edits, moves and renames, and marks what is gone."""

import asyncio
import hashlib
import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.sqlite.file import SqliteFile
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.errors import InputError, StorageError
from app.domain.identity import renew
from app.domain.ledger import Entry, Ledger, from_lines, to_lines

BOOK = BookId("book")
ANIMALS = ("mole", "newt", "owl", "pike")
LONG = "theindexmapseverytermtothelistofdocumentsthatholditinorderofnumber"


def paragraph(text: str, file: str = "a.md", author_id: str = "") -> Entry:
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return Entry("", f"p-{digest}", text, file, ("Title",), f"https://book/{file}", author_id)


def resolved(ledger: Ledger, known: str) -> Entry:
    entry = ledger.resolve(known)
    assert entry is not None
    return entry


def located(ledger: Ledger, known: str) -> tuple[Entry, Entry | None]:
    found = ledger.locate(known)
    assert found is not None
    return found


EXERCISES = ("exercises", "tryityourself", "tryityourself")
MOLE, NEWT, OWL, PIKE = (f"the{animal}livesinaplaceofitsown{animal * 3}" for animal in ANIMALS)
# Half of the text: 0.5 <= Dice < 0.6.
HALF = LONG[:40] + "andthenallchangesattheveryend"


def page(file: str, *texts: str, title: str = "Title") -> list[Entry]:
    return [replace(paragraph(text, file), heading_path=(title,)) for text in texts]


def chapter(title: str, file: str, *own: str) -> list[Entry]:
    """Paragraphs of a chapter: its own, then the same exercises as in every other chapter."""
    return [*page(file, *own, title=title), *page(file, *EXERCISES, title=f"{title} Exercises")]


def option(file: str, name: str, text: str) -> list[Entry]:
    return page(file, name, "defaulttruetypeboolean", text, title=name)


MOLES, OWLS = chapter("Mole", "mole.md", MOLE), chapter("Owl", "owl.md", OWL, LONG)
# Versions of a book, and the place in the first one of the paragraph whose id each of the last
# version has; None for a new id.
EDITS: dict[str, tuple[list[list[Entry]], list[int | None]]] = {
    "nothing changes": (
        [[*page("a.md", LONG, "second", "second"), *page("b.md", "x")]] * 2,
        [0, 1, 2, 3],
    ),
    "a paragraph moves": (
        [page("a.md", LONG, "stays"), [*page("a.md", "stays"), *page("b.md", LONG)]],
        [1, 0],
    ),
    "an edit on a page whose name changes, as its other paragraphs show": (
        [page("a.md", "one", "two", LONG), page("new.md", "one", "two", HALF)],
        [0, 1, 2],
    ),
    "a paragraph comes back": (
        [page("a.md", LONG), page("a.md", "other"), page("a.md", "other", LONG)],
        [None, 0],
    ),
    "a chapter comes back edited": (
        [
            [*MOLES, *OWLS],
            MOLES,
            [*MOLES, *chapter("Owl", "birds.md", OWL, LONG.replace("every", "each"))],
        ],
        [0, 1, 2, 3, 4, 5, 6, 7, 8],
    ),
    "chapters are renumbered": (
        [
            [*chapter("Mole", "1.md", MOLE), *chapter("Owl", "2.md", OWL)],
            [
                *chapter("Mole", "1.md", MOLE),
                *chapter("Newt", "2.md", NEWT),
                *chapter("Owl", "3.md", OWL),
            ],
        ],
        [0, 1, 2, 3, None, None, None, None, 4, 5, 6, 7],
    ),
    "a folder is renamed and sorted anew": (
        [
            [*chapter("Owl", "part/1.md", OWL), *chapter("Mole", "part/2.md", MOLE)],
            [
                *chapter("Mole", "animals/mole.md", MOLE.replace("place", "hole")),
                *chapter("Owl", "animals/owl.md", OWL, OWL.replace("place", "tree")),
            ],
        ],
        [4, 5, 6, 7, 0, None, 1, 2, 3],
    ),
    "a page of equal paragraphs is split": (
        [
            [
                *option("all.md", "cert", MOLE),
                *option("all.md", "key", NEWT),
                *option("all.md", "proxy", OWL),
                *option("all.md", "retry", PIKE),
            ],
            [
                *option("network.md", "key", NEWT),
                *option("network.md", "retry", PIKE),
                *option("other.md", "cert", MOLE),
                *option("other.md", "proxy", OWL),
            ],
        ],
        [3, 4, 5, 9, 10, 11, 0, 1, 2, 6, 7, 8],
    ),
    "one of two equal texts goes: the one beside the same neighbours stays": (
        [page("a.md", MOLE, "note", OWL, "note", PIKE), page("a.md", MOLE, OWL, "note", PIKE)],
        [0, 2, 3, 4],
    ),
    "the neighbours of equal texts change their sections": (
        [
            [*page("a.md", MOLE, "note", title="A"), *page("a.md", NEWT, "note", title="B")],
            [*page("a.md", NEWT, "note", title="A"), *page("a.md", MOLE, "note", title="B")],
        ],
        [2, 1, 0, 3],
    ),
    "a new page has the boilerplate of a removed one": (
        [
            [*page("0.md", MOLE, LONG), *page("1.md", OWL, LONG)],
            [*page("0.md", MOLE, LONG), *page("2.md", NEWT * 2, LONG)],
        ],
        [0, 1, None, None],
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_ids_are_kept(edit: str) -> None:
    versions, expected = EDITS[edit]
    first, ledger = renew(Ledger(), versions[0])
    ids: list[str] = []
    for version in versions[1:]:
        ids, ledger = renew(ledger, version)
    assert [first.index(one) if one in first else None for one in ids] == expected


def test_an_edited_paragraph_keeps_its_id_and_its_new_hash_becomes_an_alias() -> None:
    (old,), ledger = renew(Ledger(), [paragraph(LONG)])
    edited = paragraph(LONG.replace("every", "each"))
    (kept,), renewed = renew(ledger, [edited])
    assert kept == old
    assert resolved(renewed, edited.content_id).paragraph_id == old


def test_another_text_gets_an_id_of_its_own_and_the_old_one_a_tombstone() -> None:
    (old, near), ledger = renew(Ledger(), [paragraph(LONG), paragraph("neighbour")])
    ids, renewed = renew(ledger, [paragraph("nothing alike at all"), paragraph("neighbour")])
    assert ids[0] != old
    gone = resolved(renewed, old)
    assert not gone.live
    nearest = renewed.nearest(gone)
    assert nearest is not None
    assert nearest.paragraph_id in {ids[0], near}


def test_a_new_chapter_does_not_get_the_ids_of_a_removed_ones_exercises() -> None:
    before = [*chapter("Mole", "mole.md", MOLE), *chapter("Owl", "owl.md", OWL)]
    _, ledger = renew(Ledger(), before)
    _, ledger = renew(ledger, before[:4])
    ids, ledger = renew(ledger, [*before[:4], *chapter("Newt", "newt.md", NEWT)])
    assert not {one.paragraph_id for one in ledger.entries.values() if not one.live} & {*ids}
    # The one that is gone is not said to be the new one, either.
    for number in (1, 2, 3):
        gone = ledger.resolve(f"{paragraph(EXERCISES[number - 1]).content_id}-{number}")
        assert gone is None or not gone.live or gone.file == "mole.md"


def test_what_is_gone_follows_its_page_and_its_neighbours() -> None:
    before = [paragraph(text, "a.md") for text in (MOLE, NEWT, OWL)]
    ids, ledger = renew(Ledger(), before)
    _, ledger = renew(ledger, [before[0], before[2]])
    # Three new paragraphs come first, the page gets another name and its section another title.
    first = [paragraph(f"{PIKE}{n}" * 2, "first.md") for n in range(3)]
    there = [replace(paragraph(text, "b.md"), heading_path=("New",)) for text in (MOLE, OWL)]
    _, ledger = renew(ledger, [*first, *there])
    nearest = located(ledger, ids[1])[1]
    assert nearest is not None
    assert nearest.paragraph_id in {ids[0], ids[2]}


def test_a_paragraph_that_became_part_of_another_is_found_there() -> None:
    texts = (MOLE, NEWT, OWL, PIKE)
    ids, ledger = renew(Ledger(), [paragraph(text) for text in texts])
    merged, ledger = renew(ledger, [paragraph(text) for text in (MOLE, NEWT + LONG + OWL, PIKE)])
    assert merged[::2] == [ids[0], ids[3]]
    for one in ids[1:3]:
        entry = located(ledger, one)[0]
        assert (entry.paragraph_id, entry.live) == (merged[1], True)
    again, ledger = renew(ledger, [paragraph(text) for text in texts])
    assert again == ids


@given(st.lists(st.text("abc", min_size=1, max_size=30), max_size=12), st.data())
def test_the_same_book_again_changes_nothing(texts: list[str], data: st.DataObject) -> None:
    files = st.sampled_from(("a.md", "b.md"))
    ledger = Ledger()
    for _ in range(3):
        some = data.draw(st.permutations(texts))[: data.draw(st.integers(0, len(texts)))]
        book = [paragraph(text, data.draw(files)) for text in some]
        ids, ledger = renew(ledger, book)
        assert len({*ids}) == len(book)
        assert renew(ledger, book) == (ids, ledger)
        stored = from_lines(to_lines(ledger), "ledger.jsonl")
        assert renew(stored, book[::-1]) == renew(ledger, book[::-1])


def test_the_authors_id_wins_and_a_second_use_of_it_does_not_collide() -> None:
    book = [paragraph(LONG, author_id="mine"), paragraph("copy", author_id="mine")]
    ids, ledger = renew(Ledger(), book)
    assert ids == ["mine", paragraph("copy").content_id]
    assert resolved(ledger, paragraph(LONG).content_id).paragraph_id == "mine"


def test_a_ledger_survives_the_disk(tmp_path: Path) -> None:
    _, ledger = renew(Ledger(), [paragraph(LONG), paragraph("two", author_id="mine")])
    _, ledger = renew(ledger, [paragraph("three")])
    store = SqliteLedgers(tmp_path / "ledger")
    asyncio.run(store.save(BookId("book"), ledger))
    assert asyncio.run(store.load(BookId("book"))) == ledger
    assert asyncio.run(store.load(BookId("another"))) == Ledger()
    for known in [*ledger.entries, *ledger.aliases, "p-unknown"]:
        assert asyncio.run(store.locate(BookId("book"), known)) == ledger.locate(known)


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


class Numbers(SqliteFile):
    schema = "create table if not exists numbers (number integer)"
    wal = True


def test_the_log_of_a_deleted_file_is_not_applied_to_a_new_one(tmp_path: Path) -> None:
    path, log = tmp_path / "new.sqlite", tmp_path / "new.sqlite-wal"
    file = Numbers(path)
    with file.writing() as before:
        before.execute("insert into numbers values (1)")
        before.commit()
        shutil.copy(log, tmp_path / "log")
    path.unlink()
    (tmp_path / "log").rename(log)

    assert asyncio.run(file.faults()) == []
    with file.writing() as opened:
        assert opened.execute("select count(*) from numbers").fetchone() == (0,)


def test_a_damaged_ledger_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "book.sqlite").write_bytes(b"not a database, not at all, whatever it says" * 50)
    with pytest.raises(StorageError, match=r"book\.sqlite: the ledger"):
        asyncio.run(SqliteLedgers(tmp_path).load(BookId("book")))


_LINE: dict[str, Any] = {
    "paragraph_id": "p-1",
    "content_id": "p-1",
    "text": "owls",
    "file": "owls.md",
    "heading_path": ["Owls"],
    "url": "/owls",
}


@pytest.mark.parametrize(
    "line",
    [
        {"order": 10**30},
        {"live": []},
        {"heading_path": [["Owls"]]},
        '{"alias": "p-2", "paragraph_id": 7}',
        '{"x": 1}',
        "[" * 100_000,
    ],
    ids=lambda line: repr(line)[:30],
)
def test_a_line_that_is_no_ledger_line_is_named(line: str | dict[str, object]) -> None:
    good = [json.dumps(_LINE), '{"alias": "a", "paragraph_id": "p"}']
    assert from_lines(good, "ledger.jsonl").entries
    bad = line if isinstance(line, str) else json.dumps(_LINE | line)
    with pytest.raises(InputError, match=r"ledger\.jsonl:3: not a line of a ledger"):
        from_lines([*good, bad], "ledger.jsonl")
