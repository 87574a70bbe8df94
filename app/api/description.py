"""The OpenAPI description: what FastAPI makes of the routes, and what it does not know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from app.api.problems import Problem

DESCRIPTION = """\
Questions to a textbook, answered from the book only. Each claim has a citation that opens the
book's site at the cited paragraph. Errors are RFC 9457 problems with a stable `code`.
"""


def extend_description(app: FastAPI) -> None:
    """Add the problems, which no route returns itself."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        _, found = models_json_schema(
            [(Problem, "serialization")], ref_template="#/components/schemas/{model}"
        )
        document["components"]["schemas"].update(found["$defs"])
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it
