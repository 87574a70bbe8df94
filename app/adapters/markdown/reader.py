"""One file read whole: parsed once, its blocks with spans, sections and anchors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown import syntax
from app.adapters.markdown.anchors import Slugger, SlugStyle
from app.adapters.markdown.blocks import BlockReader, ParsedFile, shifted
from app.adapters.markdown.dispatch import DispatchingInline, LinkHelpers
from app.adapters.markdown.includes import Library, MdBookIncludes, folder_of
from app.adapters.markdown.inline import InlineReader
from app.adapters.markdown.marks import Dialect, Mark, MarkClass
from app.adapters.markdown.pieces import Piece
from app.adapters.markdown.source import SourceFile, make_source
from app.adapters.markdown.tags import TagScanner
from app.domain.document import SourceWarning

MAX_NESTING = 60
_FOOTNOTE_LABELS = re.compile(r"^[ \t>]*\[\^([^\]\s]+)\]:", re.M)
_RULE_LINE = re.compile(r"\n[ \t>]*(?:[|:-][|: \t-]*|=+[ \t]*)(?=\n|\Z)")
_DEFINITION = re.compile(r"\n[ >]{0,8}[:~][ \t]")
_IMPORT = re.compile(r"import\s+([A-Z]\w*)\s+from\s+[\"']([^\"']+)[\"']")
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


class _PlainLinks(MarkdownIt):
    """Leaves link targets as they are written: nothing is rendered from them."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the overridden name
        return url

    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802
        return True


@dataclass(frozen=True, slots=True)
class _Engine:
    md: MarkdownIt
    inline: InlineReader


@dataclass(frozen=True, slots=True)
class _Features:
    """Which rules a file needs: each rule costs time on every line."""

    dialect: Dialect
    footnotes: bool
    tables: bool
    underlined: bool


@cache
def _engine(features: _Features) -> _Engine:
    dialect, footnotes = features.dialect, features.footnotes
    md = _PlainLinks("commonmark", {"inline_definitions": True, "maxNesting": MAX_NESTING})
    if features.tables:
        md.enable("table")
    if dialect.mdx:
        md.disable("code")
    if not features.underlined:
        md.disable("lheading")
    if dialect.definition_lists:
        from mdit_py_plugins.deflist import deflist_plugin  # noqa: PLC0415

        md.use(deflist_plugin)
    two_lines = features.tables or features.underlined or dialect.definition_lists
    syntax.install(md, dialect, footnotes, two_lines)
    md.inline = inline = DispatchingInline()
    md.helpers = LinkHelpers
    inline.ruler.disable("linkify")
    reader = InlineReader(md, dialect, footnotes)
    inline.prepare()
    return _Engine(md, reader)


@dataclass(slots=True)
class FileContext:
    """What reading a file needs to know of its book."""

    library: Library
    dialect: Dialect
    style: SlugStyle
    site_root: str = ""
    warnings: list[SourceWarning] = field(default_factory=list)
    partials: set[str] = field(default_factory=set)
    """Files that were pulled into others: they are no orphans."""


