"""Masks e-mail addresses, phone numbers and IP addresses in texts that readers write."""

import re
import unicodedata

_EMAIL = re.compile(r"[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_NAME, _LABEL = r"[\w.+%'-]{1,64}", r"[\w-]{1,63}"
_SPELLED_EMAIL = re.compile(
    rf"""(?<![\w.+%'-]){_NAME}(?:
        [ ]at[ ]{_LABEL}(?:[ ]dot[ ]{_LABEL}){{0,3}}
        [ ]dot[ ](?:com|edu|gov|info|io|net|org|uk|de|fr)\b          # ann at example dot org
        | [ ]?[(\[{{]at[)\]}}][ ]?{_LABEL}
        (?:[ ]?[(\[{{]dot[)\]}}][ ]?{_LABEL} | \.{_LABEL}){{1,4}}      # ann (at) example.org
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){3,7}:?[0-9a-fA-F]{1,4}(?![\w:])")
# `f64::E` in a program is not an address: network addresses begin with four hexadecimal digits.
_HEX = "[0-9a-f]{1,4}"
_SHORT_IPV6 = re.compile(
    rf"(?<![\w:.])[23f][0-9a-f]{{3}}(?::{_HEX}){{0,6}}::(?:{_HEX}(?::{_HEX}){{0,6}})?(?![\w:])",
    re.IGNORECASE,
)
# Possessive quantifiers: without them, a long run of digits would be split in every possible way.
_GROUPS = r"(?:[ \t./-]?\(?\d{1,5}+\)?){2,7}+"
_PHONE = re.compile(
    rf"""(?<![\w.,])(?:
        (?:\+|00)\(?\d{{1,3}}\)?{_GROUPS}                       # +49 170 1234567, 0044 20 7946 0958
        | \(\d{{2,5}}\)[ \t./-]?\d{{3,4}}(?:[ \t./-]?\d{{2,5}}+)++  # (020) 7946 0958
        | 0\d{{1,4}}(?:[ \t/-]\d{{2,8}}){{1,4}}                   # 0170 1234567
        | \d{{3}}(?P<gap>[ .-])\d{{3}}(?P=gap)\d{{4}}             # 415-555-0132
        | 0\d(?:[.-]\d{{2}}){{4}}                               # 01.23.45.67.89
        | 1[3-9]\d[ -]\d{{4}}[ -]\d{{4}}                         # 138 0013 8000
        | [6-9]\d{{4}}[ -]\d{{5}}                               # 98765 43210
        | 0\d{{8,14}}                                           # 01701234567
        | [1-9]\d{{9,10}}                                       # 4155550132
    )(?![\w]|[.,]\d)""",
    re.VERBOSE,
)
_MIN_DIGITS = 7
"""The shortest number with an area code (ITU-T E.164)."""
_IN_ORDER = "01234567890"


def without_personal_data(text: str) -> str:
    """Replace e-mail addresses, phone numbers and IP addresses by `<email>`, `<phone>`, `<ip>`.

    A number is masked if it is written as a phone number; years, ranges and decimals stay.
    """
    folded = _with_ascii_digits(text)
    masked = _SPELLED_EMAIL.sub("<email>", _EMAIL.sub("<email>", folded))
    masked = _SHORT_IPV6.sub("<ip>", _IPV6.sub("<ip>", _IPV4.sub("<ip>", masked)))
    masked = _PHONE.sub(_masked, masked)
    return text if masked == folded else masked


def _with_ascii_digits(text: str) -> str:
    """Return the text with ASCII digits, `@` and `+` in place of those of other scripts."""
    if text.isascii():
        return text
    others = {char for char in text if not char.isascii()}
    table = {ord(char): str(unicodedata.decimal(char)) for char in others if char.isdecimal()}
    return text.translate({**table, ord("\uff20"): "@", ord("\uff0b"): "+"})


def _masked(found: re.Match[str]) -> str:
    """Mask a phone number, not one that is typical of textbooks.

    That is a multiple of a million, a power of two, one less, or consecutive digits.
    """
    written = found[0]
    digits = "".join(char for char in written if char.isdigit())
    value = int(digits)
    typical = value % 1_000_000 == 0 or not value & (value + 1) or not value & (value - 1)
    of_textbook = "+" not in written and (typical or written in _IN_ORDER)
    return written if len(digits) < _MIN_DIGITS or of_textbook else "<phone>"
