"""Definitions: the terms that a question may ask for, and the texts that define or refer to them.

No question patterns are needed ("What is osmosis?", "define osmosis", "Was heißt Osmose?"). Without
stop words and the words that frame a term, only the term is left; if it equals a defined term, the
question asks for its definition.
"""

import hashlib
import re
from collections.abc import Collection, Sequence

from app.domain.chunking.chunk import Passage
from app.domain.languages import in_any
from app.domain.terms import Terms

LEAST_SHARE = 0.4
"""Least share of a question's terms that may be the term to define."""
LONGEST_PART = 4
"""Maximum number of terms in such a part."""

_NUMBER = re.compile(r"\d+(?:\.\d+)*[.:)]?\s+")
_SUBTITLE = re.compile(r":\s+|\s+[\u2013\u2014-]\s+")
_REFERS = re.compile(
    rf"\W*(?:{in_any('refers')})\b[.:]*"
    r" (?P<term>[^\s.!?]\S*?(?: [^\s.!?]\S*?){0,5}?)\W*",
    re.IGNORECASE,
)
_LONGEST_REFERENCE = 120  # characters
_BRACKETED = re.compile(r"([^()]*[^()\s])\s*\(([^()]+)\)\s*([^()\s][^()]*)?")
_ABBREVIATION = (2, 3)
"""Letters of an abbreviation in lower case, such as "tf"."""
_ALSO = re.compile(r"\s*(?:also|or)\b,?\s*", re.IGNORECASE)
_DETERMINER = rf"(?:{in_any('determiners')})\b"
_DEFINES = re.compile(
    rf"\b(?:{in_any('copula')})(?=\s+{_DETERMINER})"
    rf"|\b(?:{in_any('defines')})\b"
    rf"|(?::|[\u2013\u2014]|\s-\s)(?=\s*(?-i:An?\b|{_DETERMINER}))",
    re.IGNORECASE,
)
"""What follows a term that is defined, and not a label as in "Usage: Call it ..."."""
_CALLED = re.compile(
    rf"\b(?:{in_any('called')})\s+(?:{_DETERMINER}\s+)?"
    r"(?P<name>[^\s,;:.()]+(?:\s+[^\s,;:.()]+){0,4})",
    re.IGNORECASE,
)
_POINTS_AT = re.compile(r"\s*(?:this|that|these|those)\b", re.IGNORECASE)
_AFTER_TERM = re.compile(r"\s*(?:(?::|[.;,\u2013\u2014-]+(?=\s))\s*)?")


def term_forms(term: str) -> tuple[str, ...]:
    """Return the forms of a term: "deoxyribonucleic acid (DNA)" gives each name, too.

    "Frontal (coronal) plane" gives both planes. In "cortex (animal)" the word in brackets only
    disambiguates and is dropped.
    """
    match = _BRACKETED.fullmatch(term)
    if match is None:
        return (term,)
    named, inside, behind = match.groups()
    if behind:
        return term, f"{named} {behind}", f"{inside} {behind}"
    if inside.isalpha() and inside.islower() and len(inside) not in _ABBREVIATION:
        return term, named
    return term, named, _ALSO.sub("", inside, count=1)


def heading_forms(heading: str) -> tuple[str, ...]:
    """Return the terms a heading may name.

    Section numbers and call arguments are dropped. "Closures: Anonymous Functions" also gives
    "Closures".
    """
    name = _NUMBER.sub("", heading, count=1) if heading[:1].isdigit() else heading
    before = _SUBTITLE.split(name, maxsplit=1)[0]
    return term_forms(name) if before == name else (*term_forms(name), *term_forms(before))


def definition_in(passage: Passage) -> str:
    """Return the passage's text without the leading terms."""
    text, at = passage.text, 0
    for term in passage.terms:
        folded = term.casefold()
        # Case folding never shortens a text, so a slice of this length is enough.
        if text[at : at + len(folded)].casefold().startswith(folded):
            after = _AFTER_TERM.match(text, at + len(term))
            at = after.end() if after else len(text)
    return text[at:]


def referred_to(definition: str) -> str:
    """Return "lock file" for the definition "See lock file."; "" for any other definition."""
    match = _REFERS.fullmatch(definition) if len(definition) <= _LONGEST_REFERENCE else None
    return match["term"] if match else ""


def definition_targets(
    terms: Sequence[int], frame_words: Collection[int]
) -> frozenset[tuple[int, ...]]:
    """Return the candidates for the term to define: all terms, and all without `frame_words`."""
    bare = tuple(term for term in terms if term not in frame_words)
    return frozenset(target for target in (tuple(terms), bare) if target)


def question_targets(
    terms: Sequence[int], frame_words: Collection[int]
) -> dict[tuple[int, ...], float]:
    """Return the candidates for the term to define in a question, with the share of its terms.

    `frame_words` also hold the question's words that the book lacks. Besides those of
    `definition_targets` the candidates are the parts of at least `LEAST_SHARE`: in "pros and cons
    of natural selection" the term is "natural selection".
    """
    bare = [term for term in terms if term not in frame_words]
    parts = {
        tuple(bare[at : at + size]): size / len(bare)
        for size in range(1, LONGEST_PART + 1)
        if size >= LEAST_SHARE * len(bare)
        for at in range(len(bare) - size + 1)
    }
    return parts | dict.fromkeys(definition_targets(terms, frame_words), 1.0)


def definition_id(terms: Sequence[int]) -> int:
    """Return the sparse-vector term that marks a definition of `terms`: unsigned 32 bits."""
    text = " ".join(map(str, terms))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def defines(passage: Passage, asked: frozenset[int], terms: Terms) -> bool:
    """Whether the author marks a term of exactly these words, or its abbreviation, as defined here.

    False if the passage only refers to another definition.
    """
    marked = any(terms(form) == asked for term in passage.terms for form in term_forms(term))
    return marked and not only_refers(passage)


def only_refers(passage: Passage) -> bool:
    """Whether an entry only refers to another: "See lock file."."""
    return bool(referred_to(definition_in(passage)))


def subject_match(asked: frozenset[int], sentence: str, terms: Terms) -> float:
    """Score the subject of a defining sentence: the text before its verb.

    1 if it has exactly the asked terms, 1 / (1 + n) with n further terms, else 0.
    """
    found = _DEFINES.search(sentence)
    if not found or _POINTS_AT.match(sentence):
        return 0.0
    # "TCP (a protocol) is ..." is about TCP.
    readings = [terms(form) for form in term_forms(sentence[: found.start()])]
    return max(1 / (1 + len(one - asked)) if one >= asked else 0.0 for one in readings)


def names_term(asked: frozenset[int], sentence: str, terms: Terms) -> bool:
    """Whether the sentence names the term: "These pieces are known as tokens."."""
    for called in _CALLED.finditer(sentence):
        named = called["name"].split()
        if any(terms(" ".join(named[:size])) == asked for size in range(1, len(named) + 1)):
            return True
    return False
