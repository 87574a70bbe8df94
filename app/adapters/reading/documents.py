"""Makes documents of pages: sections, anchors, addresses, offsets and ids."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from app.adapters.reading.drafts import BETWEEN, NO_SPAN, Draft, runs_of
from app.adapters.reading.sections import Section, in_sections
from app.adapters.reading.themes import Theme, fallback
from app.domain.characters import counted
from app.domain.document import (
    RUN_BOUNDARY,
    RUN_GLUE,
    Block,
    BlockKind,
    Document,
    SourceWarning,
    Span,
)
from app.domain.edition import ONLY, Edition
from app.domain.identity import content_id, is_content_id
from app.domain.links import PageText
from app.domain.urls import with_anchor

_MOST_TERMS = 30
"""Terms of a block; each of its chunks is indexed with all of them."""
_NAMED = 5
"""Files that a warning names."""
_WORD = re.compile(r"\w+")
_ORNAMENT = re.compile(r"([^\w\s])(?:\s|\1)*")
"""One sign, as between scenes: "* * *"."""
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_])_+(?=[^\W_])|(?<=[^\W\d_])-(?=[^\W\d_])")
"""What stands for blanks in a file's name."""


@dataclass(frozen=True, slots=True)
class PageInfo:
    """What is known of a page besides its blocks."""

    file: str
    """Path below the book's folder, with forward slashes."""
    url: str = ""
    """The page's address, without fragment, percent-encoded."""
    title: str = ""
    """Title in the table of contents or front matter; "" if none."""
    chapter: str = ""
    chapter_number: int = 0
    """The number that the site shows for the chapter; 0 if none."""
    language: str = ""
    """As a built page declares it, such as `pt-BR`; "" if it does not."""
    theme: Theme = field(default_factory=fallback)


@dataclass(frozen=True, slots=True)
class OpenedBook:
    """The pages of a book, or of one edition of a site, in reading order, before they are read."""

    site: str
    """The generator of its Markdown, or the theme of most of its built pages."""
    title: str
    base_url: str
    """Without a slash at its end."""
    language: str
    pages: Sequence[PageInfo]
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Files that are not read, by reason."""
    edition: Edition = ONLY
    warnings: Sequence[SourceWarning] = ()


def left_out_warning(reason: str, files: Sequence[str]) -> SourceWarning:
    """Name the first of the files that are not read, and some of the others."""
    more = f"; also {', '.join(files[1:_NAMED])}" if len(files) > 1 else ""
    dots = ", …" if len(files) > _NAMED else ""
    return SourceWarning(
        f"{counted(len(files), 'pages')} left out: {reason}{more}{dots}", files[0], 0
    )


def build_document(
    info: PageInfo, drafts: Sequence[Draft], source: str | None, shown: PageText | None
) -> Document:
    """Make a page's document; the paragraph ids are hashes of the blocks' texts.

    If `source` is None, spans are those of the blocks' texts, joined by blank lines.
    """
    title = _title_of(info, drafts, is_built=shown is not None)
    blocks: list[Block] = []
    at, span = 0, (0, 0)
    for draft, section in in_sections(drafts, title, info.chapter):
        is_ornament = draft.kind is BlockKind.PARAGRAPH and _ORNAMENT.fullmatch(draft.text)
        if draft.is_blank or is_ornament:
            continue
        if source is None:
            span = (at, at + len(draft.text))
            at = span[1] + len(BETWEEN)
        elif draft.span != NO_SPAN:
            span = draft.span  # else it is of the same place as the block before it
        blocks.append(_block(info, draft, section, span, is_built=shown is not None))
    return Document(
        info.file,
        title,
        info.chapter or title,
        info.url,
        BETWEEN.join(one.text for one in blocks) if source is None else source,
        tuple(blocks),
        language=info.language.partition("-")[0],
        shown=shown,
        chapter_number=info.chapter_number,
    )


def _title_of(info: PageInfo, drafts: Sequence[Draft], *, is_built: bool) -> str:
    """Return a page's title; a first heading of level 1 is it, in Markdown only above the text.

    Of a page that has no other title it is the first heading, in Markdown only if it is not one of
    several sections: notes are named by their files.
    """
    headings = [one for one in drafts if one.kind is BlockKind.HEADING]
    if headings:
        first, is_above = headings[0], drafts[0] is headings[0]
        is_top = first.level == 1 and (is_built or is_above)
        is_only = is_above and all(one.level > first.level for one in headings[1:])
        if is_top or (not info.title and (is_built or is_only or first.level == 1)):
            return first.text
    return info.title or _BETWEEN_WORDS.sub(" ", PurePosixPath(info.file).stem)


def _block(info: PageInfo, draft: Draft, section: Section, span: Span, *, is_built: bool) -> Block:
    anchor = next((ident for _, ident in reversed(draft.signatures) if ident), section.anchor)
    runs = runs_of(draft.marked)
    said = runs.replace(RUN_BOUNDARY, " ").replace(RUN_GLUE, "")
    is_authors = draft.kind is not BlockKind.HEADING and not is_content_id(draft.element_id)
    return Block(
        draft.kind,
        draft.text,
        info.file,
        *span,
        heading_path=(*section.path, *(name for name, _ in draft.signatures)),
        anchor=anchor,
        url=with_anchor(info.url, anchor),
        level=draft.level,
        language=draft.language,
        terms=draft.terms[:_MOST_TERMS],
        paragraph_id=content_id(said if _WORD.search(said) else draft.text),
        author_id=draft.element_id if is_authors else "",
        element_id=draft.element_id if is_built else "",
        runs=runs,
        figure=draft.figure if draft.figure and draft.figure.url else None,
    )
