"""The ledger of paragraph ids: what is known of each, and how an id or alias is looked up.

`app.domain.ledger_matching` keeps a paragraph's id when the book is read again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

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


@dataclass(frozen=True, slots=True)
class Alias:
    """Another id of a paragraph: the hash of its edited text."""

    alias: str
    paragraph_id: str
    score: float
    """Similarity of the texts when it was recorded, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Located:
    """Result of a look-up; `nearest` is the live entry nearest to a tombstone."""

    entry: Entry
    nearest: Entry | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Entries by paragraph id; aliases by alias."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    aliases: Mapping[str, Alias] = field(default_factory=dict)

    def resolve(self, paragraph_id: str) -> Entry | None:
        """Return the entry of an id or alias, a tombstone too; None if it was never known."""
        entry = self.entries.get(paragraph_id)
        if (entry is None or not entry.live) and paragraph_id in self.aliases:
            return self.entries.get(self.aliases[paragraph_id].paragraph_id)
        return entry

    def locate(self, paragraph_id: str) -> Located | None:
        """Return a paragraph's entry and, if it is gone, the nearest live one; None if unknown."""
        entry = self.resolve(paragraph_id)
        if entry is None:
            return None
        return Located(entry, None if entry.live else self.nearest(entry))

    def nearest(self, gone: Entry) -> Entry | None:
        """Return the live entry nearest to a tombstone: by page, section, then reading order."""
        live = [entry for entry in self.entries.values() if entry.live]
        return min(live, key=lambda entry: _distance(gone, entry), default=None)


def _distance(gone: Entry, entry: Entry) -> tuple[bool, bool, int, int]:
    here, there = gone.paragraph, entry.paragraph
    return (
        here.file != there.file,
        here.heading_path != there.heading_path,
        abs(gone.order - entry.order),
        entry.order,
    )


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
    for _, alias in sorted(ledger.aliases.items()):
        yield json.dumps(asdict(alias), ensure_ascii=False)


def from_lines(lines: Iterable[str], name: str) -> Ledger:
    """Read the lines of `to_lines`. InputError, with the line's number, for any other line."""
    entries: dict[str, Entry] = {}
    aliases: dict[str, Alias] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            require_small_numbers(row)
            json.dumps(row, ensure_ascii=False).encode()  # raises for half of a surrogate pair
            if "alias" in row:
                alias = _checked_alias(Alias(**row))
                aliases[alias.alias] = alias
            else:
                inner = row.pop("paragraph")
                inner["heading_path"] = tuple(inner["heading_path"])
                entry = _checked_entry(Entry(paragraph=LedgerParagraph(**inner), **row))
                entries[entry.paragraph_id] = entry
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = (
                f"{name}:{number}: not a line of a ledger ({error}); give a file of "
                "`textbook-rag links BOOK --ledger`"
            )
            raise InputError(message) from error
    return Ledger(entries, aliases)


def _checked_entry(entry: Entry) -> Entry:
    """Return the entry. TypeError if a field has another type than it is declared with."""
    one = entry.paragraph
    texts = (entry.paragraph_id, one.content_id, one.text, one.file, one.url, one.author_id)
    if not _are_texts((*texts, *one.heading_path)) or type(entry.live) is not bool:
        message = "a field has another type"
        raise TypeError(message)
    if type(entry.order) is not int or not 0 <= entry.order <= _MAX_ORDER:
        message = f"order is not a number from 0 to {_MAX_ORDER}"
        raise TypeError(message)
    return entry


def _checked_alias(alias: Alias) -> Alias:
    """Return the alias. TypeError as in `_checked_entry`."""
    if not _are_texts((alias.alias, alias.paragraph_id)) or type(alias.score) not in (int, float):
        message = "a field has another type"
        raise TypeError(message)
    return alias


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
