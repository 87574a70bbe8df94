"""Parses one file into block drafts with spans and anchors."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.includes import Included
from app.adapters.markdown.parser import block_rules
from app.adapters.markdown.parser.anchors import Slugger, SlugStyle
from app.adapters.markdown.parser.block_dispatch import BlockRuleDispatcher, Section
from app.adapters.markdown.parser.blocks import BlockReader, ParsedFile
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.drafts import BlockDraft
from app.adapters.markdown.parser.hidden_text import blank_out, hidden_elements
from app.adapters.markdown.parser.inline import InlineReader
from app.adapters.markdown.parser.inline_dispatch import DispatchingInline, LinkHelpers
from app.adapters.markdown.parser.leaf_blocks import LeafBlockReader
from app.adapters.markdown.parser.page_includes import FileContext, PageIncludes
from app.adapters.markdown.parser.tags import TagScanner
from app.adapters.markdown.source import SourceFile
from app.domain.document import SourceWarning, Span
from app.domain.reading_budget import BUDGET

_LONG, _SECTION_TOKENS = 4_000_000, 1_000
"""Files of this many characters or more are parsed twice, in sections of this many tokens:
this saves memory."""
_MAX_NESTING = BUDGET.depth + 2
"""Never reached: the dispatcher refuses less nesting than this; a list adds two levels."""
_FOOTNOTE_LABELS = re.compile(r"^[ \t>]*\[\^([^\]\s]+)\]:", re.M)
_RULE_LINE = re.compile(r"\n[ \t>]*(?:[|:-][|: \t-]*|=+[ \t]*)(?=\n|\Z)")
_DEFINITION = re.compile(r"\n[ >]{0,8}[:~][ \t]")


class _PlainLinks(MarkdownIt):
    """Keeps link targets as written, because nothing is rendered from these tokens."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the overridden name
        return url

    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802
        return True


class _Engine(NamedTuple):
    md: MarkdownIt
    inline: InlineReader


@cache
def _engine(dialect: Dialect, footnotes: bool, tables: bool, underlined: bool) -> _Engine:
    """Return the parser with the rules that a file needs: each costs time on every line."""
    md = _PlainLinks("commonmark", {"inline_definitions": True, "maxNesting": _MAX_NESTING})
    if tables:
        md.enable("table")
    if not dialect.indented_code:
        md.disable("code")
    if not underlined:
        md.disable("lheading")
    if dialect.definition_lists:
        from mdit_py_plugins.deflist import deflist_plugin  # noqa: PLC0415

        md.use(deflist_plugin)
    _install(md, dialect, footnotes)
    md.inline = inline = DispatchingInline()
    md.helpers = LinkHelpers(dialect.link_target)  # type: ignore[assignment]  # duck-typed: a module in markdown-it
    inline.ruler.disable("linkify")
    reader = InlineReader(md, dialect, footnotes)
    inline.prepare(dialect.inline_rules)
    return _Engine(md, reader)


def _install(md: MarkdownIt, dialect: Dialect, footnotes: bool) -> None:
    """Install the dialect's block rules in `md`."""
    ruler = md.block.ruler
    alternatives: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    structure = block_rules.StructureRule(dialect)
    ruler.at("html_block", structure, alternatives)
    if "`" in structure.beginnings:
        ruler.before("fence", "directive", structure, alternatives)
    if footnotes:
        ruler.before("reference", "footnote", block_rules.footnote_rule, alternatives)
    rules = dict(zip(ruler.get_active_rules(), ruler.getRules(""), strict=True))
    ending = ruler.getRules("paragraph")
    terminators = {name: rule for name, rule in rules.items() if rule in ending}
    first = BlockRuleDispatcher(rules, terminators, structure.beginnings)
    ruler.before("table", "first_character", first)


def inline_reader(dialect: Dialect) -> InlineReader:
    """Return the reader of a dialect's running text."""
    return _engine(dialect, footnotes=False, tables=False, underlined=False).inline


