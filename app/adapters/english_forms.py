"""Plurals of English words that the stemmer does not know: Greek, Latin, irregular.

Textbooks are full of them: bacterium and bacteria, analysis and analyses, matrix and matrices. A
word and its plural get one form, which need not be a word; where a rule meets another kind of word,
it changes all its forms alike. Left out are plurals that are common words themselves: lives,
leaves, axes. (Strong verbs, "find" and "found", were tried too: they gained nothing.)
"""

from __future__ import annotations

_NOUNS = """
    child children, man men, woman women, foot feet, tooth teeth, goose geese, mouse mice,
    louse lice, ox oxen, half halves, wolf wolves, knife knives, shelf shelves,
    thief thieves, loaf loaves,
    index indices, vertex vertices, matrix matrices, appendix appendices, vortex vortices,
    cortex cortices, codex codices, helix helices, apex apices, phylum phyla, spectrum spectra,
    quantum quanta, ovum ova, stratum strata, flagellum flagella, curriculum curricula,
    erratum errata, addendum addenda, septum septa, maximum maxima, minimum minima, optimum optima,
    extremum extrema, datum data, phenomenon phenomena, mitochondrion mitochondria,
    criterion criteria, ganglion ganglia, automaton automata, polyhedron polyhedra, taxon taxa,
    genus genera, corpus corpora, stoma stomata, schema schemata, stigma stigmata, lemma lemmata,
    ammonia, basis, synapsis
"""
_KNOWN = {
    form: forms[0] for forms in (group.split() for group in _NOUNS.split(",")) for form in forms
}
_SHORTEST = 5


def common_form(word: str) -> str:
    """The form, in lower case, that stands for all forms of the word; to be stemmed yet."""
    known = _KNOWN.get(word)
    if known is not None or len(word) < _SHORTEST:
        return known or word
    if word.endswith("sis"):
        return f"{word[:-2]}es"
    if word.endswith("ia"):
        return f"{word[:-1]}um"
    if word.endswith("i") and word[-2] not in "aou":
        return f"{word[:-1]}us"
    return word
