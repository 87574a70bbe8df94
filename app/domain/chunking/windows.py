"""The strategies `fixed` and `recursive`, which cut a document's text as one string."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.domain.chunking.builder import GAP, ChunkDraft
from app.domain.chunking.config import ChunkingTools, FixedConfig, RecursiveConfig, Separators
from app.domain.chunking.pieces import Piece
from app.domain.document import Block, BlockKind, Document, Span
from app.domain.fences_and_tables import fence_lines
from app.domain.terms import SENTENCE_END


def fixed(document: Document, sizes: FixedConfig, tools: ChunkingTools) -> list[ChunkDraft]:  # noqa: ARG001 - as all strategies
    """Cut into windows of a fixed number of characters; the next one repeats the end."""
    return cut(document, lambda text: _windows(text, sizes))


def recursive(document: Document, sizes: RecursiveConfig, tools: ChunkingTools) -> list[ChunkDraft]:
    """Cut at a hierarchy of separators."""
    markdown = sizes.separators is Separators.MARKDOWN
    return cut(document, lambda text: tools.split_recursively(text, sizes), markdown=markdown)


def cut(
    document: Document, split: Callable[[str], Iterable[Span]], *, markdown: bool = False
) -> list[ChunkDraft]:
    """Return the chunks that `split` makes of the blocks' texts, joined by blank lines.

    It returns half-open, ascending ranges; empty ones are dropped. With `markdown`, marks of
    headings and code are between the texts, to be cut at.
    """
    blocks = [one for one in document.blocks if one.text]
    text, starts = "", []
    for block in blocks:
        before, after = _marks(block) if markdown else ("", "")
        text += f"{GAP if text else ''}{before}"
        starts.append(len(text))
        text += block.text + after
    drafts: list[ChunkDraft] = []
    done = 0
    for start, end in split(text):
        overlap = list(_pieces(blocks, starts, start, min(done, end)))
        if own := list(_pieces(blocks, starts, max(start, done), end)):
            drafts.append(ChunkDraft(own, overlap))
            done = end
    return drafts


def _pieces(
    blocks: Sequence[Block], starts: Sequence[int], start: int, end: int
) -> Iterator[Piece]:
    """Yield the parts of the blocks in a range of the text, in which they begin at `starts`."""
    for number in range(max(bisect_right(starts, start) - 1, 0), len(blocks)):
        block, at = blocks[number], starts[number]
        if at >= end:
            return
        text = block.text[: end - at].rstrip()
        first = max(start - at, 0)
        first += len(text[first:]) - len(text[first:].lstrip("\r\n"))
        if first < len(text):
            yield Piece(block, first, len(text))


def _windows(text: str, config: FixedConfig) -> Iterator[Span]:
    start = end = 0
    while end < len(text):
        end = min(start + config.size, len(text))
        if config.prefer_sentence_ends and end < len(text):
            half = start + (end - start) // 2
            # One character more shows whether a full stop at the end is inside a number.
            ends = (one.end() for one in SENTENCE_END.finditer(text, half, end + 1))
            end = max((at for at in ends if at <= end), default=end)
        yield start, end
        start = max(end - config.overlap, start + 1)


def _marks(block: Block) -> tuple[str, str]:
    """Return what Markdown writes before and after the block's text."""
    if block.kind is BlockKind.HEADING:
        return "#" * (block.level or 6) + " ", ""
    if block.kind is BlockKind.CODE:
        opening, closing = fence_lines(block.text, block.language)
        return f"{opening}\n", f"\n{closing}"
    return "", ""
