"""Requests for a part of the book: a chapter's summary, an exercise by its number, a quiz.

A typed question is a request only if all of it matches a pattern of its language in `_PATTERNS`.
All other questions are ordinary ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache

from app.domain.terms import NUMBER_WORDS


class IntentKind(StrEnum):
    SUMMARY = "summary"
    EXERCISE = "exercise"
    QUIZ = "quiz"


class Here(Enum):
    """What "this page" or "this chapter" refers to."""

    PAGE = "page"
    CHAPTER = "chapter"


@dataclass(frozen=True, slots=True)
class Intent:
    kind: IntentKind
    language: str
    """Language of the request: an ISO 639-1 code."""
    chapter: int | Here
    """Its number; of an exercise its number."""
    exercise: int = 0
    """The exercise's number in the chapter; 0 unless one is requested."""


@dataclass(frozen=True, slots=True)
class _Patterns:
    """Regular expressions for words joined by blanks, without the `polite` ones.

    PART stands for "this chapter", "chapter 4" or "the 4th chapter", TASK for "exercise 4 2".
    """

    polite: str
    chapter: str
    page: str
    this: str
    """What precedes "chapter" and "page" in PART."""
    exercise: str
    summary: str
    quiz: str
    task: str
    page_summary: str
    """Requests that name no part of the book: they are for the page."""
    page_quiz: str


_PATTERNS = {
    "en": _Patterns(
        polite="please|can you|could you|would you|i want you to|i want to|short|brief|quick|now"
        "|for me|some|a few|practice|main|key",
        chapter="chapter|ch",
        page="page",
        this="this|the|current|the current",
        exercise="exercise|problem",
        summary=r"(?:summari[sz]e|sum up|recap|explain|tell me about|what is(?: in)?|what in) PART"
        r"(?: about| up)?|(?:(?:give|write)(?: me)? )?(?:an? |the )?"
        r"(?:summary|overview|recap|outline) of PART|what does PART (?:cover|contain|say)"
        r"|what are the points of PART|what will i learn in PART|PART",
        quiz=r"(?:quiz|test) me (?:on|about) PART"
        r"|(?:(?:ask|give) me )?(?:a )?(?:questions|exercises|quiz) (?:on|about|for|from) PART",
        task=r"(?:(?:solve|do|explain|answer|show(?: me)?|help(?: me)? (?:with|solve)) )?"
        r"(?:TASK(?: (?:of|in|from) PART)?|PART TASK)",
        page_summary=r"(?:summari[sz]e|sum up)(?: this| it)?|(?:give|write)(?: me)? a summary",
        page_quiz=r"(?:quiz|test) me(?: on this)?|(?:ask|give) me (?:questions|exercises|a quiz)",
    ),
    "de": _Patterns(
        polite="bitte|kannst du|könntest du|mal|kurz|kurze|jetzt|mir|ein paar",
        chapter="kapitels?",
        page="seite",
        this="dieses|diesem|dieser|diese|das|dem|des|der|die",
        exercise="übung|aufgabe|übungsaufgabe",
        summary=r"fasse? PART zusammen|PART zusammenfassen|(?:gib )?(?:eine |die )?zusammenfassung"
        r" (?:von |zu )?PART|worum geht es in PART|wo(?:von|rum) handelt PART"
        r"|was (?:steht|ist) in PART|was wird in PART behandelt|erkläre? PART|PART",
        quiz=r"(?:frage?|prüfe?|teste?) mich (?:zu|über) PART(?: ab)?"
        r"|(?:(?:gib|stelle?|mach) )?(?:fragen|aufgaben|übungen|ein quiz) (?:zu|über|aus) PART",
        task=r"(?:(?:löse?|erkläre?|zeige?|hilf bei) )?(?:TASK(?: (?:aus|von|in) PART)?|PART TASK)",
        page_summary=r"fasse? (?:das |dies )?zusammen|gib (?:eine )?zusammenfassung",
        page_quiz=r"frage? mich ab|(?:teste?|prüfe?) mich|stelle? fragen|gib (?:aufgaben|übungen)",
    ),
    "es": _Patterns(
        polite="por favor|puedes|podrías|breve|corto|ahora|unas|unos",
        chapter="capítulo",
        page="página",
        this="este|esta|el|la|del|de la|de este|de esta",
        exercise="ejercicio|problema",
        summary=r"(?:resume|resumir|sintetiza|explica|explícame) PART|(?:haz|hazme|dame) un resumen"
        r" PART|(?:un )?resumen PART|de qué trata PART|qué (?:dice|contiene) PART"
        r"|qué hay en PART|de qué va PART|PART",
        quiz=r"(?:examíname|pregúntame) (?:sobre|de) PART"
        r"|(?:hazme|dame) (?:preguntas|ejercicios|un cuestionario) (?:sobre )?PART",
        task=r"(?:(?:resuelve|resolver|explica|ayúdame con|muéstrame) )?"
        r"(?:(?:el )?TASK(?: PART)?|PART TASK)",
        page_summary=r"(?:resume|resumir) esto|resúmeme|(?:haz|hazme|dame) un resumen",
        page_quiz=r"examíname|(?:hazme|dame) (?:preguntas|ejercicios|un cuestionario)",
    ),
    "fr": _Patterns(
        polite="s il te plaît|s il vous plaît|peux tu|pouvez vous|bref|court|maintenant",
        chapter="chapitre",
        page="page",
        this="ce|cette|le|la|du|de la|de ce|de cette",
        exercise="exercice|problème",
        summary=r"(?:résume|résumer|résumez|explique) PART|(?:fais|donne)(?: moi)? un résumé PART"
        r"|(?:un )?résumé PART|de quoi (?:parle|traite) PART|que (?:dit|contient) PART"
        r"|qu y a t il dans PART|PART",
        quiz=r"interroge moi sur PART"
        r"|(?:pose|donne|fais)(?: moi)? (?:des questions|des exercices|un quiz) sur PART",
        task=r"(?:(?:résous|résoudre|résolvez|explique|aide moi avec) )?"
        r"(?:(?:l )?TASK(?: (?:dans )?PART)?|PART TASK)",
        page_summary=r"(?:résume|résumez)(?: ça| ceci)?|(?:fais|donne)(?: moi)? un résumé",
        page_quiz=r"interroge moi"
        r"|(?:pose|donne|fais)(?: moi)? (?:des questions|des exercices|un quiz)",
    ),
}
LANGUAGES_OF_REQUESTS = tuple(_PATTERNS)
CHAPTER_NOUNS = frozenset("chapter ch kapitel kapitels capítulo chapitre".split())
EXERCISE_NOUNS = "|".join(one.exercise for one in _PATTERNS.values())


