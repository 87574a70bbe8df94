"""Paragraph ids: the hash of the normalised text, so that moves and renames do not change them.

`keep_ids` gives each paragraph of a book an id of its own and, with the book's ledger, keeps the id
when the text is edited.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b32encode
from collections import Counter
from dataclasses import replace
from hashlib import sha256

from app.domain.document import Block, Book
from app.domain.ledger import Ledger, LedgerParagraph
from app.domain.ledger_renewal import renew

_CROCKFORD = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789abcdefghjkmnpqrstvwxyz"
)
"""From the digits of `b32encode` to those of Crockford's base 32: no i, l, o, u."""
_DIGITS = 10

_CONTENT_ID = re.compile(r"p-[0-9a-hjkmnp-tv-z]{10}(?:-[0-9]+)?")

_NOT_WORD = re.compile(r"[\W_]+")


def norm(text: str) -> str:
    """NFKC, lower case, letters and digits only (Unicode categories L and N)."""
    return _NOT_WORD.sub("", unicodedata.normalize("NFKC", text).lower())


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
    paragraphs = [_paragraph(one, authored=times[one.author_id] == 1) for one in book.blocks()]
    ids, renewed = renew(ledger, paragraphs)
    given = iter(ids)

    def identified(block: Block) -> Block:
        ident = next(given)
        return block if ident == block.paragraph_id else replace(block, paragraph_id=ident)

    documents = (replace(one, blocks=tuple(map(identified, one.blocks))) for one in book.documents)
    return replace(book, documents=tuple(documents)), renewed


def _paragraph(block: Block, *, authored: bool) -> LedgerParagraph:
    return LedgerParagraph(
        block.paragraph_id,
        norm(block.unfenced_text),
        block.file,
        block.heading_path,
        block.url,
        block.author_id if authored else "",
    )
