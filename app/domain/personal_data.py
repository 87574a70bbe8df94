"""Masks e-mail addresses, phone numbers and IP addresses in texts that readers write."""

from __future__ import annotations

import re

_EMAIL = re.compile(r"[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)")
_IPV6 = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){3,7}:?[0-9a-fA-F]{1,4}(?![\w:])")
# Possessive: a long run of digits must not be divided in all ways.
_GROUPS = r"(?:[ \t./-]?\(?\d{1,5}+\)?){2,7}+"
_PHONE = re.compile(
    rf"""(?<![\w.,])(?:
        (?:\+|00)\(?\d{{1,3}}\)?{_GROUPS}                       # +49 170 1234567, 0044 20 7946 0958
        | \(\d{{2,5}}\)[ \t./-]?\d{{3,4}}(?:[ \t./-]?\d{{2,5}}+)++  # (020) 7946 0958
        | 0\d{{1,4}}(?:[ \t/-]\d{{2,8}}){{1,4}}                   # 0170 1234567
        | \d{{3}}(?P<gap>[ .-])\d{{3}}(?P=gap)\d{{4}}             # 415-555-0132
        | 0\d{{8,14}}                                           # 01701234567
        | [1-9]\d{{9,10}}                                       # 4155550132
    )(?![\w]|[.,]\d)""",
    re.VERBOSE,
)
_FEWEST_DIGITS = 7
"""The shortest number with an area code (ITU-T E.164)."""


def without_personal_data(text: str) -> str:
    """Return the text with `<email>`, `<phone>` and `<ip>` in place of what they name.

    A number is masked if it is written as a phone number; years, ranges and decimals stay.
    """
    text = _EMAIL.sub("<email>", text)
    text = _IPV6.sub("<ip>", _IPV4.sub("<ip>", text))
    return _PHONE.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    digits = sum(char.isdigit() for char in found[0])
    return "<phone>" if digits >= _FEWEST_DIGITS else found[0]
