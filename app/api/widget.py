"""Routes of the widget's bundle: `/widget.js`, `/widget/...`."""

from __future__ import annotations

import gzip
import mimetypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.api.pages import WIDGET_FOLDER

_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.I)
"""Matches an Accept-Encoding header that does not exclude gzip (RFC 9110, 12.5.3)."""
_HASHED = re.compile(r"-[A-Z0-9]{8}\.js")
_IMMUTABLE = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file of the bundle, uncompressed and compressed by gzip."""

    content: bytes
    compressed: bytes
    headers: Mapping[str, str]
    """Headers that do not depend on the encoding."""
    etag: str
    """ETag of the uncompressed content, without quotes."""

    @classmethod
    def read(cls, path: Path) -> BundleFile:
        content = path.read_bytes()
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            # Every site may load the widget; access is checked at /v1.
            "Access-Control-Allow-Origin": "*",
            "Cross-Origin-Resource-Policy": "cross-origin",
            "Vary": "Accept-Encoding",
        }
        if _HASHED.search(path.name):
            headers["Cache-Control"] = _IMMUTABLE
        compressed = gzip.compress(content, mtime=0)
        return cls(content, compressed, headers, sha256(content).hexdigest()[:16])

    def response(self, request: Request) -> Response:
        zipped = _GZIP.search(request.headers.get("accept-encoding", "")) is not None
        etag = f'"{self.etag}-gz"' if zipped else f'"{self.etag}"'
        headers = {**self.headers, "ETag": etag}
        if etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if zipped:
            headers["Content-Encoding"] = "gzip"
        return Response(self.compressed if zipped else self.content, headers=headers)


def widget_routes() -> Sequence[BaseRoute]:
    """Return `/widget.js` and `/widget/...`; the bundle is read once and kept in memory."""
    files = {path.name: BundleFile.read(path) for path in (WIDGET_FOLDER / "bundle").iterdir()}

    async def serve(request: Request) -> Response:
        file = files.get(request.path_params.get("name", "widget.js"))
        if file is None:
            raise HTTPException(404)
        return file.response(request)

    return (Route("/widget.js", serve), Route("/widget/{name}", serve))
