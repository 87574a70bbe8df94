"""Jupyter notebooks: the Markdown that one corresponds to.

Its Markdown cells are as they are, its code cells in fences. Outputs, raw cells and cells that a
tag removes from the page are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain

from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET
from app.domain.surrogates import well_formed

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}|:{3,})(?P<rest>[^\n]*)$", re.M)
_BACKTICKS = re.compile(r"`{3,}")
_LANGUAGE = re.compile(r"[\w.+#-]+")
_MARKDOWN = "text/markdown"
_REMOVED = ({"remove-cell", "remove_cell"}, {"remove-input", "remove_input"})
"""The tags that remove a cell, and the source of a code cell."""


def markdown_of(data: bytes, file: str) -> str:
    """Return a notebook's Markdown. FileRefused if it is none or exceeds the reading budget.

    Messages name lines of the file's JSON in words, because other messages name lines of the
    Markdown.
    """
    notebook = _loaded(data, file)
    language = _language(notebook)
    shown = (_shown(cell, language) for cell in _cells(notebook, file))
    return well_formed("\n\n".join(filter(None, shown)) + "\n")


def _loaded(data: bytes, file: str) -> object:
    brackets = data.count(b"[") + data.count(b"{")
    if brackets > BUDGET.brackets:
        message = f"over {BUDGET.brackets:,} lists and objects in its JSON: clear its outputs"
        raise FileRefused(message, file)
    try:
        # An empty file is a new notebook.
        return json.loads(data.decode("utf-8-sig") or '{"cells": []}')
    except RecursionError as error:
        message = "its JSON is nested too deeply: clear its outputs"
        raise FileRefused(message, file) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8 (byte 0x{data[error.start]:02x}) in line {line:,} of its JSON"
        raise FileRefused(f"{problem}; save the file as UTF-8", file) from error
    except json.JSONDecodeError as error:
        problem = f"{error.msg} in line {error.lineno:,}, column {error.colno:,}"
        message = f"not JSON: {problem}; save the notebook again with Jupyter"
        raise FileRefused(message, file) from error
    except ValueError as error:  # a number of thousands of digits
        raise FileRefused(f"not JSON: {error}", file) from error


def _cells(notebook: object, file: str) -> Iterator[dict[str, object]]:
    """Return the cells; of the format 3 those of all worksheets."""
    sheets = _list(_table(notebook).get("worksheets"))
    found = [_table(one).get("cells") for one in (notebook, *sheets)]
    if not any(isinstance(cells, list) for cells in found):
        message = "no Jupyter notebook: it has no list of cells; save it again with Jupyter"
        raise FileRefused(message, file)
    return map(_table, chain.from_iterable(map(_list, found)))


def _shown(cell: dict[str, object], language: str) -> str:
    """Return a cell's Markdown; "" if the page does not show it."""
    kind, metadata = cell.get("cell_type"), _table(cell.get("metadata"))
    tags = {tag for tag in _list(metadata.get("tags")) if isinstance(tag, str)}
    cell_tags, input_tags = _REMOVED
    source = _text(cell.get("input" if "input" in cell else "source"))
    if tags & cell_tags or not source.strip():
        return ""
    if kind == "code":
        opening = _opening(metadata, str(cell.get("language") or language))
        return "" if tags & input_tags else _fenced(source, opening)
    if kind == "heading":
        level = cell.get("level")
        marks = "#" * (level if isinstance(level, int) and 0 < level < 7 else 1)
        return f"{marks} {' '.join(source.split())}"
    formats = (metadata.get("format"), metadata.get("raw_mimetype"))
    is_markdown = kind == "markdown" or (kind == "raw" and _MARKDOWN in formats)
    return _closed(source.strip("\r\n")) if is_markdown else ""


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


def _opening(metadata: dict[str, object], language: str) -> str:
    """Return what follows a code cell's fence: the language, and MyST-NB's name of its figure."""
    info = language if _LANGUAGE.fullmatch(language) else ""
    figure = _table(_table(metadata.get("mystnb")).get("figure"))
    values = ((name, " ".join(str(figure.get(name, "")).split())) for name in ("name", "caption"))
    options = "".join(f":{name}: {value}\n" for name, value in values if value)
    return f"{{code-cell}} {info}\n{options}" if options else f"{info}\n"


def _fenced(source: str, opening: str) -> str:
    longest = max(map(len, _BACKTICKS.findall(f"{opening}{source}")), default=2)
    fence = "`" * (longest + 1)
    body = source.strip("\r\n")
    return f"{fence}{opening}{body}\n{fence}"


def _language(notebook: object) -> str:
    metadata = _table(_table(notebook).get("metadata"))
    kernel, info = _table(metadata.get("kernelspec")), _table(metadata.get("language_info"))
    return str(kernel.get("language") or info.get("name") or "python").lower()


def _text(source: object) -> str:
    """Return a cell's source, which is a text or a list of lines."""
    if isinstance(source, str):
        return source
    return "".join(line for line in _list(source) if isinstance(line, str))


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
