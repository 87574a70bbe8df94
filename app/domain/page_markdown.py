"""A page of a book as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from app.domain.answering.passage_text import passage_markdown
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.context_assembly import paragraphs_of


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
