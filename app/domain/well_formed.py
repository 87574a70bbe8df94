r"""Text that UTF-8 can encode: no half of a surrogate pair, as `"\ud800"` in JSON or YAML makes."""

from __future__ import annotations


def is_well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def well_formed(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate."""
    if is_well_formed(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
