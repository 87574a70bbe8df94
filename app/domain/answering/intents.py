"""What a message wants besides an answer: small talk, a chapter's summary, an exercise, a quiz.

A message has an intent only if all of its words are in the table of one language. All others are
ordinary questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache

from app.domain.terms import NUMBER_WORDS


class IntentKind(StrEnum):
    GREETING = "greeting"
    THANKS = "thanks"
    SUMMARY = "summary"
    EXERCISE = "exercise"
    QUIZ = "quiz"


SMALL_TALK = (IntentKind.GREETING, IntentKind.THANKS)


class Here(Enum):
    """What "this page" or "this chapter" refers to."""

    PAGE = "page"
    CHAPTER = "chapter"


@dataclass(frozen=True, slots=True)
class Intent:
    kind: IntentKind
    language: str
    """An ISO 639-1 code."""
    chapter: int | Here = Here.PAGE
    """Its number; of an exercise its number."""
    exercise: int = 0
    """The exercise's number in the chapter; 0 unless one is requested."""


_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "greeting": "hi hello hey hiya howdy good how",
        "with greeting": "there morning afternoon evening day are you today",
        "thanks": "thanks thank thx cheers ty bye goodbye ok okay great cool nice perfect awesome",
        "with thanks": "you so very much a lot that helps helped",
        "chapter": "chapter|ch",
        "page": "page",
        "this": "this|the|current|the current",
        "task": "exercise|problem",
        "polite": "please can you could would i want to short brief quick now for me some a an few"
        " practice main key give write ask the of on about from in with this it",
        "summary": "summarise summarize sum up recap explain tell what is does cover contain say"
        " summary overview outline are points will learn",
        "summary of the page": "summarise summarize sum give write",
        "quiz": "quiz test questions exercises",
        "quiz of the page": "me",
        "solve": "solve do explain answer show help",
    },
    "de": {
        "greeting": "hallo servus moin guten",
        "with greeting": "morgen tag abend",
        "thanks": "danke dankeschön vielen tschüss",
        "with thanks": "dank schön sehr super",
        "chapter": "kapitels?",
        "page": "seite",
        "this": "dieses|diesem|dieser|diese|das|dem|des|der|die",
        "task": "übung|aufgabe|übungsaufgabe",
        "polite": "bitte kannst du könntest mal kurz kurze jetzt mir mich ein eine paar gib das"
        " dies die zu von über aus in ab bei",
        "summary": "fass fasse zusammen zusammenfassen zusammenfassung worum geht es wovon worum"
        " handelt was steht ist wird behandelt erklär erkläre",
        "summary of the page": "fass fasse gib",
        "quiz": "frag frage prüf prüfe test teste stell stelle mach fragen aufgaben übungen quiz",
        "quiz of the page": "mich stell stelle gib",
        "solve": "lös löse erklär erkläre zeig zeige hilf",
    },
    "es": {
        "greeting": "hola buenos buenas",
        "with greeting": "días tardes noches qué tal",
        "thanks": "gracias muchas adiós vale",
        "with thanks": "perfecto",
        "chapter": "capítulo",
        "page": "página",
        "this": "este|esta|el|la|del|de la|de este|de esta",
        "task": "ejercicio|problema",
        "polite": "por favor puedes podrías breve corto ahora un unas unos haz hazme dame sobre de"
        " el esto en",
        "summary": "resume resumir resúmeme sintetiza explica explícame resumen qué trata dice"
        " contiene hay va",
        "summary of the page": "resúmeme haz hazme dame esto",
        "quiz": "examíname pregúntame preguntas ejercicios cuestionario",
        "quiz of the page": "examíname hazme dame",
        "solve": "resuelve resolver explica ayúdame con muéstrame",
    },
    "fr": {
        "greeting": "bonjour bonsoir salut",
        "thanks": "merci au",
        "with thanks": "beaucoup revoir parfait",
        "chapter": "chapitre",
        "page": "page",
        "this": "ce|cette|le|la|du|de la|de ce|de cette",
        "task": "exercice|problème",
        "polite": "s il te vous plaît peux tu pouvez bref court maintenant un des fais donne pose"
        " moi sur de dans l ça ceci",
        "summary": "résume résumer résumez explique résumé quoi parle traite que dit contient qu y"
        " a t",
        "summary of the page": "résume résumez fais donne",
        "quiz": "interroge questions exercices quiz",
        "quiz of the page": "interroge pose donne fais",
        "solve": "résous résoudre résolvez explique aide avec",
    },
    "pt": {
        "greeting": "olá oi bom boa",
        "with greeting": "dia tarde noite tudo bem",
        "thanks": "obrigado obrigada muito tchau",
    },
    "it": {
        "greeting": "ciao salve buongiorno buonasera",
        "thanks": "grazie",
        "with thanks": "mille arrivederci perfetto",
    },
}
"""By language; "chapter", "page", "this" and "task" are regular expressions."""
LANGUAGES_OF_REQUESTS = tuple(language for language, known in _WORDS.items() if "task" in known)
CHAPTER_NOUNS = "|".join(_WORDS[language]["chapter"] for language in LANGUAGES_OF_REQUESTS)
EXERCISE_NOUNS = "|".join(_WORDS[language]["task"] for language in LANGUAGES_OF_REQUESTS)


