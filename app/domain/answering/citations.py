"""The citations of an answer: each paragraph has one number."""

from collections.abc import Mapping

from app.domain.answer import Citation
from app.domain.answering.units import Unit
from app.domain.document import Span
from app.domain.retrieval.query import ContextPassage

_AROUND = 32
"""Characters of `prefix` and `suffix`."""


class CitationList:
    """The citations of one answer, numbered by the first use of each paragraph."""

    def __init__(self, paragraphs: Mapping[str, tuple[ContextPassage, ...]]) -> None:
        self._paragraphs = paragraphs
        self._numbers: dict[str, int] = {}
        self._citations: dict[tuple[int, int, str], Citation] = {}
        """By claim and paragraph."""

    @property
    def citations(self) -> tuple[Citation, ...]:
        """In the order of the answer."""
        return tuple(
            sorted(self._citations.values(), key=lambda one: (one.start, one.end, one.index))
        )

    def add(self, span: Span, quote: Unit) -> Citation | None:
        """Return the new citation; None if this claim already cites this paragraph."""
        passage, text = quote.source.passage, quote.source.passage.text
        key = (*span, passage.paragraph_id)
        if key in self._citations:
            return None
        pieces = [one.passage for one in self._paragraphs[passage.paragraph_id]]
        citation = self._citations[key] = Citation(
            index=self._numbers.setdefault(passage.paragraph_id, len(self._numbers) + 1),
            start=span[0],
            end=span[1],
            paragraph_id=passage.paragraph_id,
            url=passage.url,
            title=quote.source.section,
            heading_path=passage.heading_path,
            quote=quote.text,
            book=quote.source.book,
            file=quote.source.file,
            spans=tuple(dict.fromkeys((one.start, one.end) for one in pieces)),
            prefix=text[max(0, quote.start - _AROUND) : quote.start],
            suffix=text[quote.end : quote.end + _AROUND],
        )
        return citation
