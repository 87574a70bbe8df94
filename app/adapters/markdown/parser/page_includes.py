"""The includes of one page: directives, and the files that it imports."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from markdown_it.token import Token

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.includes import MAX_DEPTH, FilePart, Included, TextIncludes, not_included
from app.adapters.markdown.parser.dialect import CrossReferences, Dialect, Imports
from app.adapters.markdown.parser.drafts import BlockDraft, Markup, MarkupClass, verbatim_draft
from app.adapters.markdown.parser.prompt_injections import prompt_injections
from app.adapters.markdown.source import SourceFile, line_breaks, make_source
from app.domain.document import BlockKind, SourceWarning


@dataclass(slots=True)
class FileContext:
    """What the reader of a file must know about its book."""

    book_files: BookFiles
    dialect: Dialect
    site_root: str = ""
    references: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Link definitions for every page, in markdown-it's format."""
    cross_references: CrossReferences | None = None
    substitutions: Mapping[str, str] = field(default_factory=dict)
    warnings: list[SourceWarning] = field(default_factory=list)
    partials: set[str] = field(default_factory=set)
    """Included files: they are not orphans."""
    searched: set[str] = field(default_factory=set)
    """Files already searched for prompt injections."""

    def warn_of_injections(self, text: str, file: str) -> None:
        """Warn about instructions to a language model (prompt injection)."""
        if file not in self.searched:
            self.searched.add(file)
            self.warnings.extend(
                SourceWarning(f"text for a language model: {what}", file, line)
                for line, what in prompt_injections(text)
            )


ReadIncluded: TypeAlias = Callable[[SourceFile, tuple[str, ...]], list[BlockDraft]]
"""`read(included file, files through which it is included)` -> its blocks."""


class PageIncludes:
    """The includes of one page."""

    def __init__(
        self,
        read: ReadIncluded,
        context: FileContext,
        source: SourceFile,
        chain: tuple[str, ...],
        included: Included,
    ) -> None:
        self._read_included = read
        self._context = context
        self._source = source
        self._chain = chain
        self._included = included
        dialect = context.dialect
        self._begins = dialect.includes.begins
        self._text = TextIncludes(context.book_files, dialect.includes, included)
        self._imports: Imports | None = None
        if dialect.imports is not None:
            self._imports = dialect.imports(
                context.book_files, source, context.site_root, self._warn
            )

    def _warn(self, message: str, offset: int) -> None:
        self._warn_at(message, self._source.line(offset))

    def _warn_at(self, message: str, line: int) -> None:
        self._context.warnings.append(SourceWarning(message, self._source.file, line))

    def _watch(self, path: str) -> None:
        """Search the whole file for prompt injections, even if only a part is included."""
        self._context.warn_of_injections(self._context.book_files.text(path) or "", path)

    def read_imports(self, tokens: Sequence[Token]) -> None:
        """Record which files the page imports."""
        if self._imports is not None:
            self._imports.read(tokens)

    def code(self, text: str, offset: int) -> tuple[str, str]:
        """Expand include directives in a text whose first line is at `offset`."""
        if not any(characters in text for characters in self._begins):
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
        """Return the blocks that an include directive or an imported partial expands to."""
        if mark.kind is not MarkupClass.INCLUDE:
            return self._imported(mark, self._imports) if self._imports is not None else None
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
                more = self._read(mark, path, text)
                if drafts and more:  # another file's drafts begin at the end of the directive
                    more[0].start = mark.end
                drafts.extend(more)
        return drafts

    def _imported(self, mark: Markup, imports: Imports) -> list[BlockDraft] | None:
        """Return the blocks of the file that a component or an expression shows."""
        if mark.tag is not None:
            path = imports.pages.get(mark.tag.name, "")
            return self._read(mark, path, self._whole(path)) if path else None
        if mark.kind is MarkupClass.EXPRESSION:
            path = imports.texts.get(mark.name, "")
            return self._as_code(mark, path, self._whole(path)) if path else None
        return None

    def _whole(self, path: str) -> str | None:
        text = self._context.book_files.text(path)
        self._included.add(text or "", path)
        return text

    def _as_code(self, mark: Markup, path: str, text: str | None) -> list[BlockDraft]:
        """Return a file that is shown verbatim: a playground, a raw import."""
        shown = (text or "").strip("\n").rstrip()
        if not shown:
            return []
        self._context.partials.add(path)
        self._watch(path)
        code = verbatim_draft(BlockKind.CODE, shown, mark.start, mark.end)
        code.language, code.included = path.rpartition(".")[2], path
        return [code]

    def _read(self, mark: Markup, path: str, text: str | None) -> list[BlockDraft]:
        if text is None:
            self._warn(f"included file is not UTF-8 text: {path}", mark.start)
            return []
        if path in self._chain or len(self._chain) > MAX_DEPTH:
            circle = " -> ".join((*self._chain, path))
            self._warn(f"include of {path} forms a cycle: {circle}", mark.start)
            return []
        self._context.partials.add(path)
        self._watch(path)
        included = self._read_included(make_source(text, path), self._chain)
        drafts = [draft for draft in included if draft.text]
        for index, draft in enumerate(drafts):
            draft.start, draft.end = mark.end if index else mark.start, mark.end
            draft.parts, draft.children, draft.included = (), (), path
            draft.section_end = 0  # an offset in the included file
        return drafts

    def code_file(self, info: str, text: str, offset: int) -> FilePart | None:
        """Return the file that a code block shows instead of its text, if there is one."""
        named = self._context.dialect.code_file
        if named is None:
            return None
        return named(
            info, text, self._context.site_root, lambda message: self._warn(message, offset)
        )

    def file(self, part: FilePart, offset: int) -> tuple[str, str]:
        """Return the text and the file that a code block at `offset` shows; ("", "") if missing."""
        book_files, base = self._context.book_files, folder_of(self._source.file)
        path = book_files.locate(base, part.target)
        text = book_files.text(path) if path else None
        if path is None or text is None:
            refusal = "" if path else book_files.refusal(base, part.target)
            self._warn(not_included(part.target, refusal), offset)
            return "", ""
        written = text.splitlines()
        # Selecting lines reads all of them.
        self._included.characters += len(written)
        chosen = "\n".join(part.choose(written))
        self._included.add(chosen, path)
        self._context.partials.add(path)
        self._watch(path)
        return chosen, path
