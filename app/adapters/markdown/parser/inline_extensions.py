"""Inline rules for the PyMdown extensions that a MkDocs site switches on."""

from __future__ import annotations

import re

from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.ruler import Ruler
from markdown_it.rules_inline import StateInline

INLINE_EXTENSIONS = frozenset({"caret", "emoji", "inlinehilite", "keys", "mark", "tilde"})

_PAIRS = (("==", "mark"), ("^^", "caret"), ("^", "caret"), ("~", "tilde"))
_SHORT_NAME = re.compile(r":(?P<name>[a-z0-9+][\w+-]*):(?!\w)")
_ICON = re.compile(r"(?:material|fontawesome|octicons|simple|lucide)-")
_KEYS = re.compile(r"\+\+(?P<keys>[\w-]+(?:\+[\w-]+)*|\"[^\"\n]+\")\+\+")
_HIGHLIGHTED = re.compile(r"(?<!`)(`+)[ ]?[#:]![\w+-]+[ ]+")
_KEY_NAMES = {"ctrl": "Ctrl", "cmd": "Cmd", "del": "Del", "esc": "Esc", "ins": "Ins"}


def special_characters(extensions: frozenset[str]) -> str:
    """Return the characters that begin mark-up of these extensions, fit for a character class."""
    characters = {"caret": r"\^", "emoji": ":", "keys": "+", "mark": "=", "tilde": "~"}
    return "".join(characters.get(name, "") for name in sorted(extensions))


def install(ruler: Ruler[RuleFuncInlineType], extensions: frozenset[str]) -> None:
    """Put the rules that these extensions need into an inline parser."""
    if extensions & {"caret", "mark", "tilde"}:
        ruler.before("strikethrough", "pair", pair_rule)
    if "emoji" in extensions:
        ruler.before("html_inline", "emoji", emoji_rule)
    if "keys" in extensions:
        ruler.before("html_inline", "keys", keys_rule)


def pair_rule(state: StateInline, silent: bool) -> bool:
    """Read `==marked==`, `^^inserted^^`, `^super^` and `~sub~`: their marks are not shown."""
    source, position = state.src, state.pos
    closers: dict[int, int] = state.env["inline_closers"]
    width = closers.get(position, 0)
    if not width:
        for mark, extension in _PAIRS:
            if extension in state.env["extensions"] and source.startswith(mark, position):
                break
        else:
            return False
        width = len(mark)
        after = position + width
        if source[after : after + 1] in (mark[0], "", " ", "\n"):
            return False
        close = state.env["inline_scanner"].find(mark, after + 1)
        lone = width == 1
        if close < 0 or source[close - 1].isspace() or (lone and " " in source[after:close]):
            return False
        closers[close] = width
    if not silent:
        state.push("boundary", "", 0)
    state.pos += width
    return True


def emoji_rule(state: StateInline, silent: bool) -> bool:
    """Read `:name:`; an icon's name is not shown, and no anchor is made of either."""
    source, position = state.src, state.pos
    match = _SHORT_NAME.match(source, position)
    if match is None or (
        position and (source[position - 1].isalnum() or source[position - 1] == ":")
    ):
        return False
    if not silent:
        token = state.push("emoji", "", 0)
        token.content = "" if _ICON.match(match["name"]) else match.group()
    state.pos = match.end()
    return True


def keys_rule(state: StateInline, silent: bool) -> bool:
    """Read `++ctrl+alt+del++`."""
    match = _KEYS.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        names = match["keys"].strip('"').split("+")
        token = state.push("keys", "", 0)
        token.content = "+".join(
            _KEY_NAMES.get(name, name.replace("-", " ").title()) for name in names
        )
    state.pos = match.end()
    return True


def without_languages(content: str) -> str:
    """Drop the languages of highlighted code spans: `#!python x` shows `x`."""
    return _HIGHLIGHTED.sub(r"\1", content)
