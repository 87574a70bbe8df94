"""Characters that a text must not have: half ones, invisible ones, those that deceive readers.

Also a number with its noun.
"""

import re

# Arabic to Thaana, Indic to Myanmar, Khmer and Mongolian, Balinese to Batak, Arabic presentation
# forms, Brahmic scripts beyond the basic plane.
_JOINING = (
    "\u0600-\u08ff\u0900-\u109f\u1780-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\ua800-\ua8ff\ua980-\uaaff"
    "\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefe\U00010a00-\U00010aff\U00011000-\U00011fff"
)
_EMOJI = "\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_FLAG, _TAGS = "\U0001f3f4", "[\U000e0030-\U000e0039\U000e0061-\U000e007a]"
_INVISIBLE = re.compile(
    f"(?P<flag>(?<={_FLAG}){_TAGS}{{3,6}}\U000e007f)|"
    # Soft hyphen, zero-width space, bidirectional embeddings, overrides and isolates, word joiner,
    # byte order mark, tag characters, controls that break no line.
    "[\u00ad\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
    "\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]"
    f"|(?<![{_JOINING}])\u200c|(?<![{_JOINING}{_EMOJI}])\u200d"
)
# C0 except tab and line end, DEL and C1; Unicode's explicit bidi controls; lone surrogates.
_DECEIVING = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


def counted(number: int, plural: str) -> str:
    """Return "1 file", "2 files", "1 batch" of "files" and "batches"."""
    one = plural.removesuffix("es" if plural.endswith(("ches", "sses")) else "s")
    return f"{number:,} {one if number == 1 else plural}"


def is_well_formed(text: str) -> bool:
    """Whether the text has no lone surrogate: half a character, which UTF-8 cannot encode."""
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


def without_invisible(text: str) -> str:
    """Return a prompt or a generated answer without invisible characters.

    They hide text from people, or split an address so that no filter recognises it. The joiners
    U+200C and U+200D stay where they change how letters or emoji are drawn; tag characters stay in
    a subdivision flag such as England's, the only valid emoji tag sequence (UTS #51).
    """
    return _INVISIBLE.sub(lambda found: found["flag"] or "", text)


def printable(text: str) -> str:
    """Replace each character that controls a terminal or reverses the text's order by U+FFFD.

    The length stays the same, so positions in the text stay valid.
    """
    return _DECEIVING.sub("\N{REPLACEMENT CHARACTER}", text)
