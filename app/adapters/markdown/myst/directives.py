"""Reads MyST's directives: headers, options and bodies."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.includes import FilePart, is_number
from app.adapters.markdown.myst.roles import INLINE_OPTIONS
from app.adapters.markdown.parser.block_rules import push_found
from app.adapters.markdown.parser.drafts import (
    BlockDraft,
    Markup,
    MarkupClass,
    RawDirective,
)
from app.adapters.markdown.parser.fenced_containers import closing_line, read_container
from app.adapters.markdown.parser.running_text import Text
from app.adapters.markdown.source import yaml_table
from app.domain.document import RUN_BOUNDARY, BlockKind
from app.domain.reading_budget import BUDGET

_OPENING = re.compile(
    r"(?P<fence>`{3,}|~{3,}|:{3,})[ \t]*"
    rf"\{{(?P<name>[A-Za-z][\w:+-]*){INLINE_OPTIONS}\}}[ \t]*(?P<argument>[^\n]*)$",
    re.M,
)
_INLINE_OPTION = re.compile(
    r"#(?P<label>[\w-]+)|(?P<key>[\w-]+)=(?:\"(?P<quoted>(?:\\.|[^\"\\])*)\"|(?P<bare>[^\s\"]+))"
)
_OPTION = re.compile(r"[ \t]*:(?P<key>[\w-]+):[ \t]*(?P<value>[^\n]*)$")
_REMOVED = re.compile(r"\bremove[-_](?:cell|input)\b")

PROOFS = re.compile(r"^(?:prf|proof):")
"""Before the name of a theorem, a lemma and the like."""
CODE = frozenset(
    "code code-block code-cell sourcecode literalinclude mermaid graphviz highlight "
    "ipython prompt doctest parsed-literal".split()
)
SILENT = frozenset(
    "toctree tableofcontents bibliography index contents raw sectionauthor codeauthor "
    "only currentmodule highlight-lang footbibliography youtube video audio "
    "listoffigures default-role meta title".split()
)


def directive(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _OPENING.match(state.src, position)
    if match is None:
        return False
    if silent:
        return True
    directive = _read(state, match, start, end)
    build = next((build for names, build in _BUILDERS if directive.name in names), _container)
    build(state, directive)
    state.line = directive.stop
    return True


def _read(state: StateBlock, match: re.Match[str], start: int, end: int) -> Directive:
    fence = match["fence"]
    last = closing_line(state, fence, start + 1, end)
    options = inline_options(match["options"])
    first = start + 1
    if first < last and _line(state, first).strip() == "---":
        first = _yaml_options(state, first, last, options)
    else:
        first = _colon_options(state, first, last, options)
    return Directive(
        match["name"].lower(),
        match["argument"].strip(),
        options,
        match.start(),
        start,
        first,
        last,
        min(last + 1, end),
    )


def inline_options(written: str) -> dict[str, str]:
    """Read mystmd's `#label .class key=value` behind the name of a directive."""
    found = _INLINE_OPTION.finditer(written)
    return {
        option["key"] or "label": option["label"] or option["quoted"] or option["bare"] or ""
        for option in found
    }


def _colon_options(state: StateBlock, line: int, last: int, options: dict[str, str]) -> int:
    """Read `:key: value`; a line with only a colon before its text continues a value."""
    written: dict[str, list[str]] = {}
    value: list[str] = []
    while line < last:
        text = _line(state, line)
        if option := _OPTION.match(text):
            written[option["key"]] = value = [option["value"].strip()]
        elif value and text.startswith((": ", ":\t")):
            value[0] = value[0].strip(">|-")
            value.append(text[1:].strip())
        else:
            break
        line += 1
    options.update((key, " ".join(filter(None, value))) for key, value in written.items())
    return line


def _yaml_options(state: StateBlock, line: int, last: int, options: dict[str, str]) -> int:
    close = line + 1
    while close < last and _line(state, close).strip() != "---":
        close += 1
    if close >= last:
        return line
    written = "\n".join(_line(state, at) for at in range(line + 1, close))
    loaded = yaml_table(written, state.env["file"], line + 2)
    options.update({str(key): str(value) for key, value in loaded.items()})
    return close + 1


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _code(state: StateBlock, directive: Directive) -> None:
    if directive.name == "code-cell" and _REMOVED.search(directive.options.get("tags", "")):
        _whole(state, directive)
        return
    token = state.push("fence", "code", 0)
    token.map = [directive.opening, directive.stop]
    token.content = state.getLines(directive.first, directive.last, state.blkIndent, True)
    options = directive.options
    language = options.get("language", directive.argument)
    if directive.name == "literalinclude":
        language = options.get("language", "")
        token.meta = {"file": FilePart(directive.argument, partial(literal_lines, options))}
    elif directive.name in ("mermaid", "graphviz"):
        language = directive.name
    title = options.get("caption") or options.get("filename") or ""
    token.info = language.split()[0] if language.split() else ""
    token.meta = {**token.meta, "title": title, "name": _label(directive)}


