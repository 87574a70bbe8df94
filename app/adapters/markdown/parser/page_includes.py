"""The includes of one page: directives, and partials and raw files that MDX imports."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from markdown_it.token import Token

from app.adapters.markdown.includes import (
    MAX_DEPTH,
    MDBOOK,
    SNIPPETS,
    Included,
    Library,
    TextIncludes,
    folder_of,
    literal_lines,
    not_included,
)
from app.adapters.markdown.parser.anchors import SlugStyle
from app.adapters.markdown.parser.drafts import BlockDraft
from app.adapters.markdown.parser.markup import Dialect, Directive, Markup, MarkupClass
from app.adapters.markdown.source import SourceFile, line_breaks, make_source
from app.domain.document import RUN_BOUNDARY, BlockKind, SourceWarning

_IMPORT = re.compile(r"import\s+([A-Z]\w*)\s+from\s+[\"']([^\"']+)[\"']")
_RAW_IMPORT = re.compile(r"import\s+(\w+)\s+from\s+[\"']!!raw-loader!([^\"']+)[\"']")
_IMPORTED = re.compile(r"from\s+[\"']((?:\.\.?|@site)/[^\"']+)[\"']")
_CODE_SUFFIXES = (
    "",
    ".js",
    ".jsx",
    ".ts",
    ".tsx",
    ".mdx",
    ".md",
    ".json",
    "/index.js",
    "/index.tsx",
)


@dataclass(slots=True)
class FileContext:
    """What reading a file needs to know of its book."""

    library: Library
    dialect: Dialect
    style: SlugStyle
    site_root: str = ""
    snippet_bases: tuple[str, ...] = ("",)
    references: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Link targets that every page may use, as markdown-it keeps them."""
    warnings: list[SourceWarning] = field(default_factory=list)
    partials: set[str] = field(default_factory=set)
    """Files that were pulled into others: they are no orphans."""
    watched: set[str] = field(default_factory=set)
    """Files that were looked through for text that is written for a model."""


class Reader(Protocol):
    """Reads an included file; see `FileReader`."""

    def visible(self, source: SourceFile) -> SourceFile: ...

    def watch(self, text: str, file: str) -> None: ...

    def read_drafts(self, source: SourceFile, chain: tuple[str, ...]) -> Sequence[BlockDraft]: ...


