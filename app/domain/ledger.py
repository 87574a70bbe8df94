"""The ledger of paragraph ids: what is known of each, and how an id or alias is looked up.

`app.domain.ledger_matching` keeps a paragraph's id when the book is read again.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from app.domain.errors import InputError
from app.domain.reading_budget import require_small_numbers


@dataclass(frozen=True, slots=True)
class Entry:
    """A paragraph, as the ledger matches it with those of the book's next version."""

    paragraph_id: str
    """"" before it has one."""
    content_id: str
    """The hash id of its text."""
    text: str
    """Normalised: see `app.domain.identity`."""
    file: str
    heading_path: tuple[str, ...]
    url: str
    author_id: str = ""
    order: int = 0
    """Position in the book's reading order when it was last seen."""
    live: bool = True
    """False for a tombstone: the paragraph is gone."""
    nearest: str = ""
    """Of a tombstone: the id of the paragraph beside it when it was removed."""


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

    def locate(self, paragraph_id: str) -> tuple[Entry, Entry | None] | None:
        """Return a paragraph's entry and the live one nearest to it; None if it is unknown."""
        entry = self.resolve(paragraph_id)
        return (entry, self.nearest(entry)) if entry else None

    def nearest(self, entry: Entry | None) -> Entry | None:
        """Return an entry or, of a tombstone, its live neighbour or that of the one beside it."""
        for _ in self.entries:
            if entry is None or entry.live:
                break
            entry = self.resolve(entry.nearest)
        return entry if entry and entry.live else None


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
            if "alias" in row:
                aliases[_checked(row["alias"])] = _checked(row["paragraph_id"])
            else:
                entry = _entry(**row)
                entries[entry.paragraph_id] = entry
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError(
                f"{name}:{number}: not a line of a ledger ({error}); give a file of "
                "`textbook-rag links BOOK --ledger`"
            ) from error
    return Ledger(entries, aliases)


def _entry(heading_path: Iterable[str], **row: Any) -> Entry:  # noqa: ANN401 - checked here
    """Make the entry of a line. TypeError if a field has another type."""
    entry = Entry(heading_path=tuple(heading_path), **row)
    if type(entry.order) is not int or type(entry.live) is not bool:
        raise TypeError("order is no number, or live neither true nor false")
    texts = row.keys() - {"order", "live"}
    _checked(*entry.heading_path, *(row[name] for name in texts))
    return entry


def _checked(*texts: str) -> str:
    """Join texts. TypeError if one is none, ValueError if it has half of a surrogate pair."""
    joined = "".join(texts)
    joined.encode()
    return joined
