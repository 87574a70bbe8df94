"""Leaf blocks, which contain no blocks: paragraphs, headings, code, maths, raw HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.includes import FilePart
from app.adapters.markdown.parser.anchors import Slugger, heading_source
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.drafts import (
    BlockDraft,
    MarkupClass,
    MarkupSpan,
    RawElement,
    verbatim_draft,
)
from app.adapters.markdown.parser.html_blocks import read_raw
from app.adapters.markdown.parser.inline import InlineReader
from app.adapters.markdown.parser.page_includes import PageIncludes
from app.adapters.markdown.parser.running_text import Text
from app.domain.document import BlockKind, Span

_LANGUAGE = re.compile(r"\{?[.]?([^\s,{}=]++)(?!=)")
_TITLE = re.compile(
    r"\b(?:title|filename|file|name|caption|lst-cap)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s}]+))"
)
_CAPTION = re.compile(r"^(?:figure|fig\.|table|listing|image|diagram)\s*[\dA-Z]", re.IGNORECASE)


class LeafBlockReader:
    """Makes drafts from single tokens of one file, and records those that are only mark-up."""

    def __init__(
        self,
        source: str,
        env: EnvType,
        inline: InlineReader,
        dialect: Dialect,
        slugger: Slugger,
        includes: PageIncludes,
    ) -> None:
        self.source = source
        self.file: str = env["file"]
        self.lines: Sequence[int] = env["lines"]
        self.includes = includes
        self.marks: list[MarkupSpan] = []
        self.links: list[str] = []
        self._env = env
        self._inline = inline
        self._dialect = dialect
        self._slugger = slugger

    def text(self, content: str) -> Text:
        """Resolve inline source, and record its link targets."""
        text = self._inline.read(content, self._env)
        if text.links:
            self.links.extend(text.links)
        return text

    def span(self, token: Token) -> Span:
        """Return the source span of a token's lines without surrounding blanks."""
        if token.map is None:
            return 0, 0
        first, last = token.map
        # Mark-up may precede a block on its first line.
        return self.trim(token.meta.get("start", self.lines[first]), self.lines[last])

    def trim(self, start: int, end: int) -> Span:
        """Strip blanks from both ends of a span."""
        segment = self.source[start:end]
        length = len(segment)
        return (
            start + length - len(segment.lstrip()),
            end - (length - len(segment.rstrip())),
        )

    def paragraph(self, content: str, text: Text, start: int, end: int) -> BlockDraft | None:
        """Make a paragraph; a figure or maths if it has only images or formulas."""
        if not text.text:
            self.marks.append((_class_of(content), start, end))
            return None
        kind = BlockKind.PARAGRAPH
        if text.only_images:
            kind = BlockKind.FIGURE
        elif text.text[0] in "\\$" and not text.id_text.strip():
            kind = BlockKind.MATH
        draft = BlockDraft(
            kind, text.text, text.id_text, start, end, runs=text.runs, terms=text.terms
        )
        draft.author_id = text.anchor
        draft.caption = (
            content[0] == content[-1] and content[0] in "*_" and bool(_CAPTION.match(text.text))
        )
        return draft

    def heading(self, token: Token, content: str) -> BlockDraft:
        """Make a heading with its anchor. Must be called for every heading of a page in order."""
        start, end = self.span(token)
        heading = heading_source(content, self._dialect)
        text = self.text(heading.content)
        level = int(token.tag[1])
        slug_text = self._inline.slug_text(heading.content, self._env, self._slugger.policy)
        anchor = self._slugger.anchor(slug_text, level, heading.explicit_id)
        return BlockDraft(
            BlockKind.HEADING,
            text.text,
            text.id_text,
            start,
            end,
            runs=text.runs,
            level=level,
            author_id=heading.explicit_id,
            anchor=anchor,
        )

    def reserve_term(self, content: str) -> None:
        """Take the anchor that the site gives a term of a definition list, if it does."""
        if self._slugger.term_ids:
            policy = self._slugger.policy
            self._slugger.anchor(self._inline.slug_text(content, self._env, policy), 0)

    def reserve(self, anchor: str) -> None:
        """Give an anchor to a label: no later heading has it by its own text."""
        self._slugger.reserve(anchor)

    def verbatim(self, token: Token) -> list[BlockDraft]:
        """Make a block of code or display maths."""
        start, end = self.span(token)
        language, title = read_info(token.info)
        if token.type == "math_block" or language == "math":
            return [BlockDraft(BlockKind.MATH, _formula(token.content), token.content, start, end)]
        file: FilePart | None = token.meta.get("file")
        if file is None and token.type == "fence":
            file = self.includes.code_file(token.info, token.content, start)
        if file is not None:
            text, included = self.includes.file(file, start)
        else:
            body = start if token.type == "code_block" else self.source.find("\n", start) + 1
            text, included = self.includes.code(token.content, body)
        text = self._visible(text, language, token.info)
        if not text:
            empty = file is None and not token.content.strip()
            self.marks.append((MarkupClass.RULE if empty else MarkupClass.INCLUDE, start, end))
            return []
        code = verbatim_draft(BlockKind.CODE, text, start, end)
        code.language, code.included = language, included
        code.title = title or str(token.meta.get("title", ""))
        code.author_id = str(token.meta.get("name", ""))
        return [code]

    def _visible(self, text: str, language: str, info: str) -> str:
        """Drop the lines of a code block that the page does not show."""
        text = text.strip("\n")
        if self._env["crlf"]:
            text = text.replace(" \n", "\n")  # the blank that stands for the CR
        if self._dialect.visible_code is not None:
            text = self._dialect.visible_code(text, language, info)
        return text.rstrip()

    def raw(self, token: Token) -> list[BlockDraft]:
        """Make the blocks of an HTML element that was read whole."""
        element: RawElement = token.meta["found"]
        drafts = read_raw(self.source, element)
        if drafts:
            self.marks.append((MarkupClass.TAG, element.start, element.inner_start))
            self.marks.append((MarkupClass.TAG, element.inner_end, element.end))
        else:
            self.marks.append((MarkupClass.EMBED, element.start, element.end))
        return drafts


def _formula(content: str) -> str:
    """Return a formula with its delimiters; a directive or an environment has none."""
    formula = content.strip()
    delimited = formula.startswith(("$$", "\\["))
    return formula if delimited or not formula else f"$$\n{formula}\n$$"


def _class_of(content: str) -> MarkupClass:
    """Return the class of the mark-up in a paragraph without text."""
    head = content.lstrip()[:4]
    if head.startswith("<!--"):
        return MarkupClass.COMMENT
    if head.startswith(("{:", "{#")):
        return MarkupClass.ATTRIBUTE_LIST
    if head.startswith("{"):
        return MarkupClass.EXPRESSION
    return MarkupClass.TAG


def read_info(info: str) -> tuple[str, str]:
    """Return the language and the title in a code block's info string."""
    info = info.strip()
    match = _LANGUAGE.match(info)
    title = _TITLE.search(info, match.end() if match else 0)
    shown = next((group for group in title.groups() if group), "") if title else ""
    return match.group(1) if match else "", shown
