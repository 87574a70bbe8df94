"""MkDocs hook: the widget's tag on every page.

    hooks: [textbook_rag.py]
    extra:
      textbook_rag: {server: https://ask.example.org, book: my-book, key: pk_...}

Other options are the attributes of the script's tag without `data-`: label, logo, language, theme,
side, shortcut, base_url (unless given, the site's `site_url`). An unknown one stops the build.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any, TypeAlias

Config: TypeAlias = Mapping[str, Any]
"""MkDocs' own, which this module does not import."""

_ATTRIBUTES = (
    "book",
    "key",
    "base_url",
    "label",
    "logo",
    "language",
    "theme",
    "side",
    "shortcut",
)


def on_config(config: Config) -> Config:
    """Check the options before anything is built."""
    _tag(config)
    return config


def on_post_page(output: str, *, config: Config, **_: object) -> str:
    return _with_tag(output, config)


def on_post_template(output: str, *, template_name: str, config: Config) -> str:
    """Pages that are no Markdown, such as 404.html."""
    return _with_tag(output, config) if template_name.endswith(".html") else output


def _with_tag(html: str, config: Config) -> str:
    return html.replace("</head>", f"{_tag(config)}</head>", 1)


def _tag(config: Config) -> str:
    options = config["extra"].get("textbook_rag") or {}
    unknown = set(options) - {"server", *_ATTRIBUTES}
    if unknown:
        raise SystemExit(f"textbook_rag: unknown option {', '.join(sorted(unknown))}")
    server = str(options.get("server", ""))
    if not re.match(r"https?://[^/]", server):
        raise SystemExit(
            "textbook_rag: `server` must be an address such as https://ask.example.org"
        )
    named = {"base_url": config["site_url"] or "", **options}
    data = "".join(
        f' data-{name.replace("_", "-")}="{escape(str(named[name]))}"'
        for name in _ATTRIBUTES
        if named.get(name)
    )
    return f'<script src="{escape(server.rstrip("/"))}/widget.js"{data} defer></script>'
