"""Builds a document from a page's drafts: sections, anchors, URLs, ids and coverage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import PurePosixPath

from app.adapters.markdown.parser.drafts import BlockDraft, MarkupClass, MarkupSpan
from app.adapters.markdown.parser.file_reader import FileReader
from app.adapters.markdown.parser.sections import OpenSections, classify
from app.adapters.markdown.site_map import SitePage
from app.adapters.markdown.source import SourceFile, front_text
from app.domain.document import Block, BlockKind, Document, Span
from app.domain.fences_and_tables import without_fences
from app.domain.urls import with_anchor


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A parsed page whose blocks have no ids yet."""

    page: SitePage
    source: SourceFile
    drafts: list[BlockDraft]
    marks: list[MarkupSpan]
    links: list[str]

    def id_texts(self) -> Iterator[tuple[str, str]]:
        """Yield for each block the text that its id hashes, and the author's id or ""."""
        for draft in self.drafts:
            text = draft.id_text
            # The first character usually is alphanumeric: that test is the cheaper one.
            worded = text[:1].isalnum() or any(map(str.isalnum, text))
            if not worded:
                text = without_fences(draft.text) if draft.has_fence_or_table else draft.text
            yield text, draft.author_id


def draft_page(page: SitePage, source: SourceFile, reader: FileReader) -> PageDraft:
    """Parse a page, and set the kinds of blocks that depend on their section."""
    source = reader.visible(source)
    parsed = reader.read(source)
    marks = parsed.marks
    if source.body_start:
        marks.append((MarkupClass.FRONT_MATTER, 0, source.body_start))
    drafts: list[BlockDraft] = []
    for draft in classify(parsed.drafts, _named(page, source)):
        if draft.text and not draft.text.isspace():
            drafts.append(draft)
        else:
            marks.append((MarkupClass.RULE, draft.start, draft.end))
    return PageDraft(page, source, drafts, marks, parsed.links)


def _named(page: SitePage, source: SourceFile) -> str:
    """Return the title of a page without a level-one heading."""
    return _front_title(source) or page.title or PurePosixPath(page.file).stem


def _front_title(source: SourceFile) -> str:
    """Return the title in the front matter, whose entities a browser shows as characters."""
    return unescape(front_text(source.front_matter, "title"))


def title_of(page_draft: PageDraft) -> str:
    """Return the page's title."""
    return _title_of(page_draft)[0]


def build_document(
    page_draft: PageDraft, text: str, position: int, ids: Iterator[str], language: str
) -> Document:
    """Make the document from a page; `ids` yields the paragraph id of each of its blocks.

    The drafts are removed from `page_draft`, which frees their memory.
    """
    page, source = page_draft.page, page_draft.source
    title, title_heading = _title_of(page_draft)
    blocks = tuple(_blocks(page_draft, title, title_heading, ids))
    front = source.front_matter
    return Document(
        page.file,
        title,
        page.chapter or title,
        page.url,
        text,
        blocks,
        position,
        language,
        tuple(_unknown(text, blocks, page_draft.marks)),
        {key: str(value) for key, value in front.items() if key.startswith("rag_")},
        page.chapter_number,
    )


def _title_of(page_draft: PageDraft) -> tuple[str, BlockDraft | None]:
    """Return the page's title and the heading that shows it, if there is one."""
    drafts = page_draft.drafts
    first = next((draft for draft in drafts if draft.kind is BlockKind.HEADING), None)
    if first is not None and first.level == 1:
        return first.text, first
    front = _front_title(page_draft.source)
    if not front and first is not None and first is drafts[0]:
        return first.text, first
    return _named(page_draft.page, page_draft.source), None


class _Sections:
    """The headings above the next block."""

    def __init__(self, title: str, title_heading: BlockDraft | None, url: str) -> None:
        self._title = title
        self._title_heading = title_heading
        self._title_anchor = ""
        self._page_url = url
        self._sections: OpenSections[BlockDraft] = OpenSections()
        self.path: tuple[str, ...] = (title,)
        self.anchor, self.url = "", url

    def reach(self, draft: BlockDraft) -> None:
        """Leave the sections that end before a block; enter the section of a heading."""
        left = self._sections.leave(draft.start)
        if draft.kind is BlockKind.HEADING:
            self._enter(draft)
        elif left:
            self._update()

    def _enter(self, heading: BlockDraft) -> None:
        if heading is self._title_heading:
            self._sections, self._title_anchor = OpenSections(), heading.anchor
        else:
            self._sections.enter(heading)
            self._sections.open.append((heading.level, heading))
        self._update()

    def _update(self) -> None:
        above = [section for _, section in self._sections.open]
        self.path = (self._title, *(section.text for section in above))
        anchors = (section.anchor for section in reversed(above) if section.anchor)
        self.anchor = next(anchors, self._title_anchor)
        self.url = with_anchor(self._page_url, self.anchor)


def _blocks(
    page_draft: PageDraft, title: str, title_heading: BlockDraft | None, ids: Iterator[str]
) -> Iterator[Block]:
    page = page_draft.page
    sections = _Sections(title, title_heading, page.url)
    drafts = page_draft.drafts
    drafts.reverse()
    while drafts:
        draft, paragraph_id = drafts.pop(), next(ids)
        heading = draft.kind is BlockKind.HEADING
        sections.reach(draft)
        yield Block(
            draft.kind,
            draft.text,
            page.file,
            draft.start,
            draft.end,
            sections.path,
            sections.anchor,
            sections.url,
            paragraph_id,
            draft.level if heading else 0,
            draft.language,
            draft.title,
            draft.terms,
            draft.parts,
            draft.included,
            draft.author_id,
            draft.runs,
        )


def _unknown(text: str, blocks: tuple[Block, ...], marks: list[MarkupSpan]) -> Iterator[Span]:
    """Yield the spans outside all blocks and mark-up, without surrounding blanks."""
    spans = [(block.start, block.end) for block in blocks]
    spans.extend((start, end) for _, start, end in marks)
    spans.sort()
    spans.append((len(text), len(text)))
    position = 1 if text[:1] == "\ufeff" else 0
    for start, end in spans:
        if start > position:
            gap = text[position:start]
            if not gap.isspace():
                lead = len(gap) - len(gap.lstrip())
                yield position + lead, position + len(gap.rstrip())
        position = max(position, end)
