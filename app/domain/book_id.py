"""The id of a book: it names folders, database files and collections, so it can be nothing else."""

from __future__ import annotations

import re

from app.domain.errors import InputError

PATTERN = r"[a-z0-9][a-z0-9._-]{0,63}"
_FORM = re.compile(PATTERN)
# `<prefix>_<book>_v<N>` names a generation on a server, so no book may be called that way.
_GENERATION_SUFFIX = re.compile(r"_v[0-9]+\Z")


class BookId(str):
    """A text of 1 to 64 of `a-z 0-9 . _ -` that starts with a letter or digit.

    Made at every boundary where a name comes in (HTTP, command line, settings, files, servers).
    No such text is a path to another folder: it has no separator and does not begin with a dot.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> BookId:
        """Raise InputError when `text` is not of this form."""
        if not _FORM.fullmatch(text):
            message = (
                f"book id {text[:80]!r}: use 1 to 64 of a-z, 0-9, '.', '_' and '-', "
                "starting with a letter or digit"
            )
            raise InputError(message)
        if ending := _GENERATION_SUFFIX.search(text):
            message = f"book id {text!r}: must not end like a generation's name, {ending[0]!r}"
            raise InputError(message)
        return super().__new__(cls, text)


def is_book_id(text: str) -> bool:
    """Tell whether `BookId` takes `text`: what else lies in a folder of books is no book."""
    try:
        BookId(text)
    except InputError:
        return False
    return True
