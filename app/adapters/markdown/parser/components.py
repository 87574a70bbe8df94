"""What JSX components show of their attributes: quizzes, pictures, cards."""

from __future__ import annotations

import re

from app.adapters.markdown.parser.drafts import BlockDraft
from app.adapters.markdown.parser.markup import Markup
from app.adapters.markdown.parser.tags import HtmlTag, plain_text, unescape_string
from app.domain.document import RUN_BOUNDARY, BlockKind

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


def component_draft(source: str, tag: HtmlTag) -> BlockDraft | None:
    """Return what a component shows of its attributes.

    Of a quiz its question, choices and explanations; of a component without content its texts.
    """
    if not tag.is_component or tag.closing:
        return None
    if _QUIZ.search(tag.name):
        return _quiz(source, tag)
    if not tag.void or _FURNITURE.search(tag.name):
        return None
    picture = _PICTURE.search(tag.name) is not None
    wanted = _PICTURE_TEXTS if picture else _TEXTS
    texts = (plain_text(tag.get(name)) for name in tag.attributes if name in wanted)
    kind = BlockKind.FIGURE if picture else BlockKind.PARAGRAPH
    return _piece(kind, tag, list(dict.fromkeys(texts)))


def _quiz(source: str, tag: HtmlTag) -> BlockDraft | None:
    texts: list[tuple[int, str]] = []
    raw = source[tag.start : tag.end]
    for match in _QUIZ_TEXT.finditer(raw):
        body = next(group for group in match.groups()[1:] if group is not None)
        texts.append((match.start(), unescape_string(body)))
    names = ("question", "prompt", "title")
    texts.extend((raw.find(f"{name}="), tag.get(name)) for name in names if tag.get(name))
    return _piece(BlockKind.EXERCISE, tag, [plain_text(text) for _, text in sorted(texts)])


def _piece(kind: BlockKind, tag: HtmlTag, texts: list[str]) -> BlockDraft | None:
    shown = [text for text in texts if text]
    if not shown:
        return None
    text = "\n".join(shown)
    return BlockDraft(kind, text, text, tag.start, tag.end, runs=RUN_BOUNDARY.join(shown))


def literal_draft(mark: Markup) -> BlockDraft:
    """Return the text of an expression that is a string: code where it has lines, else prose."""
    text = mark.argument.strip("\n").rstrip()
    kind = BlockKind.CODE if "\n" in text else BlockKind.PARAGRAPH
    runs = text.replace("\n", RUN_BOUNDARY)
    return BlockDraft(kind, text, text, mark.start, mark.end, runs=runs)
