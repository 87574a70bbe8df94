"""The text that is searched for instead of a question: what is left of it is about its subject.

In a search, the words of "can you explain osmosis to me, please" would count as words of the
subject, and rare ones ("thx") most of all. The languages that are indexed by pairs of characters
need this for every question: some pairs belong to such a phrase and others to the words beside it,
so stop words cannot be left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import compress
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


@dataclass(frozen=True, slots=True)
class _Phrases:
    """Regular expressions in which fillers may follow each blank."""

    opening: str
    """At the beginning of a sentence."""
    closing: str
    """At its end."""
    filler: str
    """Words that may stand inside a phrase, or after a word of `question_words`."""
    question_words: str
    """Question words, after which fillers are left out: "what exactly is"."""
    after_comma: str
    """Question words with which no relative clause begins."""
    reader: str
    """Words with which a sentence about the reader begins: "I have an exam tomorrow."."""


_PHRASES = {
    "en": _Phrases(
        opening=r"""
            (?:hey|hi|hello) there|hey|hi|hello[,.](?! world)|ok(?:ay)?|so(?: like)?|um|well[,.]
            |sorry|please|pls|plz|(?:i have )?(?:a )?(?:quick )?question:
            |(?:i have )?(?:a )?quick question
            |idk|dunno
            |(?:can|could|would) (?:you|u|someone|anyone)|do you know|does anyone know|any idea
            |i (?:do not|don'?t|cannot|can'?t|didn'?t|never) (?:understand|understood|get|got|know)
            |(?:i'?m|i am|i was|i) (?:confused|struggling|stuck|wonder|wondering)
            |(?:confused|struggling|stuck) (?:about|by|with|on)|not sure|no idea|i wanna know
            |(?:i'd like|i would like|i want|i need) to (?:know|understand|learn)
            |(?:i need )?help(?: me)? (?:with|to understand|understand|understanding)
            |(?:remind|tell|give|show) me
            |explain(?: to me)?|describe|wat is|wtf is|yo|what'?s (?:up|the deal) with
            |what (?:do i need to|should i) know about|i need info(?:rmation)? (?:on|about)
            |where (?:does|in) (?:the|this) book(?: (?:talk|speak|say something))?(?: about)?
            |what does (?:the|this) (?:book|chapter|text|author) (?:say|tell us) about
            |which (?:chapter|section|page) (?:covers|explains|describes|talks about|is about)
            |where can i (?:find|read|learn)(?: (?:more|something))?(?: about)?
            |according to (?:the|this) (?:book|chapter|text|author)
            |my (?:prof|professor|teacher) (?:asked|asks|says)(?: us)?:
            |(?:is there )?(?:the|an?|any) (?:diagram|figure|picture|illustration|drawing|sketch
            |photo) (?:of|for|showing|about)
            |in (?:simple|plain|easy) (?:words|terms|language|english)|in short
        """,
        closing=r"""
            please|pls|plz|bro|dude|thx|thanks|thank (?:you|u)|to me|for me|again|then|though
            |at all|anyway
            |or something|briefly|in (?:brief|short|detail)|in a nutshell|eli5|any idea
            |any help|like (?:i'?m|i am) (?:five|5|a child|a kid|a beginner)(?: years? old)?
            |looks? like
            |in (?:simple|simpler|plain|easy) (?:words|terms|language|english)|in layman'?s terms
            |in (?:your|my|other|your own|my own) words|what is it|what'?s that|what does it mean
            |i (?:do not|don'?t) (?:get|understand)(?: it| this| that)?
            |(?:i'?m|i am) (?:confused|lost)
            |can you (?:explain|help)(?: it| me)?|and why (?:does it matter|is it important)
        """,
        filler="really|actually|exactly|basically|literally|quite|just|still|even|also|please",
        question_words="what|how|why|where|when|who|which",
        after_comma="what|how|why",
        reader="i|i'.{1,2}|my|we|our",
    ),
    "de": _Phrases(
        opening=r"""
            hallo(?!,? welt)|hi|hey|bitte|also|ok(?:ay)?|(?:ich habe )?(?:ne |eine )?kurze frage
            |frage:|weißt du
            |(?:kannst|könntest) du(?: mir)?|können sie(?: mir)?|kann (?:mir )?jemand
            |ich (?:verstehe|weiß|kapiere|checke) nicht
            |(?:ich )?(?:möchte|will) (?:wissen|verstehen)
            |(?:sag|erklär|erkläre|zeig|gib|hilf) mir|keine ahnung
            |(?:gibt es )?(?:das|die|eine?) (?:diagramm|abbildung|bild|zeichnung|skizze|grafik)
            (?: (?:von|zu|zum|zur))
        """,
        closing=r"""
            bitte|danke|noch ?mal|noch einmal|und warum|erklären|beschreiben|einfach erklärt
            |in (?:einfachen|eigenen) worten|ich (?:verstehe|kapiere) (?:es|das) nicht
            |was ist das
        """,
        filler="bitte|mal|noch|genau|eigentlich|denn|überhaupt|nochmal|wirklich",
        question_words="was|wie|warum|wo|wann|wer|ist|sind",
        after_comma="was|wie|warum",
        reader="ich|mein.{0,2}|wir|unser.{0,2}",
    ),
    "es": _Phrases(
        opening=r"""
            hola(?!,? mundo)|oye|buenas|por favor|perdón|perdona|(?:tengo )?una (?:pregunta|duda):
            |tengo una (?:pregunta|duda)
            |(?:alguien )?(?:me )?(?:puedes|puede|podrías|podría)
            (?: (?:explicar|explicarme|decir|decirme|ayudarme con|dar))
            |(?:alguien |me |alguien me )(?:explicas?|sabe)|¿?sabes
            |no (?:entiendo|comprendo|sé|me queda claro)(?: bien| nada)?(?: de)?
            |(?:quiero|quisiera|me gustaría) (?:saber|entender)
            |(?:ayúdame|ayuda) (?:con|a entender)|(?:dime|explícame|muéstrame|dame)
            |[qk] (?:es|son|significa)|[xp]q
            |(?:el|la|una?) (?:diagrama|figura|imagen|ilustración|dibujo) (?:de|del)
            |(?:dónde|en qué capítulo)(?: se)? (?:habla|explica)(?: el libro)?(?: de)?
        """,
        closing=r"""
            por favor|porfa|gracias|otra vez|de nuevo|exactamente|brevemente|en resumen|en detalle
            |en (?:palabras|términos) (?:simples|sencillas|sencillos)|(?:y )?qué es
            |no (?:lo )?entiendo|ayuda|me ayudas|como si tuviera (?:5|cinco) años
        """,
        filler="por favor|realmente|exactamente|todavía|aún",
        question_words="qué|cómo|cuál|cuáles|por qué|para qué|es|son",
        after_comma="qué es|qué son|cómo|por qué",
        reader="yo|mis?|nosotros|nuestr.s?",
    ),
    "fr": _Phrases(
        opening=r"""
            bonjour(?!,? (?:le )?monde)|salut|slt|s'il (?:te|vous) plaît|svp|stp
            |(?:j'ai )?une (?:petite )?question:|j'ai une (?:petite )?question
            |(?:est-ce que )?(?:tu |vous |quelqu'un |qqn )?(?:peux|peut|pouvez|pourrais|pourrait
            |pourriez)(?:-tu|-vous)? (?:m'expliquer|expliquer|me dire|m'aider à comprendre)
            |(?:je )?(?:ne )?(?:comprends|sais|capte) (?:pas|rien)(?: à)?
            |(?:je n'ai |j'ai |g )(?:pas|rien) compris(?: à)?
            |(?:j'aimerais|je veux|je voudrais) (?:savoir|comprendre)
            |(?:dis|explique|montre|donne|dites|expliquez|montrez|donnez)-moi|aide-moi à comprendre
            |c koi|(?:ça|que) veut dire(?: quoi)?|pk
            |(?:le|la|une?) (?:schéma|figure|diagramme|illustration|dessin) (?:de|du|des)
            |(?:où|dans quel chapitre)(?: est-ce que)?(?: le livre| on) (?:parle|explique)(?: de)?
        """,
        closing=r"""
            s'il (?:te|vous) plaît|svp|stp|merci|encore une fois|exactement|en bref|en détail
            |en (?:mots|termes) simples|simplement|je (?:ne )?comprends pas|c'est quoi
            |(?:quelqu'un |qqn )?(?:peut|pouvez-vous|peux-tu) m'aider
        """,
        filler="exactement|vraiment|toujours|encore|donc",
        question_words="quoi|comment|pourquoi|qu'est-ce|c'est quoi|à quoi|quel|quelle|est|sont",
        after_comma="qu'est-ce|c'est quoi|quoi|comment|pourquoi",
        reader="je|j'.+?|mon|ma|mes|nous|notre|nos",
    ),
    "it": _Phrases(
        opening=r"""
            ciao(?!,? mondo)|salve|ragazzi|per favore|scusa|scusate
            |(?:ho )?una domanda:|ho una domanda
            |(?:qualcuno )?(?:mi )?(?:puoi|potresti|può|potrebbe|potete)
            (?: (?:spiegare|spiegarmi|dire|dirmi|aiutarmi con))
            |(?:qualcuno |mi |qualcuno mi )(?:spieghi|spiega|sa)
            |(?:non|nn) (?:capisco|so|ho capito|mi è chiaro)(?: bene| niente)?(?: di)?
            |(?:vorrei|voglio) (?:sapere|capire)|(?:dimmi|spiegami|mostrami|dammi)
            |(?:dove|in (?:quale|che) capitolo) si (?:parla|spiega)(?: di)?
            |(?:che|cosa) vuol dire|xké
        """,
        closing=r"""
            per favore|grazie|di nuovo|esattamente|in breve|in dettaglio|in parole semplici
            |non (?:lo )?capisco|(?:che )?cos'è|aiuto|qualcuno mi aiuta
        """,
        filler="esattamente|davvero|ancora|per favore",
        question_words="cosa|che cosa|cos'.|che cos'.|come|perché|è|sono",
        after_comma="(?:che )?cos'.|cosa|che cosa|perché",
        reader="io|(?:il )?mio|(?:la )?mia|noi|(?:il )?nostro",
    ),
    "pt": _Phrases(
        opening=r"""
            olá(?!,? mundo)|oi|por favor|desculpe|(?:tenho )?uma (?:pergunta|dúvida):
            |tenho uma (?:pergunta|dúvida)
            |(?:você |vc |alguém )?(?:me )?(?:pode|poderia|podes) (?:me )?(?:explicar|dizer
            |ajudar com)|(?:você|vc|alguém) sabe
            |(?:eu )?não (?:entendo|entendi|sei|consigo entender)(?: bem| nada)?(?: de)?
            |(?:eu )?(?:quero|queria|gostaria de) (?:saber|entender)
            |(?:diga|explique|mostre|dê)-me
            |(?:alguém )?(?:me )?(?:diga|explique|explica|mostre|mostra|dê)
            |(?:o |o)?q (?:é|e|eh|são)|pq|pra que
            |(?:onde|em que capítulo)(?: o livro| se) (?:fala|explica)(?: de)?
        """,
        closing=r"""
            por favor|pfv|obrigad[oa]|de novo|outra vez|exatamente|em resumo|em detalhes
            |(?:em|de) (?:palavras|termos|um jeito|uma forma|forma) simples|não entendi|o que é
            |me ajuda|pra mim|e (?:pra|para) que serve
        """,
        filler="exatamente|realmente|ainda|por favor",
        question_words="que|o que|como|qual|por que|para que|pra que|é|são",
        after_comma="o que é|o que são|por que|pra que",
        reader="eu|(?:o )?meu|(?:a )?minha|nós|(?:o )?nosso",
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
    return plain.replace("'", "['\u2019]")


# Compiling the patterns of all languages takes a tenth of a second, and most books have one.
@cache
def _pattern(language: str) -> re.Pattern[str] | None:
    """Compile for a sentence in which words are separated by single blanks."""
    if language in {"zh", "ja"}:
        return re.compile(_UNSPACED)
    if language not in _PHRASES:
        return None
    phrases = _PHRASES[language]
    filler = rf"(?:(?:{phrases.filler}) )*"
    question_words = _with_variants(phrases.question_words).split("|")
    after_word = "|".join(rf"(?<=\b{word})" for word in question_words)

    def spaced(alternatives: str) -> str:
        joined = re.sub(r"\s*\n\s*", "", alternatives)
        return _with_variants(joined).replace(" ", f" {filler}")

    opening, closing = spaced(phrases.opening), f"{spaced(phrases.closing)}|{phrases.filler}"
    return re.compile(
        # Possessive and atomic: a word may be a phrase and part of another, so that the number of
        # ways to split a question would grow exponentially.
        rf"(?:^|(?<!{_BREAK})(?={_BREAK}))(?:{_BREAK}*+(?>(?:{closing}){_WORD_END}))++{_BREAK}*+$"
        rf"|^(?:{_BREAK}*+{filler}(?:{opening}){_WORD_END})+{_BREAK}*"
        rf"|(?:{after_word})(?: (?:{phrases.filler}){_WORD_END})+",
        re.IGNORECASE,
    )


_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_NEVER = re.compile(r"(?!)")


@cache
def _beginning(words: str) -> re.Pattern[str]:
    """Match one of these words at the beginning of a sentence."""
    return re.compile(rf"\W{{0,3}}(?:{_with_variants(words)})\b", re.IGNORECASE)


@cache
def _comma_before(words: str) -> re.Pattern[str]:
    """Match the comma of "my exam is soon, what is osmosis"."""
    return re.compile(rf",(?=\s+(?:{_with_variants(words)})\b)", re.IGNORECASE)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?=.)|\n")
_BEFORE_MARK = re.compile(r"(?<=\w)\s+(?=[?!]\s*\Z)")
"""The blank of "Qu'est-ce que l'osmose ?", which makes the question mark a term."""


def _clauses(question: str, language: str) -> list[str]:
    """Split into sentences; a clause with a question word after a comma is one, too."""
    phrases = _PHRASES.get(language)
    if phrases:
        question = _comma_before(phrases.after_comma).sub(".", question)
    return _SENTENCE_END.split(question)


def without_context(question: str, language: str) -> str:
    """Return the question without sentences about the reader ("I have an exam tomorrow.").

    Unchanged unless another sentence asks, with a question mark or a question word, and has no
    anaphor, which would refer to them.
    """
    sentences = _clauses(question.strip(), language)
    phrases = _PHRASES.get(language)
    asks = _beginning(phrases.question_words) if phrases else _NEVER
    asking = [one.rstrip().endswith(_QUESTION_MARKS) or bool(asks.match(one)) for one in sentences]
    about_reader = _beginning(phrases.reader) if phrases else _NEVER
    kept = [
        one
        for one, is_asking in zip(sentences, asking, strict=True)
        if is_asking or not about_reader.match(one)
    ]
    asked = "\n".join(compress(sentences, asking))
    refers = not asked or has_anaphor(asked, language)
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
    question = _BEFORE_MARK.sub("", question)
    sentences = [" ".join(one.split()) for one in _clauses(question, language)]
    sentences = [_in_lower_case(one, language) for one in sentences]
    pattern = _pattern(language)
    kept = [pattern.sub(" ", one) if pattern else one for one in sentences]
    searched = " ".join(" ".join(kept).split())
    if found := tuple(words(searched)):
        return SearchText(searched, found)
    whole = " ".join(sentences).strip()
    return SearchText(whole, tuple(words(whole)))


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
