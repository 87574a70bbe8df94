"""Questions that ask what something is, and the places where the book defines it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.english import other_numbers
from app.domain.glossary import definition_in
from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.definition_terms import heading_forms, referred_to, term_forms
from app.domain.retrieval.query import Hit
from app.domain.terms import Terms, words

Name: TypeAlias = tuple[str, ...]
"""Words as returned by `words`."""


def term_match_score(term: str, name: Name) -> int:
    """Term match score: 2 if the term, or its abbreviation, is exactly these words; 1 if the number
    differs; else 0.

    It distinguishes terms with the same stem: hybrid and hybridization, test and testes.
    """
    readings = {tuple(words(form)) for form in term_forms(term)}
    if name in readings:
        return 2
    return int(any(_same_but_for_number(name, reading) for reading in readings))


def _same_but_for_number(name: Name, other: Name) -> bool:
    if not name or not other or name[:-1] != other[:-1]:
        return False
    return other[-1] in other_numbers(name[-1])


POOL = 30
"""Hits in which the definition of a term is looked for."""
PLACES = 2
"""Limit on the hits moved to the front."""

_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.ADMONITION, BlockKind.QUOTE, BlockKind.LIST})

_LONGEST_TERM = 4
_ASKS_DEFINITION = re.compile(
    r"^\s*(?:what(?:\s+(?:is|are|was|were)|['\u2019]?s)(?:\s+meant\s+by"
    r"|\s+the\s+(?:function|role|purpose|meaning|definition|point|idea)s?\s+(?:of|behind))?"
    r"|(?:what|how)\s+do(?:es)?|define|explain|describe|tell\s+me\s+about"
    r"|who\s+(?:is|was|are|were)|qué\s+(?:es|son)|was\s+(?:ist|sind)|qu['\u2019]est-ce\s+que?"
    r"|o\s+que\s+(?:é|são))\s+(?P<what>.+?)(?:\s+do|\s+means?|\s+refers?\s+to|\s+stands?\s+for|\s+works?"
    r"|(?:\s+(?:used|good|meant|there))?\s+for)?"
    r"(?:,?\s+(?:to\s+me|please|briefly|exactly|in\s+(?:simple|plain)\s+(?:terms|words|english)))*$",
    re.IGNORECASE | re.DOTALL,
)

_KIND_FOLLOWS = (
    r"(?=\s+(?:an?|the|any|one|when|what|how|un[ae]?|l[ae]|el|eine?|d(?:er|ie|as)|uma?)\b)"
)
DEFINING_VERB = re.compile(
    rf"\b(?:(?:is|are|was|were|es|son|ist|sind|est|sont|é|são){_KIND_FOLLOWS}"
    r"|means?|refers?\s+to|consists?\s+of|describes?|denotes?|involves?|represents?)\b"
    r"|:|\u2014|\s-\s",
    re.IGNORECASE,
)
COPULA = re.compile(
    r"\b(?:is|are|es|son|ist|sind|est|sont|é|são)\b(?! (?:not|nicht|pas|different|similar)\b)",
    re.IGNORECASE,
)
EXPLAINED_ELSEWHERE = re.compile(
    r"\b(?:discuss|cover|explain|explore|describe|examine|learn|see|look)\w*\b[^.!?]{0,60}"
    r"\bin (?:(?:chapter|section|appendix) \w|(?:a|the) (?:later|next|following) )",
    re.IGNORECASE,
)
_ARTICLES = frozenset({"a", "an", "the"})
_LONGEST_SUBJECT = 80  # characters
_OWNER = re.compile(r"^\W*(?:(?:the|an?)\s+)?\w+['\u2019]s\s+", re.IGNORECASE)
_KIND_BEHIND = re.compile(
    r"\s+(?:step|stage|process|mechanism|method|technique|procedure|operation|algorithm|function"
    r"|command|operator|keyword)s?\W*$",
    re.IGNORECASE,
)
_INTERJECTED = re.compile(
    r",\s*(?:on the other hand|(?:by|in) contrast|however|in turn|then|therefore|also|too|in fact"
    r"|in short|of course),",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"\b(?:called|named|termed|dubbed|known as|referred to as|by the name of|llama[dns]*|genannt"
    r"|heißt|appelée?s?)\s+(?:(?:an?|the|un[ae]?|eine?)\s+)?"
    r"(?P<name>[^\s,;:.()]+(?:\s+[^\s,;:.()]+){0,4})",
    re.IGNORECASE,
)
_POINTS_AT = re.compile(r"\s*(?:this|that|these|those)\b", re.IGNORECASE)
_SENTENCE_BEGINS = re.compile(r"[.!?]\s+|\n")


def defined_terms(question: str, terms: Terms) -> frozenset[int]:
    """Return the terms of X in "what is X?"; empty for other questions, and if X is long."""
    what = terms(_what(question) or "")
    return what if len(what) <= _LONGEST_TERM else frozenset()


def _what(question: str) -> str | None:
    asked = _ASKS_DEFINITION.match(question.strip(" \t\n?.!"))
    return None if asked is None or _POINTS_AT.fullmatch(asked["what"]) else asked["what"]


def name_asked(question: str) -> Name:
    """Return the words of X in "what is X?" as written; empty for other questions."""
    asked = tuple(words(_what(question) or ""))
    return asked[1:] if asked[:1] and asked[0] in _ARTICLES else asked


def defines(passage: Passage, asked: frozenset[int], terms: Terms) -> bool:
    """Whether the author marks a term of exactly these words, or its abbreviation, as defined here.

    False if the passage only refers to another definition.
    """
    marked = any(terms(form) == asked for term in passage.terms for form in term_forms(term))
    return marked and not (only_refers(passage) or EXPLAINED_ELSEWHERE.search(passage.text))


def only_refers(passage: Passage) -> bool:
    """Whether an entry only refers to another: "See lock file."."""
    return bool(referred_to(definition_in(passage)))


def definitions_first(
    hits: Sequence[Hit],
    asked: frozenset[int],
    terms: Terms,
    terms_of: Callable[[Chunk], ChunkTerms],
    name: Name = (),
) -> list[Hit]:
    """Move the hits that define the term to the front, glossary before text, with the best score.

    The definition of a term that is everywhere in a book may have any rank.
    """
    return in_front(defining_hits(hits, asked, terms, terms_of, name), hits)


def _mentions(known: ChunkTerms, asked: frozenset[int]) -> bool:
    """Whether a sentence, the headings or a term defined here has all of the terms."""
    told = (sentence.terms for sentence in known.sentences)
    return any(map(asked.issubset, itertools.chain([known.heading], known.defined, told)))


def in_front(front: Sequence[Hit], hits: Sequence[Hit]) -> list[Hit]:
    """Return both, each chunk once."""
    found: dict[tuple[str, str], Hit] = {}
    for hit in (*front, *hits):
        found.setdefault((hit.chunk.book, hit.chunk.chunk_id), hit)
    return list(found.values())


def defining_hits(
    hits: Sequence[Hit],
    asked: frozenset[int],
    terms: Terms,
    terms_of: Callable[[Chunk], ChunkTerms],
    name: Name = (),
) -> list[Hit]:
    """Return up to two hits that define the term, with the best score; none if `asked` is empty.

    The order: a glossary entry, a marked term, a defining sentence, a section with this heading. Of
    several entries, those with the best match of `name`.
    """
    if not asked or not hits:
        return []
    best = max(hit.score for hit in hits)
    # The terms that search knows them by rule out most hits.
    near = [hit for hit in hits if _mentions(terms_of(hit.chunk), asked)]
    places: list[int] = []
    for defining in (_in_glossary, _marked, _said, _named):
        found = [at for at, hit in enumerate(near) if defining(hit, asked, terms)]
        places += _greatest(found, lambda at: _name_match(near[at], asked, terms, name))
    return [replace(near[at], score=best) for at in [*dict.fromkeys(places)][:PLACES]]


def _greatest(found: Sequence[int], score: Callable[[int], int]) -> list[int]:
    """Return those with the highest score."""
    scores = [score(one) for one in found]
    return [one for one, scored in zip(found, scores, strict=True) if scored == max(scores)]


def _name_match(hit: Hit, asked: frozenset[int], terms: Terms, name: Name) -> int:
    """Return the best term match score of the terms defined in the hit."""
    passages = (one for one in hit.chunk.passages if defines(one, asked, terms))
    return max((term_match_score(term, name) for one in passages for term in one.terms), default=0)


def subject_match(
    asked: frozenset[int], sentence: str, verb: re.Pattern[str], terms: Terms
) -> float:
    """Return 1 if the subject before the verb is exactly what was asked for, less if it is more,
    else 0.
    """
    found = verb.search(sentence)
    if not found or found.start() > _LONGEST_SUBJECT or _POINTS_AT.match(sentence):
        return 0.0
    subject = _INTERJECTED.sub("", sentence[: found.start()])
    # "Rust's closures are ..." is about closures, "TCP (a protocol) is ..." about TCP, "the
    # attention mechanism is ..." about attention.
    readings = [terms(form) for form in term_forms(subject)]
    if of_kind := _KIND_BEHIND.search(subject):
        readings.append(terms(subject[: of_kind.start()]))
    if owner := _OWNER.match(subject):
        readings.append(terms(subject[owner.end() :]))
    return max(1 / (1 + len(one - asked)) if one >= asked else 0.0 for one in readings)


def names_term(asked: frozenset[int], sentence: str, terms: Terms) -> bool:
    """Whether the sentence names the term: "These pieces are known as tokens."."""
    for called in _CALLED.finditer(sentence):
        named = called["name"].split()
        if any(terms(" ".join(named[:size])) == asked for size in range(1, len(named) + 1)):
            return True
    return False


def _in_glossary(hit: Hit, asked: frozenset[int], terms: Terms) -> bool:
    entries = (one for one in hit.chunk.passages if one.kind is BlockKind.GLOSSARY_ENTRY)
    return any(defines(one, asked, terms) for one in entries)


def _marked(hit: Hit, asked: frozenset[int], terms: Terms) -> bool:
    return any(defines(one, asked, terms) for one in hit.chunk.passages)


def _said(hit: Hit, asked: frozenset[int], terms: Terms) -> bool:
    prose = (one for one in hit.chunk.passages if one.kind in _PROSE)
    return any(has_defining_sentence(one.text, asked, terms) for one in prose)


def _named(hit: Hit, asked: frozenset[int], terms: Terms) -> bool:
    return heading_is_term(hit.chunk.heading_path, asked, terms)


def heading_is_term(path: Sequence[str], asked: frozenset[int], terms: Terms) -> bool:
    """Whether the innermost heading is exactly these words."""
    return bool(path) and any(terms(form) == asked for form in heading_forms(path[-1]))


def has_defining_sentence(text: str, asked: frozenset[int], terms: Terms) -> bool:
    """Whether a sentence starts with exactly these terms and defines them."""
    return any(
        subject_match(asked, sentence, DEFINING_VERB, terms) == 1.0
        for sentence in _SENTENCE_BEGINS.split(text)
    )
