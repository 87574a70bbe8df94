"""How well paragraph ids survive edits: two versions of real books, the second by scripted edits.

    python scripts/bench/identity.py BOOK_DIR [BOOK_DIR ...] [--seed 1]

The second version renames files, moves sections within and between files, edits words of
paragraphs, inserts and deletes paragraphs. The script knows the new place of each block, so it can
check for each paragraph of the second version whether it kept its id. Prints, for each book, the
shares of unchanged and of edited paragraphs that kept their id, and of those that got another
paragraph's id.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from app.adapters.reading.book import read_book
from app.domain.document import Block, Book, Document
from app.domain.identity import keep_ids
from app.domain.ledger import Ledger

WORDS = ("index", "query", "vector", "token", "passage", "ranking", "corpus", "harbor", "lantern")


@dataclass
class Piece:
    """Part of a file: a block with the mark-up after it, or the mark-up before the first block."""

    text: str
    tail: str
    old_id: str = ""
    edited: bool = False
    level: int = 0


@dataclass
class Page:
    file: str
    pieces: list[Piece] = field(default_factory=list)


def pages_of(book: Book) -> list[Page]:
    """Split each file at its blocks, so that pieces can be moved and edited."""
    return [Page(d.file, list(_pieces(d))) for d in book.documents]


def _pieces(document: Document) -> list[Piece]:
    blocks = [block for block in document.blocks if block.file == document.file]
    source = document.source
    first = blocks[0].start if blocks else len(source)
    pieces = [Piece("", source[:first])]
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        end = following.start if following else len(source)
        pieces.append(
            Piece(source[block.start : block.end], source[block.end : end], *_identity(block))
        )
    return pieces


def _identity(block: Block) -> tuple[str, bool, int]:
    return block.paragraph_id, False, block.level


def edit(pages: list[Page], rng: random.Random) -> None:
    """Edit 12 % of paragraphs, insert and delete 2 % each, move 3 % of sections."""
    for page in pages:
        kept: list[Piece] = []
        for piece in page.pieces:
            draw = rng.random()
            plain = _is_plain(piece)
            if plain and draw < 0.02:
                kept[-1].tail += piece.tail.lstrip("\n")
                continue
            if plain and draw < 0.14:
                _edit_words(piece, rng)
            kept.append(piece)
            if plain and draw > 0.98:
                sentence = " ".join(rng.choices(WORDS, k=rng.randint(8, 30)))
                kept.append(Piece(f"{sentence.capitalize()} {rng.random()}.", "\n\n"))
        page.pieces = kept
    for _ in range(max(1, sum(len(page.pieces) for page in pages) // 400)):
        _move_section(rng.choice(pages), rng.choice(pages), rng)


def _is_plain(piece: Piece) -> bool:
    """Whether a paragraph can be edited without breaking the mark-up around it."""
    text = piece.text
    return bool(
        piece.old_id
        and not piece.level
        and text[:1].isalpha()
        and not set(text) & set("<>{}`$|")
        and piece.tail.startswith("\n\n")
    )


def _edit_words(piece: Piece, rng: random.Random) -> None:
    words = piece.text.split(" ")
    if len(words) < 6:
        return
    for _ in range(max(1, round(len(words) * rng.choice((0.03, 0.08, 0.15, 0.3))))):
        words[rng.randrange(1, len(words))] = rng.choice(WORDS)
    piece.text = " ".join(words)
    piece.edited = True


def _move_section(source: Page, target: Page, rng: random.Random) -> None:
    """Move a whole section of level 2 to the end of a page."""
    starts = [i for i, piece in enumerate(source.pieces) if piece.level == 2]
    if len(starts) < 2:
        return
    start = rng.choice(starts[:-1])
    stop = next(i for i, p in enumerate(source.pieces) if i > start and 0 < p.level <= 2)
    section = source.pieces[start:stop]
    if sum(piece.text.count("```") for piece in section) % 2:
        return
    del source.pieces[start:stop]
    target.pieces[-1].tail = target.pieces[-1].tail.rstrip("\n") + "\n\n"
    target.pieces.extend(section)


def write(pages: list[Page], folder: Path, rng: random.Random) -> dict[tuple[str, int], Piece]:
    """Write the second version, 10 % of the files renamed; return (file, start) -> piece."""
    places: dict[tuple[str, int], Piece] = {}
    for page in pages:
        path = folder / page.file
        name = page.file
        if rng.random() < 0.1 and not path.stem.lower().startswith(("index", "readme", "summary")):
            name = str(Path(page.file).with_stem(f"{path.stem}-new").as_posix())
            path.unlink()
            _rename_in_contents(folder, page.file, name)
        parts: list[str] = []
        offset = 0
        for piece in page.pieces:
            places[name, offset] = piece
            parts += (piece.text, piece.tail)
            offset += len(piece.text) + len(piece.tail)
        (folder / name).write_bytes("".join(parts).encode())
    return places


def _rename_in_contents(folder: Path, old: str, new: str) -> None:
    """Apply a rename to every table of contents that names the file."""
    for name in ("SUMMARY.md", "src/SUMMARY.md", "website/sidebars.json", "sidebars.js"):
        contents = folder / name
        if contents.is_file():
            text = contents.read_text("utf-8")
            for prefix in ("", "src/", "docs/", "contents/"):
                before = old.removeprefix(prefix).rsplit(".", 1)[0]
                after = new.removeprefix(prefix).rsplit(".", 1)[0]
                for quote in ('"', "'", "(", ".md)"):
                    end = {"(": ".md"}.get(quote, quote)
                    text = text.replace(f"{quote}{before}{end}", f"{quote}{after}{end}")
            contents.write_text(text, "utf-8")


def measure(folder: Path, seed: int) -> dict[str, object]:
    rng = random.Random(seed)
    first, ledger = keep_ids(read_book(folder), Ledger())
    pages = pages_of(first)
    edit(pages, rng)
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / folder.name
        shutil.copytree(folder, copy)
        places = write(pages, copy, rng)
        second, _ = keep_ids(read_book(copy, book_id=first.id), ledger)
    old_ids = {block.paragraph_id for block in first.blocks() if block.paragraph_id}
    counts = dict.fromkeys(("unchanged", "unchanged_kept", "edited", "edited_kept", "wrong"), 0)
    for block in second.blocks():
        piece = places.get((block.file, block.start))
        if piece is None or not block.paragraph_id:
            continue
        if not piece.old_id:
            counts["wrong"] += block.paragraph_id in old_ids
            continue
        kind = "edited" if piece.edited else "unchanged"
        counts[kind] += 1
        counts[f"{kind}_kept"] += block.paragraph_id == piece.old_id
        counts["wrong"] += block.paragraph_id != piece.old_id and block.paragraph_id in old_ids
    return {
        "book": first.id,
        **counts,
        "unchanged_keep": round(counts["unchanged_kept"] / max(1, counts["unchanged"]), 4),
        "edited_keep": round(counts["edited_kept"] / max(1, counts["edited"]), 4),
        "silently_wrong": round(
            counts["wrong"] / max(1, counts["edited"] + counts["unchanged"]), 4
        ),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("books", nargs="+", type=Path)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    for folder in options.books:
        print(json.dumps(measure(folder.resolve(), options.seed)))


if __name__ == "__main__":
    main()
