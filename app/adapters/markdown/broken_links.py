"""Checks links between pages: files and anchors that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from urllib.parse import unquote

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.documents import PageDraft
from app.adapters.markdown.parser.anchors import github_slug, unique_github
from app.adapters.markdown.site_map import Layout
from app.domain.document import BlockKind, SourceWarning

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|[{<$]")
# Each begins with a literal: `re` searches for those fast.
_GIVEN_IDS = (
    re.compile(r"id=[\"'{]+([^\"'}\n]+)"),
    re.compile(r"name=[\"']([^\"'\n]+)"),
    re.compile(r"\n\(([^()\n]+)\)="),
    re.compile(r":label:[ \t]*(\S+)"),
    re.compile(r":name:[ \t]*(\S+)"),
    re.compile(r"\\label\{([^{}\n]+)\}"),
    re.compile(r"\nlabel:[ \t]*(\S+)"),  # between the dashes of a directive
    re.compile(r"\{figure-md\}[ \t]*(\S+)"),
    re.compile(r"Id=[\"'{]+([^\"'}\n]+)"),  # of a component: titleId="examples"
)
_ATTRIBUTE_LIST = re.compile(r"\{[^{}\n]*\}")
_LISTED_ID = re.compile(r"#([\w:.-]+)")
_AUTODOC = re.compile(r"^[ \t]*(?:::: [\w.-]+[ \t]*$|\.\. auto\w+::|[`:]{3,}\{auto\w+\})", re.M)
_TIMES_READ, _PAGE = 1_000, 10_000


def check_references(
    page_drafts: Sequence[PageDraft], book_files: BookFiles, layout: Layout
) -> list[SourceWarning]:
    """Return a warning for each link within the book whose target does not exist.

    It checks links to source files and anchors, and URLs that `SiteGenerator.link_files` resolves,
    such as mdBook's `page.html`. The site's router resolves all other URLs.
    """
    targets = _Targets(page_drafts, book_files, layout)
    warnings: list[SourceWarning] = []
    for page_draft in page_drafts:
        places = _LinkFinder(page_draft.source.flat)
        for target in page_draft.links:
            if _SCHEME.match(target):
                continue
            problem = targets.problem(target, page_draft.source.file)
            if problem:
                line = page_draft.source.line(places.next(target))
                warnings.append(SourceWarning(problem, page_draft.source.file, line))
    return list(dict.fromkeys(warnings))


class _LinkFinder:
    """Finds the positions of links for messages; each search starts at the previous match.

    After `_TIMES_READ` passes over the text a search is limited to the next `_PAGE` characters:
    a message may then name the line of the previous link.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = _TIMES_READ * len(text)
        self._reached: dict[str, int] = {}
        self._last = 0

    def next(self, target: str) -> int:
        if self._left > 0:
            start, stop = self._reached.get(target, 0), len(self._text)
        else:
            start, stop = self._last, self._last + _PAGE
        at = self._text.find(target, start, stop)
        self._left -= (at if at >= 0 else stop) - start
        if at < 0 and target in self._reached:
            at = self._reached[target] - 1  # a definition that several links name
        self._reached[target] = at + 1
        if self._left > 0:
            self._last = max(at, 0)
        elif at >= 0:
            self._last = at + 1
        return self._last


class _Targets:
    """The targets of links: files, and the ids on each page."""

    def __init__(
        self, page_drafts: Iterable[PageDraft], book_files: BookFiles, layout: Layout
    ) -> None:
        self._drafts = {page_draft.source.file: page_draft for page_draft in page_drafts}
        self._book_files = book_files
        self._layout = layout
        self._ids: dict[str, set[str]] = {}
        self._inner_ids: dict[str, set[str] | None] = {}
        """None for a page that documents code: the ids in it are generated."""
        self._labels: set[str] | None = None
        self._names_code = False

    def problem(self, target: str, file: str) -> str:
        """Return what is wrong with a link in `file`; "" if nothing is known."""
        path, _, anchor = unquote(target).partition("#")
        path = path.partition("?")[0]
        if not path:
            known = not anchor or self._has(file, anchor) or self._is_label(anchor)
            return "" if known else f"link to an anchor that this page does not have: #{anchor}"
        if path.startswith(("@", "/")):
            return ""
        root = self._layout.settings.folder
        candidates = self._layout.generator.link_files(path, folder_of(file), root)
        if not candidates:
            return ""  # no path of a source file
        return self._problem_of_page(path, anchor, self._book_files.first("", candidates))

    def _problem_of_page(self, path: str, anchor: str, file: str | None) -> str:
        """Return what is wrong with a link to `path`; `file` is what it resolves to."""
        if file is None:
            return f"link to a page that does not exist: {path}"
        if anchor and file in self._drafts and not self._has(file, anchor):
            return f"link to an anchor that {path} does not have: #{anchor}"
        return ""

    def _is_label(self, name: str) -> bool:
        """True for a label or a glossary's term of any page, where links need not name the page."""
        if not self._layout.generator.links_by_label:
            return False
        if self._labels is None:
            sources = [page_draft.source for page_draft in self._drafts.values()]
            texts = [source.flat for source in sources]
            self._labels = set().union(*map(_ids_in_markup, texts))
            self._labels.update(str(one.front_matter.get("label")) for one in sources)
            for draft in chain.from_iterable(one.drafts for one in self._drafts.values()):
                if draft.kind is BlockKind.GLOSSARY_ENTRY:
                    self._labels.update(draft.terms)
            self._names_code = any(map(_AUTODOC.search, texts))
        # Documentation generated from code has the names of its objects as labels.
        return name in self._labels or (self._names_code and name.replace(".", "").isidentifier())

    def _has(self, file: str, anchor: str) -> bool:
        if file not in self._ids:
            self._ids[file] = _ids_of_blocks(self._drafts[file])
            if self._layout.generator.links_by_label:
                self._ids[file] |= _slugs_of_headings(self._drafts[file])
        if anchor in self._ids[file] or anchor.startswith(("fn", "user-content-", ":~:")):
            return True
        if file not in self._inner_ids:
            text = self._drafts[file].source.flat
            self._inner_ids[file] = None if _AUTODOC.search(text) else _ids_in_markup(text)
        inner = self._inner_ids[file]
        return inner is None or anchor in inner


def _ids_of_blocks(page_draft: PageDraft) -> set[str]:
    ids = {draft.author_id for draft in page_draft.drafts}
    return ids | {draft.anchor for draft in page_draft.drafts if draft.kind is BlockKind.HEADING}


def _slugs_of_headings(page_draft: PageDraft) -> set[str]:
    """Return the slugs by which MyST finds headings, whatever their ids on the page are."""
    used: dict[str, int] = {}
    headings = (draft for draft in page_draft.drafts if draft.kind is BlockKind.HEADING)
    return {unique_github(github_slug(draft.text), used) for draft in headings}


def _ids_in_markup(text: str) -> set[str]:
    """Return the ids in tags, attribute lists, labels and options inside blocks."""
    text = f"\n{text}"  # a label begins a line
    ids = {match.group(1) for pattern in _GIVEN_IDS for match in pattern.finditer(text)}
    for match in _ATTRIBUTE_LIST.finditer(text):
        ids.update(_LISTED_ID.findall(match.group()))
    return ids
