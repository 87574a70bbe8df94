"""Bodies of MyST directives that are no Markdown: glossaries, CSV tables, parts of files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.adapters.markdown.includes import is_number
from app.adapters.markdown.parser.drafts import BlockDraft
from app.domain.document import RUN_BOUNDARY, BlockKind
from app.domain.reading_budget import BUDGET


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive's header: name, argument, options and where its body's lines are."""

    name: str
    argument: str
    options: dict[str, str]
    opening: int
    """The line of the opening fence."""
    first: int
    """First line of the body."""
    last: int
    """The line behind the body."""
    stop: int
    """The line behind the directive."""

    def read_glossary(self, source: str, lines: Sequence[int]) -> list[BlockDraft]:
        """Return an entry for each definition of a `{glossary}`; `lines` are line starts.

        Terms stand at the margin, their definitions are indented below or begin with `:`.
        """
        drafts: list[BlockDraft] = []
        entry = _Entry()
        margin = -1
        for number in range(self.first, self.last):
            raw = source[lines[number] : lines[number + 1]].rstrip()
            text = raw.strip()
            if not text:
                continue
            indent = len(raw) - len(raw.lstrip())
            margin = indent if margin < 0 else margin
            is_term = indent <= margin and not text.startswith((": ", "~ "))
            if is_term and entry.body:
                drafts.append(entry.draft())
                entry = _Entry()
            entry.add(text, is_term, lines[number] + indent, lines[number] + len(raw))
        if entry.end >= 0:
            drafts.append(entry.draft())
        return drafts

    def read_csv_table(self, source: str, lines: Sequence[int]) -> list[BlockDraft]:
        """Return the table of a `{csv-table}`; `lines` are line starts."""
        start, stop = lines[self.first], lines[self.last]
        body = source[start:stop]
        records = [[cell.strip() for cell in record] for record in csv.reader(io.StringIO(body))]
        rows = [" | ".join(record) for record in records if any(record)]
        if not rows:
            return []
        header = self.options.get("header", "").replace(",", " |")
        text = "\n".join([*(part for part in (self.argument, header) if part), *rows])
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


@dataclass(slots=True)
class _Entry:
    """A glossary entry while its lines are read."""

    start: int = -1
    end: int = -1
    terms: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)

    def add(self, text: str, is_term: bool, start: int, end: int) -> None:
        """Add a line, which stands at `start:end`."""
        if self.end < 0:
            self.start = start
        self.end = end
        if is_term:
            self.terms.append(text)
        else:
            self.body.append(text.removeprefix(": ").strip())

    def draft(self) -> BlockDraft:
        names = [term.split(" : ")[0].strip() for term in self.terms]
        text = "\n".join([*names, " ".join(self.body)])
        return BlockDraft(
            BlockKind.GLOSSARY_ENTRY,
            text,
            text,
            self.start,
            self.end,
            runs=RUN_BOUNDARY.join([*names, *self.body]),
            terms=tuple(names),
        )


def literal_lines(options: Mapping[str, str], lines: list[str]) -> list[str]:
    """Return the lines that a `literalinclude` shows, as Sphinx does.

    That is by `lines`, else from `start-after` or `-at` to `end-before` or `-at`.
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
            break  # more than a page may have: refused when it is counted
    return chosen