def intent_of(said: Sequence[str]) -> Intent | None:
    """Return the intent of a message with these words, as returned by `words`, or None."""
    for language, known in _WORDS.items():
        for kind in SMALL_TALK:
            if _is_of(said, known[kind], known.get(f"with {kind}", "")):
                return Intent(kind, language)
        if language in LANGUAGES_OF_REQUESTS and (found := _request(said, language)):
            return found
    return None


def _is_of(said: Sequence[str], needed: str, further: str) -> bool:
    """Whether these are words of the two lists, and at least one of the first."""
    first = {*needed.split()}
    return not first.isdisjoint(said) and {*first, *further.split()}.issuperset(said)


def _request(said: Sequence[str], language: str) -> Intent | None:
    known, polite = _WORDS[language], _WORDS[language]["polite"]
    part, task = _patterns(language)
    text = with_figures(said)
    named, text = part.search(text), part.sub(" ", text, 1)
    numbered, text = task.search(text), task.sub(" ", text, 1)
    rest = text.split()
    if numbered:
        solves = {*known["solve"].split(), *polite.split()}.issuperset(rest)
        return _exercise(numbered, named, language) if solves else None
    for kind in (IntentKind.QUIZ, IntentKind.SUMMARY):
        asks = _is_of(rest, known[kind], polite)
        if named and asks:
            return Intent(kind, language, _chapter(named))
        if asks and not {*known[f"{kind} of the page"].split()}.isdisjoint(rest):
            return Intent(kind, language)
    alone = named and {*polite.split()}.issuperset(rest)
    return Intent(IntentKind.SUMMARY, language, _chapter(named)) if named and alone else None


def with_figures(said: Sequence[str]) -> str:
    """Join the words; "four" becomes "4"."""
    return " ".join(NUMBER_WORDS.get(word, word) for word in said)


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of "this chapter", "chapter 4" or "the 4th chapter", and of a task."""
    known = _WORDS[language]
    chapter, this = f"(?:{known['chapter']})", f"(?:{known['this']})"
    part = (
        rf"(?:{this} )?(?:{chapter} (?P<number>\d{{1,3}})"
        rf"|(?P<ordinal>\d{{1,3}})(?:st|nd|rd|th)? {chapter}(?! \d))"
        rf"|{this} (?:(?P<here>{chapter})|(?:{known['page']}))"
    )
    task = rf"(?:{known['task']}) (?P<first>\d{{1,3}})(?: (?P<second>\d{{1,3}}))?"
    return re.compile(rf"(?<!\S)(?:{part})(?!\S)"), re.compile(rf"(?<!\S)(?:{task})(?!\S)")


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
