"""What a message wants besides an answer: small talk, a chapter's summary, an exercise, a quiz.

A message has an intent only if all of its words are those of one language in `languages.toml`, but
for the title of a chapter or page. All others are ordinary questions.
"""

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from enum import Enum, StrEnum
from itertools import chain, zip_longest

from app.domain.languages import LANGUAGES, Requests, in_any
from app.domain.retrieval.query import Turn
from app.domain.terms import NUMBER_WORDS, words


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
    section: str = ""
    """The number of the section that is requested, such as "10.4"; "" for the whole chapter."""
    title: str = ""
    """The words of the title of the part that is requested, if it is not requested by number; those
    of a chapter may be some of its title."""


_REQUESTS = {code: one.requests for code, one in LANGUAGES.items() if one.requests}
_REQUEST_WORDS = {
    code: {*re.findall(r"\w+", " ".join(astuple(one)))} for code, one in _REQUESTS.items()
}
CHAPTER_NOUNS = "|".join(one.chapter for one in _REQUESTS.values())
SECTION_NOUNS = "|".join(one.section for one in _REQUESTS.values())
EXERCISE_NOUNS = "|".join(one.exercise for one in _REQUESTS.values())
_YES = frozenset(in_any("yes").split("|"))
_DID_YOU_MEAN = re.compile(
    rf"(?:{in_any('did_you_mean')})[\s:]+(?P<asked>[^\n]+?)"
    r"\s*\?[\s\"'*_\u201d\u00bb]*$",
    re.IGNORECASE,
)
_MARKS = " \"'*_\u201c\u201d\u201e\u00ab\u00bb?"


def intent_of(said: Sequence[str]) -> Intent | None:
    """Return the intent of a message with these words, as returned by `words`, or None."""
    for language, known in LANGUAGES.items():
        for kind, talk in zip(SMALL_TALK, (known.greeting, known.thanks), strict=True):
            needed, _, further = talk.partition("|")
            first = {*needed.split()}
            if not first.isdisjoint(said) and first.union(further.split()).issuperset(said):
                return Intent(kind, language)
        if known.requests and (found := _request(said, language, known.requests)):
            return found
    return None


def _request(said: Sequence[str], language: str, known: Requests) -> Intent | None:
    text = with_figures(said)
    if not all(one in _REQUEST_WORDS[language] or one[0].isdigit() for one in text.split()):
        return _titled(text, language, known)

    def found(pattern: str) -> re.Match[str] | None:
        """Find whole words."""
        return re.search(rf"(?<!\S)(?:{pattern})(?!\S)", text)

    task, chapter, this = (f"(?:{one})" for one in (known.exercise, known.chapter, known.this))
    numbers = [int(one) for one in re.findall(r"\d+", text)]
    numbered = found(rf"{chapter} \d{{1,3}}|\d{{1,3}}(?:st|nd|rd|th)? {chapter}")
    exercise = found(rf"{task} \d{{1,3}}(?P<second> \d{{1,3}})?")
    if exercise and len(numbers) == 2 and (numbered or exercise["second"]):
        after = numbered is not None and numbered.start() > exercise.start()
        place = reversed(numbers) if after else numbers
        return Intent(IntentKind.EXERCISE, language, *place)
    if section := found(rf"(?:{known.section}|{chapter})(?P<number>(?: \d{{1,3}}){{2,6}})"):
        number = section["number"].split()
        if len(number) == len(numbers) and not found(known.quiz):
            return Intent(IntentKind.SUMMARY, language, numbers[0], section=".".join(number))
    kind, of_page = IntentKind.SUMMARY, known.summary_here
    if found(known.quiz):
        kind, of_page = IntentKind.QUIZ, known.quiz_here
    if numbers:
        whole = numbered and not exercise and len(numbers) == 1
        return Intent(kind, language, numbers[0]) if whole else None
    if found(f"{this} {chapter}"):
        return Intent(kind, language, Here.CHAPTER)
    here = found(f"{this} (?:{known.page})") or found(of_page)
    return Intent(kind, language) if here else None


def _titled(text: str, language: str, known: Requests) -> Intent | None:
    """Return the request for a part named by its title: "quiz me on the chapter about owls"."""
    named = re.search(rf"(?<!\S)(?:{known.named})(?!\S)", text)
    if not named or not _REQUEST_WORDS[language].issuperset(text[: named.start()].split()):
        return None
    title = text[named.end() :].split()
    while title and title[0] in _REQUEST_WORDS[language]:
        title.pop(0)
    while title and title[-1] in _REQUEST_WORDS[language]:
        title.pop()
    if not title:
        return None
    quiz = re.search(rf"(?<!\S)(?:{known.quiz})(?!\S)", named[0])
    kind = IntentKind.QUIZ if quiz else IntentKind.SUMMARY
    chapter = re.search(rf"(?<!\S)(?:{known.chapter})(?!\S)", text)
    return Intent(kind, language, Here.CHAPTER if chapter else Here.PAGE, title=" ".join(title))


def with_figures(said: Sequence[str]) -> str:
    """Join the words; "four" becomes "4"."""
    return " ".join(NUMBER_WORDS.get(word, word) for word in said)


def resumed(question: str, history: Sequence[Turn]) -> str:
    """Return the question that a reply to the assistant's question completes; else `question`.

    "Yes" after "Did you mean the inverted index?" asks about that. "Chapter 2" after "summarise the
    chapter" and "Which chapter do you mean?" is a request for the summary of chapter 2.
    """
    replied = history[-1] if history else None
    if replied is None or replied.role == "user":
        return question
    suggested = _DID_YOU_MEAN.search(replied.content.strip())
    if suggested and " ".join(words(question)) in _YES:
        return f"{suggested['asked'].strip(_MARKS)}?"
    if is_clarification(replied.content):
        before = next((one.content for one in reversed(history) if one.role == "user"), "")
        said = words(question)
        kept = [word for word in words(before) if word not in said]
        # With the numbers of the request that was unclear, and without them.
        for asked in (kept, [word for word in kept if not word.isdigit()]):
            intent = intent_of([*asked, *said])
            if intent and intent.kind not in SMALL_TALK and not intent.title:
                return " ".join([*asked, *said])
    return question


def is_clarification(text: str) -> bool:
    """Whether the text is a clarifying question, in any language."""
    asked = (
        (one.notices.which_book, one.notices.which_chapter, one.notices.no_exercises)
        for one in LANGUAGES.values()
    )
    return text.startswith(tuple(one.partition("{}")[0] for one in chain.from_iterable(asked)))


def about_the_book(history: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns without small talk, without clarifying questions and what they reply to.

    A follow-up then refers to the last question about the book.
    """
    kept: list[Turn] = []
    skipped = False
    for turn, reply in zip_longest(history, history[1:]):
        if turn.role == "user":
            clarified = reply is not None and is_clarification(reply.content)
            intent = intent_of(words(turn.content))
            skipped = clarified or bool(intent and intent.kind in SMALL_TALK)
        if not skipped:
            kept.append(turn)
    return tuple(kept)
