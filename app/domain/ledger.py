"""The ledger of paragraph ids: what is known of each, and how an id or alias is looked up.

`app.domain.ledger_matching` keeps a paragraph's id when the book is read again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from app.domain.errors import InputError
from app.domain.reading_budget import require_small_numbers

_MAX_ORDER = 2**31


@dataclass(frozen=True, slots=True)
class LedgerParagraph:
    """The data of a paragraph by which the ledger matches it."""

    content_id: str
    """The hash id of its text."""
    text: str
    """Normalised: see `app.domain.identity`."""
    file: str
    heading_path: tuple[str, ...]
    url: str
    author_id: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger. `live` is False for a tombstone: the paragraph is gone."""

    paragraph_id: str
    paragraph: LedgerParagraph
    order: int
    """Position in the book's reading order when it was last seen."""
    live: bool = True
    nearest: str = ""
    """Of a tombstone: the id of the paragraph beside it when it was removed."""


@dataclass(frozen=True, slots=True)
class Located:
    """Result of a look-up; `nearest` is the live entry nearest to a tombstone."""

    entry: Entry
    nearest: Entry | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Entries by paragraph id."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other ids of paragraphs, such as the hash of an edited text -> paragraph id."""

    def resolve(self, paragraph_id: str) -> Entry | None:
        """Return the entry of an id or alias, a tombstone too; None if it was never known."""
        entry = self.entries.get(paragraph_id)
        if (entry is None or not entry.live) and paragraph_id in self.aliases:
            return self.entries.get(self.aliases[paragraph_id])
        return entry

    def locate(self, paragraph_id: str) -> Located | None:
        """Return a paragraph's entry and, if it is gone, the nearest live one; None if unknown."""
        entry = self.resolve(paragraph_id)
        if entry is None:
            return None
        return Located(entry, None if entry.live else self.nearest(entry))

    def nearest(self, gone: Entry) -> Entry | None:
        """Return the live entry beside a tombstone: its neighbour or, if gone too, that one's."""
        entry: Entry | None = gone
        for _ in self.entries:
            if entry is None or entry.live:
                break
            entry = self.resolve(entry.nearest)
        return entry if entry and entry.live else None


def unused_id(base: str, taken: Collection[str], repeats: dict[str, int]) -> str:
    """Return `base` or, if it is taken, the first of `base-2`, `base-3`, ... that is not.

    `repeats` keeps the last number of each base. Ids are never freed, so lower ones are skipped.
    """
    free = base
    while free in taken:
        repeats[base] = repeats.get(base, 1) + 1
        free = f"{base}-{repeats[base]}"
    return free


def to_lines(ledger: Ledger) -> Iterator[str]:
    """Yield one JSON object per line, sorted by id, so that exports can be compared by `diff`."""
    for _, entry in sorted(ledger.entries.items()):
        yield json.dumps(asdict(entry), ensure_ascii=False)
    for alias, paragraph_id in sorted(ledger.aliases.items()):
        yield json.dumps({"alias": alias, "paragraph_id": paragraph_id}, ensure_ascii=False)


def from_lines(lines: Iterable[str], name: str) -> Ledger:
    """Read the lines of `to_lines`. InputError, with the line's number, for any other line."""
    entries: dict[str, Entry] = {}
    aliases: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            require_small_numbers(row)
            json.dumps(row, ensure_ascii=False).encode()  # raises for half of a surrogate pair
            if "alias" in row:
                aliases[_text(row["alias"])] = _text(row["paragraph_id"])
            else:
                inner = row["paragraph"] | {"heading_path": tuple(row["paragraph"]["heading_path"])}
                paragraph = LedgerParagraph(**_checked(inner, _ENTRY.paragraph))
                entry = Entry(**_checked(row | {"paragraph": paragraph}, _ENTRY))
                entries[entry.paragraph_id] = entry
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = (
                f"{name}:{number}: not a line of a ledger ({error}); give a file of "
                "`textbook-rag links BOOK --ledger`"
            )
            raise InputError(message) from error
    return Ledger(entries, aliases)


_ENTRY = Entry("", LedgerParagraph("", "", "", (), ""), 0)


def _checked(row: Mapping[str, Any], sample: object) -> Mapping[str, Any]:
    """Return the fields of a line. TypeError if one has another type than in the sample."""
    _text(*row.get("heading_path", ()))
    for name, value in row.items():
        if type(value) is not type(getattr(sample, name)):
            message = f"{name} has another type"
            raise TypeError(message)
    if not 0 <= row.get("order", 0) <= _MAX_ORDER:
        message = f"order is not a number from 0 to {_MAX_ORDER}"
        raise TypeError(message)
    return row


def _text(*texts: str) -> str:
    """Join texts. TypeError if one is of another type."""
    return "".join(texts)
