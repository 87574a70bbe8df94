"""Paragraph ids: the hash of the normalised text, so that moves and renames do not change them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no i, l, o, u."""
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_ID_BITS = 50
"""Five bits a digit."""

_NOT_ALPHANUMERIC = bytes(code for code in range(128) if not chr(code).isalnum())
_NOT_WORD = re.compile(r"[\W_]+")
_NOT_ASCII = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
"""Includes the preceding character, which may combine with a mark."""
_COMMON_PUNCTUATION = "’‘“”–—…"


def norm(text: str) -> str:
    """NFKC, lower case, letters and digits only (Unicode categories L and N)."""
    if not text.isascii():
        # Most prose is ASCII except for these, and ASCII needs no normalisation.
        for character in _COMMON_PUNCTUATION:
            text = text.replace(character, " ")
        if not text.isascii():
            text = _NOT_ASCII.sub(_compose, text)
    # Dropping ASCII punctuation as bytes first leaves few matches for the slower expression.
    dense = text.lower().encode("utf-8", "surrogatepass").translate(None, _NOT_ALPHANUMERIC)
    folded = dense.decode("utf-8", "surrogatepass")
    return folded if folded.isascii() else _NOT_WORD.sub("", folded)


def _compose(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match.group())


def content_id(text: str) -> str:
    """`p-` and ten base-32 digits of the SHA-256 of `norm(text)`; never empty.

    A text without a letter or digit (a rule of dashes, an emoji) is hashed as it is written.
    """
    return _encode(norm(text) or "".join(text.split()))


def _encode(key: str) -> str:
    bits = int.from_bytes(sha256(key.encode("utf-8", "surrogatepass")).digest()[:7], "big") >> (
        56 - _ID_BITS
    )
    return (
        f"p-{_PAIRS[bits >> 40]}{_PAIRS[bits >> 30 & 1023]}{_PAIRS[bits >> 20 & 1023]}"
        f"{_PAIRS[bits >> 10 & 1023]}{_PAIRS[bits & 1023]}"
    )


def assign_ids(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Ids for a whole book's `(text, author's id)` pairs in reading order.

    The second and later paragraphs with the same text get `-2`, `-3` and so on. An author's id wins
    if it is unique in the book; a repeated one (`{#summary}` on every page) cannot name a
    paragraph, so those keep their content hash.
    """
    pairs = list(texts)
    authored = Counter(author_id for _, author_id in pairs if author_id)
    seen: Counter[str] = Counter()
    taken = {author_id for author_id, count in authored.items() if count == 1}
    ids: list[str] = []
    for text, author_id in pairs:
        if author_id and authored[author_id] == 1:
            ids.append(author_id)
            continue
        base = content_id(text)
        seen[base] += 1
        candidate = base if seen[base] == 1 else f"{base}-{seen[base]}"
        while candidate in taken:
            seen[base] += 1
            candidate = f"{base}-{seen[base]}"
        taken.add(candidate)
        ids.append(candidate)
    return ids
