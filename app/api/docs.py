"""The API documentation at `/v1/docs`. Swagger UI's files come from this server, not a CDN."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from app.api.pages import WholeFiles
from app.api.security import API_DOCS_PATH

_FILES = Path(str(files("fastapi_offline"))) / "static"
_PAGE = f"""\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>textbook-rag: API</title>
<link rel="stylesheet" href="{API_DOCS_PATH}/files/swagger-ui.css">
<link rel="icon" href="{API_DOCS_PATH}/files/favicon.png">
<div id="swagger-ui"></div>
<script src="{API_DOCS_PATH}/files/swagger-ui-bundle.js"></script>
<script src="{API_DOCS_PATH}/start.js"></script>
</html>
"""
_START = """\
SwaggerUIBundle({url: "/v1/openapi.json", dom_id: "#swagger-ui", deepLinking: true});
"""


def docs_routes() -> Sequence[BaseRoute]:
    async def page(_: Request) -> Response:
        return HTMLResponse(_PAGE)

    async def start(_: Request) -> Response:
        return Response(_START, media_type="text/javascript")

    return (
        Route(API_DOCS_PATH, page),
        Route(f"{API_DOCS_PATH}/start.js", start),
        Mount(f"{API_DOCS_PATH}/files", WholeFiles(directory=_FILES)),
    )
