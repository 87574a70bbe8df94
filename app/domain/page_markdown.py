"""A page of a book, a paragraph or a part of one, as Markdown."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.fences_and_tables import fence_lines, table_rows, with_rule
from app.domain.retrieval.context_assembly import paragraphs_of


def passage_markdown(passage: Passage) -> str:
    return "".join(part_markdown(passage, 0, len(passage.text)))


def part_markdown(passage: Passage, start: int, end: int) -> tuple[str, str, str]:
    """Return `passage.text[start:end]`: mark-up before the text, the text, mark-up after it.

    Rows of a table follow its header. Dots stand for what is left out, of a table below it.
    """
    text = passage.text[start:end]
    if passage.kind is BlockKind.CODE:
        opening, closing = fence_lines(passage.text, passage.language)
        return f"{opening}\n", text, f"\n{closing}"
    if passage.kind is BlockKind.TABLE:
        header = table_rows(passage.text)[0]
        is_rows = start >= header
        before, rows = _rows(passage.text[:header], text) if is_rows else ("", with_rule(text))
        left_out = passage.text[header if is_rows else 0 : start] + passage.text[end:]
        return before, rows, "\n\n\u2026" if left_out.strip() else ""
    apart = "\n\n" if passage.kind is BlockKind.LIST else " "
    cut = (passage.text[:start].strip(), passage.text[end:].strip())
    return f"\u2026{apart}" * bool(cut[0]), text, f"{apart}\u2026" * bool(cut[1])


def _rows(header: str, rows: str) -> tuple[str, str]:
    every = with_rule(f"{header}\n{rows}").split("\n")
    first = len(every) - len(table_rows(f"{header}\n{rows}")[1])
    return "\n".join([*every[:first], ""]), "\n".join(every[first:])


def page_markdown(chunks: Sequence[Chunk]) -> str:
    """Return each paragraph once, below its headings; `chunks` are all of the page."""
    return "\n\n".join(_parts([one for _, one in paragraphs_of(chunks)])) + "\n"


def _parts(passages: Sequence[Passage]) -> Iterator[str]:
    path: tuple[str, ...] = ()
    for at, passage in enumerate(passages):
        if passage.kind is BlockKind.HEADING:  # its title may equal that of the previous section
            path = path[: len(passage.heading_path) - 1]
        pairs = zip(path, passage.heading_path, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        path = passage.heading_path
        for depth, heading in enumerate(path[same:], same + 1):
            yield f"{'#' * min(depth, 6)} {' '.join(heading.split())}"
        if at == 0 and passage.url:
            yield f"Source: {passage.url.partition('#')[0]}"
        if passage.kind is not BlockKind.HEADING:
            yield passage_markdown(passage)
