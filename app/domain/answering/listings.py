"""What a listing is there for: to be written or run by the reader, or to show what comes of it."""

from __future__ import annotations

import re

from app.domain.answering.units import Unit

_INSTRUCTS = re.compile(
    r"\b(?:run|enter|type|use|add|writ|creat|call|execut|install|set|put|declar|defin|import"
    r"|chang|replac|open|the following (?:commands?|code|lines?|snippet))(?:e|s|es|ing|ting|ning)?"
    r"\b",
    re.IGNORECASE,
)
"""In a sentence that introduces what the reader is to do."""
_TELLS_RESULT = re.compile(
    r"\b(?:outputs?|prints?|printed|displays?|displayed|appears?|results?|errors?|fails?"
    r"|(?:will|should|you|we|you.ll|we.ll) (?:see|get)|look(?:s|ing)? like|won.t|doesn.t|can.t)\b",
    re.IGNORECASE,
)
_PLAIN = frozenset({"text", "txt", "output", "plaintext", "log", "stdout"})
"""What the language of a listing is called that is in none."""
_LONG_LINE_WORDS = 40
_PROMPT = re.compile(r"(?:[\w.@~:/\\-]*[$%#>]|>>>|\.\.\.)(?: |$)")


def is_to_be_done(lead: Unit) -> bool:
    """Whether the sentence before a listing introduces it as what to write or to run."""
    text = lead.text.rstrip()
    return bool(_INSTRUCTS.search(text)) and not _TELLS_RESULT.search(text)


def is_running_text(listing: str) -> bool:
    """Whether it is no code: a letter, a message, a licence, put into a listing to be copied."""
    return any(len(line.split()) > _LONG_LINE_WORDS for line in listing.splitlines())


def is_result(listing: str, language: str, lead: Unit | None) -> bool:
    """Whether a listing shows what a program or a command prints."""
    if lead is not None and _TELLS_RESULT.search(lead.text):
        return True
    if lead is not None and is_to_be_done(lead):
        return False
    lines = [line for line in listing.splitlines() if line.strip()]
    typed = sum(bool(_PROMPT.match(line)) for line in lines)
    return language in _PLAIN if not typed else typed < len(lines) / 2
