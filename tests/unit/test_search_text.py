"""The text that is searched for instead of a question, and what of it is context."""

from __future__ import annotations

import pytest

from app.domain.search_text import search_text, without_context

KEPT = [
    ("en", "What is osmosis?", "What is osmosis?"),
    ("en", "WHAT IS DNA", "what is dna"),
    ("en", "DNA", "DNA"),
    ("en", "How Does Osmosis Work In Plants", "how does osmosis work in plants"),
    ("en", "Who was Marie Curie?", "Who was Marie Curie?"),
    ("en", "How Does HashMap Work With DNA", "how does HashMap work with DNA"),
    ("de", "noch mal " * 30 + "Osmose", "noch mal " * 30 + "Osmose"),
    ("en", "Who sang 'There's Got to Be a Way'?", "Who sang 'There's Got to Be a Way'?"),
    ("en", "I read on. How does osmosis work?", "I read on. How does osmosis work?"),
    ("en", "hello, world program", "hello, world program"),
    ("en", "Can a function call itself?", "Can a function call itself?"),
    ("en", "get request or question answering", "get request or question answering"),
    ("en", "thanks, please!", "thanks, please!"),
    ("de", "Hallo, Welt!", "Hallo, Welt!"),
    ("fr", "c'est quoi le ? en Rust ?", "c'est quoi le ? en Rust?"),
    ("pt", "O ar e a agua", "O ar e a agua"),
    ("en", "my exam is soon, what is osmosis", "my exam is soon. what is osmosis"),
    ("zh", "什么是箭头函数？", "箭头函数"),
    ("zh", "呢绒能用吗啡染色吗", "呢绒能用吗啡染色"),
    ("zh", "数组好用吗？", "数组好用"),
    ("ja", "RAGとは何ですか", "RAG"),
    ("ja", "何ですか？", "何ですか？"),
    ("en", "什么是 RAG", "什么是 RAG"),
    ("nl", "hey, wat is osmose", "hey, wat is osmose"),
]


@pytest.mark.parametrize(("language", "question", "kept"), KEPT)
def test_what_is_searched_for(
    language: str, question: str, kept: str
) -> None:
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
