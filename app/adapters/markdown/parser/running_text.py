"""Running text as a reader sees it, collected from inline tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.adapters.markdown.parser.tags import BLOCK_NAMES
from app.domain.abbreviations import abbreviated
from app.domain.document import RUN_BOUNDARY as BOUNDARY
from app.domain.document import RUN_GLUE

_BLANKS = re.compile(r"[ \t]*\n[ \t]*|[ \t]{2,}|\t")
GLUED_BOUNDARY = f"{RUN_GLUE}{BOUNDARY}{RUN_GLUE}"
"""Marks something on the page that is not in the runs, possibly within a word."""
# Begins with the boundary because searching for a literal is fast.
_WITHIN_WORD = re.compile(rf"{BOUNDARY}(?<=\w{BOUNDARY}){BOUNDARY}*+(?=['\u2019]?\w)")
_ATTRIBUTE_ID = re.compile(r"#([\w:.-]+)")

MAX_TERM_WORDS = 6
"""A longer emphasised phrase is not a term."""
_MAX_TERM_DEPTH = 60
"""Maximum nesting of emphasis with terms: each level reads its content again."""


@dataclass(slots=True)
class Text:
    """Resolved running text."""

    text: str
    """What a reader sees."""
    id_text: str
    """`text` without maths, images, expressions and footnote references: ids are made from it."""
    runs: str
    """`text` as it appears in line on the page, with a BOUNDARY wherever mark-up changes."""
    terms: tuple[str, ...] = ()
    """Phrases marked as terms that are defined here, with their abbreviations."""
    only_images: bool = False
    tags: tuple[str, ...] = ()
    """Opening (`div`) and closing (`/div`) HTML tags, in order."""
    anchor: str = ""
    """An id from an attribute list."""
    links: tuple[str, ...] = ()


class Collector:
    """Accumulates running text, token by token."""

    __slots__ = (
        "anchor", "explicit", "images", "last_span", "links", "marked", "open_terms", "out",
        "silent", "tags", "terms",
    )  # fmt: skip

    def __init__(self) -> None:
        self.out: list[str] = []
        self.marked: list[str] = []
        """The text with a BOUNDARY wherever mark-up begins or ends."""
        self.silent: list[int] = []
        """Indexes of parts of `out` that are not in the id text."""
        self.terms: dict[str, None] = {}
        self.explicit: list[str] = []
        self.open_terms: list[int] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.images = 0
        self.anchor = ""
        self.last_span = ""

    def text(self, content: str) -> None:
        self.out.append(content)
        self.marked.append(content)

    def code(self, content: str) -> None:
        """Add a code span."""
        shown = code_text(content)
        self.out.append(shown)
        self.marked += (BOUNDARY, shown, BOUNDARY)

    def hard_break(self) -> None:
        self.out.append("\n")
        self.marked.append(f"{BOUNDARY} ")

    def open_term(self) -> None:
        self.marked.append(BOUNDARY)
        self.open_terms.append(len(self.out))

    def close_term(self) -> None:
        self.marked.append(BOUNDARY)
        if self.open_terms:
            begin = self.open_terms.pop()
            deep = len(self.open_terms) >= _MAX_TERM_DEPTH
            phrase = "" if deep else " ".join("".join(self.out[begin:]).split())
            self.last_span = phrase
            if phrase and phrase.count(" ") < MAX_TERM_WORDS:
                self.terms[phrase] = None

    def boundary(self) -> None:
        self.marked.append(BOUNDARY)

    def glue(self) -> None:
        self.marked.append(GLUED_BOUNDARY)

    def link(self, target: str) -> None:
        self.marked.append(BOUNDARY)
        self.links.append(target)

    def image(self, alt: str, title: str) -> None:
        self.images += 1
        self._silent(" ".join(part for part in (alt, title if title != alt else "") if part))

    def _silent(self, text: str) -> None:
        """Add alternative text: in `text`, but not found by a search in the page."""
        self.marked.append(BOUNDARY)
        if text:
            self.silent.append(len(self.out))
            apart = self.out and not self.out[-1][-1:].isspace()
            self.out.append(f" {text}" if apart else text)

    def tag(self, name: str, alt: str = "", title: str = "") -> None:
        """Add an HTML or JSX tag; the name of a closing tag begins with a slash."""
        lower = name.lstrip("/").lower()
        if lower == "br":
            self.hard_break()
            return
        self.marked.append(BOUNDARY)
        if lower == "img":
            self.images += 1
            self._silent(f"{alt} {title}".strip())
        elif lower in BLOCK_NAMES:
            self.marked.append(" ")
            if self.out and not self.out[-1][-1:].isspace():
                self.out.append(" ")
        elif lower in ("dfn", "strong", "b", "em", "i"):
            (self.close_term if name.startswith("/") else self.open_term)()
            if name == "/dfn" and self.last_span:
                self.explicit.append(self.last_span)
        self.tags.append(name)

    def unquoted(self, content: str) -> None:
        """Add maths or an expression: shown, but not in the id text."""
        self.marked.append(GLUED_BOUNDARY)
        self.silent.append(len(self.out))
        self.out.append(content)

    def attributes(self, content: str) -> None:
        self.marked.append(BOUNDARY)
        if 'data-type="term"' in content and self.last_span:
            self.explicit.append(self.last_span)
        match = _ATTRIBUTE_ID.search(content)
        if match:
            self.anchor = match.group(1)

    def span(self, content: str, *, defines: bool) -> None:
        """Add marked text; `defines` if it is a term that is defined here."""
        self.out.append(content)
        self.marked += (BOUNDARY, content, BOUNDARY)
        if defines:
            self.explicit.append(content)

    def finish(self, explicit_terms: bool) -> Text:
        text = "".join(self.out)
        id_text = text
        if self.silent:
            skipped = set(self.silent)
            id_text = "".join(part for at, part in enumerate(self.out) if at not in skipped)
        if "  " in text or "\n" in text or "\t" in text:
            text = _BLANKS.sub(_one_blank, text)
        text = text.strip()
        return Text(
            text,
            id_text,
            glued("".join(self.marked)),
            self._terms_of(text, explicit_terms),
            bool(self.images) and not id_text.strip(),
            tuple(self.tags),
            self.anchor,
            tuple(self.links),
        )

    def _terms_of(self, text: str, explicit_terms: bool) -> tuple[str, ...]:
        terms = self.explicit if self.explicit or explicit_terms else list(self.terms)
        if not terms or terms == [text]:  # the whole text is emphasised
            return ()
        if " (" in text:
            terms = [abbreviated(term, text) for term in terms]
        return tuple(dict.fromkeys(terms))


def glued(runs: str) -> str:
    """Replace boundaries within a word by GLUED_BOUNDARY."""
    return _WITHIN_WORD.sub(GLUED_BOUNDARY, runs)


def on_one_line(text: str) -> str:
    """Replace line ends and runs of blanks by one space."""
    flat = text.replace("\n", " ")
    return _BLANKS.sub(" ", text) if "  " in flat or "\t" in flat else flat


def _one_blank(match: re.Match[str]) -> str:
    return "\n" if "\n" in match.group() else " "


def code_text(content: str) -> str:
    """Return a code span's text: line ends as spaces, one space stripped at both ends."""
    flat = content.replace("\n", " ") if "\n" in content else content
    if flat[:1] == " " == flat[-1:] and len(flat) > 2 and flat.strip():
        return flat[1:-1]
    return flat
