"""Jupyter notebooks: the Markdown that one corresponds to.

Its Markdown cells are as they are, its code cells in fences. Outputs, raw cells and cells that a
tag removes from the page are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET
from app.domain.surrogates import well_formed

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}|:{3,})(?P<rest>[^\n]*)$", re.M)
_BACKTICKS = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[\w.+#-]+")
_REMOVED = {"remove-cell", "remove_cell"}
_INPUT_REMOVED = {"remove-input", "remove_input"}


def markdown_of(data: bytes, file: str) -> str:
    """Return a notebook's Markdown. FileRefused if it is none or exceeds the reading budget.

    Messages name lines of the file's JSON in words, because other messages name lines of the
    Markdown.
    """
    notebook = _loaded(data, file)
    metadata = _table(notebook.get("metadata"))
    kernel, info = _table(metadata.get("kernelspec")), _table(metadata.get("language_info"))
    language = str(kernel.get("language") or info.get("name") or "python").lower()
    shown = (_shown(_table(cell), language) for cell in _list(notebook["cells"]))
    return well_formed("\n\n".join(filter(None, shown)) + "\n")


def _loaded(data: bytes, file: str) -> dict[str, object]:
    if data.count(b"[") + data.count(b"{") > BUDGET.brackets:
        message = f"over {BUDGET.brackets:,} lists and objects in its JSON: clear its outputs"
        raise FileRefused(message, file)
    try:
        # An empty file is a new notebook.
        notebook = _table(json.loads(data.decode("utf-8-sig") or '{"cells": []}'))
    except (ValueError, RecursionError) as error:
        message = f"not JSON ({error}): clear its outputs and save it again with Jupyter"
        raise FileRefused(message, file) from error
    if not isinstance(notebook.get("cells"), list):
        raise FileRefused("no Jupyter notebook: it has no list of cells", file)
    return notebook


def _shown(cell: dict[str, object], language: str) -> str:
    """Return a cell's Markdown; "" if the page does not show it."""
    kind, tags = cell.get("cell_type"), _list(_table(cell.get("metadata")).get("tags"))
    source = "".join(_lines(cell.get("source"))).strip("\r\n")
    removed = _REMOVED | (_INPUT_REMOVED if kind == "code" else set())
    if not source.strip() or any(tag in removed for tag in tags if isinstance(tag, str)):
        return ""
    if kind == "code":
        return _fenced(source, language if _LANGUAGE.fullmatch(language) else "")
    return _closed(source) if kind == "markdown" else ""


def _closed(source: str) -> str:
    """Close the fence that is open at a cell's end: on the site it does not reach the next cell."""
    fence = ""
    for line in _FENCE.finditer(source):
        if not fence:
            is_code_span = line["fence"][0] == "`" in line["rest"]
            fence = "" if is_code_span else line["fence"]
        elif line["fence"].startswith(fence) and not line["rest"].strip():
            fence = ""
    return f"{source}\n{fence}" if fence else source


def _fenced(source: str, language: str) -> str:
    fence = "`" * (1 + max(map(len, _BACKTICKS.findall(source)), default=2))
    return f"{fence}{language}\n{source}\n{fence}"


def _lines(source: object) -> Iterator[str]:
    """Yield the lines of a cell's source, which is a text or a list of lines."""
    lines = [source] if isinstance(source, str) else _list(source)
    yield from (line for line in lines if isinstance(line, str))


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