class FileReader:
    """Reads the files of one book, included files as well."""

    def __init__(self, context: FileContext, style_of: Callable[[str], SlugStyle]) -> None:
        """Initialise the reader; `style_of(file)` is how the site makes a file's anchors."""
        self._context = context
        self._style_of = style_of
        self._included = Included()

    def visible(self, source: SourceFile) -> SourceFile:
        """Return `source` with hidden elements replaced by blanks."""
        self._context.warn_of_injections(source.text, source.file)
        hidden = hidden_elements(source.flat, lambda: self._parser(source).code_blocks())
        for start, _, closed in hidden:
            if not closed:
                message = "hidden text is never closed: the rest of the file is left out; close it"
                line = source.line(start)
                self._context.warnings.append(SourceWarning(message, source.file, line))
        if not hidden:
            return source
        return replace(
            source, text=blank_out(source.text, hidden), flat=blank_out(source.flat, hidden)
        )

    def read(self, source: SourceFile, chain: tuple[str, ...] = ()) -> ParsedFile:
        """Parse `source`; `chain` holds the files through which it was included, outermost first.

        FileRefused if the file, or the total of its includes, exceeds the reading budget.
        """
        if not chain:
            self._included = Included()
        context = self._context
        parser = self._parser(source)
        chain = (*chain, source.file)
        includes = PageIncludes(self._read_included, context, source, chain, self._included)
        slugger = Slugger(self._style_of(chain[0]))
        leaf_blocks = LeafBlockReader(
            source.flat, parser.env, parser.engine.inline, parser.dialect, slugger, includes
        )
        blocks = BlockReader(leaf_blocks)
        if len(source.flat) < _LONG:
            tokens = parser.tokens()
            includes.read_imports(tokens)
            blocks.read(tokens)
        else:
            # Link definitions and imports may come after their uses.
            parser.each_section(includes.read_imports)
            parser.each_section(blocks.read)
        return blocks.finish()

    def _read_included(self, source: SourceFile, chain: tuple[str, ...]) -> list[BlockDraft]:
        return self.read(self.visible(source), chain).drafts

    def _parser(self, source: SourceFile) -> _FileParser:
        context = self._context
        dialect = _suited(context.dialect, source)
        flat = source.flat
        labels = {name.lower() for name in _FOOTNOTE_LABELS.findall(flat)} if "[^" in flat else ()
        engine = _engine(dialect, bool(labels), *_rule_lines(flat))
        env: EnvType = {
            "footnotes": labels,
            "references": dict(context.references),
            "cross_references": context.cross_references,
            "substitutions": _substitutions(context, source),
            "file": source.file,
            "lines": array("Q"),
            "crlf": "\r\n" in source.text,
            "steps": BUDGET.steps_of(flat),
        }
        return _FileParser(flat, env, engine, dialect)


class _FileParser(NamedTuple):
    """Makes the block tokens of one file; may run more than once."""

    flat: str
    env: EnvType
    engine: _Engine
    dialect: Dialect

    def tokens(self) -> list[Token]:
        """Return all tokens of the file; they take many times its size."""
        found: list[Token] = []
        self.each_section(found.extend, BUDGET.steps_of(self.flat))
        return found

    def each_section(self, consume: Callable[[list[Token]], None], most: int | None = None) -> None:
        """Call `consume` with sections of about `most` tokens, cut between blocks."""
        md, env = self.engine.md, self.env
        env["scanner"] = TagScanner(self.flat)
        env["section"] = Section(BUDGET.steps_of(self.flat), most or _SECTION_TOKENS, consume)
        tokens: list[Token] = []
        state = StateBlock(self.flat, md, env, tokens)
        # A copy, because parsing quotes changes these offsets.
        env["lines"][:] = array("Q", state.bMarks)
        md.block.tokenize(state, 0, state.lineMax)
        consume(tokens)
        # The tokens' consumer may keep `env`: a reference cycle would keep the text alive.
        del env["section"], env["scanner"]

    def code_blocks(self) -> list[Span]:
        """Return the spans of the file's code blocks and display formulas."""
        found: list[Span] = []
        lines = self.env["lines"]

        def note(tokens: list[Token]) -> None:
            found.extend(
                (lines[token.map[0]], lines[token.map[1]])
                for token in tokens
                if token.type in ("fence", "code_block", "math_block") and token.map
            )

        self.each_section(note)
        return found


def _substitutions(context: FileContext, source: SourceFile) -> Mapping[str, str]:
    own = context.dialect.own_substitutions
    if own is None or not source.front_matter:
        return context.substitutions
    return {**context.substitutions, **own(source.front_matter)}


def _rule_lines(text: str) -> tuple[bool, bool]:
    """Return whether the text may contain a table, and an underlined heading."""
    tables = underlined = False
    for match in _RULE_LINE.finditer(text):
        line = match.group()
        tables = tables or ("|" in line and "-" in line)
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        underlined = underlined or ("|" not in line and bool(before.strip("> \t")))
    return tables, underlined


def _suited(dialect: Dialect, source: SourceFile) -> Dialect:
    """Switch off constructs that this file does not use: each costs time on every block."""
    return _narrowed(
        dialect,
        dialect.definition_lists and bool(_DEFINITION.search(source.flat)),
        dialect.math and ("$" in source.flat or "\\\\" in source.flat),
    )


@cache
def _narrowed(dialect: Dialect, definition_lists: bool, math: bool) -> Dialect:
    return replace(dialect, definition_lists=definition_lists, math=math)
