"""Tags in the source that may stay: those that pass, each opening one with its closing one.

Markdown and tags nest by rules of their own; a tag whose partner lies in another list item, aside
or emphasis would break the page's nesting, so it goes and its text stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token

from app.adapters.page_renderer.tags import TAG, Tag, parse_tag, passes


def tag_of(token: Token) -> Tag | None:
    tag = token.meta.get("tag")
    return tag if isinstance(tag, Tag) else None


def nesting(token: Token) -> int:
    """As `Token.nesting`, also for the source's own tags."""
    tag = tag_of(token)
    if tag is None:
        return token.nesting
    return 0 if tag.empty else -1 if tag.closing else 1


def pair_tags(tokens: Sequence[Token]) -> None:
    """Keep the tags that pass and have their partner, here and in all inline text; drop others."""
    _pair(tokens, inline=False)
    for token in tokens:
        children = token.children or []
        for child in children:
            if child.type == "html_inline" and (match := TAG.fullmatch(child.content)):
                child.meta["tag"] = parse_tag(match)
        _pair(children, inline=True)


def _pair(tokens: Sequence[Token], *, inline: bool) -> None:
    scopes: list[list[Token]] = [[]]
    kept: set[int] = set()
    for token in tokens:
        tag = tag_of(token)
        if tag is None:
            _follow(token.nesting, scopes)
        elif token.type == "partial" or not passes(tag, inline=inline):
            continue
        elif tag.empty:
            kept.add(id(token))
        elif not tag.closing:
            scopes[-1].append(token)
        elif (opening := _partner(tag.name, scopes[-1])) is not None:
            kept |= {id(opening), id(token)}
    for token in tokens:
        if token.type != "partial" and id(token) not in kept:
            token.meta.pop("tag", None)


def _follow(step: int, scopes: list[list[Token]]) -> None:
    if step > 0:
        scopes.append([])
    elif step < 0 and len(scopes) > 1:
        scopes.pop()


def _partner(name: str, opened: list[Token]) -> Token | None:
    """Take the nearest opening tag of this name, and those inside it that were never closed."""
    for position in range(len(opened) - 1, -1, -1):
        tag = tag_of(opened[position])
        if tag is not None and tag.name == name:
            opening = opened[position]
            del opened[position:]
            return opening
    return None
