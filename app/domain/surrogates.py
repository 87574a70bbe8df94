"""Lone surrogates: halves of a character, which Python's texts may hold but UTF-8 cannot encode."""

from __future__ import annotations


def is_well_formed(text: str) -> bool:
    """Whether the text has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def well_formed(text: str) -> str:
    """Replace each lone surrogate by U+FFFD."""
    if is_well_formed(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
