"""The text of a book's files: strict decoding, front matter, line numbers; loading of YAML.

YAML is loaded only after its nodes are counted: aliases and merges can multiply them.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field

import yaml

from app.domain.errors import BookError, FileRefused
from app.domain.reading_budget import BUDGET, check_size, is_small_number
from app.domain.surrogates import well_formed

_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(?P<body>.*?)^(?:---|\.\.\.)[ \t]*$", re.S | re.M)


@dataclass(slots=True)
class SourceFile:
    """The text of one file.

    `flat` is the parser's copy of the same length: line ends are LF, NUL and BOM are replaced.
    """

    file: str
    text: str
    flat: str
    front_matter: dict[str, object] = field(default_factory=dict)
    body_start: int = 0
    """Offset of the text after the front matter."""
    _breaks: array[int] | None = None

    def finish(self) -> str:
        """Return the text, and free what only the parser needs."""
        text, self.text, self.flat = self.text, "", ""
        self._breaks = None
        return text

    def line(self, offset: int) -> int:
        """Return the number, from 1, of the line that contains `offset`."""
        if self._breaks is None:
            self._breaks = line_breaks(self.flat)
        return bisect_left(self._breaks, offset) + 1


def line_breaks(text: str) -> array[int]:
    """Return the offsets of a text's line ends."""
    return array("Q", (match.start() for match in re.finditer("\n", text)))


def make_source(text: str, file: str) -> SourceFile:
    """Parse the front matter of a decoded text; blank it in `flat`."""
    flat = text.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")
    front_matter: dict[str, object] = {}
    body_start = 0
    match = _FRONT_MATTER.match(flat)
    if match:
        loaded = _load_front_matter(match["body"], file)
        if loaded is not None:
            front_matter, body_start = loaded, match.end()
            flat = re.sub(r"[^\n]", " ", flat[:body_start]) + flat[body_start:]
    if flat.startswith("\ufeff"):
        flat = " " + flat[1:]
    return SourceFile(file, text, flat, front_matter, body_start)


def _load_front_matter(body: str, file: str) -> dict[str, object] | None:
    try:
        loaded = load_yaml(body, file, 2) if body else {}
    except UNREADABLE:
        return _load_lines(body)
    return {str(key): one for key, one in loaded.items()} if isinstance(loaded, dict) else None


def _load_lines(body: str) -> dict[str, object] | None:
    """Read `key: value` lines of invalid YAML, as lenient generators do."""
    pairs = re.findall(r"^([A-Za-z_][\w-]*):[ \t]*(.*)$", body, re.M)
    return {key: value.strip().strip("'\"") for key, value in pairs} or None


def front_text(front_matter: dict[str, object], key: str) -> str:
    """Return a front matter value as text; "" if it is missing or not a scalar."""
    value = front_matter.get(key)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
UNREADABLE = (yaml.YAMLError, ValueError, RecursionError)
"""The errors of invalid YAML."""


def load_yaml(text: str, file: str, first_line: int = 1, loader: type = LOADER) -> object:
    """Parse YAML. Raises one of UNREADABLE, or FileRefused if it exceeds the budget.

    `first_line` is the line of `file` on which the text begins.
    """
    check_size(len(text), BUDGET.settings, file)
    _count(text, file, first_line)
    return well_formed_value(yaml.load(text, Loader=loader))  # noqa: S506 - safe loaders only


def well_formed_value(value: object) -> object:
    """Replace lone surrogates, which escapes can produce, in the texts of a loaded value.

    Numbers over 64 bits become text.
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return list(map(well_formed_value, value))
    if isinstance(value, dict):
        return {well_formed_value(key): well_formed_value(one) for key, one in value.items()}
    if isinstance(value, int | float) and not is_small_number(value):
        return str(value)
    return value


def yaml_table(text: str, file: str, first_line: int = 1) -> dict[str, object]:
    """Parse YAML; {} if it is invalid or no table. FileRefused if it exceeds the budget."""
    try:
        loaded = load_yaml(text, file, first_line)
    except UNREADABLE:
        return {}
    return loaded if isinstance(loaded, dict) else {}


def load_settings(text: str, file: str, loader: type = LOADER) -> object:
    """Parse a settings file. BookError, with the line if known, if it is invalid YAML."""
    try:
        return load_yaml(text, file, loader=loader)
    except UNREADABLE as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        raise BookError(f"is not YAML: {getattr(error, 'problem', error)}", file, line) from error


@dataclass(slots=True)
class _Collection:
    anchor: str | None
    nodes: int = 1


def _count(text: str, file: str, first_line: int) -> None:
    """Count nodes and depth from the event stream, before any object is built."""
    # By anchor; the entry of None is never read, because every alias has an anchor.
    anchored: dict[str | None, int] = {}
    # The first entry is the document itself.
    opened = [_Collection(None)]
    for event in yaml.parse(text, Loader=LOADER):
        nodes = 0
        if isinstance(event, yaml.AliasEvent):
            # A recursive alias is refused or cut by the loader.
            nodes = anchored.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            nodes = anchored[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append(_Collection(event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = opened.pop()
            nodes = anchored[closed.anchor] = closed.nodes
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
