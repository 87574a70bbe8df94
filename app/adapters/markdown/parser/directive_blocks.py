"""MyST directives whose body is no Markdown, or Markdown with another meaning."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from app.adapters.markdown.parser.drafts import BlockDraft
from app.adapters.markdown.parser.markup import Directive
from app.domain.document import RUN_BOUNDARY, BlockKind, Part


def read_directive(source: str, directive: Directive, lines: Sequence[int]) -> list[BlockDraft]:
    """Return the blocks of a `{glossary}` or `{csv-table}`; `lines` are line starts."""
    if directive.name == "glossary":
        return _glossary(source, directive, lines)
    return _csv_table(source, directive, lines)


def _glossary(source: str, directive: Directive, lines: Sequence[int]) -> list[BlockDraft]:
    """Terms stand at the margin, their definitions are indented below or begin with `:`."""
    drafts: list[BlockDraft] = []
    terms: list[str] = []
    body: list[str] = []
    begin = end = -1

    def settle() -> None:
        nonlocal terms, body
        if terms or body:
            names = [term.split(" : ")[0].strip() for term in terms]
            text = "\n".join([*names, " ".join(body)])
            drafts.append(
                BlockDraft(
                    BlockKind.GLOSSARY_ENTRY,
                    text,
                    text,
                    begin,
                    end,
                    runs=RUN_BOUNDARY.join([*names, *body]),
                    terms=tuple(names),
                )
            )
        terms, body = [], []

    margin: int | None = None
    for number in range(directive.first, directive.last):
        raw = source[lines[number] : lines[number + 1]].rstrip()
        text = raw.strip()
        if not text:
            continue
        indent = len(raw) - len(raw.lstrip())
        margin = indent if margin is None else margin
        if indent <= margin and not text.startswith((": ", "~ ")):
            if body:
                settle()
            if not terms:
                begin = lines[number] + indent
            terms.append(text)
        else:
            if not terms and not body:
                begin = lines[number] + indent
            body.append(text.removeprefix(": ").strip())
        end = lines[number] + len(raw)
    settle()
    return drafts


def _csv_table(source: str, directive: Directive, lines: Sequence[int]) -> list[BlockDraft]:
    start, stop = lines[directive.first], lines[directive.last]
    body = source[start:stop]
    header = directive.options.get("header", "")
    records = [[cell.strip() for cell in record] for record in csv.reader(io.StringIO(body))]
    rows = [" | ".join(record) for record in records if any(record)]
    if not rows:
        return []
    end = start + len(body.rstrip())
    shown = [part for part in (directive.argument, header.replace(",", " |")) if part]
    text = "\n".join([*shown, *rows])
    return [
        BlockDraft(
            BlockKind.TABLE,
            text,
            text,
            lines[directive.opening],
            end,
            runs=text.replace("\n", RUN_BOUNDARY).replace(" | ", RUN_BOUNDARY),
            title=directive.argument,
        )
    ]


def table_of_list(draft: BlockDraft) -> BlockDraft:
    """Make a table of a `{list-table}`'s list of lists: each item is a row, its items cells."""
    rows: list[Part] = []
    for index, (part, inside) in enumerate(draft.by_part()):
        nested = [child for child in inside if child.kind is BlockKind.LIST]
        if not nested:
            return draft
        cells = [cell.text.removeprefix("- ") for child in nested for cell in child.parts]
        rows.append(Part(BlockKind.TABLE, part.start, part.end, " | ".join(cells), index == 0))
    draft.kind, draft.parts = BlockKind.TABLE, tuple(rows)
    draft.text = "\n".join(row.text for row in rows)
    return draft
