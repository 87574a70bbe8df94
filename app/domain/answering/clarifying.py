"""What is said to a request for a chapter, an exercise or a quiz, in the languages of requests."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Asking(StrEnum):
    """What the request leaves open, or what the book lacks."""

    BOOK = "book"
    CHAPTER = "chapter"
    EXERCISE = "exercise"
    NOTHING = "nothing"


_TEXTS = {
    "en": {
        Asking.BOOK: "Which book do you mean? There are: {}.",
        Asking.CHAPTER: "Which chapter do you mean? The book has: {}.",
        Asking.EXERCISE: "I cannot find that exercise. These chapters have exercises: {}.",
        Asking.NOTHING: "I cannot find any exercises there.",
    },
    "de": {
        Asking.BOOK: "Welches Buch meinen Sie? Es gibt: {}.",
        Asking.CHAPTER: "Welches Kapitel meinen Sie? Das Buch hat: {}.",
        Asking.EXERCISE: "Diese Übung finde ich nicht. Übungen haben diese Kapitel: {}.",
        Asking.NOTHING: "Dort finde ich keine Übungen.",
    },
    "es": {
        Asking.BOOK: "¿A qué libro se refiere? Hay: {}.",
        Asking.CHAPTER: "¿A qué capítulo se refiere? El libro tiene: {}.",
        Asking.EXERCISE: "No encuentro ese ejercicio. Estos capítulos tienen ejercicios: {}.",
        Asking.NOTHING: "No encuentro ejercicios ahí.",
    },
    "fr": {
        Asking.BOOK: "De quel livre parlez-vous ? Il y a : {}.",
        Asking.CHAPTER: "De quel chapitre parlez-vous ? Le livre contient : {}.",
        Asking.EXERCISE: "Je ne trouve pas cet exercice. Ces chapitres ont des exercices : {}.",
        Asking.NOTHING: "Je n'y trouve pas d'exercices.",
    },
}
TERM_QUESTIONS = {
    "en": "What is {}?",
    "de": "Was bedeutet {}?",
    "es": "¿Qué es {}?",
    "fr": "Que signifie {} ?",
}
"""How a quiz asks for a glossary term."""


def clarifying_question(asking: Asking, language: str, names: Sequence[str] = ()) -> str:
    """What to say, with the names of the books or chapters that there are."""
    return _TEXTS[language][asking].format("; ".join(names))
