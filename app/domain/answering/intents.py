"""What a message wants besides an answer: small talk, a chapter's summary, an exercise, a quiz.

A message has an intent only if all of its words are in the table of one language. All others are
ordinary questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

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


_PHRASES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "greeting": "hi hello hey hiya howdy good how"
        " | there morning afternoon evening day are you today",
        "thanks": "thanks thank thx cheers ty bye goodbye ok okay great cool nice perfect awesome"
        " | you so very much a lot that helps helped",
        "chapter": "chapter|ch",
        "page": "page",
        "this": "this|the|current|the current",
        "task": "exercise|problem",
        "quiz": "quiz|test|questions|exercises",
        "quiz of the page": "me",
        "summary of the page": "summarise|summarize|sum|(give|write) .*(summary|overview|outline)",
        "further": "please can you could would i want to short brief quick now for some a an few"
        " practice main key ask the of on about from in with this it up recap explain tell what is"
        " does cover contain say are points will learn solve do answer show help",
    },
    "de": {
        "greeting": "hallo servus moin guten | morgen tag abend",
        "thanks": "danke dankeschön vielen tschüss | dank schön sehr super",
        "chapter": "kapitel|kapitels",
        "page": "seite",
        "this": "dieses|diesem|dieser|diese|das|dem|des|der|die",
        "task": "übung|aufgabe|übungsaufgabe",
        "quiz": "frag|frage|prüf|prüfe|test|teste|fragen|aufgaben|übungen|quiz",
        "quiz of the page": "mich|stell|stelle|gib",
        "summary of the page": "fass|fasse|gib .*zusammenfassung",
        "further": "bitte kannst du könntest mal kurz kurze jetzt mir ein eine paar das dies die zu"
        " von über aus in ab bei zusammen zusammenfassen worum geht es wovon handelt was steht ist"
        " wird behandelt erklär erkläre lös löse zeig zeige hilf mach",
    },
    "es": {
        "greeting": "hola buenos buenas | días tardes noches qué tal",
        "thanks": "gracias muchas adiós vale | perfecto",
        "chapter": "capítulo",
        "page": "página",
        "this": "este|esta|el|la|del|de la|de este|de esta",
        "task": "ejercicio|problema",
        "quiz": "examíname|pregúntame|preguntas|ejercicios|cuestionario",
        "quiz of the page": "examíname|hazme|dame",
        "summary of the page": "resúmeme|resume esto|(haz|hazme|dame) .*resumen",
        "further": "por favor puedes podrías breve corto ahora un unas unos sobre de el en resumir"
        " sintetiza explica explícame qué trata dice contiene hay va resuelve resolver ayúdame con"
        " muéstrame",
    },
    "fr": {
        "greeting": "bonjour bonsoir salut",
        "thanks": "merci au | beaucoup revoir parfait",
        "chapter": "chapitre",
        "page": "page",
        "this": "ce|cette|le|la|du|de la|de ce|de cette",
        "task": "exercice|problème",
        "quiz": "interroge|questions|exercices|quiz",
        "quiz of the page": "interroge|pose|donne|fais",
        "summary of the page": "résume|résumez|(fais|donne) .*résumé",
        "further": "s il te vous plaît peux tu pouvez bref court maintenant un des moi sur de dans"
        " l ça ceci explique quoi parle traite que dit contient qu y a t résous résoudre résolvez"
        " aide avec résumer",
    },
    "pt": {
        "greeting": "olá oi bom boa | dia tarde noite tudo bem",
        "thanks": "obrigado obrigada muito tchau",
    },
    "it": {
        "greeting": "ciao salve buongiorno buonasera",
        "thanks": "grazie | mille arrivederci perfetto",
    },
}
"""By language. Small talk has at least one of the words before the bar. A request has words of the
patterns and of "further"; one that names no part of the book is about the page."""
LANGUAGES_OF_REQUESTS = tuple(one for one, known in _PHRASES.items() if "task" in known)
_REQUEST_WORDS = {
    one: {*re.findall(r"\w+", " ".join(_PHRASES[one][key] for key in [*_PHRASES[one]][2:]))}
    for one in LANGUAGES_OF_REQUESTS
}
CHAPTER_NOUNS = "|".join(_PHRASES[one]["chapter"] for one in LANGUAGES_OF_REQUESTS)
EXERCISE_NOUNS = "|".join(_PHRASES[one]["task"] for one in LANGUAGES_OF_REQUESTS)


def intent_of(said: Sequence[str]) -> Intent | None:
    """Return the intent of a message with these words, as returned by `words`, or None."""
    for language, known in _PHRASES.items():
        for kind in SMALL_TALK:
            needed, _, further = known[kind].partition("|")
            first = {*needed.split()}
            if not first.isdisjoint(said) and first.union(further.split()).issuperset(said):
                return Intent(kind, language)
        if language in LANGUAGES_OF_REQUESTS and (found := _request(said, language)):
            return found
    return None


def _request(said: Sequence[str], language: str) -> Intent | None:
    known, text = _PHRASES[language], with_figures(said)
    if not all(one in _REQUEST_WORDS[language] or one[0].isdigit() for one in text.split()):
        return None

    def found(pattern: str) -> re.Match[str] | None:
        """Find whole words."""
        return re.search(rf"(?<!\S)(?:{pattern})(?!\S)", text)

    task, chapter, this = (f"(?:{known[one]})" for one in ("task", "chapter", "this"))
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    numbered = found(rf"{chapter} \d{{1,3}}|\d{{1,3}}(?:st|nd|rd|th)? {chapter}")
    exercise = found(rf"{task} \d{{1,3}}(?P<second> \d{{1,3}})?")
    if exercise and len(numbers) == 2 and (numbered or exercise["second"]):
        after = numbered is not None and numbered.start() > exercise.start()
        place = reversed(numbers) if after else numbers
        return Intent(IntentKind.EXERCISE, language, *place)
    kind = IntentKind.QUIZ if found(known["quiz"]) else IntentKind.SUMMARY
    if numbers:
        whole = numbered and not exercise and len(numbers) == 1
        return Intent(kind, language, numbers[0]) if whole else None
    if found(f"{this} {chapter}"):
        return Intent(kind, language, Here.CHAPTER)
    here = found(f"{this} (?:{known['page']})") or found(known[f"{kind} of the page"])
    return Intent(kind, language) if here else None


def with_figures(said: Sequence[str]) -> str:
    """Join the words; "four" becomes "4"."""
    return " ".join(NUMBER_WORDS.get(word, word) for word in said)
