"""The OpenAPI description: what FastAPI makes of the routes, and what it does not know."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from app.api.events import DeltaEvent, SourcesEvent, StartEvent
from app.api.problems import ErrorEvent, Problem
from app.domain import answer

DESCRIPTION = """\
Questions to a textbook, answered from the book only. Each claim has a citation that opens the
book's site at the cited paragraph. Errors are RFC 9457 problems with a stable `code`.
"""
TAGS = [
    {"name": "answers", "description": "Ask and search."},
    {"name": "books", "description": "What is in the index."},
    {"name": "protocols", "description": "The same answers in the protocols of other APIs."},
    {"name": "admin", "description": "Bring books up to date, with a secret key."},
    {"name": "operation", "description": "For the operator's monitoring."},
]
_UNRETURNED = (Problem, StartEvent, SourcesEvent, DeltaEvent, ErrorEvent)
"""What is in the description but no route's response model: problems, events."""


def extend_description(app: FastAPI) -> None:
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schemas = document["components"]["schemas"]
        _, found = models_json_schema(
            [(one, "serialization") for one in _UNRETURNED],
            ref_template="#/components/schemas/{model}",
        )
        schemas.update(found["$defs"])
        _describe_fields(schemas)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _describe_fields(schemas: dict[str, Any]) -> None:
    """Describe the fields of models and dataclasses by the docstrings below them.

    pydantic's `use_attribute_docstrings` does the same at each start of a server, which takes 0.1 s
    more.
    """
    modules = [one for name, one in sys.modules.items() if name.startswith("app.api.")]
    for module in (*modules, answer):
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ClassDef):
                kind = getattr(module, node.name)
                described = [one.__name__ for one in (kind, *kind.__subclasses__())]
                fields = [schemas.get(one, {}).get("properties", {}) for one in described]
                for name, text in _docstrings(node):
                    for found in fields:
                        if name in found:
                            found[name].setdefault("description", text)


def _docstrings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the fields of a class that have a docstring."""
    for field, below in pairwise(node.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())
