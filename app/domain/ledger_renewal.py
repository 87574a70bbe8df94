"""Renews a book's ledger: gives each paragraph its id, and keeps those that are gone."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.domain.ledger import Alias, Entry, Ledger, LedgerParagraph, unused_id
from app.domain.ledger_matching import Match, is_distinctive, match

NEAR = 8
"""Paragraphs before and after the place of one that is gone, which may contain its text."""


def renew(ledger: Ledger, paragraphs: Sequence[LedgerParagraph]) -> tuple[list[str], Ledger]:
    """Assign an id to each paragraph; return the ids in order and the updated ledger."""
    matches = match(ledger, paragraphs)
    entries = {entry.paragraph_id: entry for entry in _tombstones(ledger, paragraphs, matches)}
    aliases = dict(ledger.aliases)
    ids: list[str] = []
    ids_given: set[str] = set()
    reserved = {p.author_id for p in paragraphs if p.author_id} | set(entries) | set(aliases)
    repeats: dict[str, int] = {}
    for order, paragraph in enumerate(paragraphs):
        matched = matches.get(order)
        former, score = (matched[0].paragraph_id, matched[1]) if matched else ("", 1.0)
        paragraph_id = _identify(paragraph, former, ids_given, reserved, repeats)
        ids_given.add(paragraph_id)
        reserved.add(paragraph_id)
        ids.append(paragraph_id)
        entries[paragraph_id] = Entry(paragraph_id, paragraph, order)
        # The hash of a short text that is gone does not stand for its next use.
        known = paragraph.content_id in entries and not is_distinctive(paragraph)
        for alias in {"" if known else paragraph.content_id, former} - {paragraph_id, ""}:
            aliases.setdefault(alias, Alias(alias, paragraph_id, round(score, 4)))
    for merged in _merged(ledger, entries, paragraphs, ids):
        aliases.setdefault(merged.alias, merged)
    kept = {name: alias for name, alias in aliases.items() if name not in ids_given}
    return ids, Ledger(entries, kept)


def _tombstones(
    ledger: Ledger, paragraphs: Sequence[LedgerParagraph], matches: Mapping[int, Match]
) -> Iterator[Entry]:
    """Yield all entries as gone, each moved like the paragraph that was before it.

    So the nearest paragraph is found after the surroundings were moved or renamed. "Before" is in
    the section, else on the page, else in the book. In the last case the entry keeps its page.
    """
    survivors: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for new, (entry, _) in sorted(matches.items(), key=lambda pair: pair[1][0].order):
        if entry.live:
            for group in _groups(entry.paragraph):
                survivors[group].append((entry.order, new))
    for entry in ledger.entries.values():
        yield _tombstone(
            entry, [survivors.get(one, []) for one in _groups(entry.paragraph)], paragraphs
        )


def _tombstone(
    entry: Entry, survivors: Sequence[list[tuple[int, int]]], paragraphs: Sequence[LedgerParagraph]
) -> Entry:
    """Return the entry as gone; `survivors` are (old, new place) in its section, page and book."""
    gone, order = entry.paragraph, entry.order
    section, page, book = survivors
    if places := section or page or book:
        before, now = places[max(0, bisect_right(places, (order, len(paragraphs))) - 1)]
        order = max(0, order + now - before)
        if places is not book:
            there = paragraphs[now]
            path = there.heading_path if section else gone.heading_path
            gone = replace(gone, file=there.file, heading_path=path)
    return Entry(entry.paragraph_id, gone, order, live=False)


def _merged(
    ledger: Ledger,
    entries: Mapping[str, Entry],
    paragraphs: Sequence[LedgerParagraph],
    ids: Sequence[str],
) -> Iterator[Alias]:
    """Yield aliases for paragraphs that are now part of another one near their place."""
    for old in ledger.entries.values():
        entry, text = entries[old.paragraph_id], old.paragraph.text
        if not old.live or entry.live or not is_distinctive(old.paragraph):
            continue
        around = range(max(0, entry.order - NEAR), min(len(ids), entry.order + NEAR + 1))
        for place in sorted(around, key=lambda place: abs(place - entry.order)):
            there = paragraphs[place]
            if there.file == entry.paragraph.file and text in there.text:
                score = 2 * len(text) / (len(text) + len(there.text))
                yield Alias(old.paragraph_id, ids[place], round(score, 4))
                break


def _groups(paragraph: LedgerParagraph) -> tuple[tuple[str, ...], ...]:
    """Return keys of its section, its page and the book."""
    return (paragraph.file, "", *paragraph.heading_path), (paragraph.file,), ()


def _identify(
    paragraph: LedgerParagraph,
    former: str,
    ids_given: set[str],
    reserved: set[str],
    repeats: dict[str, int],
) -> str:
    """Return the paragraph's id; of several with one author's id, only the first gets it."""
    if paragraph.author_id and paragraph.author_id not in ids_given:
        return paragraph.author_id
    return former or unused_id(paragraph.content_id, reserved, repeats)
