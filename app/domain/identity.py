"""Paragraph ids: the hash of the normalised text, so that moves and renames do not change them.

`keep_ids` gives each paragraph of a book an id of its own and, with the book's ledger, keeps the id
when the text is edited.
"""

import re
import unicodedata
from base64 import b32encode
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from app.domain.document import Block, Book, Span
from app.domain.ledger import Entry, Ledger
from app.domain.ledger_matching import is_distinctive, match

_CROCKFORD = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789abcdefghjkmnpqrstvwxyz"
)
"""From the digits of `b32encode` to those of Crockford's base 32: no i, l, o, u."""
_DIGITS = 10

_CONTENT_ID = re.compile(r"p-[0-9a-hjkmnp-tv-z]{10}(?:-[0-9]+)?")

_NOT_WORD = re.compile(r"[\W_]+")
_NEAR = 8
"""Paragraphs before and after the neighbour of one that is gone, which may contain its text."""


def norm(text: str) -> str:
    """NFKC, lower case, letters and digits only (Unicode categories L and N)."""
    # Blanks first: the pattern then has few places to replace.
    return _NOT_WORD.sub("", unicodedata.normalize("NFKC", text).lower().replace(" ", ""))


def content_id(text: str) -> str:
    """`p-` and ten base-32 digits of the SHA-256 of `norm(text)`; never empty.

    A text without a letter or digit (a rule of dashes, an emoji) is hashed as it is written.
    """
    key = norm(text) or "".join(text.split())
    digest = sha256(key.encode("utf-8", "surrogatepass")).digest()
    digits = b32encode(digest[:_DIGITS])[:_DIGITS].translate(_CROCKFORD)
    return f"p-{digits.decode()}"


def is_content_id(text: str) -> bool:
    """Whether an id is one that `keep_ids` makes of a text, and not an author's."""
    return _CONTENT_ID.fullmatch(text) is not None


def keep_ids(book: Book, ledger: Ledger) -> tuple[Book, Ledger]:
    """Return a book as it was read with the paragraphs' ids, and the updated ledger.

    A new paragraph has its author's id if no other one of the book has that (`{#summary}` may be on
    every page), else the hash of its text. Another one with the same hash gets `-2`, and so on.
    """
    times = Counter(block.author_id for block in book.blocks())
    paragraphs = [_entry(one, authored=times[one.author_id] == 1) for one in book.blocks()]
    ids, renewed = renew(ledger, paragraphs)
    given = iter(ids)

    def identified(block: Block) -> Block:
        ident = next(given)
        return block if ident == block.paragraph_id else replace(block, paragraph_id=ident)

    documents = (replace(one, blocks=tuple(map(identified, one.blocks))) for one in book.documents)
    return replace(book, documents=tuple(documents)), renewed


def _entry(block: Block, *, authored: bool) -> Entry:
    return Entry(
        "",
        block.paragraph_id,
        norm(block.unfenced_text),
        block.file,
        block.heading_path,
        block.url,
        block.author_id if authored else "",
    )


def renew(ledger: Ledger, paragraphs: Sequence[Entry]) -> tuple[list[str], Ledger]:
    """Assign an id to each paragraph; return the ids in order and the updated ledger."""
    matches = match(ledger, paragraphs) if ledger.entries else {}
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
        entries[paragraph_id] = replace(paragraph, paragraph_id=paragraph_id, order=order)
        # The hash of a short text that is gone does not stand for its next use.
        hashed = paragraph.content_id
        known = (hashed in entries or hashed in ledger.entries) and not is_distinctive(paragraph)
        for alias in {"" if known else hashed, former} - {paragraph_id, ""}:
            aliases.setdefault(alias, paragraph_id)
    ids = list(entries)
    for gone, place in _gone(ledger, matches, ids):
        entries[gone.paragraph_id] = gone
        if place is not None and is_distinctive(gone):
            for merged in _around(place, paragraphs, gone.text):
                aliases.setdefault(gone.paragraph_id, ids[merged])
    given = {*ids}
    return ids, Ledger(entries, {name: one for name, one in aliases.items() if name not in given})


def _gone(
    ledger: Ledger, matches: Mapping[int, Entry], ids: Sequence[str]
) -> Iterator[tuple[Entry, int | None]]:
    """Yield the tombstones; of what is newly gone also the place of its neighbour on its page.

    The neighbour is the paragraph before it on its page, else in the book.
    """
    everywhere = sorted((old.order, new) for new, old in matches.items() if old.live)
    pages: defaultdict[str, list[Span]] = defaultdict(list)
    for place in everywhere:
        pages[matches[place[1]].file].append(place)
    given = {*ids}
    for old in ledger.entries.values():
        places = pages[old.file] or everywhere
        if old.paragraph_id in given:
            continue
        if not old.live or not places:
            yield replace(old, live=False), None
            continue
        _, near = places[max(0, bisect_right(places, (old.order, len(ids))) - 1)]
        yield replace(old, live=False, nearest=ids[near]), None if places is everywhere else near


def _around(place: int, paragraphs: Sequence[Entry], text: str) -> Iterator[int]:
    """Yield the paragraphs near this one on its page that contain the text, the nearest first."""
    around = range(max(0, place - _NEAR), min(len(paragraphs), place + _NEAR + 1))
    for at in sorted(around, key=lambda one: abs(one - place)):
        if paragraphs[at].file == paragraphs[place].file and text in paragraphs[at].text:
            yield at
