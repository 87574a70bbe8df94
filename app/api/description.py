"""The OpenAPI description: what FastAPI makes of the routes, and what it does not know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import ConfigDict, RootModel

from app.api.problems import Problem
from app.domain.answer import Answer

DESCRIPTION = """\
Questions to a textbook, answered from the book only. Each claim has a citation that opens the
book's site at the cited paragraph. Errors are RFC 9457 problems with a stable `code`.
"""


ANSWER = {"$ref": "#/components/schemas/Answer"}


def extend_description(app: FastAPI) -> None:
    """Add what no route declares: problems, and answers, whose schema takes long to make."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        class Described(RootModel[Answer | Problem]):
            model_config = ConfigDict(use_attribute_docstrings=True)

        document = generate()
        found = Described.model_json_schema(
            mode="serialization", ref_template="#/components/schemas/{model}"
        )
        document["components"]["schemas"].update(found["$defs"])
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it
