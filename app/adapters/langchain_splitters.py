"""Recursive splitting by `langchain-text-splitters`, with the exact span of each piece."""

from collections.abc import Callable, Iterable, Iterator

from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from app.domain.chunking.config import RecursiveConfig, Separators
from app.domain.document import Span

# Paragraph, line, sentence, word, character; as regular expressions.
_TEXT = [r"\n\n", r"\n", r"(?<=[.!?])\s", " ", ""]


def split_recursively(
    count_tokens: Callable[[str], int], text: str, config: RecursiveConfig
) -> list[Span]:
    """Split a text into pieces of a size in tokens.

    The spans are ascending and together cover every non-blank character.
    """
    splitter = _PlacingSplitter(config, count_tokens)
    splitter.split_text(text)
    return splitter.spans


class _PlacingSplitter(RecursiveCharacterTextSplitter):
    """Records the span of each chunk while its pieces are merged.

    LangChain's `add_start_index` takes an overlap of n tokens for n characters when it searches for
    a chunk. It finds repeated text in the wrong place or not at all. Here a span follows from the
    lengths of the pieces: LangChain merges each piece once, in order, and drops no character.
    """

    def __init__(self, config: RecursiveConfig, count_tokens: Callable[[str], int]) -> None:
        markdown = config.separators is Separators.MARKDOWN
        super().__init__(
            separators=self.get_separators_for_language(Language.MARKDOWN) if markdown else _TEXT,
            is_separator_regex=True,
            keep_separator="start" if markdown else "end",
            chunk_size=config.size,
            chunk_overlap=config.overlap,
            length_function=count_tokens,
            strip_whitespace=False,
        )
        self.spans: list[Span] = []
        self._at = 0
        """Offset in the text after the current piece."""
        self._current = 0
        """Characters of the current piece, which is not yet part of a chunk."""

    def _merge_splits(self, splits: Iterable[str], separator: str) -> list[str]:
        return super()._merge_splits(self._measured(splits), separator)

    def _measured(self, splits: Iterable[str]) -> Iterator[str]:
        for piece in splits:
            self._current = len(piece)
            self._at += len(piece)
            yield piece
        self._current = 0

    def _join_docs(self, docs: list[str], separator: str) -> str | None:
        end = self._at - self._current
        self.spans.append((end - sum(map(len, docs)), end))
        return super()._join_docs(docs, separator)
