"""Builds chunks from pieces: text, exact spans, context, passages and ids."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha1
from itertools import groupby, takewhile

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.chunk_pieces import UNCOUNTED, ChunkPiece
from app.domain.chunking.config import ChunkingConfig, StrategyName
from app.domain.chunking.tools import ChunkingTools, JoinCounter
from app.domain.document import Block, BlockKind, Book, Document, Span
from app.domain.fast_dataclass import fast_dataclass
from app.domain.fences_and_tables import with_whole_fences

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "chunk.textbook-rag")
_EDGE = 80
GAP = "\n\n"
"""Separator of texts that are not adjacent in the source."""


@fast_dataclass(frozen=True, slots=True)
class ChunkDraft:
    """The content of one chunk."""

    pieces: Sequence[ChunkPiece]
    overlap: Sequence[ChunkPiece] = ()
    """Pieces repeated from the end of the previous draft."""
    head: ChunkPiece | None = None
    """Table header or lead-in of a list that began earlier, repeated as context."""


@fast_dataclass(frozen=True, slots=True)
class Rendered:
    text: str
    tokens: int
    spans: tuple[Span, ...]
    context: tuple[Span, ...]


@dataclass(slots=True)
class Renderer:
    """Joins pieces of a file; pieces with only blanks between them become one span."""

    source: str
    joins: JoinCounter

    def render(self, pieces: Sequence[ChunkPiece], head: ChunkPiece | None = None) -> Rendered:
        if len(pieces) == 1 and head is None and not pieces[0].included_text:
            return self._alone(pieces[0])
        spans, parts = self._layout(pieces, head)
        text, context = self._joined(parts)
        tokens = self._token_sum(pieces) if head is None else None
        if tokens is None:
            tokens = self.joins.count_tokens(text)
        return Rendered(text, tokens, tuple(spans), context)

    def _layout(
        self, pieces: Sequence[ChunkPiece], head: ChunkPiece | None
    ) -> tuple[list[Span], list[str | Span]]:
        """Return the spans, and the parts of the text: these spans and context."""
        spans: list[Span] = []
        parts: list[str | Span] = [] if head is None else [self.source[head.start : head.end]]
        before: Span | None = None
        for piece in pieces:
            span = (piece.start, piece.end)
            is_open = bool(spans) and parts[-1] is spans[-1]
            if is_open and self._blanks(spans[-1][1], piece.start) is not None:
                spans[-1] = parts[-1] = (spans[-1][0], piece.end)
            elif span != before:
                spans.append(span)
                parts.append(spans[-1])
            if piece.included_text:
                parts.append(piece.included_text)
            before = span
        return spans, parts

    def _token_sum(self, pieces: Sequence[ChunkPiece]) -> int | None:
        """Return the tokens of the text, computed from its pieces; None if unknown."""
        total = 0
        before: ChunkPiece | None = None
        for piece in pieces:
            added = self._added_tokens(before, piece)
            if added is None or piece.included_text or piece.tokens == UNCOUNTED:
                return None
            total += piece.tokens + added
            before = piece
        return total

    def _alone(self, piece: ChunkPiece) -> Rendered:
        text = self.source[piece.start : piece.end]
        tokens = self.joins.count_tokens(text) if piece.tokens == UNCOUNTED else piece.tokens
        return Rendered(text, tokens, ((piece.start, piece.end),), ())

    def _blanks(self, end: int, start: int) -> str | None:
        """Return the blanks between two spans; None if they overlap or have text between them."""
        if end > start:
            return None
        gap = self.source[end:start]
        return gap if not gap or gap.isspace() else None

    def _added_tokens(self, before: ChunkPiece | None, piece: ChunkPiece) -> int | None:
        if before is None:
            return 0
        blanks = self._blanks(before.end, piece.start)
        # Only the text next to the gap matters.
        left = self.source[max(before.start, before.end - _EDGE) : before.end]
        right = self.source[piece.start : min(piece.start + _EDGE, piece.end)]
        return self.joins.added(left, GAP if blanks is None else blanks, right)

    def _joined(self, parts: Sequence[str | Span]) -> tuple[str, tuple[Span, ...]]:
        texts: list[str] = []
        context: list[Span] = []
        length = 0
        for part in parts:
            if texts:
                length += len(GAP)
            if isinstance(part, str):
                texts.append(part)
                context.append((length, length + len(part)))
            else:
                texts.append(self.source[part[0] : part[1]])
            length += len(texts[-1])
        return GAP.join(texts), tuple(context)


@dataclass(slots=True)
class ChunkBuilder:
    """Builds the chunks of one document, in order."""

    document: Document
    book: Book
    strategy: StrategyName
    config: ChunkingConfig
    tools: ChunkingTools
    exact_passages: bool = True
    """Whether pieces end at cut points, so that overlap and own text are separate passages."""
    seen: Counter[bytes] = field(default_factory=Counter)
    """Number of chunks so far by hash of their text."""
    origin: str = field(init=False)
    """Common prefix of the names that the chunk ids hash."""
    renderer: Renderer = field(init=False)

    def __post_init__(self) -> None:
        fingerprint = self.config.fingerprint(self.strategy)
        origin = (self.book.id, self.strategy, fingerprint, self.document.file, "")
        self.origin = "\x1f".join(origin)
        self.renderer = Renderer(self.document.source, self.tools.joins)

    def build(self, drafts: Sequence[ChunkDraft]) -> Iterator[Chunk]:
        """Yield the chunks one at a time, so that not all need to be in memory."""
        repeated = [
            self._overlap_tokens(before, draft)
            for before, draft in zip([None, *drafts], drafts, strict=False)
        ]
        following = [*repeated[1:], 0]
        # Without drafts, `following` still has one element.
        joined = zip(drafts, repeated, following, strict=False)
        for index, (draft, start, end) in enumerate(joined):
            yield self._chunk(index, draft, start, end)

    def _overlap_tokens(self, before: ChunkDraft | None, draft: ChunkDraft) -> int:
        if draft.overlap:
            return self.renderer.render(draft.overlap).tokens
        first = draft.pieces[0]
        if before is None or not (first.included_text and before.pieces[-1].included_text):
            return 0
        if (first.start, first.end) != (before.pieces[-1].start, before.pieces[-1].end):
            return 0
        # Both chunks hold the directive of the included file.
        return self.tools.count_tokens(self.document.source[first.start : first.end])

    def _chunk(self, index: int, draft: ChunkDraft, overlap_start: int, overlap_end: int) -> Chunk:
        document, own = self.document, draft.pieces
        rendered = self.renderer.render([*draft.overlap, *own], draft.head)
        path = _common_path(own)
        body = [piece for piece in own if piece.block.kind is not BlockKind.HEADING] or own
        ids = (piece.block.paragraph_id for piece in [*body, *draft.overlap])
        return Chunk(
            chunk_id=self._id(rendered.text),
            book=self.book.id,
            book_version=self.book.version,
            chunk_index=index,
            file=document.file,
            position=document.position,
            text_content=rendered.text,
            token_count=rendered.tokens,
            overlap_start=overlap_start,
            overlap_end=overlap_end,
            paragraph_ids=tuple(dict.fromkeys(ids)),
            content_type=_main_kind(body),
            chapter=document.chapter,
            section=path[-1] if path else document.title,
            heading_path=path,
            spans=rendered.spans,
            deep_link_url=self.tools.link(body[0].block),
            language=document.language,
            passages=tuple(self._passages(draft, path)),
            context=rendered.context,
            chapter_number=document.chapter_number,
        )

    def _id(self, text: str) -> str:
        """Hash the text and its number among equal texts: chunks with other texts do not matter."""
        digest = sha1(text.encode(), usedforsecurity=False).digest()
        self.seen[digest] += 1
        return str(uuid.uuid5(NAMESPACE, f"{self.origin}{text}\x1f{self.seen[digest]}"))

    def _passages(self, draft: ChunkDraft, path: tuple[str, ...]) -> list[Passage]:
        if len(draft.pieces) == 1 and not draft.overlap and draft.head is None:
            return [self._passage(draft.pieces)]
        runs = [] if draft.head is None else [[draft.head]]
        for group in self._groups(draft, path):
            runs += _by_block(group)
        passages = [self._passage(run) for run in runs]
        # A piece without text is only mark-up, such as the first line of a code block.
        shown = [passage for passage in passages if passage.text]
        return shown or [self._in_place_of_markup(passages[0], draft.pieces[0].block)]

    def _groups(self, draft: ChunkDraft, path: tuple[str, ...]) -> Sequence[Sequence[ChunkPiece]]:
        """Return the pieces that may share a passage, without headings of the path."""
        both = [*draft.overlap, *draft.pieces]
        groups = [draft.overlap, draft.pieces] if self.exact_passages else [both]
        if any(piece.block.kind is not BlockKind.HEADING for piece in draft.pieces):
            return [_without_path(group, path) for group in groups]
        return groups

    def _in_place_of_markup(self, passage: Passage, block: Block) -> Passage:
        """Return the whole block, or its title if that is too long, for a chunk without text."""
        if self.tools.count_tokens(block.text) > self.config.structure.maximum:
            return replace(passage, text=block.title or block.text.partition("\n")[0])
        return replace(passage, text=block.text, start=block.start, end=block.end)

    def _passage(self, run: Sequence[ChunkPiece]) -> Passage:
        """Make one passage of consecutive pieces of one block."""
        block, start, end = run[0].block, run[0].start, run[-1].end
        if run[0].included_text:
            start, end = block.start, block.end
        text, verbatim = self._text(run, start, end)
        if text != block.text and not verbatim and block.kind is not BlockKind.CODE:
            text = with_whole_fences(text, run[0].fence).strip("\n")
        return Passage(
            paragraph_id=block.paragraph_id,
            kind=block.kind,
            text=text,
            start=start,
            end=end,
            url=self.tools.link(block),
            heading_path=block.heading_path,
            terms=block.terms,
            verbatim=verbatim,
            language=block.language,
        )

    def _text(self, run: Sequence[ChunkPiece], start: int, end: int) -> tuple[str, bool]:
        """Return the text of the run, and whether it is the source at `start:end`."""
        if len(run) == 1:
            return run[0].text, run[0].verbatim
        block = run[0].block
        if (start, end) == (block.start, block.end) and not any(p.included_text for p in run):
            return block.text, False
        if any(piece.verbatim for piece in run):
            return self.document.source[start:end], True
        return _joined_texts(run), False


def _joined_texts(run: Sequence[ChunkPiece]) -> str:
    shown = [piece for piece in run if piece.text]
    return "".join(
        piece.joiner + piece.text if number else piece.text for number, piece in enumerate(shown)
    )


def _by_block(pieces: Sequence[ChunkPiece]) -> list[list[ChunkPiece]]:
    """Runs of pieces of one block."""
    return [list(run) for _, run in groupby(pieces, key=lambda piece: id(piece.block))]


def is_above(heading: ChunkPiece, path: tuple[str, ...]) -> bool:
    """Whether this is a heading that is part of the heading path."""
    own = heading.block.heading_path
    return heading.block.kind is BlockKind.HEADING and bool(own) and path[: len(own)] == own


def _without_path(pieces: Sequence[ChunkPiece], path: tuple[str, ...]) -> list[ChunkPiece]:
    return [piece for piece in pieces if not is_above(piece, path)]


def _common_path(pieces: Sequence[ChunkPiece]) -> tuple[str, ...]:
    body = {p.block.heading_path for p in pieces if p.block.kind is not BlockKind.HEADING}
    paths = body or {piece.block.heading_path for piece in pieces}
    if len(paths) == 1:
        return paths.pop()
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))
    return tuple(names[0] for names in shared)


def _main_kind(pieces: Sequence[ChunkPiece]) -> str:
    """Return the kind with most text; the first in reading order if several are equal."""
    sizes: Counter[str] = Counter()
    for piece in pieces:
        sizes[piece.block.kind.value] += len(piece.text)
    return sizes.most_common(1)[0][0]
