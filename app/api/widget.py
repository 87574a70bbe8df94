"""Routes of the widget's bundle: `/widget.js`, `/widget/...`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike, stat_result
from pathlib import Path

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

WIDGET_FOLDER = Path(__file__).resolve().parent.parent / "widget"
_HASHED = re.compile(r"-[A-Z0-9]{8}\.js")
_HEADERS = {
    # Every site may load the widget; access is checked at /v1.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


class BundleFiles(StaticFiles):
    """The bundle's files, for pages of every site."""

    def file_response(
        self,
        full_path: str | PathLike[str],
        stat_result: stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        # Without ranges, as RFC 9110 allows: Starlette answers a wrong one with plain text.
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        scope["headers"] = headers
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(_HEADERS)
        if _HASHED.search(str(full_path)):
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def widget_routes() -> Sequence[BaseRoute]:
    files = GZipMiddleware(BundleFiles(directory=WIDGET_FOLDER / "bundle"), compresslevel=6)
    return Route("/widget.js", files), Mount("/widget", files)
