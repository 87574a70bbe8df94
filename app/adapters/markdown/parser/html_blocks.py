"""Blocks written as tags: raw HTML elements, and the texts in components' attributes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from app.adapters.markdown.parser.drafts import BlockDraft, Markup, RawElement, verbatim_draft
from app.adapters.markdown.parser.running_text import Text
from app.adapters.markdown.parser.tags import HtmlTag, plain_text, unescape_string
from app.domain.document import RUN_BOUNDARY, BlockKind, Part

# Unclosed elements match to the end as `open`: otherwise the search would be quadratic.
_ROW = re.compile(
    r"<tr\b(?:[^>]*>(.*?)(?=</tr\s*>|<tr\b|</tbody|</thead|</table|\Z)|(?P<open>[^>]*)\Z)",
    re.S | re.I,
)
_CELL = re.compile(
    r"<(t[hd])\b(?:[^>]*?(?:/>|>(.*?)(?=</t[hd]\s*>|<t[hd]\b|</tr|\Z))|(?P<open>[^>]*)\Z)",
    re.S | re.I,
)
_ITEM = re.compile(
    r"<li\b(?:[^>]*>(.*?)(?=</li\s*>|<li\b|</ul|</ol|\Z)|(?P<open>[^>]*)\Z)", re.S | re.I
)
_ENTRY = re.compile(r"<dt\b(?:[^>]*>(.*?)(?=</dt\s*>|<dd\b|\Z)|(?P<open>[^>]*)\Z)", re.S | re.I)
_CAPTION = re.compile(r"<caption\b", re.I)
_CAPTION_END = re.compile(r"</caption\s*>", re.I)
_CAPTION_TITLE = re.compile(r"<span data-type=\"title\"[^<>]*+>[^<>]*+</span>")
"""OpenStax shows the title of a caption on a line of its own."""
_COMMENT = re.compile(r"<!--(?:.*?-->|(?P<open>.*)\Z)", re.S)
_TAGS = re.compile(r"</?[A-Za-z][^<>]*>")
_ALT = re.compile(r"<img\b(?>[^<>]*?\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)'))[^<>]*>", re.S | re.I)
_ID = re.compile(r"\bid\s*=\s*[\"']([^\"']+)[\"']")


def read_raw(source: str, element: RawElement) -> list[BlockDraft]:
    """Return the blocks of a raw element; none for scripts, frames and drawings."""
    name = element.tag.name.lower()
    if name == "table":
        return _table(source, element)
    if name in ("ul", "ol"):
        return _list(source, element)
    if name == "dl":
        return _definitions(source, element)
    if name == "pre":
        return _preformatted(source, element)
    if name == "math":
        text = plain_text(source[element.inner_start : element.inner_end])
        draft = BlockDraft(BlockKind.MATH, text, text, element.start, element.end)
        return [draft] if text else []
    return []


def _table(source: str, element: RawElement) -> list[BlockDraft]:
    inner = source[element.inner_start : element.inner_end]
    rows: list[Part] = []
    runs: list[str] = []
    head_end = inner.lower().find("</thead")
    for match in _closed(_ROW, inner):
        cells = [_cell_text(cell) for cell in _closed(_CELL, match.group(1))]
        if any(cells):
            first = head_end < 0 and not rows
            header = match.start() < head_end or (first and "<td" not in match.group(1).lower())
            start, end = (element.inner_start + offset for offset in match.span())
            rows.append(Part(BlockKind.TABLE, start, end, " | ".join(cells), header))
            runs.extend(filter(None, cells))
    if not rows:
        return []
    text = "\n".join(row.text for row in rows)
    title = _caption(inner)
    if title:
        text, runs = f"{title}\n{text}", [title, *runs]
    return [
        BlockDraft(
            BlockKind.TABLE,
            text,
            text,
            element.start,
            element.end,
            runs=RUN_BOUNDARY.join(runs),
            parts=tuple(rows),
            title=title,
            author_id=element.tag.get("id"),
        )
    ]


def _closed(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return (match for match in pattern.finditer(text) if match["open"] is None)


def _caption(inner: str) -> str:
    opening = _CAPTION.search(inner)
    begin = inner.find(">", opening.end()) + 1 if opening else 0
    closing = _CAPTION_END.search(inner, begin) if begin else None
    if closing is None:
        return ""
    return plain_text(_CAPTION_TITLE.sub(r"\g<0><br>", inner[begin : closing.start()]))


def _cell_text(match: re.Match[str]) -> str:
    return _text_with_images(match.group(2) or "")


def _list(source: str, element: RawElement) -> list[BlockDraft]:
    inner = source[element.inner_start : element.inner_end]
    parts: list[Part] = []
    for match in _closed(_ITEM, inner):
        text = _text_with_images(match.group(1))
        if text:
            start = element.inner_start + match.start()
            parts.append(
                Part(BlockKind.LIST, start, element.inner_start + match.end(), f"- {text}")
            )
    if not parts:
        return []
    text = "\n".join(part.text for part in parts)
    runs = RUN_BOUNDARY.join(part.text[2:] for part in parts)
    return [
        BlockDraft(
            BlockKind.LIST, text, text, element.start, element.end, runs=runs, parts=tuple(parts)
        )
    ]


def _text_with_images(inner: str) -> str:
    return plain_text(_ALT.sub(lambda alt: f" {alt.group(1) or alt.group(2) or ''} ", inner))


def _definitions(source: str, element: RawElement) -> list[BlockDraft]:
    """Make one entry for adjacent terms and their definition."""
    inner = source[element.inner_start : element.inner_end]
    terms = list(_closed(_ENTRY, inner))
    drafts: list[BlockDraft] = []
    names: list[str] = []
    first = 0
    for index, match in enumerate(terms):
        stop = terms[index + 1].start() if index + 1 < len(terms) else len(inner)
        first = first if names else index
        names += [name for name in (plain_text(match.group(1)),) if name]
        definition = plain_text(inner[match.end() : stop])
        begin = terms[first].start()
        if (not definition and stop < len(inner)) or not (names or definition):
            continue
        text = "\n".join([*names, definition]).strip()
        drafts.append(
            BlockDraft(
                BlockKind.GLOSSARY_ENTRY,
                text,
                text,
                element.inner_start + begin,
                element.inner_start + begin + len(inner[begin:stop].rstrip()),
                runs=RUN_BOUNDARY.join([*names, definition]),
                terms=tuple(names),
                author_id=_id_of(terms[first].group()),
            )
        )
        names = []
    return drafts


def _id_of(tag: str) -> str:
    match = _ID.search(tag[: tag.find(">")])
    return match[1] if match else ""


def _preformatted(source: str, element: RawElement) -> list[BlockDraft]:
    inner = _COMMENT.sub(_uncommented, source[element.inner_start : element.inner_end])
    text = html.unescape(_TAGS.sub("", inner)).strip("\n").rstrip()
    if not text.strip():
        return []
    return [verbatim_draft(BlockKind.CODE, text, element.start, element.end)]


def _uncommented(match: re.Match[str]) -> str:
    return "" if match["open"] is None else match.group()


_QUIZ = re.compile(r"question|quiz|exercise|choices", re.I)
_QUIZ_TEXT = re.compile(
    r"(?:^|[\s,{\[])[\"']?(text|explain|question|answer|label|title|prompt|explanation|hint)[\"']?"
    r"\s*:\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`)",
    re.S,
)
_PICTURE = re.compile(r"figure|image|img|picture|photo|diagram|illustration", re.I)
_FURNITURE = re.compile(
    r"youtube|vimeo|video|audio|embed|player|tweet|iframe|badge|icon|notebook|banner|switch|button"
    r"|toc|tabs?$|tabitem|link$|head$|listing|codeblock|playground|sandbox",
    re.I,
)
_PICTURE_TEXTS = ("alt", "title", "caption")
_TEXTS = ("title", "heading", "subtitle", "description", "caption", "summary", "text", "content",
          "message", "question", "answer", "term", "definition", "prompt")  # fmt: skip


def component_draft(
    source: str, tag: HtmlTag, read_text: Callable[[str], Text]
) -> BlockDraft | None:
    """Return the text that a component shows from its attributes.

    For a quiz: question, choices, explanations. For an empty component: its text attributes, which
    may have inline Markdown.
    """
    if not tag.is_component or tag.closing:
        return None
    if _QUIZ.search(tag.name):
        return _quiz(source, tag)
    if not tag.void or _FURNITURE.search(tag.name):
        return None
    picture = _PICTURE.search(tag.name) is not None
    wanted = _PICTURE_TEXTS if picture else _TEXTS
    texts = ((name, read_text(tag.get(name))) for name in tag.attributes if name in wanted)
    runs = {text.text: "" if name == "alt" else text.runs for name, text in texts if text.text}
    if not runs:
        return None
    text = "\n".join(runs)
    kind = BlockKind.FIGURE if picture else BlockKind.PARAGRAPH
    return BlockDraft(kind, text, text, tag.start, tag.end, runs=RUN_BOUNDARY.join(runs.values()))


def _quiz(source: str, tag: HtmlTag) -> BlockDraft | None:
    texts: list[tuple[int, str]] = []
    raw = source[tag.start : tag.end]
    for match in _QUIZ_TEXT.finditer(raw):
        body = next(group for group in match.groups()[1:] if group is not None)
        texts.append((match.start(), unescape_string(body)))
    names = ("question", "prompt", "title")
    texts.extend((raw.find(f"{name}="), tag.get(name)) for name in names if tag.get(name))
    text = "\n".join(filter(None, (plain_text(text) for _, text in sorted(texts))))
    return verbatim_draft(BlockKind.EXERCISE, text, tag.start, tag.end) if text else None


def literal_draft(mark: Markup) -> BlockDraft:
    """Return the text of a string expression: code if it has several lines, else prose."""
    text = mark.argument.strip("\n").rstrip()
    kind = BlockKind.CODE if "\n" in text else BlockKind.PARAGRAPH
    return verbatim_draft(kind, text, mark.start, mark.end)
