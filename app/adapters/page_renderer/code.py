"""A fenced code block as Docusaurus shows it: title, marked lines, no magic comments."""

from __future__ import annotations

import re
from html import escape

_TITLE = re.compile(r"""title=(?:"([^"]*)"|'([^']*)')""")
_RANGES = re.compile(r"\{([\d,\s-]+)\}")
_MAGIC = re.compile(
    r"^\s*(?://|#|--|/\*|<!--|\{/\*)\s*highlight-(next-line|start|end)\s*(?:\*/\}?|-->)?\s*$"
)


def code_block(content: str, info: str, attributes: str) -> str:
    """Return the HTML; `info` is all that stands after the fence, `attributes` the element's."""
    language = re.split(r"[\s{]", info.strip(), maxsplit=1)[0]
    title = _TITLE.search(info)
    lines, marked = _without_magic(content.removesuffix("\n").split("\n"))
    if ranges := _RANGES.search(info):
        marked |= _line_numbers(ranges[1])
    caption = f"<figcaption>{escape(title[1] or title[2] or '')}</figcaption>" if title else ""
    css = f' class="language-{escape(language)}"' if language else ""
    body = "\n".join(_line(text, number in marked) for number, text in enumerate(lines, 1))
    return (
        f'<figure class="code"{attributes}>{caption}'
        f'<pre tabindex="0"><code{css}>{body}\n</code></pre></figure>\n'
    )


def _line(text: str, marked: bool) -> str:
    return f'<span class="marked-line">{escape(text)}</span>' if marked else escape(text)


def _without_magic(lines: list[str]) -> tuple[list[str], set[int]]:
    """Return the lines a reader sees and the numbers, from 1, of those to be marked."""
    kept: list[str] = []
    marked: set[int] = set()
    inside = next_line = False
    for line in lines:
        if magic := _MAGIC.match(line):
            inside = magic[1] == "start" or (inside and magic[1] != "end")
            next_line = magic[1] == "next-line"
            continue
        kept.append(line)
        if inside or next_line:
            marked.add(len(kept))
        next_line = False
    return kept, marked


def _line_numbers(ranges: str) -> set[int]:
    numbers: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            # The numbers come from the source: a bound keeps a huge range from filling memory.
            numbers.update(range(int(first), min(int(last or first), int(first) + 10_000) + 1))
    return numbers
