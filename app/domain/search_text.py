"""The text that is searched for instead of a question: what is left of it is about its subject.

In a search, the words of "can you explain osmosis to me, please" would count as words of the
subject, and rare ones ("thx") most of all. The languages that are indexed by pairs of characters
need this for every question: some pairs belong to such a phrase and others to the words beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from unicodedata import normalize

from app.domain.languages import FUNCTION_WORDS
from app.domain.retrieval.standalone import has_anaphor
from app.domain.terms import words

_CHINESE_AND_JAPANESE = """
    什么是 是什么意思 是什么 什么意思 什么 请问 怎么样 怎么用 怎么 怎样 如何 为什么 为何 是否 有哪些
    哪些 哪个 解释一下 介绍一下 告诉我
    とは何ですか とは何でしょうか とはなんですか とは何か とは何 とは って何ですか って何 は何ですか
    何ですか なんですか について教えてください について教えて を教えてください を教えて
    教えてください 教えて について説明してください を説明してください 説明してください について
    はどういう意味ですか どういう意味ですか はどうやって どうやって はどのように どのように
    はどうすれば どうすれば どうしたら はなぜ なぜ どうして
"""
_CHINESE_OR_JAPANESE_END = (
    r"(?:吗|呢|のですか|ですか|ますか|でしょうか|ください)?(?:[？！。?!]+|(?=[，,\s])|$)"
)
"""Elsewhere these are parts of words, such as 吗啡."""
_UNSPACED = "|".join(
    [*sorted(_CHINESE_AND_JAPANESE.split(), key=len, reverse=True), _CHINESE_OR_JAPANESE_END]
)


class _Phrases(NamedTuple):
    """Regular expressions of words that say nothing of the subject."""

    opening: str
    """At the beginning of a sentence."""
    closing: str
    """At its end."""
    filler: str
    """Anywhere in it."""


_PHRASES = {
    "en": _Phrases(
        """(?:hey|hi|hello)(?!,? world)(?: there)?|ok(?:ay)?|so|um|sorry|pls|idk|any idea
        |(?:i have )?(?:a )?(?:quick )?question:|(?:can|could|would) (?:you|u|someone|anyone)
        |do(?:es)? (?:you|anyone) know
        |i (?:still )?(?:do not|don'?t) (?:really )?(?:get|understand|know)
        |(?:i'?m|i am) (?:confused|struggling|stuck)(?: about| by| with| on)?
        |(?:i want|i need|i'd like) to (?:know|understand)|(?:tell|give|show|remind) me
        |(?:i need )?help (?:me )?(?:with|to understand|understand|understanding)
        |explain(?: to me)?|describe|where (?:does|in) (?:the|this) book(?: talk)?(?: about)?
        |(?:is there )?(?:the|an?|any) (?:diagram|figure|picture|illustration|drawing|sketch|photo)
         [ ](?:of|for|showing|about)""",
        """thx|thanks|thank you|(?:to|for) me|again|at all|anyway|any (?:help|idea)|eli5|what is it
        |(?:can|could) (?:you|someone|anyone) (?:explain|help)(?: it| me)?|what does it mean
        |like (?:i'?m|i am) (?:five|5|a child|a kid|a beginner)|in (?:short|brief)
        |in (?:simple|plain|easy|my own|your own|layman's) (?:words|terms|language)
        |i (?:do not|don'?t) (?:get|understand)(?: it)?
        |(?:and )?why (?:do(?:es)? (?:it|this|that|they|these) matter|(?:it|this|that) matters)""",
        "please|pls|plz|really|actually|exactly|basically|literally",
    ),
    "de": _Phrases(
        """hallo(?!,? welt)|hi|hey|also|(?:kurze )?frage:|(?:kannst|könntest) du(?: mir)?
        |(?:können sie|kann jemand|kann mir jemand)(?: mir)?|ich (?:verstehe|weiß|kapiere) nicht
        |(?:sag|erklär|erkläre|zeig|gib|hilf) mir
        |(?:gibt es )?(?:das|die|eine?) (?:diagramm|abbildung|bild|zeichnung|skizze|grafik)
         [ ](?:von|vom|zu|zum|zur)""",
        """danke|noch ?mal|erklären|beschreiben|einfach erklärt|in (?:einfachen|eigenen) worten
        |was ist das|ich (?:verstehe|kapiere) (?:es|das) nicht""",
        "bitte|eigentlich|denn|überhaupt|wirklich",
    ),
    "es": _Phrases(
        """hola(?!,? mundo)|oye|(?:tengo )?una (?:pregunta|duda):|dime|explícame|muéstrame
        |(?:alguien )?(?:me )?(?:puedes|puede|podrías|podría) (?:explicar|decir|dar)(?:me)?
        |(?:alguien )?me explicas?|no (?:entiendo|sé)(?: bien| nada)?(?: de)?
        |quiero (?:saber|entender)|en qué capítulo(?: se)? habla(?: de)?|[qk] es
        |(?:el|la|una?) (?:diagrama|figura|imagen|ilustración|dibujo) (?:de|del)""",
        """gracias|otra vez|en resumen|en (?:palabras|términos) (?:simples|sencillos|sencillas)
        |no (?:lo )?entiendo(?: nada)?|me ayudas|qué es""",
        "por favor|porfa|realmente|exactamente",
    ),
    "fr": _Phrases(
        """bonjour(?!,? (?:le )?monde)|salut|(?:j'ai )?une question:|dis-moi|explique-moi|montre-moi
        |(?:tu |vous |quelqu'un )?(?:peux|peut|pouvez|pourrais|pourriez)
        (?:-tu|-vous)? (?:m'expliquer|expliquer|me dire)|je (?:ne )?(?:comprends|sais) pas|c koi
        |(?:où|dans quel chapitre)(?: est-ce qu'on)? parle(?: de)?
        |(?:le|la|une?) (?:schéma|figure|diagramme|illustration|dessin) (?:de|du|des)""",
        """merci|encore une fois|en bref|en (?:mots|termes) simples|simplement
        |je (?:ne )?comprends pas|c'est quoi""",
        "s'il (?:te|vous) plaît|svp|stp|exactement|vraiment",
    ),
    "it": _Phrases(
        """ciao(?!,? mondo)|salve|scusa|scusate|(?:ho )?una domanda:|dimmi|spiegami|mostrami
        |(?:qualcuno )?(?:mi )?(?:puoi|potresti|può|potete) (?:spiegare|spiegarmi|dire|dirmi)
        |qualcuno (?:mi )?(?:spiega|sa)|(?:non|nn) (?:capisco|so|ho capito)
        |in (?:quale|che) capitolo si parla(?: di)?""",
        """grazie|di nuovo|in breve|in parole semplici|non (?:lo )?capisco|qualcuno mi aiuta
        |(?:che )?cos'è""",
        "per favore|esattamente|davvero",
    ),
    "pt": _Phrases(
        """olá(?!,? mundo)|oi|(?:tenho )?uma (?:pergunta|dúvida):|(?:me )?(?:diga|explica|mostra)
        |(?:você |vc |alguém )?(?:me )?(?:pode|poderia) (?:me )?(?:explicar|dizer)|oq (?:é|e)
        |(?:eu )?não (?:entendo|entendi|sei)(?: bem| nada)?(?: de)?|(?:mostre|diga|explique)-me
        |em que capítulo(?: se)? fala(?: de)?""",
        """obrigad[oa]|de novo|outra vez|em resumo|não entendi|me ajuda|o que é
        |(?:em|de) (?:palavras|termos|um jeito|uma forma) simples""",
        "por favor|pfv|exatamente|realmente",
    ),
}
_BREAK = "[ ,;:.!?¿¡\u2026\u2013\u2014-]"
_WORD_END = r"(?!['\u2019\w])"
_ACCENTED = re.compile(r"[à-ÿ](?=\w)|(?<=\w)[à-ÿ]")


def _with_variants(pattern: str) -> str:
    """Let "é" match "e", too, and "'" any apostrophe.

    Not in words of one letter: in Portuguese "é" is "is" and "e" is "and".
    """
    plain = _ACCENTED.sub(lambda found: f"[{found[0]}{normalize('NFD', found[0])[0]}]", pattern)
    return re.sub(r"\s*\n\s*", "", plain).replace("'", "['\u2019]")


# Compiling the patterns of all languages takes a tenth of a second, and most books have one.
@cache
def _pattern(language: str) -> re.Pattern[str] | None:
    """Compile for a sentence in which words are separated by single blanks."""
    if language in {"zh", "ja"}:
        return re.compile(_UNSPACED)
    if language not in _PHRASES:
        return None
    opening, closing, filler = map(_with_variants, _PHRASES[language])
    return re.compile(
        # Possessive and atomic: a word may be a phrase and part of another, so that the number of
        # ways to split a question would grow exponentially.
        rf"(?:^|(?<!{_BREAK})(?={_BREAK}))"
        rf"(?:{_BREAK}*+(?>(?:{closing}|{filler}){_WORD_END}))++{_BREAK}*+$"
        rf"|^(?>{_BREAK}*+(?:{opening}|{filler}){_WORD_END})++{_BREAK}*+"
        rf"|(?<= )(?:{filler}){_WORD_END} ?",
        re.IGNORECASE,
    )


class _Sentence(NamedTuple):
    """How a language begins a sentence."""

    asks: re.Pattern[str]
    asks_after_comma: re.Pattern[str]
    """Matches the comma of "my exam is soon, what is osmosis", but none of a relative clause."""
    is_about_reader: re.Pattern[str]


def _sentence(asking: str, after_comma: str, reader: str) -> _Sentence:
    """Make the patterns of regular expressions in which "'" is any apostrophe."""
    patterns = (
        rf"\W{{0,3}}(?:{asking})\b",
        rf",(?=\s+(?:{after_comma})\b)",
        rf"\W{{0,3}}(?:{reader})\b",
    )
    return _Sentence(*(re.compile(one.replace("'", "['\u2019]"), re.I) for one in patterns))


_SENTENCES = {
    "en": _sentence("what|how|why|where|when|who|which", "what|how|why", "i|i'.{1,2}|my|we|our"),
    "de": _sentence(
        "was|wie|warum|wo|wann|wer|ist|sind", "was|wie|warum", "ich|mein.{0,2}|wir|unser.{0,2}"
    ),
    "es": _sentence(
        "qu[eé]|c[oó]mo|cu[aá]l(?:es)?|(?:por|para) qu[eé]|es|son",
        "qu[eé] (?:es|son)|c[oó]mo|por qu[eé]",
        "yo|mis?|nosotros|nuestr.s?",
    ),
    "fr": _sentence(
        "quoi|comment|pourquoi|qu'est-ce|c'est quoi|[àa] quoi|quel(?:le)?|est|sont",
        "qu'est-ce|c'est quoi|quoi|comment|pourquoi",
        "je|j'.+?|mon|ma|mes|nous|notre|nos",
    ),
    "it": _sentence(
        "(?:che )?cosa|(?:che )?cos'.|come|perch[eé]|è|sono",
        "(?:che )?cosa|(?:che )?cos'.|perch[eé]",
        "io|(?:il )?mio|(?:la )?mia|noi|(?:il )?nostro",
    ),
    "pt": _sentence(
        "(?:o )?que|como|qual|(?:por|para|pra) que|é|s[aã]o",
        "o que (?:é|s[aã]o)|(?:por|pra) que",
        "eu|(?:o )?meu|(?:a )?minha|n[oó]s|(?:o )?nosso",
    ),
}
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?=.)|\n")
_BEFORE_MARK = re.compile(r"(?<=\w)\s+(?=[?!]\s*\Z)")
"""The blank of "Qu'est-ce que l'osmose ?", which makes the question mark a term."""


def _clauses(question: str, language: str) -> list[str]:
    """Split into sentences; a clause with a question word after a comma is one, too."""
    if known := _SENTENCES.get(language):
        question = known.asks_after_comma.sub(".", question)
    return _SENTENCE_END.split(question)


def without_context(question: str, language: str) -> str:
    """Return the question without sentences about the reader ("I have an exam tomorrow.").

    Unchanged unless another sentence asks, with a question mark or a question word, and has no
    anaphor, which would refer to them.
    """
    known = _SENTENCES.get(language)
    if known is None:
        return question
    sentences = _clauses(question.strip(), language)
    asking = [
        one for one in sentences if one.rstrip().endswith(_QUESTION_MARKS) or known.asks.match(one)
    ]
    asked = {*asking}
    kept = [one for one in sentences if one in asked or not known.is_about_reader.match(one)]
    refers = not asking or has_anaphor("\n".join(asking), language)
    return question if refers or len(kept) == len(sentences) else "\n".join(kept)


_SHORT_WORD = 3
"""Letters of words that may be in lower case in a title: "of", "the"."""


@dataclass(frozen=True, slots=True)
class SearchText:
    text: str
    words: tuple[str, ...]


def search_text(question: str, language: str) -> SearchText:
    """Return the text to search for instead of a question about a book in `language`.

    It lacks these phrases, in the languages that are known here, unless it has no other words.
    White space is single blanks. A sentence in capitals or in title case is in lower case, because
    the embedders distinguish them. A clause that asks is a sentence, so that it may ask for a
    definition.
    """
    clauses = _clauses(_BEFORE_MARK.sub("", question), language)
    sentences = [_in_lower_case(" ".join(one.split()), language) for one in clauses]
    pattern = _pattern(language)
    kept = [pattern.sub(" ", one) if pattern else one for one in sentences]
    searched = " ".join(" ".join(kept).split())
    if not words(searched):
        searched = " ".join(sentences).strip()
    return SearchText(searched, tuple(words(searched)))


def _in_lower_case(sentence: str, language: str) -> str:
    """Lower the words of a sentence in capitals or in title case; "HashMap" and "DNA" keep theirs.

    In title case all longer words, and a common one after the first, have a capital.
    """
    said = sentence.split()
    if sentence.isupper():
        return sentence.lower() if sum(map(str.isupper, said)) > 1 else sentence
    common = FUNCTION_WORDS.get(language, frozenset())
    titled = not any(word[0].islower() for word in said if len(word) > _SHORT_WORD) and any(
        word.istitle() and len(word) > 1 and word.lower() in common for word in said[1:]
    )
    return " ".join(word.lower() if titled and word.istitle() else word for word in said)
