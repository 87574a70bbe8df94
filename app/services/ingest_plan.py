"""Request, plan and report of an ingest; the plan is made before anything is changed."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import StrategyName
from app.domain.cost import Tariff
from app.domain.document import BlockKind, Book, Site
from app.domain.edition import ONLY, Edition
from app.domain.ledger import Ledger


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest. `site` and `book` are detected from the folder if None."""

    folder: Path
    book: BookId | None = None
    site: Site | None = None
    base_url: str = ""
    strategy: StrategyName = StrategyName.STRUCTURE
    exclude_kinds: frozenset[BlockKind] = frozenset()
    dry_run: bool = False
    edition: Edition = ONLY
    """The version and locale to ingest, of those that the site has."""
    opened: object = None
    """The edition, if it has been opened to list all of them: it is not opened again. Only what
    reads books looks into it."""


class Changes(NamedTuple):
    """Numbers of chunks, see `compare`."""

    added: int = 0
    changed: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a run did; with `dry_run`, what it would do."""

    book: BookId
    book_version: str
    files: int
    blocks: dict[str, int]
    chunks: int
    added: int = 0
    changed: int = 0
    removed: int = 0
    embedded: int = 0
    """Texts sent to the embedder; the vectors of the other chunks are cached, or the same ones."""
    tokens: int = 0
    """Tokens of the texts sent, counted locally."""
    billed_tokens: int = 0
    """Tokens billed by the provider; 0 for a local model."""
    batches: int = 0
    """Calls to the embedder."""
    minutes: float = 0.0
    """Minutes that the calls take within the provider's rate limits."""
    usd: float | None = 0.0
    """Price of the tokens in US dollars; None if the model's price is unknown."""
    faults: list[str] = field(default_factory=list)
    """Damage in the old generation, which made this run write a new one."""
    unchanged: bool = False
    """Whether nothing was written, because the index was up to date."""
    generation: int = 0
    """The generation with this version of the book; 0 before the first."""
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds by phase."""
    excluded: dict[str, int] = field(default_factory=dict)
    """Blocks excluded on request, by kind."""
    warnings: list[str] = field(default_factory=list)
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class IngestPlan:
    request: IngestRequest
    book: Book
    chunks: Sequence[Chunk]
    fingerprint: str
    missing: list[str]
    """The vector keys to embed, in reading order."""
    ledger: Ledger | None
    """The new ledger; None if it is the stored one."""
    report: IngestReport
    """Its numbers, as far as they are known before."""


def planned_report(
    request: IngestRequest,
    book: Book,
    chunks: Sequence[Chunk],
    changes: Changes,
    counts: Sequence[int],
    tariff: Tariff,
) -> IngestReport:
    """`counts` are the tokens of the texts to embed."""
    kinds = Counter(block.kind for block in book.blocks())
    return IngestReport(
        book=book.id,
        book_version=book.version,
        files=len(book.documents),
        blocks={kind.value: count for kind, count in sorted(kinds.items())},
        chunks=len(chunks),
        **changes._asdict(),
        embedded=len(counts),
        tokens=sum(counts),
        batches=sum(1 for _ in tariff.batches(counts)),
        minutes=round(tariff.minutes(counts), 2),
        usd=tariff.usd(counts),
        excluded={one.value: kinds[one] for one in sorted(request.exclude_kinds & kinds.keys())},
        warnings=[*_address_warnings(book), *map(str, book.warnings)],
        dry_run=request.dry_run,
    )


def _address_warnings(book: Book) -> list[str]:
    """Warn about a book whose links name no host."""
    if book.base_url.startswith("http"):
        return []
    if book.base_url:
        where = f"links begin with {book.base_url} and work only on the server of these pages"
        return [f"no --base-url with a host: {where}"]
    return [
        "no --base-url, and the book's site sets none: links are paths and work only on the site"
    ]


def compare(before: Mapping[str, tuple[str, ...]], chunks: Sequence[Chunk]) -> Changes:
    """Compare by chunk id. `before` maps the ids of the indexed chunks to their paragraph ids.

    A new chunk with a paragraph of one that is gone is a changed one: it has other text or another
    file.
    """
    ids = {chunk.chunk_id for chunk in chunks}
    gone = [held for chunk_id, held in before.items() if chunk_id not in ids]
    new = [chunk.paragraph_ids for chunk in chunks if chunk.chunk_id not in before]
    added = sum(map({*chain(*gone)}.isdisjoint, new))
    removed = sum(map({*chain(*new)}.isdisjoint, gone))
    return Changes(added, len(new) - added, removed)


def fingerprint(chunks: Iterable[Chunk], *settings: object) -> str:
    """Return a hash of everything that determines the stored data.

    `settings` are the model, the encoder and whatever else determines vectors.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for chunk in chunks:
        digest.update(repr(chunk).encode())
    return digest.hexdigest()
