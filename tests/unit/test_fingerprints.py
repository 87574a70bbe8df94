"""A folder's hash changes with whatever a run could see of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.adapters.fingerprints import FileLastRunStore, folder_fingerprint, program_fingerprint
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.domain.book_id import BookId
from app.domain.ledger import Ledger
from app.domain.ledger_renewal import renew
from tests.unit.test_ledger import paragraph


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    book = tmp_path / "book"
    for name, text in {
        "index.md": "# Book",
        "docs/page.md": "text",
        "docs/code.rs": "fn a() {}",
        ".docusaurus/site.json": "{}",
        "img/lamp.png": "pixels",
        "node_modules/package/readme.md": "of others",
        "state/embeddings.sqlite": "ours",
    }.items():
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).write_text(text)
    return book


def fingerprint(folder: Path) -> str:
    return folder_fingerprint(folder, folder / "state")


SEEN: dict[str, Callable[[Path], object]] = {
    "an edited page": lambda book: (book / "docs/page.md").write_text("Text"),
    "an edited code file": lambda book: (book / "docs/code.rs").write_text("fn b() {}"),
    "an edited hidden file": lambda book: (book / ".docusaurus/site.json").write_text("[]"),
    "a renamed page": lambda book: (book / "docs/page.md").rename(book / "docs/other.md"),
    "a moved page": lambda book: (book / "docs/page.md").rename(book / "page.md"),
    "a removed page": lambda book: (book / "docs/page.md").unlink(),
    "a new file": lambda book: (book / "new.txt").write_text(""),
    "a new picture": lambda book: (book / "img/new.png").write_text(""),
}
NOT_SEEN: dict[str, Callable[[Path], object]] = {
    "nothing": lambda book: None,
    "a touched page": lambda book: (book / "docs/page.md").touch(),
    "other pixels": lambda book: (book / "img/lamp.png").write_text("others"),
    "a dependency": lambda book: (book / "node_modules/package/readme.md").write_text("x"),
    "the program's own state": lambda book: (book / "state/new").write_text("x"),
    "an empty folder": lambda book: (book / "empty").mkdir(),
}


@pytest.mark.parametrize("change", [*SEEN, *NOT_SEEN])
def test_a_change_is_seen_if_it_can_change_the_index(folder: Path, change: str) -> None:
    before = fingerprint(folder)
    (SEEN | NOT_SEEN)[change](folder)
    assert before != ""
    assert (fingerprint(folder) != before) == (change in SEEN)


def test_a_copy_elsewhere_is_the_same_book_and_another_name_is_not(folder: Path) -> None:
    """The name of the folder may be the name of the book."""
    before = fingerprint(folder)
    (folder.parent / "deep").mkdir()
    moved = folder.rename(folder.parent / "deep" / "book")
    assert fingerprint(moved) == before
    assert fingerprint(moved.rename(folder.parent / "other")) != before


def test_a_book_of_one_file_cannot_be_told(folder: Path) -> None:
    assert fingerprint(folder / "index.md") == ""
    assert fingerprint(folder / "nowhere") == ""


def test_the_program_is_itself() -> None:
    assert program_fingerprint() == program_fingerprint.__wrapped__()


async def test_a_ledgers_revision_changes_when_it_does(tmp_path: Path) -> None:

    ledgers = SqliteLedgers(tmp_path)
    assert await ledgers.revision(BookId("lamps")) == ""
    _, ledger = renew(Ledger(), [paragraph("one"), paragraph("two")])
    await ledgers.save(BookId("lamps"), ledger)
    first = await ledgers.revision(BookId("lamps"))
    await ledgers.load(BookId("lamps"))
    assert await ledgers.revision(BookId("lamps")) == first != ""
    await ledgers.save(BookId("lamps"), renew(ledger, [paragraph("one")])[1])
    assert await ledgers.revision(BookId("lamps")) != first


async def test_a_memory_is_kept_by_book_and_may_be_lost(tmp_path: Path) -> None:

    memory = FileLastRunStore(tmp_path / "runs")
    assert await memory.recall(BookId("lamps")) == ""
    await memory.remember(BookId("lamps"), "first")
    await memory.remember(BookId("lamps"), "Lámparas\n")
    await memory.remember(BookId("other"), "x")
    assert await memory.recall(BookId("lamps")) == "Lámparas\n"
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        "lamps.json",
        "other.json",
    ]


async def test_a_memory_that_cannot_be_kept_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "runs").write_text("a file")
    await FileLastRunStore(tmp_path / "runs").remember(BookId("lamps"), "x")
    assert caplog.messages == ["ingest.not_remembered"]
