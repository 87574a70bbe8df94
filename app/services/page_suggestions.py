"""Suggests questions on a page: about its terms, its sections, its exercises."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from app.domain.answering.follow_ups import MAX_SUGGESTIONS, suggestions
from app.domain.chunking.chunk import Chunk
from app.domain.links import TEXT_DIRECTIVE
from app.domain.retrieval.query import Hit
from app.services.lexical import LexicalEncoder


def page_suggestions(page: Sequence[Chunk], lexical: LexicalEncoder) -> list[str]:
    """Return up to `MAX_SUGGESTIONS` questions on different sections, in reading order."""
    return [*islice(_questions(page, lexical), MAX_SUGGESTIONS)]


def _questions(page: Sequence[Chunk], lexical: LexicalEncoder) -> Iterator[str]:
    """Yield at most one question for each section that the site can link to."""
    seen: set[str] = set()
    for section in _sections(page):
        terms = partial(lexical.terms, language=section.language)
        found = suggestions(frozenset(), [Hit(section, 0.0)], terms, section.language)
        question = next((one for one, _ in found if one not in seen), None)
        if question:
            seen.add(question)
            yield question


def _sections(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return each section of the page as one chunk.

    A section that has the address of an earlier one is left out: a heading in HTML, such as one in
    a note, may have no anchor of its own.
    """
    owners: dict[str, tuple[str, ...]] = {}
    found: dict[tuple[str, ...], Chunk] = {}
    for chunk in chunks:
        for passage in chunk.passages:
            path = passage.heading_path
            address = passage.url.partition(TEXT_DIRECTIVE)[0].rstrip("#")
            if owners.setdefault(address, path) == path:
                before = found[path].passages if path in found else ()
                found[path] = replace(chunk, passages=(*before, passage), heading_path=path)
    return [*found.values()]
