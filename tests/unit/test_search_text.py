"""What is left of a question without the phrases around its subject."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.languages import LANGUAGES, known_language
from app.domain.search_text import search_text, without_context

KEPT = [
    ("en", "What is osmosis?", "What is osmosis?"),
    ("en", "WHAT IS DNA", "what is dna"),
    ("en", "How Does Osmosis Work In Plants", "how does osmosis work in plants"),
    ("en", "How Does HashMap Work With DNA", "how does HashMap work with DNA"),
    ("de", "noch mal " * 30 + "Osmose", "noch mal " * 30 + "Osmose"),
    ("en", "Who sang 'There's Got to Be a Way'?", "Who sang 'There's Got to Be a Way'?"),
    ("en", "hey, quick question: what exactly is osmosis? thanks", "what is osmosis?"),
    ("en", "can you pls explain osmosis to me like i'm five, please?", "osmosis"),
    ("en", "i still don\u2019t really get how osmosis works.. any help", "how osmosis works.."),
    ("en", "I don't get it. Why is the sky blue?", "Why is the sky blue?"),
    ("en", "osmosis - what is it", "osmosis"),
    ("en", "What is osmosis and why does it matter?", "What is osmosis"),
    ("en", "Why does it matter?", "Why does it matter?"),
    ("en", "Why does matter have mass?", "Why does matter have mass?"),
    ("en", "hello, world program", "hello, world program"),
    ("en", "What's an even number exactly?", "What's an even number"),
    ("en", "Can a function call itself?", "Can a function call itself?"),
    ("en", "thanks, please!", "thanks, please!"),
    ("de", "Kannst du mir bitte Osmose erklären?", "Osmose"),
    ("de", "hallo, kurze frage: was ist eigentlich Osmose", "was ist Osmose"),
    ("de", "Hallo, Welt!", "Hallo, Welt!"),
    ("es", "hola, ¿me puedes explicar qué es la ósmosis por favor?", "qué es la ósmosis"),
    ("fr", "Bonjour, peux-tu m'expliquer l'osmose s'il te plaît ?", "l'osmose"),
    ("es", "q es la osmosis", "la osmosis"),
    ("es", "en que capitulo se habla de la osmosis", "la osmosis"),
    ("fr", "c koi l\u2019osmose svp", "l\u2019osmose"),
    ("fr", "c'est quoi le ? en Rust ?", "c'est quoi le ? en Rust?"),
    ("fr", "quelqu'un peut m'expliquer l'osmose simplement ?", "l'osmose"),
    ("it", "ciao, puoi spiegarmi cos'è l'osmosi per favore?", "cos'è l'osmosi"),
    ("it", "nn ho capito l'osmosi, qualcuno mi aiuta?", "l'osmosi"),
    ("pt", "oq e osmose", "osmose"),
    ("pt", "O ar e a agua", "O ar e a agua"),
    ("pt", "alguém pode me explicar osmose de um jeito simples", "osmose"),
    ("pt", "mostre-me um exemplo", "um exemplo"),
    ("en", "my exam is soon, what is osmosis", "my exam is soon. what is osmosis"),
    ("pt", "oi, você pode me explicar o que é osmose?", "o que é osmose?"),
    ("zh", "什么是箭头函数？", "箭头函数"),
    ("zh", "呢绒能用吗啡染色吗", "呢绒能用吗啡染色"),
    ("ja", "RAGとは何ですか", "RAG"),
    ("ja", "何ですか？", "何ですか？"),
    ("en", "什么是 RAG", "什么是 RAG"),
    ("nl", "hey, wat is osmose", "hey, wat is osmose"),
]


@pytest.mark.parametrize(("language", "question", "kept"), KEPT)
def test_phrases_around_the_subject_are_left_out(language: str, question: str, kept: str) -> None:
    found = search_text(question, language).text
    assert " ".join(found.split()) == " ".join(kept.split())


WITHOUT_CONTEXT = [
    ("en", "I have an exam tomorrow. What is osmosis?", "What is osmosis?"),
    ("en", "how does osmosis work. i missed the lecture", "how does osmosis work."),
    ("en", "i missed the lecture, how does osmosis work", "how does osmosis work"),
    ("en", "Hi there! My teacher likes it. What is osmosis?", "Hi there!\nWhat is osmosis?"),
    ("de", "Ich habe morgen Prüfung. Was ist Osmose?", "Was ist Osmose?"),
    ("fr", "J'ai un contrôle demain. Comment marche l'osmose ?", "Comment marche l'osmose ?"),
]
WITH_CONTEXT = [
    ("en", "I like the Krebs cycle. What are its products?"),
    ("en", "Tell me about the Krebs cycle. What are the products?"),
    ("en", "Photosynthesis happens in chloroplasts. What are the products?"),
    ("en", "Describe meiosis, which produces gametes."),
    ("en", "I don't understand osmosis. Please help me."),
    ("es", "La célula, es decir, la unidad de la vida, cómo se divide"),
    ("nl", "Ik heb een examen. Wat is osmose?"),
]


@pytest.mark.parametrize(("language", "question", "rest"), WITHOUT_CONTEXT)
def test_sentences_about_the_reader_are_context(language: str, question: str, rest: str) -> None:
    assert without_context(question, language) == rest


@pytest.mark.parametrize(("language", "question"), WITH_CONTEXT)
def test_sentences_that_may_name_the_subject_are_no_context(language: str, question: str) -> None:
    assert without_context(question, language) == question


def test_a_language_may_have_phrases_of_one_sort_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANGUAGES, "xx", replace(known_language("xx"), filler="umm"))
    assert search_text("Umm, what, umm is osmosis? I ask, umm", "xx").text == (
        "what, is osmosis? I ask"
    )
    assert without_context("I ask. What is osmosis?", "xx") == "I ask. What is osmosis?"