def _math(state: StateBlock, directive: Directive) -> None:
    token = state.push("math_block", "", 0)
    token.map = [directive.opening, directive.stop]
    body = state.getLines(directive.first, directive.last, state.blkIndent, False).strip()
    token.content = "\n".join(part for part in (directive.argument, body) if part)


def _not_markdown(state: StateBlock, directive: Directive) -> None:
    read = directive.read_glossary if directive.name == "glossary" else directive.read_csv_table
    token = state.push("directive", "", 0)
    token.map = [directive.opening, directive.stop]
    found = RawDirective(directive.opening, directive.first, directive.last, directive.stop, read)
    token.meta = {"found": found}


def _whole(state: StateBlock, directive: Directive) -> None:
    """Emit the directive and its body as mark-up."""
    kind = MarkupClass.INCLUDE if directive.name == "include" else MarkupClass.DIRECTIVE
    stop = state.eMarks[directive.stop - 1]
    mark = Markup(kind, directive.position, stop, name=directive.name, argument=directive.argument)
    push_found(state, mark, directive.opening, directive.stop)


_BUILDERS = (
    (CODE, _code),
    (frozenset({"math"}), _math),
    (SILENT | {"include"}, _whole),
    (frozenset({"csv-table", "glossary"}), _not_markdown),
)


_NO_TITLE = frozenset(
    "code tab-item grid grid-item tab-set div solution solution-start glue:figure glue:math "
    "figure-md".split()
)
"""Containers whose argument is not a title but a number, a key, a label or a navigation label."""


def _container(state: StateBlock, directive: Directive) -> None:
    """Emit a container and read its body in place.

    `{name-start}` and `{name-end}` are separate directives with the container between them.
    """
    name = PROOFS.sub("", directive.name)
    stop = state.eMarks[directive.stop - 1]
    if name.endswith("-end"):
        closes = f"{{{name.removesuffix('-end')}}}"
        mark = Markup(MarkupClass.DIRECTIVE, directive.position, stop, closes=closes)
        push_found(state, mark, directive.opening, directive.stop)
        return
    gate = name.removesuffix("-start") if name.endswith("-start") else ""
    opening = Markup(
        MarkupClass.DIRECTIVE,
        directive.position,
        state.eMarks[directive.first - 1],
        opens=f"{{{gate}}}",
        name="admonition" if PROOFS.match(directive.name) else gate or name,
        argument=_title(directive, name),
        label=_label(directive),
    )
    outer, state.env["rst"] = state.env.get("rst"), directive.name == "eval-rst"
    lines = (directive.opening, directive.first, directive.last, directive.stop)
    read_container(state, opening, lines, closes="{-}" if gate else "{}")
    state.env["rst"] = outer


def _title(directive: Directive, name: str) -> str:
    if name in ("figure", "image", "iframe"):
        return directive.options.get("alt", "")  # the argument is a file
    return "" if name in _NO_TITLE else directive.argument


