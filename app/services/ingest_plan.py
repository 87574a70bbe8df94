"""The plan of an ingest, made before anything is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.changes import Changes
from app.domain.chunking.chunk import Chunk
from app.domain.cost import Cost
from app.domain.document import Book
from app.domain.ledger import Ledger
from app.services.ingest_report import IngestReport, IngestRequest
from app.services.ports import BookManifest


@dataclass(frozen=True, slots=True)
class LedgerUpdate:
    """The new ledger; `new` if it differs from the stored one, which has `revision`."""

    ledger: Ledger
    new: bool
    revision: str


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """What an ingest will do. `missing` are the vector keys to embed, in reading order."""

    book: Book
    chunks: Sequence[Chunk]
    fingerprint: str
    published: BookManifest | None
    unchanged: bool
    changes: Changes
    missing: list[str]
    cost: Cost
    warnings: list[str]
    ids: LedgerUpdate
    faults: list[str]
    """Damage found in the published generation."""

    def report(self, request: IngestRequest) -> IngestReport:
        book, cost = self.book, self.cost
        kinds = Counter(block.kind for block in book.blocks())
        return IngestReport(
            book=book.id,
            book_version=book.version,
            files=len(book.documents),
            blocks={kind.value: count for kind, count in sorted(kinds.items())},
            chunks=len(self.chunks),
            added=self.changes.added,
            changed=self.changes.changed,
            removed=self.changes.removed,
            embedded=cost.texts,
            reused=0 if self.unchanged else len(self.chunks) - cost.texts,
            tokens=cost.tokens,
            batches=cost.batches,
            minutes=round(cost.minutes, 2),
            usd=cost.usd,
            faults=self.faults,
            unchanged=self.unchanged,
            generation=self.published.generation if self.published else 0,
            excluded={
                kind.value: kinds[kind] for kind in sorted(request.exclude_kinds & kinds.keys())
            },
            warnings=[*map(str, book.warnings), *self.warnings],
            orphans=list(book.orphans),
        )
