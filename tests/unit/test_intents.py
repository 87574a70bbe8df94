"""Small talk, and requests for a chapter, an exercise or a quiz, told from questions."""

from __future__ import annotations

import json

import pytest

from app.domain.answer import AnswerMode
from app.domain.answering.exercises import task_label
from app.domain.answering.intents import (
    LANGUAGES_OF_REQUESTS,
    Here,
    Intent,
    IntentKind,
    intent_of,
)
from app.domain.answering.notices import (
    NO_EXERCISES,
    WHICH_BOOK,
    WHICH_CHAPTER,
)
from app.domain.answering.request import AskRequest
from app.domain.terms import words
from tests.answer_fakes import World, passage
from tests.conftest import ROOT

SUMMARY, EXERCISE, QUIZ = IntentKind.SUMMARY, IntentKind.EXERCISE, IntentKind.QUIZ
HERE, PAGE = Here.CHAPTER, Here.PAGE
FOUR = 4


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("summarise chapter 4", Intent(SUMMARY, "en", FOUR)),
        ("Can you give me a short summary of chapter 4?", Intent(SUMMARY, "en", FOUR)),
        ("a summary of the 4th chapter please", Intent(SUMMARY, "en", FOUR)),
        ("Summarize chapter four.", Intent(SUMMARY, "en", FOUR)),
        ("What is chapter 4 about?", Intent(SUMMARY, "en", FOUR)),
        ("tell me about chapter 4", Intent(SUMMARY, "en", FOUR)),
        ("what is this chapter about?", Intent(SUMMARY, "en", HERE)),
        ("sum up this page", Intent(SUMMARY, "en", PAGE)),
        ("Fasse Kapitel 4 zusammen", Intent(SUMMARY, "de", FOUR)),
        ("Fass bitte das 4. Kapitel zusammen", Intent(SUMMARY, "de", FOUR)),
        ("Worum geht es in diesem Kapitel?", Intent(SUMMARY, "de", HERE)),
        ("Resume el capítulo 4", Intent(SUMMARY, "es", FOUR)),
        ("¿De qué trata este capítulo?", Intent(SUMMARY, "es", HERE)),
        ("Résume le chapitre 4", Intent(SUMMARY, "fr", FOUR)),
        ("De quoi parle cette page ?", Intent(SUMMARY, "fr", PAGE)),
        ("solve exercise 4.2", Intent(EXERCISE, "en", FOUR, 2)),
        ("Exercise 4.2", Intent(EXERCISE, "en", FOUR, 2)),
        ("help me with exercise 2 of chapter 4", Intent(EXERCISE, "en", FOUR, 2)),
        ("chapter 4, problem 2", Intent(EXERCISE, "en", FOUR, 2)),
        ("Löse Aufgabe 4.2", Intent(EXERCISE, "de", FOUR, 2)),
        ("resuelve el ejercicio 2 del capítulo 4", Intent(EXERCISE, "es", FOUR, 2)),
        ("résous l'exercice 4.2", Intent(EXERCISE, "fr", FOUR, 2)),
        ("quiz me on chapter 4", Intent(QUIZ, "en", FOUR)),
        ("Quiz me about this page!", Intent(QUIZ, "en", PAGE)),
        ("Frag mich zu Kapitel 4 ab", Intent(QUIZ, "de", FOUR)),
        ("hazme preguntas sobre el capítulo 4", Intent(QUIZ, "es", FOUR)),
        ("interroge-moi sur cette page", Intent(QUIZ, "fr", PAGE)),
        ("What's in chapter 4?", Intent(SUMMARY, "en", FOUR)),
        ("What does this chapter cover?", Intent(SUMMARY, "en", HERE)),
        ("What are the main points of this page?", Intent(SUMMARY, "en", PAGE)),
        ("explain chapter 4", Intent(SUMMARY, "en", FOUR)),
        ("Chapter 4", Intent(SUMMARY, "en", FOUR)),
        ("What is chapter 4?", Intent(SUMMARY, "en", FOUR)),
        ("summarise the chapter", Intent(SUMMARY, "en", HERE)),
        ("quiz me on the page", Intent(QUIZ, "en", PAGE)),
        ("Erkläre mir Kapitel 4", Intent(SUMMARY, "de", FOUR)),
        ("Was steht in Kapitel 4?", Intent(SUMMARY, "de", FOUR)),
        ("Was wird in Kapitel 4 behandelt?", Intent(SUMMARY, "de", FOUR)),
        ("¿Qué hay en el capítulo 4?", Intent(SUMMARY, "es", FOUR)),
        ("Qu'y a-t-il dans le chapitre 4 ?", Intent(SUMMARY, "fr", FOUR)),
        ("summarise", Intent(SUMMARY, "en", PAGE)),
        ("Could you give me a short summary, please?", Intent(SUMMARY, "en", PAGE)),
        ("quiz me on this", Intent(QUIZ, "en", PAGE)),
        ("Ask me some questions", Intent(QUIZ, "en", PAGE)),
        ("Fass das bitte kurz zusammen", Intent(SUMMARY, "de", PAGE)),
        ("Frag mich ab!", Intent(QUIZ, "de", PAGE)),
        ("hazme un resumen", Intent(SUMMARY, "es", PAGE)),
        ("Examíname, por favor", Intent(QUIZ, "es", PAGE)),
        ("Fais-moi un résumé", Intent(SUMMARY, "fr", PAGE)),
        ("interroge-moi", Intent(QUIZ, "fr", PAGE)),
    ],
)
def test_a_request_names_its_part_of_the_book(question: str, intent: Intent) -> None:
    assert intent_of([*words(question)]) == intent


