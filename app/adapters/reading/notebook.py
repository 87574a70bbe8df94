"""Jupyter notebooks: the Markdown that one corresponds to.

Its Markdown cells are as they are, its code cells and what they print in fences. Images and other
outputs, raw cells and what a tag removes from the page are left out.
"""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationError,
)

from app.domain.errors import FileRefused
from app.domain.fences_and_tables import fenced
from app.domain.reading_budget import BUDGET

_LANGUAGE = re.compile(r"[\w.+#-]+")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_CELLS = AliasChoices("cells", AliasPath("worksheets", 0, "cells"))
"""Where the cells are; code of format 3, before 2015, is `input`."""
_LONGEST = 4_000
"""Characters of a cell's outputs that are read."""


def is_notebook(file: str) -> bool:
    return file.lower().endswith(".ipynb")


def _joined(text: object) -> object:
    return "".join(map(str, text)) if isinstance(text, list) else text


_Text = Annotated[str, BeforeValidator(_joined)]
"""A text, or a list of its lines."""


class _Metadata(BaseModel):
    tags: list[str] = []
    kernelspec: dict[str, JsonValue] = {}
    language_info: dict[str, JsonValue] = {}


class _Output(BaseModel):
    text: _Text = ""
    data: dict[str, JsonValue] = {}

    @property
    def shown(self) -> str:
        """What it prints; "" if the page shows an image instead."""
        has_image = any(kind.startswith("image/") for kind in self.data)
        return self.text or ("" if has_image else str(_joined(self.data.get("text/plain", ""))))


class _Cell(BaseModel):
    cell_type: str
    source: _Text = Field("", validation_alias=AliasChoices("source", "input"))
    metadata: _Metadata = _Metadata()
    outputs: list[_Output] = []

    def markdown(self, language: str) -> Iterator[str]:
        """Yield what the page shows of the cell."""
        removed = {tag.replace("_", "-") for tag in self.metadata.tags}
        source = self.source.strip("\r\n")
        if "remove-cell" in removed or not source.strip():
            return
        if self.cell_type in ("markdown", "heading"):
            yield source
        if self.cell_type == "code" and "remove-input" not in removed:
            yield fenced(source, language)
        printed = _COLOUR.sub("", "".join(one.shown for one in self.outputs)).strip("\r\n")
        if printed.strip() and "remove-output" not in removed:
            yield fenced(printed[:_LONGEST], "")


class _Notebook(BaseModel):
    cells: list[_Cell] = Field(validation_alias=_CELLS)
    metadata: _Metadata = _Metadata()


def markdown_of(data: bytes, file: str) -> str:
    """Return a notebook's Markdown. FileRefused if it is none or exceeds the reading budget."""
    if data.count(b"[") + data.count(b"{") > BUDGET.brackets:
        message = f"over {BUDGET.brackets:,} lists and objects in its JSON: clear its outputs"
        raise FileRefused(message, file)
    try:  # an empty file is a new notebook
        text = data.removeprefix(b"\xef\xbb\xbf") or b'{"cells": []}'
        notebook = _Notebook.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        problem = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
        # Its line is one of the JSON; a number as in other messages would be one of the Markdown.
        message = f"no Jupyter notebook ({problem}): clear its outputs and save it with Jupyter"
        raise FileRefused(message, file) from error
    known = notebook.metadata
    named = known.kernelspec.get("language") or known.language_info.get("name") or "python"
    language = str(named).lower() if _LANGUAGE.fullmatch(str(named)) else ""
    shown = (text for cell in notebook.cells for text in cell.markdown(language))
    return "\n\n".join(shown) + "\n"
