"""Requests for a part of the book: a chapter's summary, an exercise by its number, a quiz.

A typed question is a request only if all its words are in the table of one language, except numbers
and the topic of "the chapter on X". All other questions are ordinary ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache, cached_property

from app.domain.terms import NUMBER_WORDS, words


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
    chapter: int | str | Here
    """Its number, or X in "the chapter on X"; of an exercise its number."""
    exercise: int = 0
    """The exercise's number in the chapter; 0 unless one is requested."""


@dataclass(frozen=True)
class RequestWords:
    """The words of one language, as `words` returns them, separated by blanks."""

    chapter: str
    page: str
    this: str
    exercise: str
    summary: str
    """Words that request the summary of a chapter or page that is named."""
    quiz: str
    summary_alone: str
    """Requests that name no part of the book, between commas; their words come in any order."""
    quiz_alone: str
    filler: str
    on: str = ""
    """Words between "chapter" and its topic."""

    @cached_property
    def part(self) -> re.Pattern[str]:
        """Finds "this chapter", "chapter 4", "4th chapter", "chapter on mitosis"."""
        chapter = _any(self.chapter)
        forms = [
            f"{_any(self.this)} (?:(?P<chapter>{chapter})|{_any(self.page)})",
            f"{chapter} (?P<number>{_NUMBER})",
            rf"(?P<ordinal>{_NUMBER}) {chapter}(?! \d)",
        ]
        if self.on:
            forms.append(rf"{chapter} {_any(self.on)} (?P<topic>\S.*?)(?={_AFTER_TOPIC})")
        return _words_of("|".join(forms))

    @cached_property
    def task(self) -> re.Pattern[str]:
        """Finds "exercise 2" and "exercise 4 2"."""
        first, second = (f"(?P<{name}>{_NUMBER})" for name in ("first", "second"))
        return _words_of(f"{_any(self.exercise)} {first}(?: {second})?")

    def has(self, text: str, listed: str) -> bool:
        """Whether the text has one of the words."""
        return _words_of(_any(listed)).search(text) is not None

    def has_only(self, text: str, *listed: str) -> bool:
        """Whether all words of the text are listed, or are fillers."""
        every = _any(" ".join((*listed, self.filler)))
        return not _words_of(every).sub("", text).strip()

    def is_alone(self, text: str, requests: str) -> bool:
        """Whether the text is one of these requests that name no part of the book."""
        return any(
            all(self.has(text, word) for word in one.split())
            and self.has_only(text, one, self.chapter, self.page)
            for one in requests.split(",")
        )


_NUMBER = r"\d{1,3}(?:st|nd|rd|th)?(?!\S)"
_AFTER_TOPIC = (
    r"(?: (?:about|covers?|contains?|for me|up|in short|please|zusammen|handelt|ab|bitte|kurz"
    r"|por favor|trata|s il (?:te|vous) plaît|parle|traite))*+$"
)
"""Words after the topic."""


@cache
def _words_of(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)(?:{form})(?!\S)")


@cache
def _any(listed: str) -> str:
    """Return an expression for one of these words, the longest first."""
    return f"(?:{'|'.join(sorted(listed.split(), key=len, reverse=True))})"


