"""Request and report of an ingest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from app.domain.book_id import BookId
from app.domain.chunking.config import OverlapScope
from app.domain.document import BlockKind, Site


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """What to ingest. `site` and `book` are detected from the folder if None."""

    folder: Path
    book: BookId | None = None
    site: Site | None = None
    base_url: str = ""
    strategy: str = "structure"
    overlap_scope: OverlapScope = OverlapScope.PAGE
    exclude_kinds: frozenset[BlockKind] = frozenset()
    include_orphans: bool = False
    skip_refused: bool = False
    """Skip files above the reading budget instead of stopping."""
    dry_run: bool = False
    force: bool = False
    """Write a generation even if the index is up to date."""


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
    """Chunks that replace an old one: they share paragraphs, but the text differs."""
    removed: int = 0
    embedded: int = 0
    """Texts sent to the embedder."""
    reused: int = 0
    """Chunks whose vector was cached or equals that of another chunk in this run."""
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
    """Nothing was written: the index was up to date."""
    generation: int = 0
    """The generation with this version of the book; 0 before the first."""
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds by phase."""
    excluded: dict[str, int] = field(default_factory=dict)
    """Blocks excluded on request, by kind."""
    warnings: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    dry_run: bool = False

    def of_the_next_run(self) -> IngestReport:
        """Return the report of a next run that finds nothing changed."""
        return IngestReport(
            self.book,
            self.book_version,
            self.files,
            self.blocks,
            self.chunks,
            unchanged=True,
            generation=self.generation,
            excluded=self.excluded,
            warnings=self.warnings,
            orphans=self.orphans,
        )


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run on a book.

    `stamp` hashes the input except the ledger, `ledger` is the ledger's revision after the run, and
    `fingerprint` hashes the result.
    """

    stamp: str
    ledger: str
    fingerprint: str
    report: IngestReport

    def to_text(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> LastRun | None:
        """Parse `to_text`; None if it is empty or of another version of the program."""
        try:
            data = json.loads(text)
            return cls(**{**data, "report": IngestReport(**data["report"])})
        except (ValueError, TypeError, KeyError):
            return None
