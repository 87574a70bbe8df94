"""A paragraph of the book, or a part of it, as Markdown."""

from __future__ import annotations

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.fences_and_tables import fence_lines, table_rows, with_rule


def passage_markdown(passage: Passage) -> str:
    """Return a whole paragraph."""
    return "".join(part_markdown(passage, 0, len(passage.text)))


def part_markdown(passage: Passage, start: int, end: int) -> tuple[str, str, str]:
    """Return `passage.text[start:end]`: mark-up before the text, the text, mark-up after it.

    Rows of a table follow its header. Dots stand for what is left out of a sentence's paragraph.
    """
    text = passage.text[start:end]
    if passage.kind is BlockKind.CODE:
        opening, closing = fence_lines(passage.text, passage.language)
        return f"{opening}\n", text, f"\n{closing}"
    if passage.kind is BlockKind.TABLE:
        header = table_rows(passage.text)[0]
        return ("", with_rule(text), "") if start < header else _rows(passage.text[:header], text)
    if passage.kind is BlockKind.LIST:
        return "", text, ""
    cut = (passage.text[:start].strip(), passage.text[end:].strip())
    return "\u2026 " * bool(cut[0]), text, " \u2026" * bool(cut[1])


def _rows(header: str, rows: str) -> tuple[str, str, str]:
    every = with_rule(f"{header}\n{rows}").split("\n")
    first = len(every) - len(table_rows(f"{header}\n{rows}")[1])
    return "\n".join([*every[:first], ""]), "\n".join(every[first:]), ""
