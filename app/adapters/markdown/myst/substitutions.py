"""MyST's substitutions: `{{ key }}` shows a text of the page's front matter or of the site."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markdown_it.rules_inline import StateInline

from app.adapters.markdown.myst.conf_py import literal_setting
from app.adapters.markdown.parser.dialect import InlineRule
from app.adapters.markdown.parser.inline import render
from app.adapters.markdown.parser.inline_dispatch import spend
from app.adapters.markdown.site_map import table

_REFERENCE = re.compile(r"\{\{[ \t]*(?P<key>[A-Za-z_][\w-]*)[ \t]*\}\}")
_DIRECTIVE = re.compile(r"\s*(?:`{3,}|:{3,})\{")
_MAX_DEPTH = 10


def of_front_matter(front_matter: Mapping[str, object]) -> dict[str, str]:
    """Return a page's own substitutions."""
    return _texts(front_matter.get("substitutions")) | _texts(
        table(front_matter, "myst").get("substitutions")
    )


def of_site(config: Mapping[str, object]) -> dict[str, str]:
    """Return the substitutions of Jupyter Book's `_config.yml`."""
    settings = table(config, "sphinx", "config").get("myst_substitutions")
    return _texts(table(config, "parse").get("myst_substitutions")) | _texts(settings)


def of_conf(text: str) -> dict[str, str]:
    """Return the substitutions of Sphinx's `conf.py` if they are written as a literal."""
    return _texts(literal_setting(text, "myst_substitutions"))


def _texts(values: object) -> dict[str, str]:
    if not isinstance(values, dict):
        return {}
    return {str(key): str(value) for key, value in values.items() if value is not None}


def substitution(state: StateInline, silent: bool) -> bool:
    """Read `{{ key }}`; an expression, or a key that is not defined, stays as it is."""
    match = _REFERENCE.match(state.src, state.pos)
    value = state.env.get("substitutions", {}).get(match["key"]) if match else None
    if match is None or value is None:
        return False
    if not silent:
        _push(state, match["key"], value)
    state.pos = match.end()
    return True


def _push(state: StateInline, key: str, value: str) -> None:
    """Push a substitution's text, which is not part of ids, as it is not in the page's source.

    Nothing is shown for a directive, which is a block, or for a cycle.
    """
    env = state.env
    outer_keys: frozenset[str] = env.get("substituted", frozenset())
    if key in outer_keys or len(outer_keys) == _MAX_DEPTH or _DIRECTIVE.match(value):
        state.push("boundary", "", 0)
        return
    spend(state, len(value))  # a page may name a long text thousands of times
    env["substituted"] = outer_keys | {key}
    tokens = state.md.inline.parse(value, state.md, env, [])
    env["substituted"] = outer_keys
    token = state.push("unquoted", "", 0)
    token.content = token.markup = render(tokens, explicit_terms=True).text


SUBSTITUTIONS = InlineRule("substitution", "{", substitution)
