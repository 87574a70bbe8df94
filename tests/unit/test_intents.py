"""Small talk, requests for a part of the book, and replies, told from questions."""

from __future__ import annotations

import json

import pytest

from app.domain.answer import AnswerMode
from app.domain.answering.exercises import task_label
from app.domain.answering.intents import Here, about_the_book, intent_of, resumed
from app.domain.answering.request import AskRequest
from app.domain.languages import LANGUAGES, known_language
from app.domain.retrieval.query import Turn
from app.domain.terms import words
from tests.conftest import ROOT
from tests.fake_world import World, passage

REQUESTS = """
summary en 4: summarise chapter 4
summary en 4: Can you give me a short summary of chapter 4?
summary en 4: a summary of the 4th chapter please
summary en 4: Summarize chapter four.
summary en 4: What is chapter 4 about?
summary en 4: tell me about chapter 4
summary en 4: What's in chapter 4?
summary en 4: explain chapter 4
summary en 4: Chapter 4
summary en 4: What is chapter 4?
summary en chapter: what is this chapter about?
summary en chapter: What does this chapter cover?
summary en chapter: summarise the chapter
summary en page: sum up this page
summary en page: What are the main points of this page?
summary en page: summarise
summary en page: Could you give me a short summary, please?
summary de 4: Fasse Kapitel 4 zusammen
summary de 4: Fass bitte das 4. Kapitel zusammen
summary de 4: Erkläre mir Kapitel 4
summary de 4: Was steht in Kapitel 4?
summary de 4: Was wird in Kapitel 4 behandelt?
summary de chapter: Worum geht es in diesem Kapitel?
summary de page: Fass das bitte kurz zusammen
summary es 4: Resume el capítulo 4
summary es 4: ¿Qué hay en el capítulo 4?
summary es chapter: ¿De qué trata este capítulo?
summary es page: hazme un resumen
summary fr 4: Résume le chapitre 4
summary fr 4: Qu'y a-t-il dans le chapitre 4 ?
summary fr page: De quoi parle cette page ?
summary fr page: Fais-moi un résumé
exercise en 4.2: solve exercise 4.2
exercise en 4.2: Exercise 4.2
exercise en 4.2: help me with exercise 2 of chapter 4
exercise en 4.2: chapter 4, problem 2
exercise de 4.2: Löse Aufgabe 4.2
exercise es 4.2: resuelve el ejercicio 2 del capítulo 4
exercise fr 4.2: résous l'exercice 4.2
quiz en 4: quiz me on chapter 4
quiz en 4: What are the questions in chapter 4?
quiz en page: Quiz me about this page!
quiz en page: quiz me on the page
quiz en page: quiz me on this
quiz en page: Ask me some questions
quiz de 4: Frag mich zu Kapitel 4 ab
quiz de page: Frag mich ab!
quiz es 4: hazme preguntas sobre el capítulo 4
quiz es page: Examíname, por favor
quiz fr page: interroge-moi sur cette page
quiz fr page: interroge-moi
greeting en page: hi
greeting en page: Hello there!
greeting es page: ¡Hola!
greeting it page: buongiorno
thanks en page: Thanks a lot
thanks en page: ok thanks
thanks de page: Vielen Dank
thanks fr page: merci
thanks pt page: obrigada
"""
NONE = """
What is a chapter?
Which chapter is about BM25?
Why does chapter 4 say that BM25 saturates?
What does chapter 4.2 say about BM25?
what is chapter 4.2 about?
summarise BM25
summarise the chapter on mitosis
summarise the book
what is this about?
What is the problem with 2 stages?
what is problem 2 with this approach?
Why is exercise good for the heart?
solve exercise 4.2.1
Exercise 4.2: why does the weight saturate?
exercise 2.1 of chapter 4
exercise 12
exercise 2 on this page
quiz
Was ist ein Kapitel?
¿Qué es un capítulo?
Pourquoi le chapitre 4 parle de BM25 ?
summary
What are key points?
What is a quiz?
explain it to me
write a test
resume
总结第 4 章
第4章を要約して
hello world
How are you able to fly?
thanks to what do owls fly?
?
"""


def requested(question: str) -> str:
    """Return "kind language part" of the question's intent; "" if it has none."""
    intent = intent_of(words(question))
    if not intent:
        return ""
    part = intent.chapter.value if isinstance(intent.chapter, Here) else str(intent.chapter)
    return f"{intent.kind} {intent.language} {part}" + f".{intent.exercise}" * bool(intent.exercise)


