"""Questions that need no search: greetings, thanks, and requests for a part of the book.

A request (a chapter's summary, an exercise by its number, a quiz) is recognised only if all its
words are in the vocabulary of a language, except numbers and the topic of "the chapter on X".
Greetings and thanks get a fixed reply. All others are ordinary questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from app.domain.answering.notices import GREETING, WELCOME
from app.domain.answering.request_words import VOCABULARIES, IntentKind, Vocabulary
from app.domain.terms import NUMERALS, chinese_number, numbers, words


class Here(StrEnum):
    """What "this page" or "this chapter" refers to."""

    PAGE = "page"
    CHAPTER = "chapter"


@dataclass(frozen=True, slots=True)
class ChapterReference:
    """The chapter that a request names; exactly one field is set."""

    number: int | None = None
    topic: str = ""
    """X in "the chapter on X"."""
    here: Here | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    kind: IntentKind
    language: str
    """Language of the request: an ISO 639-1 code."""
    chapter: ChapterReference | None = None
    """None only for an exercise with one number, "exercise 12"."""
    exercise: int | None = None
    """The exercise's number: in the chapter if one is named, else in the book."""


_NUMBER = re.compile(r"(\d{1,3})(?:st|nd|rd|th)?")


def intent_of(said: Sequence[str]) -> Intent | None:
    """Return the intent of a question with these words; None for an ordinary question."""
    for language, known in VOCABULARIES.items():
        split = said if known.spaced else _split(said, language)
        if split and (intent := _read(split, language, known)):
            return intent
    return None


def _split(said: Sequence[str], language: str) -> Sequence[str]:
    """Split a text without blanks into words of the vocabulary and numbers; empty if it has others.

    Chinese numerals become figures.
    """
    pattern = _words_of(language)
    found: list[str] = []
    for run in said:
        at = 0
        while at < len(run):
            match = pattern.match(run, at)
            if match is None:
                return ()
            found.append(str(chinese_number(match[0])) if match["numeral"] else match[0])
            at = match.end()
    return found


@lru_cache
def _words_of(language: str) -> re.Pattern[str]:
    ordered = sorted(VOCABULARIES[language].every(), key=len, reverse=True)
    return re.compile(f"{'|'.join(ordered)}|\\d{{1,3}}(?!\\d)|(?P<numeral>[{NUMERALS}]{{1,3}})")


