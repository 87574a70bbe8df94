"""Index terms of any text of a book: prose in many languages, code, symbols.

The terms of a text are the stems of its words, its identifiers (whole and in parts), its symbols.

| text | terms |
|---|---|
| Running tests | run, test |
| useSelector, use_selector, use-selector | useselector, use, selector |
| torch.nn, Vec::new, AT&T | torchnn, torch, nn; vecnew, vec, new, ::; att, at, t |
| &mut, C++, --flag, __init__ | &mut and mut, c++ and c, --flag and flag, __init__ and init |
| 'static, but not 'quoted' | 'static and static |
| -> :: $? ? | the symbol; a single character only when it stands alone |
| l'eau, the cell's | eau; cell |
| 1,000 and 3.14 | 1000, 3.14 |
| 日本語, ภาษา | each character, each pair; each pair, each three characters |
"""

from __future__ import annotations

import hashlib
import re
import sys
import threading
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain

import Stemmer

from app.domain.english import common_form
from app.domain.languages import known_language
from app.domain.scripts import THAI_TO_KHMER

# Scripts without spaces between words: Han, kana, Hangul; Thai, Lao, Burmese, Khmer.
_UNSPACED = (
    "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f"
    f"\U00020000-\U0003ffff{THAI_TO_KHMER}"
)
_TOKEN = re.compile(rf"(?P<thai>[{THAI_TO_KHMER}]+)|([{_UNSPACED}]+)|[^\s{_UNSPACED}]+")
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")

