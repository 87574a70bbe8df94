"""The text that is searched for instead of a question: what is left of it is about its subject.

In a search, the words of "can you explain osmosis to me, please" would count as words of the
subject, and rare ones ("thx") most of all. The languages that are indexed by pairs of characters
need this for every question: some pairs belong to such a phrase and others to the words beside it.
"""

import re
from dataclasses import dataclass
from functools import cache
from unicodedata import normalize

from app.domain.languages import known_language, without_words, written
from app.domain.terms import QUESTION_MARKS, names, sentences, words

_BREAK = "[ ,;:.!?¿¡\u2026\u2013\u2014-]"
_WORD_END = r"(?!['\u2019\w])"
_ACCENTED = re.compile(r"[à-ÿ](?=\w)|(?<=\w)[à-ÿ]")
_AT_MARK = re.compile(r"(?<=\w)\s+(?=[?!]\s*\Z)|(?<=[^\w\s?]{2})\?\s*\Z")
"""The blank of "Qu'est-ce que l'osmose ?", which makes the question mark a term; the question mark
after the operator of "What is %>%?", which would be a part of it."""
_SHORT_WORD = 3
"""Letters of words that may be in lower case in a title: "of", "the"."""
_PUNCTUATION = frozenset("?!.,;:-–—…¿¡")


@dataclass(frozen=True, slots=True)
class SearchText:
    text: str
    said: tuple[str, ...]
    """The words of the question."""

    @property
    def words(self) -> list[str]:
        """Its words, and what stands alone between them, such as the operator `..=`."""
        parts = (part for part in self.text.split() if part not in _PUNCTUATION)
        return [one for part in parts for one in words(part) or [part]]

    @property
    def names(self) -> set[str]:
        """Words written as names, in lower case."""
        return names(self.text)


def search_text(question: str, language: str) -> SearchText:
    """Return the text to search for instead of a question about a book in `language`.

    It lacks these phrases, in the languages that are known here, unless it has no other words.
    White space is single blanks. A sentence in capitals or in title case is in lower case, because
    the embedders distinguish them. A clause that asks is a sentence, so that it may ask for a
    definition.
    """
    clauses = _clauses(_AT_MARK.sub("", question), language)
    lowered = [_in_lower_case(" ".join(one.split()), language) for one in clauses]
    pattern = _around_subject(language)
    kept = [pattern.sub(" ", one) if pattern else one for one in lowered]
    searched = " ".join(" ".join(kept).split())
    found = searched if words(searched) else " ".join(lowered).strip()
    return SearchText(found, tuple(words(question)))


# Compiling the patterns of all languages takes a tenth of a second, and most books have one.
@cache
def _around_subject(language: str) -> re.Pattern[str] | None:
    """Compile the phrases for a sentence in which words are separated by single blanks."""
    known = known_language(language)
    if known.unspaced:
        longest_first = sorted(known.unspaced.split(), key=len, reverse=True)
        # Elsewhere the words of an end are parts of words, such as 吗啡.
        end = rf"(?:{known.closing})?(?:[？！。?!]+|(?=[，,\s])|$)"
        return re.compile("|".join([*longest_first, end]))
    phrases = known.opening, known.closing, known.filler
    if not any(phrases):
        return None
    opening, closing, filler = (_with_variants(one) or "(?!)" for one in phrases)
    return re.compile(
        # Possessive and atomic: a word may be a phrase and part of another, so that the number of
        # ways to split a question would grow exponentially.
        rf"(?:^|(?<!{_BREAK})(?={_BREAK}))"
        rf"(?:{_BREAK}*+(?>(?:{closing}|{filler}){_WORD_END}))++{_BREAK}*+$"
        rf"|^(?>{_BREAK}*+(?:{opening}|{filler}){_WORD_END})++{_BREAK}*+"
        rf"|(?<= )(?:{filler}){_WORD_END} ?",
        re.IGNORECASE,
    )


def _with_variants(pattern: str) -> str:
    """Let "é" match "e", too, but not as a word: in Portuguese "é" is "is" and "e" is "and"."""
    plain = _ACCENTED.sub(lambda found: f"[{found[0]}{normalize('NFD', found[0])[0]}]", pattern)
    return written(plain)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(written(pattern), re.IGNORECASE)


def _clauses(question: str, language: str) -> list[str]:
    """Split into sentences; a clause with a question word after a comma is one, too."""
    if after_comma := known_language(language).asks_after_comma:
        question = _compiled(rf",(?=\s+(?:{after_comma})\b)").sub(".", question)
    return sentences(question)


def without_context(question: str, language: str) -> str:
    """Return the question without sentences about the reader ("I have an exam tomorrow.").

    Unchanged unless another sentence asks, with a question mark or a question word, and has no
    anaphor, which would refer to them.
    """
    known = known_language(language)
    if not (known.asks and known.reader):
        return question
    asks, reader = (_compiled(rf"\W{{0,3}}(?:{one})\b") for one in (known.asks, known.reader))
    clauses = _clauses(question, language)
    asking = {one for one in clauses if one.endswith(QUESTION_MARKS) or asks.match(one)}
    kept = [one for one in clauses if one in asking or not reader.match(one)]
    refers = not asking or has_anaphor("\n".join(asking), language)
    return question if refers or len(kept) == len(clauses) else "\n".join(kept)


def has_anaphor(question: str, language: str) -> bool:
    """Whether a word refers to an earlier sentence, in the languages that are known here."""
    known = known_language(language)
    words, edge = "|".join(known.anaphora.split()), "" if known.unspaced else r"\b"
    return bool(words and _compiled(f"{edge}(?:{words}){edge}").search(question))


def bare_question(question: str, asked_in: str, language: str) -> str:
    """Remove the common words of a question that is in another language than the book.

    Names and terms that both languages share remain.
    """
    known = known_language(asked_in)
    if not known.words or asked_in == "en" == language:
        return question
    frames = f"{known.frame} {known.comparison}".split()
    return without_words(question, known.words.union(frames))


def _in_lower_case(sentence: str, language: str) -> str:
    """Lower the words of a sentence in capitals or in title case; "HashMap" and "DNA" keep theirs.

    In title case all longer words, and a common one after the first, have a capital.
    """
    said = sentence.split()
    if sentence.isupper():
        return sentence.lower() if sum(map(str.isupper, said)) > 1 else sentence
    common = known_language(language).words
    titled = not any(word[0].islower() for word in said if len(word) > _SHORT_WORD) and any(
        word.istitle() and len(word) > 1 and word.lower() in common for word in said[1:]
    )
    return " ".join(word.lower() if titled and word.istitle() else word for word in said)
