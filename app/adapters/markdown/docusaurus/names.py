"""Docusaurus's rules about file and folder names."""

from __future__ import annotations

import re

_DATE_LIKE = re.compile(r"^(?:\d{2}|\d{4})[-_.]\d{2}(?:[-_.](?:\d{2}|\d{4}))?.*$")
_VERSION_LIKE = re.compile(r"^\d+[-_.]\d+.*$")
_NUMBER_PREFIX = re.compile(r"^(?P<number>\d+)\s*[-_.]+\s*(?P<suffix>[^-_.\s].*)$")


def strip_number(name: str) -> tuple[str, int | None]:
    """Split a number prefix from a file or folder name, as Docusaurus's default parser does."""
    if _DATE_LIKE.match(name) and not re.match(r"^\d{2}[-_.]\d{2}(?!\d)(?![-_.]\d)", name):
        return name, None
    if _VERSION_LIKE.match(name):
        return name, None
    match = _NUMBER_PREFIX.match(name)
    return (match["suffix"], int(match["number"])) if match else (name, None)


def strip_numbers(path: str) -> str:
    """Strip the number prefix of every folder in `path`."""
    return "/".join(strip_number(part)[0] for part in path.split("/"))


def is_folder_page(stem: str, folder: str) -> bool:
    """`index`, `README` and `<folder>/<folder>` are the page of their folder."""
    return stem.lower() in ("index", "readme", folder.rpartition("/")[2].lower() or "index")
