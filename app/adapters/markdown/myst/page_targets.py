"""Finds the targets of cross-references on a page: sections, figures, tables, formulas, proofs.

Pages are scanned line by line before any is parsed, because a role may show a later page's title.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.adapters.markdown.myst.directives import CODE, PROOFS, inline_options
from app.adapters.markdown.myst.roles import INLINE_OPTIONS

_OPENING = re.compile(
    r"(?P<fence>`{3,}|~{3,}|:{3,})[ \t]*"
    rf"(?:\{{(?P<name>[A-Za-z][\w:+-]*){INLINE_OPTIONS}\}}[ \t]*(?P<argument>.*))?"
)
_OPTION = re.compile(r":?(?P<key>[\w-]+):(?:[ \t]+(?P<value>.*))?$")
_LABEL = re.compile(r"\((?P<label>[^()]+)\)=$")
_HEADING = re.compile(r"(?P<marks>#{1,6})[ \t]+(?P<title>.*)")
_FORMULA_LABEL = re.compile(r"\$\$[ \t]*\((?P<label>[^()\s]+)\)$")
_ROLE = re.compile(r"\{[A-Za-z][\w:+-]*\}(?=`)")
_LINK = re.compile(
    r"!?\[((?:\\.|[^\[\]\\]){0,400})\](?:\([^()]{0,400}(?:\([^()]{0,200}\)[^()]{0,200})?\)|\[[^\[\]]{0,200}\])"
)
_TAG = re.compile(r"<[^<>]{0,400}>|\{:[^{}\n]{0,300}\}")
_EMPHASIS = re.compile(r"(?<![\\\w])[*_]{1,3}(?=\S)|(?<=[^\s\\])[*_]{1,3}(?!\w)|`+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")

SECTION, FIGURE, TABLE, LISTING, EQUATION = "section", "figure", "table", "listing", "equation"
EXERCISE = "exercise"
_FIGURES = frozenset({"figure", "glue:figure", "code-cell"})
_TABLES = frozenset({"table", "list-table", "csv-table"})
_LISTINGS = frozenset({"code-block", "code", "sourcecode", "literalinclude"})


@dataclass(frozen=True, slots=True)
class Target:
    """A section, or a numbered object such as a figure."""

    kind: str
    """One of the constants above, or a directive's name: "theorem"."""
    names: tuple[str, ...]
    title: str = ""
    level: int = 0
    """1 to 6 for a section, else 0."""
    counted: bool = True
    """Whether Sphinx counts it: a figure or a table without a caption has no number."""


def targets_of(text: str) -> list[Target]:
    """Return a page's targets in order; time is linear in the length of the text."""
    return list(_Scanner(text.splitlines()).targets())


@dataclass(slots=True)
class _Scanner:
    lines: Sequence[str]
    at: int = 0
    """The next line."""
    label: str = ""
    """A label that waits for its target."""
    options: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    """The fences of the open directives, outermost first."""

    def targets(self) -> Iterator[Target]:
        while self.at < len(self.lines):
            line = self.lines[self.at].strip().lstrip("> ")
            self.at += 1
            if not line:
                continue
            if label := _LABEL.match(line):
                self.label = label["label"]
                continue
            if self._closes(line):
                continue
            if opening := _OPENING.match(line):
                yield from self._block(opening)
            elif heading := _HEADING.match(line):
                title = _plain_title(heading["title"].rstrip("# \t"))
                yield Target(SECTION, self._names(), title, len(heading["marks"]))
            elif formula := _FORMULA_LABEL.search(line):
                yield Target(EQUATION, (formula["label"],))
            self.label = ""

    def _names(self) -> tuple[str, ...]:
        options = (self.options.get("name"), self.options.get("label"))
        return tuple(dict.fromkeys(filter(None, (self.label, *options))))

    def _block(self, opening: re.Match[str]) -> Iterator[Target]:
        """Yield the target that a fence opens, if any; skip a body that is not Markdown."""
        name = (opening["name"] or "").lower()
        written = inline_options(opening["options"] or "")
        self.options = {**written, **self._read_options()} if name else {}
        yield from self._target(name, (opening["argument"] or "").strip())
        self.options = {}
        is_plain = not name and opening["fence"][0] != ":"
        if is_plain or name in CODE or name == "math":
            self._skip_to_end(opening["fence"])
        elif name:
            self.open.append(opening["fence"])

    def _closes(self, line: str) -> bool:
        """Close the innermost directive if this line is its end."""
        closes = bool(self.open) and line.startswith(self.open[-1])
        if closes and not line.strip(line[0]):
            self.open.pop()
            return True
        return False

    def _target(self, name: str, argument: str) -> Iterator[Target]:
        bare = PROOFS.sub("", name).removesuffix("-start")
        names, caption = self._names(), self.options.get("caption", "")
        if name in _FIGURES:
            caption = caption or ("" if name == "code-cell" else self._paragraph(0))
            if caption or names:
                yield Target(FIGURE, names, _plain_title(caption), counted=bool(caption))
        elif name == "figure-md":
            caption = self._paragraph(1)  # the first paragraph is the image
            yield Target(FIGURE, tuple(filter(None, (argument, *names))), _plain_title(caption))
        elif name in _TABLES:
            yield Target(TABLE, names, _plain_title(argument), counted=bool(argument))
        elif name in _LISTINGS:
            yield Target(LISTING, names, _plain_title(caption), counted=bool(caption))
        elif name == "math":
            yield Target(EQUATION, names, counted=bool(names))
        elif PROOFS.match(name) or bare == EXERCISE:
            yield Target(
                bare, names, _plain_title(argument), counted="nonumber" not in self.options
            )

    def _read_options(self) -> dict[str, str]:
        """Read `:key: value` lines, or `key: value` between dashes; nested keys count as well."""
        options: dict[str, str] = {}
        dashed = self._line(self.at) == "---"
        at = self.at + dashed
        while at < len(self.lines):
            option = _OPTION.match(self._line(at))
            if option is not None and dashed != self._line(at).startswith(":"):
                options[option["key"]] = (option["value"] or "").strip("\"' ")
            elif not dashed:
                break
            elif self._line(at) == "---":
                at += 1
                break
            elif not self._line(at):
                return {}
            at += 1
        self.at = at
        return options

    def _paragraph(self, number: int) -> str:
        """Return a paragraph of the directive's body, from 0; the lookahead does not read it."""
        first = last = self.at
        for _ in range(number + 1):
            first = last
            while first < len(self.lines) and not self._line(first):
                first += 1
            last = first
            while last < len(self.lines) and self._line(last) and not self._is_fence(last):
                last += 1
        return " ".join(self._line(each) for each in range(first, last))

    def _is_fence(self, at: int) -> bool:
        return _OPENING.match(self._line(at)) is not None

    def _skip_to_end(self, fence: str) -> None:
        while self.at < len(self.lines):
            line = self._line(self.at)
            self.at += 1
            if line.startswith(fence) and not line.strip(fence[0]):
                return

    def _line(self, at: int) -> str:
        return self.lines[at].strip() if at < len(self.lines) else ""


def _plain_title(source: str) -> str:
    """Return what a reader sees of a title's inline source."""
    text = _TAG.sub("", _LINK.sub(r"\1", _ROLE.sub("", source)))
    text = _ESCAPE.sub(r"\1", _EMPHASIS.sub("", text))
    return " ".join(html.unescape(text).split())