def label_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a label, such as (4, 2) for "Exercise 4.2"; () if there is no label.

    The label may begin with "Solution" or follow a number: "3. Exercise 4.2. Why...".
    """
    said = [*words(text)][:_LABEL_WORDS]
    nouns = _LABEL_NOUNS.intersection(said)
    if not nouns:
        return ()
    after = said[min(map(said.index, nouns)) + 1 :]
    return tuple(_leading_numbers(after))


CHAPTER_NOUNS = frozenset[str]().union(*(one.chapter for one in VOCABULARIES.values()))
_LABEL_NOUNS = frozenset({"solution", "lösung", "solución"}).union(
    *(one.exercise for one in VOCABULARIES.values())
)
_LABEL_WORDS = 6
"""Words in which a label is looked for: "3. Exercise 10.3" has four."""
_PARTS = 2
"""Parts of a number such as 4.2: chapter and exercise."""


def _read(said: Sequence[str], language: str, known: Vocabulary) -> Intent | None:
    rest, chapter = _chapter(said, known)
    at = next((at for at, word in enumerate(rest) if word in known.exercise), None)
    if at is not None and (asked := _exercise(rest, at, chapter, language, known)):
        return asked
    said_words = frozenset(rest)
    if chapter is not None:
        kind = _kind_for_chapter(said_words, chapter, known)
        return Intent(kind, language, chapter) if kind else None
    for kind in _CHAPTER_KINDS:
        if _stands_alone(said_words, kind, known):
            here = Here.CHAPTER if said_words & known.chapter else Here.PAGE
            return Intent(kind, language, ChapterReference(here=here))
    return None


_CHAPTER_KINDS = (IntentKind.QUIZ, IntentKind.SUMMARY)


def _kind_for_chapter(
    said: frozenset[str], chapter: ChapterReference, known: Vocabulary
) -> IntentKind | None:
    """Return what these words request of the chapter they name; None if anything else."""
    for kind in _CHAPTER_KINDS:
        listed = known.kinds[kind]
        # "Quiz me about chapter 3": a preposition may be a word of the other kind.
        if listed & said and said <= listed | known.other | known.on:
            return kind
    # "Chapter 3", "What is chapter 3?"
    numbered = chapter.number is not None and said <= known.other
    return IntentKind.SUMMARY if numbered else None


def _stands_alone(said: frozenset[str], kind: IntentKind, known: Vocabulary) -> bool:
    """Whether these words request the page, or "the chapter", without naming it."""
    allowed = known.polite | known.page | known.chapter
    return any(words <= said <= words | allowed for words in known.alone[kind])


def _exercise(
    rest: Sequence[str],
    at: int,
    chapter: ChapterReference | None,
    language: str,
    known: Vocabulary,
) -> Intent | None:
    """Return the request for an exercise, whose word is `rest[at]`."""
    figures = _leading_numbers(rest[at + 1 :])
    others = {*rest[:at], *rest[at + 1 + len(figures) :]}
    if not others <= known.kinds[IntentKind.EXERCISE] | known.other:
        return None
    if len(figures) == _PARTS and chapter in (None, ChapterReference(figures[0])):
        return Intent(IntentKind.EXERCISE, language, ChapterReference(figures[0]), figures[1])
    if len(figures) == 1:
        return Intent(IntentKind.EXERCISE, language, chapter, figures[0])
    return None


def _chapter(
    said: Sequence[str], known: Vocabulary
) -> tuple[Sequence[str], ChapterReference | None]:
    """Return the words that do not name a chapter, and the chapter named."""
    at = next((at for at, one in enumerate(said) if one in known.chapter | known.page), None)
    if at is None:
        return said, None
    before, after = said[:at], said[at + 1 :]
    if before and before[-1] in known.this:
        here = Here.CHAPTER if said[at] in known.chapter else Here.PAGE
        return [*before[:-1], *after], ChapterReference(here=here)
    if said[at] in known.page:
        return said, None
    return _named_chapter(before, after, known) or (said, None)


def _named_chapter(
    before: Sequence[str], after: Sequence[str], known: Vocabulary
) -> tuple[Sequence[str], ChapterReference] | None:
    """Return the other words and the chapter that a number or topic beside "chapter" names."""
    figures = _leading_numbers(after)
    if len(figures) == 1:
        return [*before, *after[1:]], ChapterReference(figures[0])
    if not figures and (ordinal := _leading_numbers(before[-1:])):
        return [*before[:-1], *after], ChapterReference(ordinal[0])
    if topic := _topic(after, known):
        return [*before, *after[1 + len(topic) :]], ChapterReference(topic=" ".join(topic))
    return None


def _topic(after: Sequence[str], known: Vocabulary) -> Sequence[str]:
    """Return the words of X in "(the chapter) on X, please"."""
    topic = [*after[1:]] if after[:1] and after[0] in known.on else []
    while topic and topic[-1] in known.last:
        topic.pop()
    return topic


def _leading_numbers(said: Sequence[str]) -> list[int]:
    found: list[int] = []
    for word in said:
        number = _NUMBER.fullmatch(next(iter(numbers(word)), word))
        if number is None:
            break
        found.append(int(number[1]))
    return found


_GREETINGS = {
    "en": "hi hello hey hiya howdy there good morning afternoon evening day how are you today",
    "es": "hola buenos buenas días tardes noches qué tal",
    "de": "hallo servus moin guten morgen tag abend",
    "fr": "bonjour bonsoir salut",
    "pt": "olá oi bom boa dia tarde noite tudo bem",
    "it": "ciao salve buongiorno buonasera",
}
_THANKS = {
    "en": "thanks thank thx cheers ty you so very much a lot bye goodbye ok okay great cool nice "
    "perfect awesome that helps helped",
    "es": "gracias muchas adiós vale perfecto",
    "de": "danke dankeschön vielen dank schön sehr tschüss super",
    "fr": "merci beaucoup au revoir parfait",
    "pt": "obrigado obrigada muito tchau",
    "it": "grazie mille arrivederci perfetto",
}
_FIRST_WORDS = frozenset(
    "hi hello hey hiya howdy good how hola buenos buenas hallo servus moin guten bonjour bonsoir "
    "salut olá oi bom boa ciao salve buongiorno buonasera thanks thank thx cheers ty bye goodbye "
    "ok okay great cool nice perfect awesome gracias muchas adiós vale danke dankeschön vielen "
    "tschüss merci au obrigado obrigada muito tchau grazie arrivederci".split()
)
"""A greeting or thanks must begin with one of these words."""


def small_talk_reply(said: Sequence[str]) -> str:
    """Return the reply to a greeting or thanks of these words; "" for anything else."""
    if not said or said[0] not in _FIRST_WORDS:
        return ""
    for table, replies in ((_GREETINGS, GREETING), (_THANKS, WELCOME)):
        for language, known in table.items():
            if set(said) <= set(known.split()):
                return replies[language]
    return ""
