"""What a Markdown renderer makes of an answer: its links, images and HTML."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_RENDERERS = (
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("gfm-like", {"html": True, "linkify": True}),
)


def live_parts(text: str) -> list[str]:
    """Whatever would lead elsewhere, load or be HTML by CommonMark or as GitHub reads it.

    A bare name that some renderers link, `main.rs`, is not of the answer's making.
    """
    return [part for renderer in _RENDERERS for part in _live(renderer, text)]


def _live(renderer: MarkdownIt, text: str) -> Iterator[str]:
    environment: dict[str, object] = {}
    for token in _all(renderer.parse(text, environment)):
        if token.type in {"html_block", "html_inline", "image"}:
            yield f"{token.type}: {token.content}"
        elif token.type == "link_open":
            url = str(token.attrs["href"])
            if not _is_bare_name(token, url):
                yield f"link: {url}"
    if environment.get("references"):
        yield f"definitions: {environment['references']}"


def _is_bare_name(token: Token, url: str) -> bool:
    name = url.removeprefix("http://")
    return token.markup == "linkify" and name != url and not name.lower().startswith("www.")


def _all(tokens: Collection[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())
