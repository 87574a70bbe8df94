"""The shortest phrase from each position of a page that occurs only once on the page."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

NEVER = 255
"""Marks a position from which even the largest size is not unique."""
_WIDTH = array("I").itemsize
_BUCKET = 10_000
"""Mean number of positions that are compared at once: it limits the memory for a long page."""


def least_unique_sizes(words: array[int], sizes: Sequence[int], page: int = 0) -> bytearray:
    """Return for each position the smallest of `sizes` with which the words from there are unique.

    They are unique if they begin at one position from `page` on.

    `words` is an `array("I")` with one number for each distinct word; `sizes` is ascending. The
    value is `NEVER` if even the largest size is not unique. Time and memory are linear in the
    number of words.
    """
    least, text = bytearray(sizes[:1]) * len(words), words.tobytes()
    repeated: Sequence[int] = range(len(words))
    for size, following in zip(sizes, (*sizes[1:], NEVER), strict=True):
        repeated = array("I", _repeated(text, repeated, size * _WIDTH, page))
        for place in repeated:
            least[place] = following
    return least


def _repeated(text: bytes, places: Sequence[int], length: int, page: int) -> Iterator[int]:
    """Yield the places whose next `length` bytes do not begin at one of these from `page` on."""

    def sequence(place: int) -> bytes:
        return text[place * _WIDTH : place * _WIDTH + length]

    for bucket in _buckets(places, sequence):
        counts = Counter(sequence(place) for place in bucket if place >= page)
        for place in bucket:
            if counts[sequence(place)] != 1:
                yield place


def _buckets(places: Sequence[int], sequence: Callable[[int], bytes]) -> Sequence[Sequence[int]]:
    """Divide the places so that those with equal sequences are in the same bucket."""
    if len(places) <= _BUCKET:
        return [places]
    buckets = [array("I") for _ in range(len(places) // _BUCKET + 1)]
    for place in places:
        buckets[hash(sequence(place)) % len(buckets)].append(place)
    return buckets
