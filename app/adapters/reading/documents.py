"""Makes documents of pages: sections, anchors, addresses, offsets and ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.adapters.reading.drafts import BETWEEN, NO_SPAN, Draft, runs_of
from app.adapters.reading.sections import classify
from app.adapters.reading.themes import Theme, fallback
from app.domain.book_id import ONLY, Edition
from app.domain.document import RUN_BOUNDARY, RUN_GLUE, Block, BlockKind, Document, SourceWarning
from app.domain.identity import content_id, is_content_id
from app.domain.urls import PageText, with_anchor

_MOST_TERMS = 30
"""Terms of a block; each of its chunks is indexed with all of them."""
_INNERMOST = 7
"""The level of a section that ends at the next heading."""
_NAMED = 5
"""Files that a warning names."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class PageInfo:
    """What is known of a page besides its blocks."""

    file: str
    """Path below the book's folder, with forward slashes."""
    url: str
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
    refused: Sequence[SourceWarning] = ()
    """Files of its folder that cannot be read, and why."""


def left_out_warning(reason: str, files: Sequence[str]) -> SourceWarning:
    """Name the first of the files that are not read, and some of the others."""
    pages = "1 page" if len(files) == 1 else f"{len(files):,} pages"
    more = f"; also {', '.join(files[1:_NAMED])}" if len(files) > 1 else ""
    dots = ", …" if len(files) > _NAMED else ""
    return SourceWarning(f"{pages} left out: {reason}{more}{dots}", files[0], 0)


def build_document(
    info: PageInfo,
    drafts: Sequence[Draft],
    source: str | None,
    shown: PageText | None = None,
) -> Document:
    """Make a page's document; the paragraph ids are hashes of the blocks' texts.

    If `source` is None, spans are those of the blocks' texts, joined by blank lines.
    """
    title = _title_of(info, drafts)
    kept = [one for one in classify(drafts, title) if one.text.strip()]
    return Document(
        info.file,
        title,
        info.chapter or title,
        info.url,
        BETWEEN.join(one.text for one in kept) if source is None else source,
        tuple(_blocks(info, title, kept, exact=source is None, has_elements=shown is not None)),
        language=info.language.partition("-")[0],
        shown=shown,
        chapter_number=info.chapter_number,
    )


def _title_of(info: PageInfo, drafts: Sequence[Draft]) -> str:
    first = next((one for one in drafts if one.kind is BlockKind.HEADING), None)
    if first is not None and (first.level == 1 or not info.title):
        return first.text
    return info.title or info.file.rpartition("/")[2].partition(".")[0]


def _blocks(
    info: PageInfo, title: str, drafts: Sequence[Draft], *, exact: bool, has_elements: bool
) -> Iterator[Block]:
    at, span = 0, (0, 0)
    for draft, (path, section) in zip(drafts, _sections(title, drafts), strict=True):
        own = (at, at + len(draft.text))
        at = own[1] + len(BETWEEN)
        if exact:
            span = own
        elif draft.span != NO_SPAN:
            span = draft.span  # else it is of the same place as the block before it
        ids = (ident for _, ident in reversed(draft.signatures) if ident)
        anchor, runs = next(ids, section), runs_of(draft.marked)
        said = runs.replace(RUN_BOUNDARY, " ").replace(RUN_GLUE, "")
        is_authors = draft.kind is not BlockKind.HEADING and not is_content_id(draft.element_id)
        yield Block(
            draft.kind,
            draft.text,
            info.file,
            *span,
            heading_path=(*path, *(name for name, _ in draft.signatures)),
            anchor=anchor,
            url=with_anchor(info.url, anchor),
            level=draft.level,
            language=draft.language,
            terms=draft.terms[:_MOST_TERMS],
            paragraph_id=content_id(said if _WORD.search(said) else draft.text),
            author_id=draft.element_id if is_authors else "",
            element_id=draft.element_id if has_elements else "",
            runs=runs,
            figure=draft.figure if draft.figure and draft.figure.url else None,
        )


def _sections(title: str, drafts: Sequence[Draft]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the heading path of each block, and the id of the innermost heading that has one."""
    headings = [one for one in drafts if one.kind is BlockKind.HEADING]
    page = next((one for one in headings if one.text == title), None)
    has_ids = any(one.element_id for one in headings)
    above: list[tuple[int, Draft]] = []
    """The headings around, each with its level; that of the page's title is 0."""
    path: tuple[str, ...] = (title,)
    anchor = ""
    for draft in drafts:
        if draft.kind is BlockKind.HEADING:
            # A second <h1>, without an id on a page with ids, is shown in a box: no section.
            is_second = draft.level == 1 and above[:1] == [(0, page)]
            is_shown = is_second and has_ids and not draft.element_id
            level = 0 if draft is page else _INNERMOST if is_shown else draft.level
            above = [*((at, one) for at, one in above if at < level), (level, draft)]
            path = (title, *(one.text for at, one in above if at))
            anchor = next((one.element_id for _, one in reversed(above) if one.element_id), "")
        yield path, anchor
