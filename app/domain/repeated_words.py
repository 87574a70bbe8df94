"""Finds the shortest sequence of words from each position of a long page that is unique on it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence

NEVER = 255
"""Marks a position from which even the largest size is not unique."""
_WIDTH = array("I").itemsize
_MANY = 50_000
"""More positions than this are grouped into buckets."""
_BUCKET = 1000
"""Mean number of positions in a bucket, which fits the processor's cache."""


def least_unique_sizes(words: array[int], sizes: Sequence[int]) -> bytearray:
    """Return for each position the smallest of `sizes` with which the words from there are unique.

    `words` is an `array("I")` with one number for each distinct word; `sizes` is ascending. The
    value is `NEVER` if even the largest size is not unique. Memory is linear in the number of
    words.
    """
    least = bytearray(sizes[:1]) * len(words)
    _raise_repeated(least, words.tobytes(), range(len(words)), sizes)
    return least


def _raise_repeated(
    least: bytearray, text: bytes, places: Sequence[int], sizes: Sequence[int]
) -> None:
    """Raise `least` at the places whose next `sizes[0]` words are repeated.

    Up to `_MANY` repeated places are sorted; more are compared again with the next size.
    """
    for again in _repeated(text, places, sizes[0]):
        if len(again) <= _MANY:
            _sort_repeated(least, text, again, sizes)
            continue
        for place in again:
            least[place] = sizes[1] if sizes[1:] else NEVER
        if sizes[1:]:
            _raise_repeated(least, text, again, sizes[1:])


def _repeated(text: bytes, places: Sequence[int], size: int) -> Iterator[array[int]]:
    """Yield the positions whose next `size` words also begin at another of these positions.

    Equal sequences are in the same array. More than `_MANY` places are compared bucket by bucket,
    because all sequences of a book together would take gigabytes of memory.
    """
    length = size * _WIDTH
    buckets = _buckets(text, places, length) if len(places) > _MANY else [places]
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


def _sort_repeated(
    least: bytearray, text: bytes, places: Sequence[int], sizes: Sequence[int]
) -> None:
    """Set `least` of places whose `sizes[0]` words are repeated.

    In sorted order, each sequence has its longest common prefix with one of its neighbours.
    """
    *lengths, length = (size * _WIDTH for size in sizes)
    sequences = [text[place * _WIDTH : place * _WIDTH + length] for place in places]
    counts = Counter(sequences)
    least_of = dict.fromkeys(counts, NEVER)
    before, last, shared = 0, b"", 0
    for sequence in [*sorted(counts), b""]:
        shared = sizes[-1]
        for size, end in zip(sizes[1:-1], lengths[1:], strict=True):
            if last[:end] != sequence[:end]:
                shared = size
                break
        if counts[last] == 1:
            least_of[last] = max(before, shared)
        before, last = shared, sequence
    for place, sequence in zip(places, sequences, strict=True):
        least[place] = least_of[sequence]
