"""YAML of a book, read only after its nodes were counted: aliases and merges may stand for many."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from app.domain.errors import BookError, FileRefused
from app.domain.reading_budget import BUDGET, check_size

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
UNREADABLE = (yaml.YAMLError, ValueError, RecursionError)
"""What a text that is no YAML raises."""


def load_yaml(text: str, file: str, first_line: int = 1, loader: type = LOADER) -> object:
    """Return what the text says. One of UNREADABLE; FileRefused if it is more than the budget.

    `first_line` is the line of `file` that the text begins on.
    """
    check_size(len(text), BUDGET.settings, file)
    _count(text, file, first_line)
    loaded: object = yaml.load(text, Loader=loader)  # noqa: S506 - safe loaders only
    return loaded


def load_settings(text: str, file: str, loader: type = LOADER) -> object:
    """Return what a settings file says. BookError, with the line if known, if it is no YAML."""
    try:
        return load_yaml(text, file, loader=loader)
    except UNREADABLE as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        raise BookError(f"is no YAML: {getattr(error, 'problem', error)}", file, line) from error


@dataclass(slots=True)
class _Collection:
    anchor: str | None
    nodes: int = 1


def _count(text: str, file: str, first_line: int) -> None:
    """Go through the text's events, which are made one by one, before anything is built of them."""
    anchored: dict[str | None, int] = {}
    # The document itself is the outermost.
    opened = [_Collection(None)]
    for event in yaml.parse(text, Loader=LOADER):
        nodes = 0
        if isinstance(event, yaml.AliasEvent):
            # An alias within what it names is a circle, which the loader refuses or cuts.
            nodes = anchored.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            nodes = 1
            if event.anchor:
                anchored[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append(_Collection(event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = opened.pop()
            nodes = closed.nodes
            if closed.anchor:
                anchored[closed.anchor] = nodes
        opened[-1].nodes += nodes
        line = first_line + (event.start_mark.line if event.start_mark else 0)
        if opened[-1].nodes > BUDGET.nodes:
            message = (
                f"over {BUDGET.nodes:,} YAML values, aliases and merges written out: use fewer"
            )
            raise FileRefused(message, file, line)
        if len(opened) > BUDGET.depth:
            message = f"lists and tables over {BUDGET.depth} deep in YAML: nest fewer"
            raise FileRefused(message, file, line)
