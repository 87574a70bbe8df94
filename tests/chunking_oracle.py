"""What every chunk of the strategy `structure` promises; each check yields what breaks it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import PackingConfig
from app.domain.chunking.structure import continues, leads_in
from app.domain.document import Block, BlockKind, Document
from tests.chunking_documents import tools

ATOMIC = {BlockKind.CODE, BlockKind.TABLE, BlockKind.LIST, BlockKind.MATH, BlockKind.GLOSSARY_ENTRY}
APART = {BlockKind.GLOSSARY_ENTRY, BlockKind.SOLUTION}
NEVER_REPEATED = {*APART, BlockKind.EXERCISE}
_GAP = 4
"""Most tokens of the blanks between two blocks."""


@dataclass(frozen=True)
class Given:
    document: Document
    chunks: Sequence[Chunk]
    config: PackingConfig = field(default_factory=PackingConfig)

    @property
    def blocks(self) -> Sequence[Block]:
        return self.document.blocks

    @property
    def by_id(self) -> dict[str, Block]:
        return {one.paragraph_id: one for one in self.document.blocks}

    def passages(self) -> dict[str, list[tuple[int, Passage]]]:
        """Paragraph id to (index of the chunk, passage)."""
        found: defaultdict[str, list[tuple[int, Passage]]] = defaultdict(list)
        for number, chunk in enumerate(self.chunks):
            for passage in chunk.passages:
                found[passage.paragraph_id].append((number, passage))
        return found

    def fits(self, *blocks: Block) -> bool:
        counts = [tools().count_tokens(block.text) + _GAP for block in blocks]
        return sum(counts) - _GAP <= self.config.maximum


def check_text(given: Given) -> Iterator[str]:
    for chunk in given.chunks:
        texts = [passage.text for passage in chunk.passages]
        if chunk.text_content != "\n\n".join(texts):
            yield f"{chunk.chunk_index}: its text is not that of its passages"
        if any(a > b for a, b in chunk.spans) or any(
            one[1] >= two[0] for one, two in pairwise(chunk.spans)
        ):
            yield f"{chunk.chunk_index}: spans are not ascending and disjoint"
        for one in chunk.passages:
            block = given.by_id[one.paragraph_id]
            if one.own_text != block.text[one.offset : one.stop]:
                yield f"{chunk.chunk_index}: a passage is not its paragraph's text"
            if one.heading_path != block.heading_path:
                yield f"{chunk.chunk_index}: a passage is under a wrong heading"
            if not block.start <= one.start <= one.end <= block.end:
                yield f"{chunk.chunk_index}: a passage has a source outside its block"


def check_coverage(given: Given) -> Iterator[str]:
    held = given.passages()
    paths = {chunk.heading_path[:depth] for chunk in given.chunks for depth in range(9)}
    for block in given.blocks:
        missing = set(range(len(block.text)))
        for _, one in held[block.paragraph_id]:
            missing -= set(range(one.offset, one.stop))
        in_path = block.kind is BlockKind.HEADING and block.heading_path in paths
        if not in_path and "".join(block.text[at] for at in missing).strip():
            yield f"{block.start}: {block.kind} is not whole in the chunks"


def check_integrity(given: Given) -> Iterator[str]:
    held = given.passages()
    for block in given.blocks:
        whole = any(one.own_text == block.text for _, one in held[block.paragraph_id])
        if block.kind in ATOMIC and not whole and given.fits(block):
            yield f"{block.start}: {block.kind} is torn"


def check_size(given: Given) -> Iterator[str]:
    for chunk in given.chunks:
        exact = tools().count_tokens(chunk.text_content)
        if exact != chunk.token_count or exact > given.config.maximum:
            yield f"{chunk.chunk_index}: {exact} tokens, said to be {chunk.token_count}"


def check_overlap(given: Given) -> Iterator[str]:
    if given.chunks and (given.chunks[0].overlap_start or given.chunks[-1].overlap_end):
        yield "overlap without a neighbour"
    for before, chunk in pairwise(given.chunks):
        if before.overlap_end != chunk.overlap_start:
            yield f"{chunk.chunk_index}: {before.overlap_end} tokens before, {chunk.overlap_start}"
        if chunk.overlap_start and not repeated_text(before, chunk):
            yield f"{chunk.chunk_index}: does not begin with the end of the chunk before"
        if chunk.overlap_start and chunk.passages[0].kind in NEVER_REPEATED:
            yield f"{chunk.chunk_index}: repeats an exercise, a solution or a glossary entry"


def repeated_text(before: Chunk, chunk: Chunk) -> str:
    """The text that ends one chunk and begins the next, of as many tokens as they say."""
    text = chunk.text_content
    ends = (at for at in range(len(text), 0, -1) if before.text_content.endswith(text[:at]))
    count = tools().count_tokens
    return next((text[:at] for at in ends if count(text[:at]) == chunk.overlap_start), "")


def check_headings(given: Given) -> Iterator[str]:
    """No chunk ends with a heading, unless its section is empty."""
    blocks = given.blocks
    empty = {
        one.paragraph_id
        for one, two in zip(blocks, [*blocks[1:], None], strict=False)
        if two is None or (two.kind is BlockKind.HEADING and two.level <= one.level)
    }
    for chunk in given.chunks:
        last = chunk.passages[-1]
        if last.kind is BlockKind.HEADING and last.paragraph_id not in empty:
            yield f"{chunk.chunk_index}: ends with a heading"


def check_lead_ins(given: Given) -> Iterator[str]:
    held = given.passages()
    blocks = [one for one in given.blocks if one.kind not in APART]
    runs: list[list[Block]] = [[]]
    for one, two in zip(blocks, [*blocks[1:], None], strict=False):
        runs[-1].append(one)
        glued = two is not None and (leads_in(one, two) or continues(one, two))
        if not glued and one.kind is not BlockKind.HEADING:
            runs.append([])
    for run in runs:
        for one, two in pairwise(run):
            ends = {n for n, part in held[one.paragraph_id] if part.stop == len(one.text)}
            starts = {n for n, part in held[two.paragraph_id] if part.offset == 0}
            if leads_in(one, two) and given.fits(*run) and not ends & starts:
                yield f"{one.start}: lead-in is separated from its block"


def check_purity(given: Given) -> Iterator[str]:
    for chunk in given.chunks:
        body = [one for one in chunk.passages if one.kind is not BlockKind.HEADING]
        entries = {one.paragraph_id for one in body if one.kind is BlockKind.GLOSSARY_ENTRY}
        if len(entries) > 1 or len({one.kind in APART and one.kind for one in body}) > 1:
            yield f"{chunk.chunk_index}: mixes glossary entries or solutions with other text"


def check_identity(given: Given) -> Iterator[str]:
    ids = [chunk.chunk_id for chunk in given.chunks]
    if len(set(ids)) < len(ids):
        yield "two chunks have one id"
    if [chunk.chunk_index for chunk in given.chunks] != list(range(len(ids))):
        yield "positions are not 0, 1, 2 and so on"


ANY_STRATEGY = (check_text, check_coverage, check_identity)
STRUCTURE: tuple[Callable[[Given], Iterator[str]], ...] = (
    *ANY_STRATEGY,
    check_integrity,
    check_size,
    check_overlap,
    check_headings,
    check_lead_ins,
    check_purity,
)


def breaches(
    document: Document,
    chunks: Sequence[Chunk],
    config: PackingConfig | None = None,
    checks: Sequence[Callable[[Given], Iterator[str]]] = STRUCTURE,
) -> Mapping[str, Sequence[str]]:
    """What is broken, by the name of the check; empty if all is well."""
    given = Given(document, chunks, config or PackingConfig())
    found = {check.__name__.removeprefix("check_"): [*check(given)] for check in checks}
    return {name: broken for name, broken in found.items() if broken}
