"""Text that the reader has selected on a page and asks about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import Hit
from app.domain.terms import words

SEARCHED_CHARS = 1_000
"""Of a long selection, what a search is made with."""


@dataclass(frozen=True, slots=True)
class Selection:
    text: str
    paragraph_id: str = ""
    """The paragraph it stands in, when the page tells."""

    def search_text(self, question: str) -> str:
        return f"{question} {self.text[:SEARCHED_CHARS].strip()}"

    def question_text(self, question: str) -> str:
        """The question as a generator is asked it: the selection is quoted, as data."""
        quoted = "\n".join(f"> {line}" for line in self.text.strip().splitlines())
        return f"{question}\n\nThe question is about this text, selected on the page:\n{quoted}"


def selected_paragraph(
    selection: Selection, named: Sequence[Chunk], hits: Sequence[Hit]
) -> list[Hit]:
    """Hits of score 1 with the selected paragraph and nothing else; empty if it is not found.

    `named` are the chunks that hold the paragraph the page told of. Without any it is looked for
    by its text among the hits.
    """
    if named:
        found = [(chunk, _named(chunk, selection.paragraph_id)) for chunk in named]
    else:
        found = [(hit.chunk, _holding(hit.chunk, selection.text)) for hit in hits]
    return [Hit(replace(chunk, passages=held), 1.0) for chunk, held in found if held]


def _named(chunk: Chunk, paragraph_id: str) -> tuple[Passage, ...]:
    return tuple(one for one in chunk.passages if one.paragraph_id == paragraph_id)


def _holding(chunk: Chunk, text: str) -> tuple[Passage, ...]:
    wanted = _plain(text)
    return tuple(
        one
        for one in chunk.passages
        if one.kind is not BlockKind.HEADING and wanted and wanted in _plain(one.text)
    )


def _plain(text: str) -> str:
    return f" {' '.join(words(text))} "
