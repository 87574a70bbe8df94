"""Static files of the chat widget and the pages that embed it."""

from __future__ import annotations

from pathlib import Path

from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

WIDGET_FOLDER = Path(__file__).resolve().parent.parent / "widget"


class WholeFiles(StaticFiles):
    """Ignores Range headers, as RFC 9110 allows: Starlette answers invalid ones in plain text."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        await super().__call__({**scope, "headers": headers}, receive, send)


def widget_files() -> StaticFiles:
    return WholeFiles(directory=WIDGET_FOLDER)
