"""Which sequences of words a long page has more than once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

_WIDTH = array("I").itemsize
_LONG, _BUCKET = 50_000, 1000
"""Places that are looked at in buckets, and those of a bucket: a small one stays in the cache."""


def repeated_places(text: bytes, places: Sequence[int], size: int) -> Iterator[array[int]]:
    """Yield those of the places where `size` words begin that begin at another of them too.

    `text` are the page's words, each as a number of `array("I")`. Equal sequences come in the same
    array. Many places are looked at a bucket at a time: all sequences of a book at once would fill
    gigabytes. Memory is linear in the number of places, whatever the words are.
    """
    length = size * _WIDTH
    buckets = _buckets(text, places, length) if len(places) > _LONG else [places]
    while buckets:
        first_places: dict[bytes, int] = {}
        firsts: set[int] = set()
        again = array("I")
        for place in buckets.pop():
            start = place * _WIDTH
            first = first_places.setdefault(text[start : start + length], place)
            if first != place:
                firsts.add(first)
                again.append(place)
        if again:
            again.extend(firsts)
            yield again


def _buckets(text: bytes, places: Sequence[int], length: int) -> list[Sequence[int]]:
    """Put the places into buckets by the hash of the words that begin there."""
    buckets = [array("I") for _ in range(len(places) // _BUCKET)]
    appends = [bucket.append for bucket in buckets]
    for place in places:
        start = place * _WIDTH
        appends[hash(text[start : start + length]) % len(appends)](place)
    return list(buckets)
