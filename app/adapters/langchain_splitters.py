"""Recursive splitting by `langchain-text-splitters`, with the exact place of each piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

from app.domain.chunking.config import RecursiveConfig, Separators
from app.domain.document import Span
from app.domain.errors import InputError

# Paragraph, line, sentence, word, character; as regular expressions.
_TEXT = [r"\n\n", r"\n", r"(?<=[.!?])\s", " ", ""]
_NAMES = {
    "c++": Language.CPP,
    "javascript": Language.JS,
    "jsx": Language.JS,
    "py": Language.PYTHON,
    "rs": Language.RUST,
    "tsx": Language.TS,
    "typescript": Language.TS,
}


def recursive_splitter(
    count_tokens: Callable[[str], int],
) -> Callable[[str, RecursiveConfig, str], list[Span]]:
    """Return `split(text, config, language) -> spans`, sizes measured by `count_tokens`.

    Spans are ascending and together hold every non-blank character. InputError when the overlap
    is not smaller than the size.
    """

    def split(text: str, config: RecursiveConfig, language: str) -> list[Span]:
        if config.overlap >= config.size:
            message = f"recursive: overlap {config.overlap} is not below the size {config.size}"
            raise InputError(message)
        splitter = RecursiveCharacterTextSplitter(
            separators=_separators(config.separators, language),
            is_separator_regex=True,
            keep_separator="end" if config.separators is Separators.TEXT else "start",
            chunk_size=config.size,
            chunk_overlap=config.overlap,
            length_function=count_tokens,
            strip_whitespace=False,
        )
        return list(_placed(text, splitter.split_text(text)))

    return split


def _separators(separators: Separators, language: str) -> list[str]:
    if separators is Separators.TEXT:
        return _TEXT
    if separators is Separators.MARKDOWN:
        return RecursiveCharacterTextSplitter.get_separators_for_language(Language.MARKDOWN)
    try:
        known = _NAMES.get(language) or Language(language)
        return RecursiveCharacterTextSplitter.get_separators_for_language(known)
    except ValueError:
        return RecursiveCharacterTextSplitter.get_separators_for_language(Language.PYTHON)


def _placed(text: str, pieces: Sequence[str]) -> Iterator[Span]:
    """Where each piece stands. Of several places the last that leaves no gap to the one before.

    LangChain's own `add_start_index` looks for a piece from where it would begin if an overlap of
    n tokens were n characters, and so finds repeated text in the wrong place or not at all.
    """
    start, end = -1, 0
    for piece in pieces:
        start = text.rfind(piece, start + 1, end + len(piece))
        end = start + len(piece)
        yield start, end