class PageIncludes:
    """The includes of one page."""

    def __init__(
        self,
        reader: Reader,
        context: FileContext,
        source: SourceFile,
        chain: tuple[str, ...],
        included: Included,
    ) -> None:
        self._reader = reader
        self._context = context
        self._source = source
        self._chain = chain
        self._imports: dict[str, str] = {}
        self._raw_imports: dict[str, str] = {}
        style = MDBOOK
        if context.dialect.mkdocs:
            style = replace(SNIPPETS, bases=context.snippet_bases)
        self._included = included
        self._text = TextIncludes(context.library, style, included)

    def _warn(self, message: str, offset: int) -> None:
        self._warn_at(message, self._source.line(offset))

    def _warn_at(self, message: str, line: int) -> None:
        self._context.warnings.append(SourceWarning(message, self._source.file, line))

    def _watch(self, path: str) -> None:
        """Look through a whole file, of which the page may include a part."""
        self._reader.watch(self._context.library.text(path) or "", path)

    def read_imports(self, tokens: list[Token]) -> None:
        """Note which Markdown files the page imports, by component name."""
        if not self._context.dialect.mdx:
            return
        for token in tokens:
            if token.type != "mark" or token.meta["found"].kind is not MarkupClass.ESM:
                continue
            mark: Markup = token.meta["found"]
            text = self._source.flat[mark.start : mark.end]
            for match in _RAW_IMPORT.finditer(text):
                path = self._locate(match.group(2))
                if path:
                    self._raw_imports[match.group(1)] = path
            for match in _IMPORTED.finditer(text):
                target = match.group(1)
                if not self._locate(target):
                    refusal = self._refusal(target)
                    problem = (
                        f"import {target} {refusal}" if refusal else f"import not found: {target}"
                    )
                    self._warn(problem, mark.start + match.start())
            for match in _IMPORT.finditer(text):
                path = self._locate(match.group(2))
                if path and path.endswith((".md", ".mdx")):
                    self._imports[match.group(1)] = path

    def _based(self, target: str) -> tuple[str, str]:
        """Return the folder that an import starts from, and the path from there."""
        if target.startswith("@site/"):
            return self._context.site_root, target[6:]
        return folder_of(self._source.file), target

    def _refusal(self, target: str) -> str:
        base, target = self._based(target)
        refusals = (self._context.library.refusal(base, target + one) for one in _CODE_SUFFIXES)
        return next(filter(None, refusals), "")

    def _locate(self, target: str) -> str | None:
        base, target = self._based(target)
        for suffix in _CODE_SUFFIXES:
            path = self._context.library.locate(base, target + suffix)
            if path:
                return path
        return None

    def code(self, text: str, offset: int) -> tuple[str, str]:
        """Expand include directives in a text whose first line is at `offset`."""
        dialect = self._context.dialect
        if not (dialect.mdbook and "{{" in text) and not (dialect.mkdocs and "8<" in text):
            return text, ""

        breaks: array[int] | None = None

        def warn(message: str, position: int) -> None:
            nonlocal breaks
            breaks = line_breaks(text) if breaks is None else breaks
            self._warn_at(message, self._source.line(offset) + bisect_left(breaks, position))

        expanded, included = self._text.expand(text, self._source.file, warn)
        if included:
            self._watch(included)
        return expanded, included

    def blocks(self, mark: Markup) -> list[BlockDraft] | None:
        """Return the blocks that an include directive or an imported partial stands for."""
        if mark.tag is not None:
            path = self._imports.get(mark.tag.name, "")
            return self._read(mark, path, self._whole(path)) if path else None
        if mark.kind is MarkupClass.EXPRESSION:
            path = self._raw_imports.get(mark.name, "")
            return self._as_code(mark, path, self._whole(path)) if path else None
        if mark.kind is not MarkupClass.INCLUDE:
            return None
        if mark.name not in ("include", "rustdoc_include", "playground", "snippet"):
            return []
        drafts: list[BlockDraft] = []
        for argument in mark.argument.split("\n"):
            path, text = self._text.section(
                argument, self._source.file, lambda message, _: self._warn(message, mark.start)
            )
            if path and mark.name == "playground":
                drafts.extend(self._as_code(mark, path, text))
            elif path:
                self._extend(drafts, mark, self._read(mark, path, text))
        return drafts

    def _whole(self, path: str) -> str | None:
        text = self._context.library.text(path)
        self._included.add(text or "", path)
        return text

    def _as_code(self, mark: Markup, path: str, text: str | None) -> list[BlockDraft]:
        """Return a file that is shown as it is: a playground, a raw import."""
        shown = (text or "").strip("\n").rstrip()
        if not shown:
            return []
        self._context.partials.add(path)
        self._watch(path)
        runs = shown.replace("\n", RUN_BOUNDARY)
        language = path.rpartition(".")[2]
        return [
            BlockDraft(
                BlockKind.CODE, shown, shown, mark.start, mark.end, runs,
                language=language, included=path,
            )
        ]  # fmt: skip

    def _extend(self, drafts: list[BlockDraft], mark: Markup, more: list[BlockDraft]) -> None:
        """Add another file's drafts: behind the first draft all stand at the directive's end."""
        if drafts and more:
            more[0].start = mark.end
        drafts.extend(more)

    def _read(self, mark: Markup, path: str, text: str | None) -> list[BlockDraft]:
        if text is None:
            self._warn(f"included file is not UTF-8 text: {path}", mark.start)
            return []
        if path in self._chain or len(self._chain) > MAX_DEPTH:
            circle = " -> ".join((*self._chain, path))
            self._warn(f"include of {path} goes in a circle: {circle}", mark.start)
            return []
        self._context.partials.add(path)
        self._watch(path)
        drafts_read = self._reader.read_drafts(
            self._reader.visible(make_source(text, path)), self._chain
        )
        drafts = [draft for draft in drafts_read if draft.text]
        for index, draft in enumerate(drafts):
            draft.start, draft.end = mark.end if index else mark.start, mark.end
            draft.parts, draft.children, draft.included = (), (), path
        return drafts

    def literal(self, directive: Directive, offset: int) -> tuple[str, str]:
        """Return the text and the file that a `literalinclude` names."""
        library, base, target = (
            self._context.library, folder_of(self._source.file), directive.argument
        )  # fmt: skip
        path = library.locate(base, target)
        text = library.text(path) if path else None
        if path is None or text is None:
            refusal = "" if path else library.refusal(base, target)
            self._warn(not_included(target, refusal), offset)
            return "", ""
        chosen = "\n".join(literal_lines(text.splitlines(), directive.options))
        self._included.add(chosen, path)
        self._context.partials.add(path)
        self._watch(path)
        return chosen, path