# Soft hyphen, zero-width space, joiners and byte order mark: invisible inside words.
_INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u00b4`", "'") | {"\u2010": "-"})

_OPERATOR = re.compile(r"[-+=<>!&|:*/%^~?.@$#]{2,}")
_EMPHATIC_END = re.compile(r"(?<=\w)[?!]{2,}[\"')\]]*\Z")
"""The end of "what is that??": emphasis, not an operator."""
_ALONE = frozenset("?&!%+=~^@$")
_JOINT = re.compile(r"[._&-]|::")
_HUMP = re.compile(r"[^\W\d_A-Z][A-Z]|[A-Z]{2}[^\W\d_A-Z]")
_CAMEL = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_PLURAL_ACRONYM = re.compile(r"[A-Za-z]*[A-Z]{2}s")

_UNFOLDED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"}
    | {"\u0131": "i", "\u0451": "\u0435"}  # Turkish dotless i, Russian yo
)


_CACHED_TOKENS = 300_000
"""Distinct tokens cached for a language, about 60 MB at most."""
_CACHED_LENGTH = 64
"""Characters of a token that is cached."""


class IndexTerms:
    """Ids of the terms of texts in any language, in the text's order, with repeats; thread-safe.

    `language` is an ISO 639-1 code; "pt-BR" counts as "pt".
    """

    fingerprint = "terms-7"
    """Changes with the terms; an index with another fingerprint is stale."""

    def __init__(self) -> None:
        self._languages: dict[str, LanguageTerms] = {}

    def of_document(self, text: str, language: str) -> list[int]:
        return self._terms(language).ids(text, query=False)

    def of_query(self, text: str, language: str) -> list[int]:
        """Return terms that a document has: of a longer run of Chinese only pairs."""
        return self._terms(language).ids(text, query=True)

    def _terms(self, language: str) -> LanguageTerms:
        code = language.lower().replace("_", "-").split("-", 1)[0]
        if code not in self._languages:
            self._languages.setdefault(code, LanguageTerms(code))
        return self._languages[code]


class LanguageTerms(dict[str, tuple[int, ...]]):
    """Converts text in one language to terms; caches the ids of each distinct token."""

    def __init__(self, language: str) -> None:
        """`language` is an ISO 639-1 code; without a stemmer for it, words stay as they are."""
        super().__init__()
        self._language = language
        try:
            self._stem = Stemmer.Stemmer(language, 0).stemWord
        except KeyError:
            self._stem = str
        known = known_language(language)
        self._stop_words = known.words | {_fold(word) for word in known.words}
        self._elisions = known.elisions
        self._stemming = threading.Lock()  # a stemmer is not safe in two threads

    def __missing__(self, token: str) -> tuple[int, ...]:
        with self._stemming:
            found = tuple(map(_term_id, self.terms(token)))
        if len(token) <= _CACHED_LENGTH:
            if len(self) >= _CACHED_TOKENS:
                self.clear()
            self[token] = found
        return found

    def ids(self, text: str, *, query: bool) -> list[int]:
        """Term ids in order. A run of Chinese, Japanese, Korean becomes bigrams, of Thai trigrams.

        A document also gets the n-grams one character shorter, to match shorter queries.
        """
        if text.isascii() or not _ANY_UNSPACED.search(text):  # without a loop over the tokens
            return [*chain.from_iterable(map(self.__getitem__, text.split()))]
        ids: list[int] = []
        for match in _TOKEN.finditer(text):
            token = match[0]
            if match.lastindex is None:
                ids += self[token]
                continue
            token = unicodedata.normalize("NFKC", token)
            size = 3 if match["thai"] else 2
            shorter = [] if query and len(token) >= size else _ngrams(token, size - 1)
            ids += map(_term_id, (*shorter, *_ngrams(token, size)))
        return ids

    def terms(self, run: str) -> list[str]:
        """The terms of a run without white space, in order, repeats included."""
        if not run.isascii():
            run = unicodedata.normalize("NFKC", run.translate(_INVISIBLE)).translate(_APOSTROPHES)
        terms: list[str] = []
        words = _compound().findall(run)
        for number, before, word, after in words:
            if number:
                terms.append(number.replace(",", ""))
                continue
            terms += self._word_terms(word)
            if before:
                terms.append((before + word).casefold())
            if after:
                terms.append((word + after).casefold())
        return terms if run.isalnum() else terms + _symbols(run, alone=not words)

    def _word_terms(self, word: str) -> list[str]:
        """Terms of an identifier, a hyphenated word or a plain word."""
        pieces = list(filter(None, map(self._elide, _JOINT.split(word))))
        forms = ["".join(pieces), *_parts(pieces)]
        terms = [term for form in forms if (term := self._term(form))]
        if len(pieces) == 1 and word.startswith("_"):
            terms.append(word.casefold())
        return terms

    def _elide(self, word: str) -> str:
        """Drop an elided article or a possessive s (l'eau, cell's); join other parts (dont)."""
        if "'" not in word:
            return word
        *left, right = word.split("'")
        if right in ("s", "S"):
            return "".join(left)
        if left[-1].casefold() in self._elisions:
            return right
        return "".join((*left, right))

    def _term(self, word: str) -> str:
        """Return the stem without accents; "" for a stop word unless it is in capitals (US, IN)."""
        if word.endswith("s") and _PLURAL_ACRONYM.fullmatch(word):
            word = word[:-1]
        folded = word.casefold()
        if folded in self._stop_words and not (len(word) > 1 and word.isupper()):
            return ""
        if self._language == "pt" and folded.endswith("ões"):
            # The stemmer gives some plurals another stem than the singular: corações, coração.
            folded = folded.removesuffix("ões") + "ão"
        elif self._language == "en":
            folded = common_form(folded)
        return _fold(self._stem(folded))


def _ngrams(run: str, size: int) -> list[str]:
    """Return the character n-grams of this size, in order."""
    return [run[at : at + size] for at in range(len(run) - size + 1)]


def _parts(pieces: Sequence[str]) -> list[str]:
    """Return the words of an identifier that is split at its joints; [] if it is one word."""
    parts = list(chain.from_iterable(map(_camel_parts, pieces)))
    if len(parts) < 2:
        return []
    # Single letters of camel case are left out: the p of pH, the s of RNAs.
    return parts if len(pieces) > 1 else [part for part in parts if len(part) > 1]


def _camel_parts(word: str) -> list[str]:
    if _HUMP.search(word) and not _PLURAL_ACRONYM.fullmatch(word):
        return _CAMEL.findall(word)
    return [word]


def _fold(word: str) -> str:
    """Remove accents from Latin letters, so that "elephant" finds "éléphant"."""
    if word.isascii():
        return word
    kept: list[str] = []
    base = ""
    for char in unicodedata.normalize("NFD", word.translate(_UNFOLDED)):
        if unicodedata.combining(char) and base < "\u0250":
            continue
        if not unicodedata.combining(char):
            base = char
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def _symbols(run: str, *, alone: bool) -> list[str]:
    """Operators of two or more characters; of one character only if the run has nothing else."""
    marks = run if alone else _EMPHATIC_END.sub("", run)
    found = [operator for operator in _OPERATOR.findall(marks) if not _is_decoration(operator)]
    if alone and not found:
        found = [char for char in run if char in _ALONE or unicodedata.category(char) == "Sm"]
        return found if len(found) == 1 else []
    if alone and found and found[-1].endswith("?") and len(found[-1]) > 2:
        found.append(found[-1][:-1])  # "What is $#?" asks for $#
    return found


def _is_decoration(operator: str) -> bool:
    """Whether it is a dash, the `://` of a URL, or a rule such as `====`; `===` compares."""
    if operator in ("===", "<<<", ">>>"):
        return False
    return operator in ("--", "://") or (len(operator) > 2 and len(set(operator)) == 1)


@cache
def _compound() -> re.Pattern[str]:
    r"""Matches a number, or a word with its sigils. Adds combining marks, which \w lacks."""
    marks = (
        char
        for char in map(chr, range(0x300, min(0x20000, sys.maxunicode)))
        if unicodedata.category(char) in ("Mn", "Mc")
    )
    letter = rf"[\w{''.join(marks)}]"
    return re.compile(
        rf"((?<![\w.])\d+(?:[.,]\d+)+(?!\w))"
        rf"|((?<![\w.])(?:[&*@#$%~^\\!]{{1,2}}|--?|\.)|(?<![\w.'])'(?={letter}+(?!{letter}|')))?"
        rf"({letter}+(?:(?:[.'&-]|::){letter}+)*)"
        rf"((?:\+\+|[+#*%])(?!\w))?"
    )


@lru_cache(maxsize=65_536)
def _term_id(term: str) -> int:
    """Hash a term to 32 unsigned bits: among 100,000 terms, about one pair collides."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest(), "big")
