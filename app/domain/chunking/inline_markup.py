"""Inline Markdown: spans that a cut must not split, and the text without mark-up."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from app.domain.document import Span

# Each branch begins with a different character, which makes the search fast.
_OPENING = re.compile(r"``*|!\[|\[|\$\$?(?=\S)|\\\(|<(?=[^\s<>])|\{|https?://")
_BLANK_OR_BRACKET = re.compile(r"[\s<>()]")
_BRACKETS = {"[": re.compile(r"\\.|[\[\]]", re.DOTALL), "(": re.compile(r"\\.|[()]", re.DOTALL)}
# Limits on the search for a closing mark, in characters and candidates, bound hostile input.
_REACH = 400
_TRIES = 12
_LINK = re.compile(
    r"!?\[((?:\\.|[^\[\]\\]){0,400})\](?:\([^()]{0,400}(?:\([^()]{0,200}\)[^()]{0,200})?\)|\[[^\[\]]{0,200}\])"
)
_TAG = re.compile(r"<[^<>]{0,400}>|\{:[^{}\n]{0,300}\}")
_EMPHASIS = re.compile(r"(?<![\\\w])[*_]{1,3}(?=\S)|(?<=[^\s\\])[*_]{1,3}(?!\w)|`+")
_CLOSERS = re.compile(r"(?P<marks>[*_)\]]{1,4})(?:\s+|\Z)")
_STARS = re.compile(r"(?<=\w)\*{1,3}(?=\w)")
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]{1,400})\1(?!`)")
_IMAGE_EDGES = re.compile(r"!?\[(?!\[)|\]\([^()\s\]]{0,300}(?:\s{1,3}\"|\))|\"\)")
"""Mark-up before and after an image's text, if a cut inside the image separates them."""
_CODE = "\x1a"
"""Placeholder for a code span."""
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def sentence_spans(
    text: str, language: str, split_sentences: Callable[[str, str], list[Span]]
) -> list[Span]:
    """Return the sentence spans of a paragraph's source; none ends inside inline mark-up."""
    spans = list(_with_closers(text, split_sentences(text, language)))
    if len(spans) < 2:
        return spans
    protected = list(_protected(text))
    joined = [spans[0]]
    at = 0
    for start, end in spans[1:]:
        while at < len(protected) and protected[at][1] <= start:
            at += 1
        if at < len(protected) and protected[at][0] < start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _with_closers(text: str, spans: list[Span]) -> Iterator[Span]:
    """Move closing emphasis and brackets from the start of a sentence to the end of the one before:
    "**Never stop.** Go on." is split before "Go".
    """
    held: Span | None = None
    for start, end in spans:
        closer = _CLOSERS.match(text, start, end) if held else None
        if held and closer:
            held = (held[0], closer.end("marks"))
            if closer.end() == end:
                continue
            start = closer.end()  # noqa: PLW2901 - the sentence begins later
        if held:
            yield held
        held = (start, end)
    if held:
        yield held


def _protected(text: str) -> Iterator[Span]:
    """Yield the spans of code, links, images, maths, tags, attribute lists and URLs, in order."""
    at = 0
    for match in _OPENING.finditer(text):
        start, end = match.span()
        if start < at:
            continue
        at = _closing(text, match.group(), end)
        if at > end:
            yield start, at


def _closing(text: str, opening: str, at: int) -> int:
    """Return the end of the mark-up whose opening ends at `at`; `at` if it is not closed."""
    if opening[0] == "`":
        return _run_end(text, opening, at)
    if opening[-1] == "[":
        end = _bracket_end(text, "[", at)
        follows = text[end : end + 1] if end > at else ""
        return max(_bracket_end(text, follows, end + 1), end) if follows in ("(", "[") else end
    if opening[0] == "h":
        found = _BLANK_OR_BRACKET.search(text, at, at + _REACH)
        return found.start() if found else min(at + _REACH, len(text))
    closing = {"$": "$", "$$": "$$", "\\(": "\\)", "<": ">", "{": "}"}[opening]
    end = text.find(closing, at, at + _REACH)
    return end + len(closing) if end >= 0 else at


def _run_end(text: str, run: str, at: int) -> int:
    """Return the end of the next run of exactly as many backticks; `at` if there is none."""
    end = at
    for _ in range(_TRIES):
        end = text.find(run, end, at + _REACH)
        if end < 0:
            return at
        stop = end + len(run)
        while text[stop : stop + 1] == "`":
            stop += 1
        if stop - end == len(run):
            return stop
        end = stop
    return at


def _bracket_end(text: str, opening: str, at: int) -> int:
    """Return the end of the closing bracket; `at` if there is none nearby."""
    depth = 1
    for tries, match in enumerate(_BRACKETS[opening].finditer(text, at, at + _REACH)):
        if tries == _TRIES:
            break
        depth += {opening: 1, "]": -1, ")": -1}.get(match.group(), 0)
        if not depth:
            return match.end()
    return at


def reader_text(source: str) -> str:
    """Return an approximation of what a reader sees of a paragraph's source."""
    text = source
    # Most prose has none of these, and a search for one character is cheap.
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    if "<" in text or "{" in text:
        text = _TAG.sub("", text)
    if "*" in text or "_" in text or "`" in text:
        text = _EMPHASIS.sub("", text)
    return collapse_blanks(html.unescape(_ESCAPE.sub(r"\1", text)))


def matching_texts(source: str) -> Iterator[str]:
    """Yield approximations of the text that a reader sees, the most frequent one first.

    The caller takes the first one that occurs in the block's text.
    """
    yield reader_text(source)
    if "`" in source or "*" in source or "<" in source or "\\" in source:
        yield collapse_blanks("".join(_careful_parts(source)))
    if "![" in source or "](" in source:
        yield reader_text(_IMAGE_EDGES.sub("", source))
    yield collapse_blanks(source)


def _careful_parts(source: str) -> Iterator[str]:
    """Yield code unchanged, and the text around it without escapes and emphasis within words."""
    text = _LINK.sub(r"\1", _CODE_SPAN.sub(_CODE, source))
    text = _ESCAPE.sub(lambda escape: f"&#{ord(escape[1])};", _TAG.sub("", text))
    codes = (code[2] for code in _CODE_SPAN.finditer(source))
    for part in html.unescape(_EMPHASIS.sub("", _STARS.sub("", text))).split(_CODE):
        yield part
        yield next(codes, "")


def collapse_blanks(text: str) -> str:
    """Replace each run of blanks by one space; strip the ends."""
    return " ".join(text.split())
