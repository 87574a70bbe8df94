"""Questions that need no search: greetings, thanks, and requests for a part of the book.

A request (a chapter's summary, an exercise by its number, a quiz) is recognised only if all its
words are in the table of a language, except numbers and the topic of "the chapter on X". Greetings
and thanks get a fixed reply. All others are ordinary questions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from app.domain.answering.notices import GREETING, WELCOME
from app.domain.answering.request_words import REQUEST_WORDS, IntentKind, RequestWords
from app.domain.terms import NUMBER_WORDS, chinese_number, words


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


CHAPTER_NOUNS = frozenset(noun for one in REQUEST_WORDS.values() for noun in one.chapter.split())
_SIMPLIFIED = str.maketrans(
    "總結歸納內點講說紹釋決麼測驗試題問練習節頁網這個當該請幫給幾寫對關於簡單裡嗎",
    "总结归纳内点讲说绍释决么测验试题问练习节页网这个当该请帮给几写对关于简单里吗",
)
_LABELS = " ".join(
    ["solution lösung solución 習題 練習題 題", *(one.exercise for one in REQUEST_WORDS.values())]
)
_LABEL = re.compile(rf"(?<!\S)(?:{'|'.join(_LABELS.split())})((?: \d{{1,3}}(?!\S))+)")
_LABEL_WORDS = 6
"""Words in which a label is looked for: "3. Exercise 10.3" has four."""


def label_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a label, such as (4, 2) for "Exercise 4.2"; () if there is no label.

    The label may begin with "Solution" or follow a number: "3. Exercise 4.2. Why...".
    """
    found = _LABEL.search(_with_figures(words(text)[:_LABEL_WORDS]))
    return tuple(map(int, found[1].split())) if found else ()


def _with_figures(said: Sequence[str]) -> str:
    """Join the words; "four" becomes "4"."""
    return " ".join(NUMBER_WORDS.get(word, word) for word in said)


def intent_of(said: Sequence[str]) -> Intent | None:
    """Return the intent of a question with these words; None for an ordinary question."""
    text = _with_figures(said)
    for language, known in REQUEST_WORDS.items():
        asked = text.translate(_SIMPLIFIED) if language == "zh" else text
        if intent := _read(asked, language, known):
            return intent
    return None


def _read(text: str, language: str, known: RequestWords) -> Intent | None:
    part = known.part.search(text)
    rest = f"{text[: part.start()]} {text[part.end() :]}" if part else text
    chapter = _reference(part) if part else None
    if task := known.task.search(rest):
        others = known.words_of(f"{rest[: task.start()]} {rest[task.end() :]}")
        if others <= _set(known.solve, known.polite, known.other):
            return _exercise(task, chapter, language)
    said = known.words_of(rest)
    if chapter is None:
        return _standing_alone(said, language, known)
    kind = _kind_for(said, chapter, known)
    return Intent(kind, language, chapter) if kind else None


@cache
def _set(*words: str) -> frozenset[str]:
    return frozenset(" ".join(words).split())


def _reference(part: re.Match[str]) -> ChapterReference:
    named = part.groupdict()
    if number := named["number"] or named["ordinal"]:
        return ChapterReference(_value(number))
    if topic := named.get("topic"):
        return ChapterReference(topic=topic)
    return ChapterReference(here=Here.CHAPTER if named["chapter"] else Here.PAGE)


def _value(number: str) -> int:
    figures = re.match(r"\d+", number)
    return int(figures[0]) if figures else chinese_number(number)


def _exercise(
    task: re.Match[str], chapter: ChapterReference | None, language: str
) -> Intent | None:
    """Return the request for an exercise; None if its two numbers name another chapter."""
    first = _value(task["first"])
    if not task["second"]:
        return Intent(IntentKind.EXERCISE, language, chapter, first)
    if chapter not in (None, ChapterReference(first)):
        return None
    return Intent(IntentKind.EXERCISE, language, ChapterReference(first), _value(task["second"]))


def _kind_for(
    said: frozenset[str], chapter: ChapterReference, known: RequestWords
) -> IntentKind | None:
    """Return what these words request of the chapter they name; None if anything else."""
    for kind, listed in ((IntentKind.QUIZ, known.quiz), (IntentKind.SUMMARY, known.summary)):
        # "Quiz me about chapter 3": a preposition may be a word of the other kind.
        if said & _set(listed) and said <= _set(listed, known.polite, known.other, known.on):
            return kind
    # "Chapter 3", "What is chapter 3?"
    numbered = chapter.number is not None and said <= _set(known.polite, known.other)
    return IntentKind.SUMMARY if numbered else None


def _standing_alone(said: frozenset[str], language: str, known: RequestWords) -> Intent | None:
    """Return the request for the page, or "the chapter", that names neither."""
    listed = ((IntentKind.QUIZ, known.quiz_alone), (IntentKind.SUMMARY, known.summary_alone))
    for kind, requests in listed:
        for one in requests.split(","):
            if _set(one) <= said <= _set(one, known.polite, known.page, known.chapter):
                here = Here.CHAPTER if said & _set(known.chapter) else Here.PAGE
                return Intent(kind, language, ChapterReference(here=here))
    return None


_SMALL_TALK = (
    (
        GREETING,
        {
            "en": "hi hello hey hiya howdy good how | there morning afternoon evening day are you"
            " today",
            "es": "hola buenos buenas | días tardes noches qué tal",
            "de": "hallo servus moin guten | morgen tag abend",
            "fr": "bonjour bonsoir salut |",
            "pt": "olá oi bom boa | dia tarde noite tudo bem",
            "it": "ciao salve buongiorno buonasera |",
        },
    ),
    (
        WELCOME,
        {
            "en": "thanks thank thx cheers ty bye goodbye ok okay great cool nice perfect awesome |"
            " you so very much a lot that helps helped",
            "es": "gracias muchas adiós vale | perfecto",
            "de": "danke dankeschön vielen tschüss | dank schön sehr super",
            "fr": "merci au | beaucoup revoir parfait",
            "pt": "obrigado obrigada muito tchau |",
            "it": "grazie | mille arrivederci perfetto",
        },
    ),
)
"""Replies, and by language the words of what they reply to: a first word | further ones."""


def small_talk_reply(said: Sequence[str]) -> str:
    """Return the reply to a greeting or thanks of these words; "" for anything else."""
    for replies, languages in _SMALL_TALK:
        for language, known in languages.items():
            first, more = known.split("|")
            if said and said[0] in _set(first) and _set(first, more).issuperset(said):
                return replies[language]
    return ""
