"""Authors and years of a book's BibTeX files, for citations in the text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_ENTRY = re.compile(r"^[ \t]*@(?P<kind>\w+)[ \t]*\{[ \t]*(?P<key>[^\s,{}]+)\s*,", re.M)
_FIELD = re.compile(r"\b(?P<name>author|editor|organization|title|year|date)\s*=\s*", re.I)
_ACCENT = re.compile(r"\\(?P<mark>[\"'`^~=.]|[Hcuvk](?![A-Za-z]))\s*\{?\\?(?P<letter>[A-Za-z])\}?")
_LETTERS = {"\\ss": "ß", "\\o": "ø", "\\O": "Ø", "\\ae": "æ", "\\l": "ł", "\\L": "Ł", "\\aa": "å"}
_LETTER = re.compile(r"\\(?:ss|o|O|ae|l|L|aa)(?![A-Za-z])\s?")
_YEAR = re.compile(r"\d{4}")
_MARKS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "H": "\u030b",
    "c": "\u0327",
    "u": "\u0306",
    "v": "\u030c",
    "k": "\u0328",
}
"""TeX's accents as combining characters."""
_MAX_VALUE = 4_000
"""Characters of a field that are read."""


@dataclass(frozen=True, slots=True)
class CitedWork:
    """The authors of a work, in the short form of a citation, and its year."""

    authors: str
    year: str

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.authors, self.year)))

    @property
    def in_text(self) -> str:
        """The citation in running text: "Cover and Hart [1967]"."""
        return f"{self.authors} [{self.year or 'n.d.'}]"


def read_bibliography(text: str) -> dict[str, CitedWork]:
    """Return the works of a BibTeX file by key, without those that lack author and title.

    The parser is lenient: an entry ends where the next begins.
    """
    entries = list(_ENTRY.finditer(text))
    ends = [entry.start() for entry in entries[1:]]
    works: dict[str, CitedWork] = {}
    for entry, end in zip(entries, [*ends, len(text)], strict=False):
        fields = _fields(text, entry.end(), end)
        authors = _first(fields, "author", "editor", "organization")
        year = _YEAR.search(_first(fields, "year", "date"))
        shown = _short(authors) or _plain(fields.get("title", ""))
        if shown:
            works[entry["key"]] = CitedWork(shown, year.group() if year else "")
    return works


def _fields(text: str, start: int, end: int) -> dict[str, str]:
    fields: dict[str, str] = {}
    while match := _FIELD.search(text, start, end):
        value, start = _value(text, match.end(), end)
        fields.setdefault(match["name"].lower(), value)
    return fields


def _first(fields: dict[str, str], *names: str) -> str:
    """Return the first of these fields that is not empty; "" if there is none."""
    return next(filter(None, map(fields.get, names)), "")


def _value(text: str, start: int, end: int) -> tuple[str, int]:
    """Return a field's value, in braces, in quotes or bare, and where it ends."""
    opening, depth = text[start : start + 1], 0
    stop = min(end, start + _MAX_VALUE)
    if opening not in ("{", '"'):
        at = next((at for at in range(start, stop) if text[at] in ",}\n"), stop)
        return text[start:at].strip(), at
    for at in range(start + 1, stop):
        character = text[at]
        if not depth and character == ("}" if opening == "{" else '"'):
            return text[start + 1 : at], at + 1
        depth += {"{": 1, "}": -1}.get(character, 0)
    return "", stop


def _short(authors: str) -> str:
    """Return "Cover", "Cover and Hart" or "Cover et al."."""
    names = [_surname(name) for name in " ".join(authors.split()).split(" and ") if name]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names).replace("and others", "et al.")


def _surname(name: str) -> str:
    """Return a person's last name; a name in braces, such as a company's, is one word."""
    name = name.strip()
    if (name.startswith("{") and name.endswith("}")) or name == "others":
        return _plain(name)
    last, comma, _ = name.partition(",")
    if comma:
        return _plain(last)
    words = _plain(name).split()
    first = next((at for at, word in enumerate(words[:-1]) if word.islower()), len(words) - 1)
    return " ".join(words[first:])


def _plain(tex: str) -> str:
    """Return TeX as text: accents composed, braces left out."""
    text = _ACCENT.sub(lambda found: found["letter"] + _MARKS[found["mark"]], tex)
    text = _LETTER.sub(lambda found: _LETTERS[found.group().rstrip()], text)
    text = unicodedata.normalize("NFC", re.sub(r"[{}\\]", "", text))
    return " ".join(text.replace("~", " ").split())
