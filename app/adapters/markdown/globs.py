"""Glob patterns of paths in a site's configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice

_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_LONGEST, _MOST_BRACES, _MOST_CHOICES = 1_000, 4, 64
"""Limits of a pattern with choices: beyond them, braces are literal and choices are ignored."""


def matches_glob(glob: str, path: str) -> bool:
    """Whether a glob pattern matches a path; `**` is any number of folders, `{a,b}` a choice."""
    return any(_matches(one, path) for one in _without_braces(glob))


@lru_cache(maxsize=256)
def _without_braces(glob: str) -> tuple[str, ...]:
    """Return the patterns for which a pattern with choices stands."""
    if len(glob) > _LONGEST or glob.count("{") > _MOST_BRACES:
        return (glob,)
    return tuple(islice(_choices(glob), _MOST_CHOICES))


def _choices(glob: str) -> Iterator[str]:
    choice = _CHOICE.search(glob)
    if choice is None:
        yield glob
        return
    for name in choice[1].split(","):
        yield from _choices(f"{glob[: choice.start()]}{name}{glob[choice.end() :]}")


def _matches(glob: str, path: str) -> bool:
    """Match without choices; `ends` are the numbers of folders matched by the pattern so far."""
    names = path.split("/")
    ends = {0}
    for part in glob.split("/"):
        if part == "**":
            ends = set(range(min(ends, default=len(names) + 1), len(names) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(names) and fnmatchcase(names[end], part)}
    return len(names) in ends