REQUEST_WORDS = {
    "en": RequestWords(
        chapter="chapter ch",
        page="page",
        this="this current",
        exercise="exercise problem",
        summary="summarise summarize summary overview recap outline sum about gist in cover covers"
        " contain contains explain learn points takeaways",
        quiz="quiz test exercises questions",
        summary_alone="summarise, summarize, sum up, give summary, write summary,"
        " give overview, give recap, tl dr",
        quiz_alone="quiz me, test me, give quiz, give questions, ask questions, give exercises",
        filler="please can could would you me us a an the this for on up want to now short brief"
        " quick some few practice i we of in from with what is are s give show tell ask write make"
        " whole my does will main key solve answer do help hint",
        on="on about called titled",
    ),
    "de": RequestWords(
        chapter="kapitel kapitels",
        page="seite",
        this="dieses diesem dieser diese aktuelle aktuellen",
        exercise="übung aufgabe übungsaufgabe",
        summary="fasse fass zusammenfassung zusammenfassen zusammen überblick worum handelt wovon"
        " behandelt steht inhalt erkläre erklär thema hauptpunkte wichtigste wichtigsten punkte",
        quiz="quiz quizfragen frag frage fragen prüfe teste abfragen übungen aufgaben",
        summary_alone="fasse zusammen, fass zusammen, zusammenfassen,"
        " gib zusammenfassung, gib überblick",
        quiz_alone="frag ab, frage ab, abfragen, teste mich, prüfe mich, stelle fragen,"
        " gib aufgaben, gib übungen",
        filler="bitte kannst könntest du mir mich uns das dies eine einen ein die paar mal kurz"
        " kurze kurzen jetzt ich den der des von vom aus in im für zu zum zur über auf bei mit gib"
        " zeig zeige stelle mach mache geht es ab was ist wird löse lösen lösung hilf tipp",
        on="über zu zum zur",
    ),
    "es": RequestWords(
        chapter="capítulo",
        page="página",
        this="este esta",
        exercise="ejercicio problema",
        summary="resume resumir resumen resúmeme sintetiza trata contiene dice hay va explica"
        " explícame tema puntos",
        quiz="examíname pregúntame cuestionario preguntas ejercicios",
        summary_alone="resume esto, resumir esto, resúmeme, haz resumen, hazme resumen,"
        " dame resumen",
        quiz_alone="examíname, pregúntame, hazme preguntas, hazme cuestionario, dame ejercicios",
        filler="por favor puedes podrías me un una unos unas el la esto breve corto ahora yo los"
        " las de del en con para sobre a dame haz hazme muéstrame qué cuál es resuelve resolver"
        " solución ayúdame pista",
        on="sobre",
    ),
    "fr": RequestWords(
        chapter="chapitre",
        page="page",
        this="ce cette",
        exercise="exercice problème",
        summary="résume résumer résumé résumez parle synthèse traite contient dit y explique sujet"
        " thème points",
        quiz="quiz interroge questions exercices",
        summary_alone="résume, résumez, résumer, fais résumé, donne résumé",
        quiz_alone="interroge moi, pose questions, donne exercices, fais quiz",
        filler="s il te vous plaît peux tu pouvez moi me un une le la ceci cela ça des de bref"
        " court maintenant les l d du en dans pour sur à donne fais montre quoi qu est que quel a t"
        " résous résoudre résolvez solution aide indice",
        on="sur",
    ),
}

CHAPTER_NOUNS = frozenset(noun for one in REQUEST_WORDS.values() for noun in one.chapter.split())
_LABELS = " ".join(
    [
        "solution lösung solución 练习 练习题 习题 题 練習 練習題 習題 題 問題 練習問題 演習",
        *(one.exercise for one in REQUEST_WORDS.values()),
    ]
)
_LABEL = re.compile(rf"(?<!\S){_any(_LABELS)}((?: \d{{1,3}}(?!\S))+)")
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
        if intent := _read(text, language, known):
            return intent
    return None


def _read(text: str, language: str, known: RequestWords) -> Intent | None:
    part = known.part.search(text)
    chapter = _reference(part) if part else None
    rest = _without(text, part)
    task = known.task.search(rest)
    if task and known.has_only(_without(rest, task)):
        return _exercise(task, chapter, language)
    for kind, listed, alone in (
        (IntentKind.QUIZ, known.quiz, known.quiz_alone),
        (IntentKind.SUMMARY, known.summary, known.summary_alone),
    ):
        if chapter is None and known.is_alone(rest, alone):
            here = Here.CHAPTER if known.has(rest, known.chapter) else Here.PAGE
            return Intent(kind, language, here)
        # "Quiz me about chapter 3": a preposition may be a word of the other kind.
        asked = known.has(rest, listed) and known.has_only(rest, listed, known.on)
        if chapter is not None and asked:
            return Intent(kind, language, chapter)
    # "Chapter 3", "What is chapter 3?"
    if isinstance(chapter, int) and known.has_only(rest):
        return Intent(IntentKind.SUMMARY, language, chapter)
    return None


def _without(text: str, found: re.Match[str] | None) -> str:
    return f"{text[: found.start()]} {text[found.end() :]}" if found else text


def _reference(part: re.Match[str]) -> int | str | Here:
    named = part.groupdict()
    if number := named["number"] or named["ordinal"]:
        return _value(number)
    return named.get("topic") or (Here.CHAPTER if named["chapter"] else Here.PAGE)


def _value(number: str) -> int:
    return int(number.rstrip("stndrh"))


def _exercise(
    task: re.Match[str], chapter: int | str | Here | None, language: str
) -> Intent | None:
    """Return the request for "exercise 4.2" or "exercise 2 of chapter 4"; else None."""
    first, second = _value(task["first"]), task["second"]
    if second and chapter in (None, first):
        return Intent(IntentKind.EXERCISE, language, first, _value(second))
    if not second and isinstance(chapter, int):
        return Intent(IntentKind.EXERCISE, language, chapter, first)
    return None
