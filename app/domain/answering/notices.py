"""Fixed phrases of answers, by language.

Refusals and notices, clarifying questions, follow-up questions, replies to greetings and thanks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.domain.answering.intents import IntentKind
from app.domain.languages import LANGUAGES

_REFUSALS = {
    "en": "The book does not say. These sections come nearest to the question.",
    "es": "El libro no lo dice. Estas son las secciones más cercanas a la pregunta.",
    "de": "Das Buch sagt dazu nichts. Diese Abschnitte kommen der Frage am nächsten.",
    "fr": "Le livre n'en dit rien. Ces sections sont les plus proches de la question.",
    "pt": "O livro não o diz. Estas são as seções mais próximas da pergunta.",
    "it": "Il libro non lo dice. Queste sono le sezioni più vicine alla domanda.",
    "ur": "کتاب میں اس کا جواب نہیں ہے۔ یہ حصے سوال کے سب سے قریب ہیں۔",
    "zh": "书中没有提到。以下章节与问题最接近。",
    "ja": "この本には書かれていません。質問に最も近い節は次のとおりです。",
    "ru": "В книге об этом не сказано. Ближе всего к вопросу эти разделы.",
}
UNCERTAIN = {
    "en": "The book may not say this. These passages come nearest.",
    "es": "Puede que el libro no lo diga. Estos son los pasajes más cercanos.",
    "de": "Das Buch sagt dazu vielleicht nichts. Diese Stellen kommen der Frage am nächsten.",
    "fr": "Le livre ne le dit peut-être pas. Ces passages sont les plus proches.",
    "pt": "Talvez o livro não o diga. Estas são as passagens mais próximas.",
    "it": "Forse il libro non lo dice. Questi sono i passaggi più vicini.",
    "ur": "شاید کتاب میں اس کا جواب نہ ہو۔ یہ اقتباسات سوال کے سب سے قریب ہیں۔",
    "zh": "书中可能没有提到。以下段落与问题最接近。",
    "ja": "この本には書かれていないかもしれません。質問に最も近い箇所は次のとおりです。",
    "ru": "Возможно, в книге об этом не сказано. Ближе всего эти места.",
}
"""Above uncertain passages."""
_OTHER_LANGUAGE = {
    "en": "It is written in another language ({}); ask in that language to find more.",
    "es": "Está escrito en otro idioma ({}); pregunte en ese idioma para encontrar más.",
    "de": "Es ist in einer anderen Sprache geschrieben ({}); in ihr gefragt, findet sich mehr.",
    "fr": "Il est écrit dans une autre langue ({}) ; posez la question dans cette langue pour"
    " trouver plus.",
    "pt": "Está escrito em outra língua ({}); pergunte nessa língua para encontrar mais.",
    "it": "È scritto in un'altra lingua ({}); chieda in quella lingua per trovare di più.",
    "ur": "یہ کسی اور زبان ({}) میں لکھی گئی ہے؛ اسی زبان میں پوچھیں تو زیادہ ملے گا۔",
    "zh": "本书使用另一种语言（{}）；用该语言提问可以找到更多内容。",
    "ja": "この本は別の言語（{}）で書かれています。その言語で質問すると、より多く見つかります。",
    "ru": "Книга написана на другом языке ({}); задайте вопрос на нём, чтобы найти больше.",
}

HINT = {
    "en": "This is an exercise of the book. These passages help to solve it.",
    "es": "Este es un ejercicio del libro. Estos pasajes ayudan a resolverlo.",
    "de": "Das ist eine Übung des Buchs. Diese Stellen helfen, sie zu lösen.",
    "fr": "C'est un exercice du livre. Ces passages aident à le résoudre.",
    "pt": "Este é um exercício do livro. Estas passagens ajudam a resolvê-lo.",
    "it": "Questo è un esercizio del libro. Questi passaggi aiutano a risolverlo.",
}
"""Above the passages of a hint, and above a list of what to read before the exercise."""

WHICH_BOOK = {
    "en": "Which book do you mean? There are: {}.",
    "de": "Welches Buch meinen Sie? Es gibt: {}.",
    "es": "¿A qué libro se refiere? Hay: {}.",
    "fr": "De quel livre parlez-vous ? Il y a : {}.",
    "zh": "您指的是哪本书？现有：{}。",
    "ja": "どの本のことですか？ 次の本があります：{}。",
}
WHICH_CHAPTER = {
    "en": "Which chapter do you mean? The book has: {}.",
    "de": "Welches Kapitel meinen Sie? Das Buch hat: {}.",
    "es": "¿A qué capítulo se refiere? El libro tiene: {}.",
    "fr": "De quel chapitre parlez-vous ? Le livre contient : {}.",
    "zh": "您指的是哪一章？书中有：{}。",
    "ja": "どの章のことですか？ この本には次の章があります：{}。",
}
NO_EXERCISES = {
    "en": "I cannot find such exercises there.",
    "de": "Solche Übungen finde ich dort nicht.",
    "es": "No encuentro esos ejercicios ahí.",
    "fr": "Je n'y trouve pas ces exercices.",
    "zh": "那里没有找到这样的练习。",
    "ja": "そこにはそのような練習問題が見つかりません。",
}
TERM_QUESTION = {
    "en": 'What does "{}" mean?',
    "es": "¿Qué significa «{}»?",
    "de": "Was bedeutet „{}“?",
    "fr": "Que signifie « {} » ?",
    "pt": "O que significa «{}»?",
    "it": "Che cosa significa «{}»?",
    "zh": "“{}”是什么意思？",
    "ja": "「{}」とは何ですか？",
    "ru": "Что означает «{}»?",
}
"""Follow-up question about a term."""
_GREETING = {
    "en": "Hello! Ask me anything about the book.",
    "es": "¡Hola! Pregúnteme lo que quiera sobre el libro.",
    "de": "Hallo! Fragen Sie mich etwas zum Buch.",
    "fr": "Bonjour ! Posez-moi une question sur le livre.",
    "pt": "Olá! Pergunte o que quiser sobre o livro.",
    "it": "Ciao! Mi chieda quello che vuole sul libro.",
}
_WELCOME = {
    "en": "You are welcome! Ask on whenever you like.",
    "es": "¡De nada! Pregunte cuando quiera.",
    "de": "Gern geschehen! Fragen Sie gern weiter.",
    "fr": "Je vous en prie !",
    "pt": "De nada! Pergunte quando quiser.",
    "it": "Prego! Chieda pure ancora.",
}
"""Reply to thanks."""
SMALL_TALK_REPLIES = {IntentKind.GREETING: _GREETING, IntentKind.THANKS: _WELCOME}


def in_language(texts: Mapping[str, str], language: str) -> str:
    """Return the text in this language, in English if there is none."""
    return texts.get(language, texts["en"])


def refusal_text(language: str, sections: int) -> str:
    """Return the refusal, whose second sentence is about the `sections` listed below it."""
    refusal = in_language(_REFUSALS, language)
    return refusal if sections else re.split(r"(?<=[.\u3002\u06d4])", refusal, maxsplit=1)[0]


def do_not_mention(words: Sequence[str]) -> str:
    """Return what the passages below an uncertain answer's notice lack, in English; "" if nothing.

    Words are only looked for in English: see `AnalyseQuestion`.
    """
    quoted = ", ".join(f"\u201c{word}\u201d" for word in words)
    return f"They do not mention {quoted}." if words else ""


def other_language(asked_in: str, language: str) -> str:
    """Return a hint that the book is in another language than the question; "" if it is not."""
    if asked_in == language:
        return ""
    known = LANGUAGES.get(language)
    return in_language(_OTHER_LANGUAGE, asked_in).format((known and known.name) or language)


def is_clarification(text: str) -> bool:
    """Whether the text is a clarifying question, in any language."""
    asked = (WHICH_BOOK, WHICH_CHAPTER, NO_EXERCISES)
    return text.startswith(
        tuple(one.partition("{}")[0] for texts in asked for one in texts.values())
    )