def with_figures(said: Sequence[str]) -> str:
    """Join the words; "four" becomes "4"."""
    return " ".join(NUMBER_WORDS.get(word, word) for word in said)


def intent_of(said: Sequence[str]) -> Intent | None:
    """Return the intent of a question with these words; None for an ordinary question."""
    text = with_figures(said)
    for language, patterns in _PATTERNS.items():
        if intent := _read(text, language, patterns):
            return intent
    return None


def _read(text: str, language: str, patterns: _Patterns) -> Intent | None:
    text = " ".join(_words(patterns.polite).sub("", text).split())
    part, task = _part(patterns).search(text), _task(patterns).search(text)
    asked = _task(patterns).sub("TASK", _part(patterns).sub("PART", text, 1), 1)
    if task and re.fullmatch(patterns.task, asked):
        return _exercise(task, part, language)
    for kind, of_part, of_page in (
        (IntentKind.QUIZ, patterns.quiz, patterns.page_quiz),
        (IntentKind.SUMMARY, patterns.summary, patterns.page_summary),
    ):
        if part and re.fullmatch(of_part, asked):
            return Intent(kind, language, _chapter(part))
        if re.fullmatch(of_page, asked):
            return Intent(kind, language, Here.PAGE)
    return None


@cache
def _words(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)(?:{form})(?!\S)")


@cache
def _part(patterns: _Patterns) -> re.Pattern[str]:
    chapter, this = f"(?:{patterns.chapter})", f"(?:{patterns.this})"
    ordinal = r"(?P<ordinal>\d{1,3})(?:st|nd|rd|th)?"
    return _words(
        rf"(?:{this} )?(?:{chapter} (?P<number>\d{{1,3}})|{ordinal} {chapter}(?! \d))"
        rf"|{this} (?:(?P<here>{chapter})|(?:{patterns.page}))"
    )


@cache
def _task(patterns: _Patterns) -> re.Pattern[str]:
    return _words(rf"(?:{patterns.exercise}) (?P<first>\d{{1,3}})(?: (?P<second>\d{{1,3}}))?")


def _chapter(part: re.Match[str]) -> int | Here:
    if number := part["number"] or part["ordinal"]:
        return int(number)
    return Here.CHAPTER if part["here"] else Here.PAGE


def _exercise(task: re.Match[str], part: re.Match[str] | None, language: str) -> Intent | None:
    """Return the request for "exercise 4.2" or "exercise 2 of chapter 4"; else None."""
    chapter = _chapter(part) if part else None
    first, second = int(task["first"]), task["second"]
    if second and chapter in (None, first):
        return Intent(IntentKind.EXERCISE, language, first, int(second))
    if not second and isinstance(chapter, int):
        return Intent(IntentKind.EXERCISE, language, chapter, first)
    return None
