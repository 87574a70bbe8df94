"""Fixed phrases of answers, by language: refusal, uncertainty, a book in another language."""

from __future__ import annotations

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
_NOTHING_NEAR = {
    "en": "The book does not say.",
    "es": "El libro no lo dice.",
    "de": "Das Buch sagt dazu nichts.",
    "fr": "Le livre n'en dit rien.",
    "pt": "O livro não o diz.",
    "it": "Il libro non lo dice.",
    "ur": "کتاب میں اس کا جواب نہیں ہے۔",
    "zh": "书中没有提到。",
    "ja": "この本には書かれていません。",
    "ru": "В книге об этом не сказано.",
}
_UNCERTAIN = {
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
_OTHER_LANGUAGE = {
    "en": "It is written in another language ({}); ask in that language to find more.",
    "es": "Está escrito en otro idioma ({}); pregunte en ese idioma para encontrar más.",
    "de": "Es ist in einer anderen Sprache geschrieben ({}); in ihr gefragt, findet sich mehr.",
    "fr": "Il est écrit dans une autre langue ({}) ; posez la question dans cette langue pour"
    " trouver plus.",
    "pt": "Está escrito em outra língua ({}); pergunte nessa língua para encontrar mais.",
    "it": "È scritto in un'altra lingua ({}); chieda in quella lingua per trovare di più.",
    "ur": "یہ کسی اور زبان ({}) میں لکھی گئی ہے؛ اسی زبان میں پوچھیں تو زیادہ ملے گا۔",
}


def refusal_text(language: str, sections: int) -> str:
    """Return the refusal, in English if there is none in `language`; `sections` are listed below
    it.
    """
    texts = _REFUSALS if sections else _NOTHING_NEAR
    return texts.get(language, texts["en"])


def uncertainty_notice(language: str) -> str:
    """Return the notice above uncertain passages, in English if there is none in `language`."""
    return _UNCERTAIN.get(language, _UNCERTAIN["en"])


def other_language(asked_in: str, language: str) -> str:
    """Return a hint that the book is in another language than the question; "" if it is not."""
    if asked_in == language:
        return ""
    known = LANGUAGES.get(language)
    return _OTHER_LANGUAGE[asked_in].format((known and known.name) or language)
