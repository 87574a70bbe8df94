"""What is asked of an ingest and what it says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from app.domain.book_id import BookId
from app.domain.document import BlockKind, Site


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """`site` and `book` are found out from the folder when None."""

    folder: Path
    book: BookId | None = None
    site: Site | None = None
    base_url: str = ""
    strategy: str = "structure"
    exclude_kinds: frozenset[BlockKind] = frozenset()
    include_orphans: bool = False
    skip_refused: bool = False
    """Leave out a file that holds more than the reading budget, instead of stopping there."""
    dry_run: bool = False
    force: bool = False
    """Write a generation though the index has it all."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a run did; with `dry_run` what it would do."""

    book: BookId
    book_version: str
    files: int
    blocks: dict[str, int]
    chunks: int
    added: int = 0
    changed: int = 0
    """Chunks that took the place of an old one: some of the same paragraphs, other text."""
    removed: int = 0
    embedded: int = 0
    """Texts sent to the embedder."""
    reused: int = 0
    """Chunks whose vector was in the cache, or in another chunk's text of this run."""
    tokens: int = 0
    """Tokens of the texts sent, by our own count."""
    billed_tokens: int = 0
    """Tokens that the provider billed; 0 for a model in this process."""
    batches: int = 0
    """Calls that the texts fill."""
    minutes: float = 0.0
    """That the provider's rate limits allow them in."""
    usd: float | None = 0.0
    """Price of the tokens, billed or to be billed; None when the model's is not known."""
    faults: list[str] = field(default_factory=list)
    """What was damaged in the index, which is why it was written anew."""
    unchanged: bool = False
    """Nothing was written, as the index has it all."""
    generation: int = 0
    """Of the index that holds this version of the book; 0 before there is one."""
    seconds: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds by phase."""
    excluded: dict[str, int] = field(default_factory=dict)
    """Blocks left out by their kind, as was asked."""
    warnings: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    dry_run: bool = False

    def of_the_next_run(self) -> IngestReport:
        """What a run says that finds everything as this one left it."""
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
class Memory:
    """The last run on a book: `stamp` hashes what went into it but for the ledger, which is at
    `ledger` since, and `fingerprint` what came out.
    """

    stamp: str
    ledger: str
    fingerprint: str
    report: IngestReport

    def to_text(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Memory | None:
        """Return None for what another version of the program wrote, or nobody."""
        try:
            data = json.loads(text)
            return cls(**{**data, "report": IngestReport(**data["report"])})
        except (ValueError, TypeError, KeyError):
            return None
