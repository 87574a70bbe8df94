"""Plurals of English nouns by their endings, those of Latin and Greek among them."""

from __future__ import annotations

_ENDINGS = tuple(
    (one.strip("-"), several.strip("-"))
    for one, several in zip(
        "- - -y -um -on -us -a -is -ix -ex -f -fe -man".split(),
        "-s -es -ies -a -a -i -ae -es -ices -ices -ves -ves -men".split(),
        strict=True,
    )
)
_SHORTEST_STEM = 2


def other_numbers(word: str) -> frozenset[str]:
    """What may be the plural of a word in lower case, or its singular; most of it is no word."""
    found = set()
    for one, several in _ENDINGS:
        for ending, other in ((one, several), (several, one)):
            stem = len(word) - len(ending)
            if word.endswith(ending) and stem >= _SHORTEST_STEM:
                found.add(word[:stem] + other)
    return frozenset(found)
