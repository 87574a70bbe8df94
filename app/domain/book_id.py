"""The id of a book, which also names folders, database files and collections."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.domain.errors import InputError

PATTERN = r"[a-z0-9][a-z0-9._-]{0,63}"
_LABEL = r"[a-z0-9][a-z0-9.-]{0,31}"
_FORM = re.compile(rf"(?P<name>{PATTERN})(?:@(?P<version>{_LABEL}))?(?:\+(?P<locale>{_LABEL}))?")


class BookId(str):
    """1 to 64 characters of `a-z 0-9 . _ -`, the first one a letter or digit.

    An edition other than the default one has the id `NAME@VERSION+LOCALE`. A default version or
    locale is left out; see `app.domain.edition`.

    Every name from outside (HTTP, command line, settings, files, servers) is converted to this
    type. It has no separator and no leading dot, so it cannot be a path to another folder.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> BookId:
        """InputError if `text` does not have this form."""
        if not _FORM.fullmatch(text):
            raise InputError(
                f"book id {text[:80]!r}: use 1 to 64 of a-z, 0-9, '.', '_' and '-', "
                "starting with a letter or digit"
            )
        return super().__new__(cls, text)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _: object, handler: Callable[[object], object]
    ) -> dict[str, object]:
        """Pydantic's schema: a string, which is converted to this type."""
        converted = {"type": "no-info", "function": cls}
        return {"type": "function-after", "function": converted, "schema": handler(str)}

    @property
    def name(self) -> BookId:
        """The id of the book and of its default edition."""
        return BookId(re.split(r"[@+]", self)[0])

    @property
    def version(self) -> str:
        """The version in the id; "" for the default one."""
        return self.partition("+")[0].partition("@")[2]

    @property
    def locale(self) -> str:
        """The locale in the id; "" for the default one."""
        return self.partition("+")[2]


def is_book_id(text: str) -> bool:
    """Whether `text` is a valid book id; other entries in a folder of books are ignored."""
    try:
        BookId(text)
    except InputError:
        return False
    return True
