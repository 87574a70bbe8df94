"""mdBook's Markdown: includes, hidden lines of code, admonitions, definition lists and anchors.

mdBook 0.5 is assumed where it differs from 0.4 and the configuration does not decide: it has
definition lists and smart punctuation unless they are switched off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.includes import IncludeStyle
from app.adapters.markdown.parser.anchors import SlugPolicy, SlugStyle
from app.adapters.markdown.parser.block_rules import attribute_list, first_of, mark_rule
from app.adapters.markdown.parser.container_kinds import admonition_name
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.drafts import Markup, MarkupClass
from app.adapters.markdown.parser.fenced_containers import closing_line, read_container

_INCLUDE = re.compile(r"\\?\{\{[ \t]*#(?P<name>\w+)[ \t]+(?P<argument>[^}\n]*)\}\}[ \t]*$", re.M)
_PREPROCESSED = re.compile(r"\{\{%[^{}\n]*\}\}[ \t]*$", re.M)
"""A tag that the book's own preprocessor replaces, such as `{{%segment outline}}`."""
_HIDDEN = re.compile(r"^[ \t]*#(?:[ \t].*)?$")
_ESCAPED = re.compile(r"^([ \t]*)##", re.M)
_PREFIX = re.compile(r"(?:^|[\s,])hidelines=([^\s,]+)")
_DASHES = re.compile(r"-{2,}")


def _without_hidden_rust(text: str) -> str:
    """Drop the hidden lines of Rust code, which begin with `# `."""
    if "#" not in text:
        return text
    text = "\n".join(line for line in text.split("\n") if not _HIDDEN.match(line))
    return _ESCAPED.sub(r"\1#", text) if "##" in text else text


@dataclass(frozen=True, slots=True)
class VisibleCode:
    """Drops hidden lines; a class, as parsers are cached by their dialect, compared by value."""

    prefixes: tuple[tuple[str, str], ...] = ()
    """Languages, and what their hidden lines begin with."""

    def __call__(self, text: str, language: str, info: str) -> str:
        if language == "rust":
            return _without_hidden_rust(text)
        given = _PREFIX.search(info) if "hidelines=" in info else None
        prefix = given[1] if given else dict(self.prefixes).get(language)
        if not prefix or prefix not in text:
            return text
        return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(prefix))


_ADMONISH = re.compile(
    r"(?P<fence>`{3,}(?![^\n]*`)|~{3,})[ \t]*admonish\b"
    r"(?:[ \t]+(?P<name>[\w-]+)(?![\w-]*[ \t]*=))?(?P<values>[^\n]*)$",
    re.M,
)
_VALUE = re.compile(
    r"\b(?P<key>title|id|type)[ \t]*=[ \t]*(?P<quote>[\"'])(?P<value>.*?)(?P=quote)"
)


def _admonish(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read a block of mdbook-admonish: a code block whose content is Markdown."""
    match = _ADMONISH.match(state.src, position)
    if match is None or silent:
        return match is not None
    values = {found["key"]: found["value"] for found in _VALUE.finditer(match["values"])}
    opening = Markup(
        MarkupClass.DIRECTIVE,
        position,
        match.end(),
        opens=match["fence"],
        name=admonition_name(match["name"] or values.get("type", "")),
        argument=values.get("title", ""),
        label=values.get("id", ""),
    )
    last = closing_line(state, match["fence"], start + 1, end)
    stop = min(last + 1, end)
    read_container(state, opening, (start, start + 1, last, stop), closes=match["fence"])
    state.line = stop
    return True


_BRACES = first_of(
    mark_rule(_PREPROCESSED, MarkupClass.DIRECTIVE),
    mark_rule(_INCLUDE, MarkupClass.INCLUDE),
    attribute_list,
)
DIALECT = Dialect(
    attribute_lists=True,
    math=True,
    definition_lists=True,
    block_rules=(("{", _BRACES), ("`", _admonish), ("~", _admonish)),
    visible_code=VisibleCode(),
    includes=IncludeStyle(
        begins=("{{",),
        directive=re.compile(
            r"(?P<escape>\\?)\{\{[ \t]*#(?:include|rustdoc_include|playground|playpen)"
            r"[ \t]+(?P<argument>(?:[^{}\n]|\{(?!\{))+)\}\}"
        ),
        keeps_unresolved=True,
    ),
)


# --- anchors ------------------------------------------------------------------------------------


def _unique_counted(base: str, used: dict[str, int]) -> str:
    if not base:
        return ""
    slug, count = base, 0
    while slug in used:
        count = max(count, used[base]) + 1
        slug = f"{base}-{count}"
    used[base] = count if base in used else 0
    used.setdefault(slug, 0)
    return slug


def mdbook_slug(text: str) -> str:
    """As in mdBook's `id_from_content`: alphanumerics, `_` and `-` kept, white space to `-`.

    "" if nothing is left: depending on its version, mdBook makes an empty id or `section`.
    """
    import regex  # noqa: PLC0415 - takes 30 ms

    kept = regex.sub(r"[^\p{Alphabetic}\p{Number}\s_-]", "", text.strip().lower())
    return re.sub(r"\s", "-", kept)


def _without_dashes(text: str) -> str:
    """Drop `--` and `---`, which smart punctuation makes dashes; quotes are dropped anyway."""
    return _DASHES.sub("", text)


STYLE = SlugStyle(mdbook_slug, _unique_counted, SlugPolicy(rewrite=_without_dashes), term_ids=True)
PLAIN_STYLE = replace(STYLE, policy=SlugPolicy())
"""Without smart punctuation."""