def test_each_language_of_requests_has_its_phrases() -> None:
    tables = (WHICH_BOOK, WHICH_CHAPTER, NO_EXERCISES)
    assert all(table.keys() >= {*LANGUAGES_OF_REQUESTS} for table in tables)


@pytest.mark.parametrize(
    "question",
    [
        "What is a chapter?",
        "Which chapter is about BM25?",
        "Why does chapter 4 say that BM25 saturates?",
        "What does chapter 4.2 say about BM25?",
        "what is chapter 4.2 about?",
        "summarise BM25",
        "summarise the chapter on mitosis",
        "summarise the book",
        "what is this about?",
        "What is the problem with 2 stages?",
        "what is problem 2 with this approach?",
        "Why is exercise good for the heart?",
        "solve exercise 4.2.1",
        "Exercise 4.2: why does the weight saturate?",
        "exercise 2.1 of chapter 4",
        "exercise 12",
        "exercise 2 on this page",
        "quiz",
        "Was ist ein Kapitel?",
        "¿Qué es un capítulo?",
        "Pourquoi le chapitre 4 parle de BM25 ?",
        "summary",
        "What are key points?",
        "What is a quiz?",
        "write a test",
        "resume",
        "总结第 4 章",
        "第4章を要約して",
        "hello world",
        "How are you able to fly?",
        "thanks to what do owls fly?",
        "?",
        "",
    ],
)
def test_an_ordinary_question_is_no_request(question: str) -> None:
    assert intent_of([*words(question)]) is None


@pytest.mark.parametrize("file", ["student_questions.jsonl", "sample_questions.jsonl"])
def test_no_question_of_the_development_sets_is_a_request(file: str) -> None:
    lines = (ROOT / "tests/data" / file).read_text("utf-8").splitlines()
    asked = [one for one in map(json.loads, lines) if one.get("half") != "final"]
    assert len(asked) > 40
    assert [one["question"] for one in asked if intent_of([*words(one["question"])])] == []


@pytest.mark.parametrize(
    "said", ["hi", "Hello there!", "Thanks a lot", "ok thanks", "¡Hola!", "Vielen Dank", "merci"]
)
async def test_small_talk_is_answered_without_a_search(said: str) -> None:
    world = World((passage("Owls say hello to each other.", "p-1"),))
    answer = await world.answering().answer(AskRequest(said))
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
