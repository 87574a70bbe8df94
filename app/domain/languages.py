"""Languages: their words and phrases, and detection from a text's words and script.

Codes are ISO 639-1. The table is `languages.toml`, which explains its fields.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files

from app.domain.terms import sentences, words


@dataclass(frozen=True, slots=True)
class Requests:
    """Words of requests for a part of the book."""

    chapter: str
    section: str
    page: str
    this: str
    exercise: str
    quiz: str
    quiz_here: str
    summary_here: str
    named: str
    further: str


@dataclass(frozen=True, slots=True)
class Notices:
    """Fixed texts of answers."""

    refusal: str
    """Its second sentence is about the sections below it; see `refused`."""
    uncertain: str
    """Above uncertain passages."""
    other_language: str
    """The book is in another language than the question."""
    hint: str
    """Above the passages of a hint, and above a list of what to read before the exercise."""
    which_book: str
    which_chapter: str
    no_exercises: str
    term_question: str
    """Follow-up question about a term."""
    greeting: str
    thanks: str
    """Reply to thanks."""

    def refused(self, sections: int) -> str:
        """Return the refusal above a list of so many sections."""
        return self.refusal if sections else sentences(self.refusal)[0]


@dataclass(frozen=True, slots=True)
class Language:
    """What is looked up in `languages.toml` by language, unlike `in_any`; a field may be empty."""

    words: frozenset[str]
    """Function words."""
    elisions: frozenset[str]
    notices: Notices
    requests: Requests | None = None
    name: str = ""
    nouns: str = ""
    plurals: str = ""
    frame: str = ""
    comparison: str = ""
    anaphora: str = ""
    opening: str = ""
    closing: str = ""
    filler: str = ""
    asks: str = ""
    asks_after_comma: str = ""
    reader: str = ""
    unspaced: str = ""
    greeting: str = ""
    thanks: str = ""
    tasks: str = ""
    tasks_on: str = ""
    script: str = ""
    same_script: str = ""


_TABLE = tomllib.loads((files("app.domain") / "languages.toml").read_text("utf-8"))


def _language(
    words: str = "",
    elisions: str = "",
    notices: Mapping[str, str] | None = None,
    requests: Mapping[str, str] | None = None,
    **texts: str,
) -> Language:
    known = {one.name for one in fields(Language)}
    return Language(
        frozenset(words.split()),
        frozenset(elisions.split()),
        Notices(**{**_TABLE["en"]["notices"], **(notices or {})}),
        Requests(**requests) if requests else None,
        **{name: text for name, text in texts.items() if name in known},
    )


LANGUAGES = {code: _language(**fields) for code, fields in _TABLE.items()}
_UNKNOWN = _language()


def known_language(code: str) -> Language:
    """Return what is known of a language; all fields are empty if it is not in the table."""
    return LANGUAGES.get(code, _UNKNOWN)


def compares(said: Iterable[str], code: str) -> bool:
    """Whether one of these words compares, such as "vs"."""
    return not {*known_language(code).comparison.split()}.isdisjoint(said)


def notices(code: str) -> Notices:
    return known_language(code).notices


def other_language(asked_in: str, language: str) -> str:
    """Return a hint that the book is in another language than the question; "" if it is not."""
    if asked_in == language:
        return ""
    name = known_language(language).name or language
    return notices(asked_in).other_language.format(name)


def written(text: str) -> str:
    """Return a pattern of the table in which "'" is any apostrophe and a line break is nothing."""
    return re.sub(r"\s*\n\s*", "", text).replace("'", "['\u2019]")


def in_any(field: str) -> str:
    """Return a pattern of what all languages have in this field. KeyError if none has it."""
    found = [written(one[field]) for one in _TABLE.values() if field in one]
    if not found:
        raise KeyError(field)
    return "|".join(found)


FUNCTION_WORDS = {code: one.words for code, one in LANGUAGES.items() if one.words}

_WESTERN = re.compile("[\0-\u036f\u2000-\u206f]+")
"""Latin letters and punctuation, which no script of the table has."""
_KANA = re.compile("[\u3040-\u30ff]")
_SCRIPTS = {code: re.compile(one.script) for code, one in LANGUAGES.items() if one.script}
_SAME_SCRIPT = {other: code for code, one in LANGUAGES.items() for other in one.same_script.split()}
_MIN_KANA = 0.1
"""Minimum share of kana among the Han and kana characters of a Japanese text."""

_LEAST_DISTINCT = 3
"""Minimum number of different function words of a text in another language than English."""
MIN_DETECTION_WORDS = 5
"""Minimum number of words to detect a language: in fewer, two matches may be typing errors."""


def language_of_words(found: Sequence[str], default: str) -> str:
    """Return the language with most function words of a text; `default` if no other has more.

    A `default` without a list of them, such as "nl", shares some with other languages ("in", "is"):
    another one needs over a third of the words then.
    """
    times = Counter(one for one in found if len(one) > 1)
    counts = {
        code: sum(map(times.__getitem__, known.intersection(times)))
        for code, known in FUNCTION_WORDS.items()
    }
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > counts.get(default, len(found) // 3) else default


def language_of_question(found: Sequence[str], book: str) -> str:
    """Return the language of a question about a book in the language `book`.

    It is detected from the question's words, else from its script if the book has another one. Half
    of the letters decide; a fifth if it has no function word of the book's ("computed是什么").
    """
    detected = language_of_words(found, book)
    if detected != book:
        return detected
    common = any(map(FUNCTION_WORDS.get(book, frozenset()).__contains__, found))
    script = _language_of_script("".join(found), 0.5 if common else 0.2)
    same = _SAME_SCRIPT.get(script, script) == _SAME_SCRIPT.get(book, book)
    return script if script and (not same or script == "ja") else book


def _language_of_script(text: str, least: float) -> str:
    """Return the most frequent language of the script of more than this share of the letters.

    "" if that is no script of the table, such as Latin.
    """
    foreign = _WESTERN.sub("", text)
    letters = sum(map(str.isalpha, text)) if foreign else 0
    for code, script in _SCRIPTS.items():
        found = len(script.findall(foreign))
        if found > least * letters:
            kana = len(_KANA.findall(foreign)) if code == "zh" else 0
            return "ja" if kana > _MIN_KANA * found else code
    return ""


def clearly_another_language(text: str, language: str) -> bool:
    """Whether another language is detected from enough words.

    "wat is fotosynthesis" has too few: it may be misspelled English as well as Dutch.
    """
    found = list(words(text))
    detected = language_of_words(found, language)
    return detected != language and len(found) >= MIN_DETECTION_WORDS


def language_of_text(text: str) -> str:
    """The language of a long text, by its script or, if others share it, its function words.

    Names in listings have Latin letters, and are function words of some languages, as variables of
    one letter are. In a list of names a single one may be everywhere.
    """
    found = words(text)
    script, detected = _language_of_script(text, 0.4), language_of_words(found, "en")
    if len(FUNCTION_WORDS[detected].intersection(found)) < _LEAST_DISTINCT:
        detected = "en"
    return detected if _SAME_SCRIPT.get(detected, detected) == script else script or detected


def without_words(text: str, common: Collection[str]) -> str:
    """The text without its `common` words; unchanged if it has no others."""
    kept = [run for run in text.split() if not all(word in common for word in words(run))]
    return " ".join(kept) or text