class FileReader:
    """Reads files of one book; includes are read through it again."""

    def __init__(self, context: FileContext) -> None:
        self._context = context
        self._mdbook = MdBookIncludes(context.library)

    def read(self, source: SourceFile, chain: tuple[str, ...] = ()) -> ParsedFile:
        """Parse `source`. `chain` are the files whose includes led here."""
        context = self._context
        dialect = _suited(context.dialect, source)
        flat = source.flat
        labels = (
            {label.lower() for label in _FOOTNOTE_LABELS.findall(flat)} if "[^" in flat else set()
        )
        features = _Features(
            dialect,
            bool(labels),
            *_rule_lines(flat),
        )
        engine = _engine(features)
        env: EnvType = {
            "scanner": TagScanner(flat),
            "starts": {},
            "footnotes": labels,
            "references": {},
        }
        tokens: list[Token] = []
        state = StateBlock(flat, engine.md, env, tokens)
        # Quotes move these marks while they are read.
        env["lines"] = list(state.bMarks)
        engine.md.block.tokenize(state, 0, state.lineMax)
        files = (*chain, source.file)

        def warn(message: str, offset: int) -> None:
            context.warnings.append(SourceWarning(message, source.file, source.line(offset)))

        imports = self._imports(source, tokens, warn) if dialect.mdx else {}

        def include(mark: Mark) -> list[Piece] | None:
            return self._include(mark, source, imports, files, warn)

        def resolve(text: str, offset: int) -> tuple[str, str]:
            if not dialect.mdbook:
                return text, ""
            return self._mdbook.expand(text, source.file, offset, warn)

        slugger = Slugger(context.style)
        reader = BlockReader(flat, env, engine.inline, dialect, slugger, include, resolve)
        return reader.read(tokens)

    def _imports(
        self, source: SourceFile, tokens: list[Token], warn: Callable[[str, int], None]
    ) -> dict[str, str]:
        """Return the Markdown files that the page imports, by component name."""
        found: dict[str, str] = {}
        for token in tokens:
            if token.type != "mark" or token.meta["found"].kind is not MarkClass.ESM:
                continue
            mark: Mark = token.meta["found"]
            text = source.flat[mark.start : mark.end]
            for match in _IMPORTED.finditer(text):
                if not self._locate(source.file, match.group(1)):
                    warn(f"import not found: {match.group(1)}", mark.start + match.start())
            for match in _IMPORT.finditer(text):
                if match.group(2).endswith((".md", ".mdx")):
                    path = self._locate(source.file, match.group(2))
                    if path:
                        found[match.group(1)] = path
        return found

    def _locate(self, file: str, target: str) -> str | None:
        base = folder_of(file)
        if target.startswith("@site/"):
            base, target = self._context.site_root, target[6:]
        for suffix in _CODE_SUFFIXES:
            path = self._context.library.locate(base, target + suffix)
            if path:
                return path
        return None

    def _include(
        self,
        mark: Mark,
        source: SourceFile,
        imports: dict[str, str],
        chain: tuple[str, ...],
        warn: Callable[[str, int], None],
    ) -> list[Piece] | None:
        if mark.tag is not None:
            path = imports.get(mark.tag.name, "")
            text = self._context.library.text(path) if path else None
            if text is None:
                return None
        elif mark.name in ("include", "rustdoc_include", "playground"):
            path, text = self._mdbook.section(
                mark.argument, source.file, lambda message: warn(message, mark.start)
            )
            if not path:
                return []
        else:
            return []
        if path in chain:
            warn(f"include of {path} goes in a circle: {' -> '.join((*chain, path))}", mark.start)
            return []
        self._context.partials.add(path)
        parsed = self.read(make_source(text, path), chain)
        pieces = [piece for piece in parsed.pieces if piece.text]
        spans = [(mark.start, mark.end)] + [(mark.end, mark.end)] * (len(pieces) - 1)
        return [shifted(piece, *span, path) for piece, span in zip(pieces, spans, strict=False)]


def _rule_lines(text: str) -> tuple[bool, bool]:
    """Return whether the text has a line that may divide a table, and one that underlines."""
    tables = underlined = False
    for match in _RULE_LINE.finditer(text):
        line = match.group()
        tables = tables or ("|" in line and "-" in line)
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        underlined = underlined or ("|" not in line and bool(before.strip("> \t")))
    return tables, underlined


def _suited(dialect: Dialect, source: SourceFile) -> Dialect:
    """Leave out the constructs that this file does not use: each costs time on every block."""
    if dialect.definition_lists and not _DEFINITION.search(source.flat):
        dialect = replace(dialect, definition_lists=False)
    if dialect.math and "$" not in source.flat and "\\\\" not in source.flat:
        dialect = replace(dialect, math=False)
    return dialect