@pytest.mark.parametrize("line", REQUESTS.strip().split("\n"))
def test_a_request_names_its_part_of_the_book(line: str) -> None:
    expected, question = line.split(": ", 1)
    assert requested(question) == expected


@pytest.mark.parametrize("question", [*NONE.strip().split("\n"), ""])
def test_an_ordinary_question_is_no_request(question: str) -> None:
    assert requested(question) == ""


@pytest.mark.parametrize("file", ["student_questions.jsonl", "sample_questions.jsonl"])
def test_no_question_of_the_development_sets_is_a_request(file: str) -> None:
    lines = (ROOT / "tests/data" / file).read_text("utf-8").splitlines()
    asked = [one for one in map(json.loads, lines) if one.get("half") != "final"]
    assert len(asked) > 40
    assert [one["question"] for one in asked if requested(one["question"])] == []


def test_each_language_of_requests_has_its_phrases() -> None:
    spoken = [one.notices for one in LANGUAGES.values() if one.requests]
    for asked in ("which_book", "which_chapter", "no_exercises"):
        assert len({getattr(one, asked) for one in spoken}) == len(spoken) > 1


async def test_small_talk_is_answered_without_a_search() -> None:
    world = World((passage("Owls say hello to each other.", "p-1"),))
    answer = await world.answering().answer(AskRequest("Hello there!"))
    assert (answer.mode, answer.refused) == (AnswerMode.SMALL_TALK, False)
    assert answer.answer
    assert (answer.citations, answer.sources, world.retriever.asked) == ((), (), [])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Exercise 4.2", (4, 2)),
        ("3. Exercise 10.3. Why does a cache improve the mean?", (10, 3)),
        ("Solution 4.2", (4, 2)),
        ("Übung 7", (7,)),
        ("练习 4.2", (4, 2)),
        ("Exercises", ()),
        ("The 3 laws of motion", ()),
    ],
)
def test_a_label_is_the_number_after_the_word_for_a_task(
    text: str, numbers: tuple[int, ...]
) -> None:
    assert task_label(passage(text)) == numbers


def turns(*texts: str) -> tuple[Turn, ...]:
    """Return a conversation that the user begins."""
    return tuple(Turn("assistant" if at % 2 else "user", text) for at, text in enumerate(texts))


CLARIFICATION = known_language("en").notices.which_chapter.format("1. Owls; 2. Bats")
ASIDES = ("thanks", "You are welcome!", "summarise the chapter", CLARIFICATION)


@pytest.mark.parametrize(
    ("said", "reply", "asked"),
    [
        ("Did you mean the inverted index?", "yes", "the inverted index?"),
        ('No. Did you mean "What is an owl?"?', "Yes, please!", "What is an owl?"),
        ("¿Quiso decir qué es un búho?", "sí", "qué es un búho?"),
        ("Meinten Sie: was ist eine Eule?", "Ja", "was ist eine Eule?"),
        ("Did you mean the inverted index?", "no", "no"),
        ("Did you mean the inverted index?", "What is a bat?", "What is a bat?"),
        ("Did you mean owls? They hunt.", "yes", "yes"),
        ("Owls hunt.", "yes", "yes"),
        (CLARIFICATION, "chapter 2", "summarise the chapter 2"),
        (CLARIFICATION, "what do bats hear", "what do bats hear"),
    ],
)
def test_a_reply_completes_what_the_assistant_asked(said: str, reply: str, asked: str) -> None:
    assert resumed(reply, turns("summarise the chapter", said)) == asked
    assert resumed(reply, ()) == reply


LIGHT = passage("Photosynthesis turns light energy into chemical energy.", "p-light")


async def test_small_talk_and_clarifications_are_no_part_of_the_conversation() -> None:
    topic = turns("What is photosynthesis?", "A process.")
    assert about_the_book((*topic, Turn("user", "summarise chapter 4"))) != topic
    world = World((LIGHT,))
    history = (*topic, *turns(*ASIDES))
    await world.answering().answer(AskRequest("And what is its energy?", history=history))
    assert world.retriever.asked[0].history == topic


async def test_yes_is_answered_as_the_question_that_was_proposed() -> None:
    history = turns("fotosynthesis", "Did you mean photosynthesis?")
    answer = await World((LIGHT,)).answering().answer(AskRequest("yes", history=history))
    assert LIGHT.text in answer.answer