def _label(directive: Directive) -> str:
    if directive.name == "figure-md" and directive.argument:
        return directive.argument
    return directive.options.get("label") or directive.options.get("name") or ""


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive: name, argument, options and the lines of its body."""

    name: str
    argument: str
    options: dict[str, str]
    position: int
    """Offset of the opening fence."""
    opening: int
    """The line of the opening fence."""
    first: int
    """First line of the body."""
    last: int
    """The line after the body."""
    stop: int
    """The line after the directive."""

    def read_glossary(
        self, source: str, lines: Sequence[int], read_text: Callable[[str], Text]
    ) -> list[BlockDraft]:
        """Return an entry for each definition of a `{glossary}`; `lines` are line starts.

        Terms are at the margin. Definitions are indented below them or begin with `:`; a line at
        the margin directly below one that began with `:` continues it.
        """
        drafts: list[BlockDraft] = []
        entry = _Entry()
        margin, continues = -1, False
        for number in range(self.first, self.last):
            raw = source[lines[number] : lines[number + 1]].rstrip()
            text = raw.strip()
            if not text:
                entry.paragraphs.append([])
                continues = False
                continue
            indent = len(raw) - len(raw.lstrip())
            margin = indent if margin < 0 else margin
            continues = continues or text.startswith((": ", "~ "))
            is_term = indent <= margin and not continues
            if is_term and any(entry.paragraphs):
                drafts.append(entry.draft(read_text))
                entry = _Entry()
            entry.add(text, is_term, lines[number] + indent, lines[number] + len(raw))
        if entry.end >= 0:
            drafts.append(entry.draft(read_text))
        return drafts

    def read_csv_table(
        self, source: str, lines: Sequence[int], _read_text: Callable[[str], Text]
    ) -> list[BlockDraft]:
        """Return the table of a `{csv-table}`; `lines` are line starts."""
        start, stop = lines[self.first], lines[self.last]
        body = source[start:stop]
        rows = _csv_rows(body, self.options.get("delim", ""))
        if not rows:
            return []
        header = _csv_rows(self.options.get("header", ""))
        text = "\n".join([*filter(None, [self.argument]), *header, *rows])
        return [
            BlockDraft(
                BlockKind.TABLE,
                text,
                text,
                lines[self.opening],
                start + len(body.rstrip()),
                runs=text.replace("\n", RUN_BOUNDARY).replace(" | ", RUN_BOUNDARY),
                title=self.argument,
            )
        ]


def _csv_rows(text: str, separator: str = "") -> list[str]:
    """Return the rows of comma-separated values; as they are if they cannot be read."""
    separator = "\t" if separator == "tab" else separator
    if len(separator) != 1 or separator == '"':
        separator = ","
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    try:
        records = [[cell.strip() for cell in record] for record in reader]
    except csv.Error:  # a cell that is too long
        records = [[line.strip()] for line in text.splitlines()]
    return [" | ".join(record) for record in records if any(record)]


@dataclass(slots=True)
class _Entry:
    """A glossary entry while its lines are read."""

    start: int = -1
    end: int = -1
    terms: list[str] = field(default_factory=list)
    paragraphs: list[list[str]] = field(default_factory=lambda: [[]])
    """The lines of each paragraph of the definition."""

    def add(self, text: str, is_term: bool, start: int, end: int) -> None:
        """Add a line, which stands at `start:end`."""
        if self.end < 0:
            self.start = start
        self.end = end
        if is_term:
            self.terms.append(text)
        else:
            self.paragraphs[-1].append(text.removeprefix(": ").strip())

    def draft(self, read_text: Callable[[str], Text]) -> BlockDraft:
        names = [read_text(term.split(" : ")[0].strip()) for term in self.terms]
        body = [read_text(" ".join(lines)) for lines in self.paragraphs if lines]
        return BlockDraft(
            BlockKind.GLOSSARY_ENTRY,
            "\n".join([*(name.text for name in names), " ".join(part.text for part in body)]),
            "\n".join([*(name.id_text for name in names), " ".join(part.id_text for part in body)]),
            self.start,
            self.end,
            runs=RUN_BOUNDARY.join(part.runs for part in (*names, *body)),
            terms=tuple(name.text for name in names),
        )


def literal_lines(options: Mapping[str, str], lines: list[str]) -> list[str]:
    """Return the lines that a `literalinclude` shows, as Sphinx does.

    `lines` takes precedence; else from `start-after` or `start-at` to `end-before` or `end-at`.
    """
    if options.get("lines"):
        return _numbered_lines(options["lines"], lines)
    start, stop = 0, len(lines)
    for name, extra in (("start-after", 1), ("start-at", 0)):
        if options.get(name):
            start = _find(lines, options[name], 0, -extra) + extra
    for name, extra in (("end-before", 0), ("end-at", 1)):
        if options.get(name):
            stop = _find(lines, options[name], start, len(lines) - extra) + extra
    return lines[start:stop]


def _find(lines: list[str], text: str, start: int, default: int) -> int:
    found = (index for index in range(start, len(lines)) if text in lines[index])
    return next(found, default)


def _numbered_lines(ranges: str, lines: list[str]) -> list[str]:
    """Return the lines of `1-3, 5, 7-`."""
    chosen: list[str] = []
    for part in ranges.split(","):
        first, dash, last = part.strip().partition("-")
        begin = int(first) - 1 if is_number(first) else 0
        stop = begin + 1
        if dash:
            stop = int(last) if is_number(last) else len(lines)
        chosen.extend(lines[begin:stop])
        if len(chosen) > BUDGET.included:
            break  # over the budget; `Included.add` refuses it
    return chosen
