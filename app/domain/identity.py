"""Paragraph ids: the hash of the normalised text, so that moves and renames do not change them.

With the book's ledger, `keep_ids` also keeps an id when the text is edited.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b32encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from app.domain.document import Block, Book, Document
from app.domain.ledger import Ledger, LedgerParagraph, unused_id
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
    """Whether an id is one that `assign_ids` makes of a text, and not an author's."""
    return _CONTENT_ID.fullmatch(text) is not None


def assign_ids(ids: Iterable[tuple[str, str]]) -> list[str]:
    """Return the ids for a whole book's `(content id, author's id)` pairs in reading order.

    The second and later paragraphs with the same text get `-2`, `-3` and so on. An author's id is
    used if it is unique in the book; if it is repeated (`{#summary}` on every page), the content
    id is used.
    """
    pairs = list(ids)
    authored = Counter(author_id for _, author_id in pairs if author_id)
    taken = {author_id for author_id, count in authored.items() if count == 1}
    repeats: dict[str, int] = {}
    assigned: list[str] = []
    for hashed, author_id in pairs:
        unique = authored[author_id] == 1
        assigned.append(author_id if unique else unused_id(hashed, taken, repeats))
        taken.add(assigned[-1])
    return assigned


# `p-0123456789-2` is the second paragraph with the text hashed to `p-0123456789`.
_WITHOUT_REPEAT = re.compile(r"(?<=^p-.{10})-\d+$")


def keep_ids(book: Book, ledger: Ledger) -> tuple[Book, Ledger]:
    """Return the book with the ledger's paragraph ids, and the updated ledger."""
    ids, renewed = renew(ledger, [_paragraph(block) for block in book.blocks()])
    return replace(book, documents=tuple(with_paragraph_ids(book.documents, ids))), renewed


def with_paragraph_ids(documents: Iterable[Document], ids: Iterable[str]) -> list[Document]:
    """Return the documents with these ids of their blocks, in order."""
    given = iter(ids)

    def identified(block: Block) -> Block:
        ident = next(given)
        return block if ident == block.paragraph_id else replace(block, paragraph_id=ident)

    return [replace(one, blocks=tuple(map(identified, one.blocks))) for one in documents]


def _paragraph(block: Block) -> LedgerParagraph:
    authored = block.paragraph_id == block.author_id
    text = block.unfenced_text
    hashed = content_id(text) if authored else _WITHOUT_REPEAT.sub("", block.paragraph_id)
    return LedgerParagraph(
        hashed,
        norm(text),
        block.file,
        block.heading_path,
        block.url,
        block.author_id if authored else "",
    )
