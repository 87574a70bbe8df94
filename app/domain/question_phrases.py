"""Words and phrases of a question that say nothing of its subject: a table by language."""

from __future__ import annotations

from typing import NamedTuple


class QuestionPhrases(NamedTuple):
    """Regular expressions, in which "'" is any apostrophe."""

    opening: str
    """Phrases at the beginning of a sentence."""
    closing: str
    """Phrases at its end."""
    filler: str
    """Words anywhere in it."""
    asks: str
    """Words that begin a sentence that asks."""
    asks_after_comma: str
    """The same after a comma, as in "my exam is soon, what is osmosis", but in no relative clause.
    """
    reader: str
    """Words that begin a sentence about the reader."""
    frame: str = ""
    """Words that frame a term in a question or a heading, separated by blanks."""
    comparison: str = ""
    """Words that frame two terms in a question; in a heading they belong to it."""
    anaphora: str = ""
    """Words that refer to an earlier sentence, separated by blanks; none is an article, too."""


QUESTION_PHRASES = {
    "en": QuestionPhrases(
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
        asks="what|how|why|where|when|who|which",
        asks_after_comma="what|how|why",
        reader="i|i'.{1,2}|my|we|our",
        frame="define defined definition mean means meaning meant term word concept explain stand"
        " describe tell work works point purpose idea basics introduction",
        comparison="difference differences differ different vs versus compare compared comparison"
        " same instead relate related",
        # The pronoun "that" ("Is that slower?", "the name of that"), not the conjunction or
        # relative pronoun ("the code that merges").
        anaphora="it its itself they them their theirs he him his she her hers this these those"
        " there one ones same such so then else other others another more"
        r" (?:^|(?:about|after|and|are|as|at|before|but|by|can|could|did|do|does|for|from|how|if|in"
        r"|into|is|like|of|on|or|than|to|was|were|when|why|will|with|would)\s)\W*that",
    ),
    "de": QuestionPhrases(
        """hallo(?!,? welt)|hi|hey|also|(?:kurze )?frage:|(?:kannst|könntest) du(?: mir)?
        |(?:können sie|kann jemand|kann mir jemand)(?: mir)?|ich (?:verstehe|weiß|kapiere) nicht
        |(?:sag|erklär|erkläre|zeig|gib|hilf) mir
        |(?:gibt es )?(?:das|die|eine?) (?:diagramm|abbildung|bild|zeichnung|skizze|grafik)
         [ ](?:von|vom|zu|zum|zur)""",
        """danke|noch ?mal|erklären|beschreiben|einfach erklärt|in (?:einfachen|eigenen) worten
        |was ist das|ich (?:verstehe|kapiere) (?:es|das) nicht""",
        "bitte|eigentlich|denn|überhaupt|wirklich",
        asks="was|wie|warum|wo|wann|wer|ist|sind",
        asks_after_comma="was|wie|warum",
        reader="ich|mein.{0,2}|wir|unser.{0,2}",
        frame="definiere definition bedeutet bedeutung heißt begriff wort versteht erkläre"
        " funktioniert funktionieren zweck idee grundlagen einführung",
        comparison="unterschied unterschiede unterscheiden anders vs versus vergleich vergleiche"
        " dasselbe",
        # The pronoun "das" ("Wozu dient das?"), not the article; "noch ein" is "another".
        anaphora="er sie es ihn ihm ihr ihnen sein seine ihre dies dieser diese dieses da dort"
        " dabei dazu damit dafür davon derselbe andere anderen anderes weitere weiteren weiteres"
        " mehr dann so"
        r" das(?=\W*$|\s(?:denn|eigentlich|genau|gut|überhaupt)\b) noch(?=\seine?[nrs]?\b)",
    ),
    "es": QuestionPhrases(
        """hola(?!,? mundo)|oye|(?:tengo )?una (?:pregunta|duda):|dime|explícame|muéstrame
        |(?:alguien )?(?:me )?(?:puedes|puede|podrías|podría) (?:explicar|decir|dar)(?:me)?
        |(?:alguien )?me explicas?|no (?:entiendo|sé)(?: bien| nada)?(?: de)?
        |quiero (?:saber|entender)|en qué capítulo(?: se)? habla(?: de)?|[qk] es
        |(?:el|la|una?) (?:diagrama|figura|imagen|ilustración|dibujo) (?:de|del)""",
        """gracias|otra vez|en resumen|en (?:palabras|términos) (?:simples|sencillos|sencillas)
        |no (?:lo )?entiendo(?: nada)?|me ayudas|qué es""",
        "por favor|porfa|realmente|exactamente",
        asks="qu[eé]|c[oó]mo|cu[aá]l(?:es)?|(?:por|para) qu[eé]|es|son",
        asks_after_comma="qu[eé] (?:es|son)|c[oó]mo|por qu[eé]",
        reader="yo|mis?|nosotros|nuestr.s?",
        frame="define definir definición significa significado término palabra concepto explica"
        " funciona funcionan sirve sirven idea introducción",
        comparison="diferencia diferencias difieren diferente versus comparar compara comparación"
        " mismo",
        anaphora="él ella ello ellos ellas su sus suyo suya esto eso esta este ese esa estos estas"
        " esos esas ahí allí mismo misma otro otra otros otras más entonces",
    ),
    "fr": QuestionPhrases(
        """bonjour(?!,? (?:le )?monde)|salut|(?:j'ai )?une question:|dis-moi|explique-moi|montre-moi
        |(?:tu |vous |quelqu'un )?(?:peux|peut|pouvez|pourrais|pourriez)
        (?:-tu|-vous)? (?:m'expliquer|expliquer|me dire)|je (?:ne )?(?:comprends|sais) pas|c koi
        |(?:où|dans quel chapitre)(?: est-ce qu'on)? parle(?: de)?
        |(?:le|la|une?) (?:schéma|figure|diagramme|illustration|dessin) (?:de|du|des)""",
        """merci|encore une fois|en bref|en (?:mots|termes) simples|simplement
        |je (?:ne )?comprends pas|c'est quoi""",
        "s'il (?:te|vous) plaît|svp|stp|exactement|vraiment",
        asks="quoi|comment|pourquoi|qu'est-ce|c'est quoi|[àa] quoi|quel(?:le)?|est|sont",
        asks_after_comma="qu'est-ce|c'est quoi|quoi|comment|pourquoi",
        reader="je|j'.+?|mon|ma|mes|nous|notre|nos",
        frame="définir définis définition signifie signification veut dire terme mot concept"
        " explique fonctionne fonctionnent sert servent idée introduction",
        comparison="différence différences différent versus comparer compare comparaison même",
        anaphora="il elle ils elles lui leur leurs son sa ses en y ce cela ça ceci celui celle ceux"
        " celles même autre autres plus alors",
    ),
    "it": QuestionPhrases(
        """ciao(?!,? mondo)|salve|scusa|scusate|(?:ho )?una domanda:|dimmi|spiegami|mostrami
        |(?:qualcuno )?(?:mi )?(?:puoi|potresti|può|potete) (?:spiegare|spiegarmi|dire|dirmi)
        |qualcuno (?:mi )?(?:spiega|sa)|(?:non|nn) (?:capisco|so|ho capito)
        |in (?:quale|che) capitolo si parla(?: di)?""",
        """grazie|di nuovo|in breve|in parole semplici|non (?:lo )?capisco|qualcuno mi aiuta
        |(?:che )?cos'è""",
        "per favore|esattamente|davvero",
        asks="(?:che )?cosa|(?:che )?cos'.|come|perch[eé]|è|sono",
        asks_after_comma="(?:che )?cosa|(?:che )?cos'.|perch[eé]",
        reader="io|(?:il )?mio|(?:la )?mia|noi|(?:il )?nostro",
        frame="definire definisci definizione significa significato termine parola concetto"
        " spiega funziona funzionano serve servono idea introduzione",
        comparison="differenza differenze diverso versus confronta confronto stesso",
    ),
    "pt": QuestionPhrases(
        """olá(?!,? mundo)|oi|(?:tenho )?uma (?:pergunta|dúvida):|(?:me )?(?:diga|explica|mostra)
        |(?:você |vc |alguém )?(?:me )?(?:pode|poderia) (?:me )?(?:explicar|dizer)|oq (?:é|e)
        |(?:eu )?não (?:entendo|entendi|sei)(?: bem| nada)?(?: de)?|(?:mostre|diga|explique)-me
        |em que capítulo(?: se)? fala(?: de)?""",
        """obrigad[oa]|de novo|outra vez|em resumo|não entendi|me ajuda|o que é
        |(?:em|de) (?:palavras|termos|um jeito|uma forma) simples""",
        "por favor|pfv|exatamente|realmente",
        asks="(?:o )?que|como|qual|(?:por|para|pra) que|é|s[aã]o",
        asks_after_comma="o que (?:é|s[aã]o)|(?:por|pra) que",
        reader="eu|(?:o )?meu|(?:a )?minha|n[oó]s|(?:o )?nosso",
        frame="defina definir definição significa significado termo palavra conceito explique"
        " funciona funcionam serve servem ideia introdução",
        comparison="diferença diferenças diferente versus comparar compare comparação mesmo",
        anaphora="ele ela eles elas lhe lhes seu sua seus suas isso isto este esta esse essa estes"
        " estas esses essas aí ali lá mesmo mesma outro outra outros outras mais então",
    ),
}

_NONE = QuestionPhrases("", "", "", "", "", "")

CHINESE_AND_JAPANESE_PHRASES = """
    什么是 是什么意思 是什么 什么意思 什么 请问 怎么样 怎么用 怎么 怎样 如何 为什么 为何 是否 有哪些
    哪些 哪个 解释一下 介绍一下 告诉我
    とは何ですか とは何でしょうか とはなんですか とは何か とは何 とは って何ですか って何 は何ですか
    何ですか なんですか について教えてください について教えて を教えてください を教えて
    教えてください 教えて について説明してください を説明してください 説明してください について
    はどういう意味ですか どういう意味ですか はどうやって どうやって はどのように どのように
    はどうすれば どうすれば どうしたら はなぜ なぜ どうして
"""
CHINESE_OR_JAPANESE_END = (
    r"(?:吗|呢|のですか|ですか|ますか|でしょうか|ください)?(?:[？！。?!]+|(?=[，,\s])|$)"
)
"""Elsewhere these are parts of words, such as 吗啡."""


def phrases_of(language: str) -> QuestionPhrases:
    """Return the phrases of a language; empty ones if it is not known here."""
    return QUESTION_PHRASES.get(language, _NONE)
