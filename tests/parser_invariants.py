"""What holds for every page that the parser reads, whatever is written in it."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from app.domain.document import Document
from app.domain.page_links import page_links


def letters(text: str) -> list[str]:
    """Return the letters and digits of a text, normalised: what must be found in the source."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return [character for character in folded if character.isalnum()]


def is_subsequence(part: Iterable[str], whole: Iterable[str]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


def is_written_in(text: str, source: str) -> bool:
    """True if the letters of `text` are found in `source` in order, entities read or not."""
    wanted = letters(text)
    return is_subsequence(wanted, letters(html.unescape(source))) or is_subsequence(
        wanted, letters(source)
    )


def assert_lines_of(library: Path, text: str) -> None:
    """Each line of an included text is written in some file of the book."""
    files = [path.read_text(encoding="utf-8") for path in library.rglob("*.*") if path.is_file()]
    for line in text.splitlines():
        assert any(is_written_in(line, file) for file in files), line


def refers(source: str) -> bool:
    """True if the source may show the title or the number of another place: a role, `[](x.md)`."""
    return "}`" in source or "[](" in source


def assert_sound(page: Document, library: Path | None = None) -> None:
    """Spans lie in the file, in order; every text is found there; nothing is counted twice."""
    source, last = str(page.source), 0
    for block in page.blocks:
        assert last <= block.start <= block.end <= len(source), block
        last = block.end
        assert block.text.strip(), block
        if block.included and library is not None:
            assert (library / block.included).is_file()
            assert_lines_of(library, block.text)
        else:
            written = source[block.start : block.end]
            shown = block.runs if refers(written) else block.text
            assert is_written_in(shown, written), (block, written)
        at = block.start
        for part in block.parts:
            assert at <= part.start <= part.end <= block.end, (block, part)
            at = part.end
            if not block.included and not refers(source[part.start : part.end]):
                assert is_written_in(part.text, source[part.start : part.end]), (block, part)
    nonblank = sum(not character.isspace() for character in source) - source.startswith("\ufeff")
    assert page.nonblank == nonblank
    assert page.covered == nonblank, [source[start:end] for start, end in page.unknown]
    assert len(page_links(page)) == len(page.blocks)
