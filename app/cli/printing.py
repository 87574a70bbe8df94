"""What the commands print: never what controls a terminal, whoever wrote it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO

from app.domain.printable import printable

if TYPE_CHECKING:
    from app.settings import Settings


class PrintableOutput:
    """Another stream, to which only printable text is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the stream
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._stream.write(printable(text))


def searched_place(settings: Settings) -> str:
    """Say where a command looked for books."""
    if settings.qdrant_url:
        return "looked on the server at QDRANT_URL"
    return f"looked in {settings.home.resolve()} (RAG_HOME)"


def remark(text: str) -> None:
    """Print a line on stderr."""
    print(printable(text), file=sys.stderr)
