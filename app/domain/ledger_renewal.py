"""Renews a book's ledger: gives each paragraph its id, and keeps those that are gone."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.domain.document import Span
from app.domain.ledger import Entry, Ledger, LedgerParagraph
from app.domain.ledger_matching import is_distinctive, match

NEAR = 8
"""Paragraphs before and after the neighbour of one that is gone, which may contain its text."""


def renew(ledger: Ledger, paragraphs: Sequence[LedgerParagraph]) -> tuple[list[str], Ledger]:
    """Assign an id to each paragraph; return the ids in order and the updated ledger."""
    matches = match(ledger, paragraphs)
    entries: dict[str, Entry] = {}
    aliases = dict(ledger.aliases)
    reserved = {p.author_id for p in paragraphs if p.author_id} | {*ledger.entries, *aliases}
    repeats: Counter[str] = Counter()
    for order, paragraph in enumerate(paragraphs):
        former = matches[order].paragraph_id if order in matches else ""
        # Of several paragraphs with one author's id, only the first gets it.
        own = paragraph.author_id if paragraph.author_id not in entries else ""
        paragraph_id = own or former or paragraph.content_id
        while not own and not former and paragraph_id in reserved:
            repeats[paragraph.content_id] += 1
            paragraph_id = f"{paragraph.content_id}-{repeats[paragraph.content_id] + 1}"
        reserved.add(paragraph_id)
        entries[paragraph_id] = Entry(paragraph_id, paragraph, order)
        # The hash of a short text that is gone does not stand for its next use.
        hashed = paragraph.content_id
        known = (hashed in entries or hashed in ledger.entries) and not is_distinctive(paragraph)
        for alias in {"" if known else hashed, former} - {paragraph_id, ""}:
            aliases.setdefault(alias, paragraph_id)
    ids = list(entries)
    for gone, place in _gone(ledger, matches, ids):
        entries[gone.paragraph_id] = gone
        merged = _merged(gone.paragraph, paragraphs, place) if place is not None else None
        if merged is not None:
            aliases.setdefault(gone.paragraph_id, ids[merged])
    given = {*ids}
    return ids, Ledger(entries, {name: one for name, one in aliases.items() if name not in given})


def _gone(
    ledger: Ledger, matches: Mapping[int, Entry], ids: Sequence[str]
) -> Iterator[tuple[Entry, int | None]]:
    """Yield the tombstones; of what is newly gone also the place of its neighbour on its page.

    The neighbour is the paragraph before it in its section, else on its page, else in the book.
    """
    survivors: dict[tuple[str, ...], list[Span]] = defaultdict(list)
    for new, old in sorted(matches.items(), key=lambda pair: pair[1].order):
        if old.live:
            for group in _groups(old.paragraph):
                survivors[group].append((old.order, new))
    given = {*ids}
    for old in ledger.entries.values():
        if old.paragraph_id in given:
            continue
        *here, book = (survivors.get(one, []) for one in _groups(old.paragraph))
        places = next(filter(None, here), book)
        if not old.live or not places:
            yield replace(old, live=False), None
            continue
        _, place = places[max(0, bisect_right(places, (old.order, len(ids))) - 1)]
        yield replace(old, live=False, nearest=ids[place]), None if places is book else place


def _groups(paragraph: LedgerParagraph) -> tuple[tuple[str, ...], ...]:
    """Return keys of its section, its page and the book."""
    return (paragraph.file, "", *paragraph.heading_path), (paragraph.file,), ()


def _merged(gone: LedgerParagraph, paragraphs: Sequence[LedgerParagraph], place: int) -> int | None:
    """Return the place of the paragraph near this one that contains the text."""
    if not is_distinctive(gone):
        return None
    around = range(max(0, place - NEAR), min(len(paragraphs), place + NEAR + 1))
    for at in sorted(around, key=lambda one: abs(one - place)):
        if paragraphs[at].file == paragraphs[place].file and gone.text in paragraphs[at].text:
            return at
    return None
