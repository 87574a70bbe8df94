"""English morphology: one form for the index, and the plural or singular of a word.

`common_form` is stemmed and indexed. `other_numbers` compares words as they are written, because
stems confuse some of them (test and testes). A lemmatizer was measured as an alternative:
specs/decisions/0001-libraries.md.
"""

from app.domain.languages import known_language

_KNOWN = {
    form: forms[0]
    for forms in (group.split() for group in known_language("en").nouns.split(","))
    for form in forms
}
_SHORTEST_SUFFIXED = 5
_ENDINGS = [one.replace("-", "").split("/") for one in known_language("en").plurals.split()]
_SHORTEST_STEM = 2


def common_form(word: str) -> str:
    """Map singular and plural to one form if their stems differ; `word` is in lower case.

    These are Greek, Latin and irregular nouns: bacterium and bacteria, analysis and analyses,
    matrix and matrices. The form need not be a word; it is stemmed afterwards. Plurals that are
    also other words (lives, leaves, axes) are not changed. Irregular verbs are not included: they
    did not improve retrieval.
    """
    known = _KNOWN.get(word)
    if known is not None or len(word) < _SHORTEST_SUFFIXED:
        return known or word
    if word.endswith("sis"):
        return f"{word[:-2]}es"
    if word.endswith("ia"):
        return f"{word[:-1]}um"
    if word.endswith("i") and word[-2] not in "aou":
        return f"{word[:-1]}us"
    return word


def other_numbers(word: str) -> frozenset[str]:
    """Candidates for the plural of a word in lower case, or its singular; most are not words."""
    found = set()
    for one, several in _ENDINGS:
        for ending, other in ((one, several), (several, one)):
            stem = len(word) - len(ending)
            if word.endswith(ending) and stem >= _SHORTEST_STEM:
                found.add(word[:stem] + other)
    return frozenset(found)
