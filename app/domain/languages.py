"""Languages: a table of their words, and detection from a text's words and script.

Codes are ISO 639-1. The phrases of answers are in `app.domain.answering.notices`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.domain.terms import words


@dataclass(frozen=True, slots=True)
class Language:
    """Words of a language, in lower case; a set may be empty."""

    name: str
    """The language's name for itself."""
    words: frozenset[str]
    """Function words, apostrophes dropped ("dont"): the index leaves them out, and the language of
    a text is detected by them.

    The lists are short: other frequent words have a low weight by their document frequency. Words
    with a meaning in programming books (if, while, not, match, self) are none of them.
    """
    elisions: frozenset[str]
    """Articles and prepositions before an apostrophe: the l of "l'eau"."""


def _language(name: str = "", words: str = "", elisions: str = "") -> Language:
    return Language(name, frozenset(words.split()), frozenset(elisions.split()))


LANGUAGES = {
    "en": _language(
        name="English",
        words="""
            a an the this that these those here there i me my mine we us our ours you your yours he
            him his she her hers it its they them their theirs myself yourself himself herself
            itself ourselves themselves who whom whose what which when where why how and or but nor
            so than then as of at by for from in into on onto to with about between through during
            before after above below over under am is are was were be been being isnt arent wasnt
            werent have has had having havent hasnt hadnt do does did doing dont doesnt didnt can
            could may might must shall should will would cant cannot couldnt shouldnt wont wouldnt
            im ive youre youve theyre theyve weve id ill youll theyll whats thats whos hows wheres
            theres heres also just such some any each other both few more most own same too very
            please
        """,
    ),
    "es": _language(
        name="español",
        words="""
            el la los las un una unos unas lo al del este esta esto estos estas ese esa eso esos
            esas aquel aquella aquello aquellos aquellas yo me mi mis mí tú tu tus te ti él ella
            ello ellos ellas le les se sí su sus nos nosotros nosotras nuestro nuestra nuestros
            nuestras vosotros os usted ustedes que qué quien quién quienes quiénes cual cuál cuales
            cuáles cuando cuándo como cómo donde dónde cuanto cuánto cuanta cuánta cuantos cuántos
            cuantas cuántas porque por para y e o u pero ni si de a ante bajo con contra desde en
            entre hacia hasta según sin sobre tras es son era eran fue fueron ser sido siendo está
            están estaba estaban estar ha han había habían haber hay he hemos tiene tienen tenía
            tener puede pueden podía poder debe deben hace hacen más muy también ya así otro otra
            otros otras todo toda todos todas algún alguna algunos algunas cada mismo misma
        """,
    ),
    "de": _language(
        name="Deutsch",
        words="""
            der die das den dem des ein eine einen einem einer eines dieser diese dieses diesen
            diesem jener jene jenes ich mich mir mein meine du dich dir dein deine er ihn ihm sein
            seine sie ihr ihre ihren ihrem ihrer es wir uns unser unsere euch euer man sich wer wen
            wem wessen was welcher welche welches welchen welchem wann wo woher wohin warum wieso
            weshalb wie wieviel und oder aber denn sondern als dass daß ob weil wenn so ab an auf
            aus bei beim bis durch für gegen in im ins mit nach ohne seit über um unter von vom vor
            zu zum zur zwischen ist sind war waren bin bist sei wäre gewesen sein hat haben hatte
            hatten habe gehabt wird werden wurde wurden worden würde kann können konnte könnte muss
            müssen musste soll sollen sollte darf dürfen mag will wollen auch nur noch schon sehr da
            hier dort dann dabei damit dazu davon macht machen gibt
        """,
    ),
    "fr": _language(
        name="français",
        words="""
            le la les l un une des du de d au aux ce cet cette ces cela ça ceci je j me m moi mon ma
            mes tu te t toi ton ta tes il elle on lui se s soi son sa ses nous notre nos vous votre
            vos ils elles eux leur leurs y en qui que qu quoi quel quelle quels quelles dont où
            quand comment pourquoi combien lequel laquelle lesquels lesquelles estce et ou mais donc
            or ni car si comme à dans par pour sur sous avec sans entre vers chez depuis pendant
            avant après est sont était étaient être été étant suis es sommes êtes sera seront serait
            soit a ai as ont avait avaient avoir avons avez eu aura peut peuvent pouvait doit
            doivent fait font faire ne n pas plus très aussi même tout toute tous toutes autre
            autres c ainsi
        """,
        elisions="l d j m t s c n qu jusqu lorsqu puisqu",
    ),
    "pt": _language(
        name="português",
        words="""
            o a os as um uma uns umas do da dos das no na nos nas ao à aos às pelo pela pelos pelas
            num numa este esta isto estes estas esse essa isso esses essas aquele aquela aquilo eu
            me mim meu minha meus minhas tu te ti teu tua você vocês ele ela eles elas lhe lhes se
            si seu sua seus suas nós nosso nossa nossos nossas que quê quem qual quais quando como
            onde quanto quanta quantos quantas porque porquê e ou mas nem se de em por para com sem
            sobre entre até desde contra sob é são era eram foi foram ser sido sendo está estão
            estava estavam estar há ha tem têm tinha tinham ter havia haver pode podem podia poder
            deve devem faz fazem mais muito também já assim outro outra outros outras todo toda
            todos todas cada mesmo mesma
        """,
    ),
    "it": _language(
        name="italiano",
        words="""
            a al che chi come con cosa cui da dei del della di dove e fra gli i il in la le lo nel
            nella per perché posso può quale quali quando si sono su tra un una è fa fanno faccio
            quanti quante
        """,
        elisions="l d c s un cos dell nell all sull dall quell",
    ),
    "ur": _language(
        name="اردو",
        words="""
            اور اس ایک سے میں نے نہیں وہ پر کا کی کے کو کہ کیا کیوں کیسے کون کب کہاں ہیں ہے یہ
        """,
    ),
    "ru": _language(
        name="русский",
        words="""
            и а но или да же ли бы б не ни что чтобы как когда где куда откуда почему зачем сколько
            если то так я меня мне мной мы нас нам нами ты тебя тебе тобой вы вас вам вами он его
            ему им нем она ее ей ней оно они их ими них себя себе свой своя свое свои своего своих
            этот эта это эти этого этой этому этом этим этих тот та те того той тому том тем тех кто
            кого кому кем чем чего чему какой какая какое какие каких какого какую каким каком
            который которая которое которые которого которой которых которым в во на с со к ко по о
            об от ото до из изо за для без при про у над под перед между через быть был была было
            были есть будет будут является являются может могут можно также еще уже только очень там
            тут здесь весь вся все всех
        """,
    ),
    "ar": _language(
        name="العربية",
        words="""
            في من إلى الى على عن مع بين حتى منذ عند لدى خلال قبل بعد فوق تحت حول دون ضد و أو او ثم
            لكن بل أن ان إن أنّ إنّ كي لكي إذا اذا لو لأن لان حيث كما مثل هذا هذه ذلك تلك هؤلاء
            أولئك هنا هناك الذي التي الذين اللذان اللتان اللاتي أنا انا نحن أنت انت أنتم هو هي هم هن
            هما ما ماذا من متى أين اين كيف لماذا كم أي اي هل كان كانت كانوا يكون تكون يكونون ليس
            ليست قد لقد سوف لا لم لن به بها له لها لهم فيه فيها منه منها عليه عليها عنه عنها إليه
            إليها وهو وهي كل بعض غير أيضا ايضا جدا
        """,
    ),
    "hi": _language(
        name="हिन्दी",
        words="""
            का के की को में से पर ने तक और या एवं तथा लेकिन परंतु पर कि तो ही भी न नहीं यह वह ये वे
            इस उस इन उन इसका उसका इसके उसके इसकी उसकी इसे उसे इनका उनका इनके उनके मैं मुझे मेरा मेरे
            मेरी हम हमें हमारा हमारे हमारी तुम आप आपका आपके आपकी अपना अपने अपनी कौन क्या कब कहाँ
            कहां क्यों कैसे कैसा कितना कितने कितनी किस किसे किसने किसका किसके जो जिस जिसे जिसका
            जिसके जिन है हैं था थे थी हो होता होते होती होना हुआ हुए हुई हूँ रहा रहे रही गया गए गई
            जाता जाते जाती कर करना करने करता करते करती किया किए लिए साथ द्वारा बाद पहले एक कुछ सब
            सभी बहुत
        """,
    ),
    "zh": _language(name="中文"),
    "ja": _language(name="日本語"),
    "ca": _language(
        elisions="l d m t s n",
    ),
}

FUNCTION_WORDS = {code: one.words for code, one in LANGUAGES.items() if one.words}

_KANA = re.compile("[\u3040-\u30ff]")
_SCRIPTS = {
    "zh": re.compile("[\u4e00-\u9fff\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
}
"""The most frequent language of each script."""
_WRITTEN_LIKE = {
    **dict.fromkeys(("be", "bg", "kk", "mk", "mn", "sr", "uk"), "ru"),
    **dict.fromkeys(("fa", "ps", "ur"), "ar"),
    **dict.fromkeys(("mr", "ne"), "hi"),
    "ja": "zh",
}
"""Other languages of these scripts."""
_MIN_KANA = 0.1
"""Minimum share of kana among the Han and kana characters of a Japanese text."""

MIN_DETECTION_WORDS = 5
"""Minimum number of words to detect a language: in fewer, two matches may be typing errors."""


def language_of_words(found: Sequence[str], default: str) -> str:
    """Return the language with most function words of a text; `default` if no other has more.

    A `default` without a list of them, such as "nl", shares some with other languages ("in", "is"):
    another one needs over a third of the words then.
    """
    counts = {code: sum(map(known.__contains__, found)) for code, known in FUNCTION_WORDS.items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > counts.get(default, len(found) // 3) else default


def language_of_question(found: Sequence[str], book: str) -> str:
    """Return the language of a question about a book in the language `book`.

    It is detected from the question's words, else from its script if the book has another one. Half
    of the letters decide; a fifth if it has no function word of the book's ("computed是什么").
    """
    detected = language_of_words(found, book)
    if detected != book:
        return detected
    common = any(map(FUNCTION_WORDS.get(book, frozenset()).__contains__, found))
    script = _language_of_script("".join(found), 0.5 if common else 0.2)
    same = _WRITTEN_LIKE.get(script, script) == _WRITTEN_LIKE.get(book, book)
    return script if script and (not same or script == "ja") else book


def _language_of_script(text: str, least: float) -> str:
    """Return the most frequent language of the script of more than this share of the letters.

    "" if that is no script of the table, such as Latin.
    """
    letters = sum(map(str.isalpha, text))
    for code, script in _SCRIPTS.items():
        found = len(script.findall(text))
        if found > least * letters:
            kana = len(_KANA.findall(text)) if code == "zh" else 0
            return "ja" if kana > _MIN_KANA * found else code
    return ""


def clearly_another_language(text: str, language: str) -> bool:
    """Whether another language is detected from enough words.

    "wat is fotosynthesis" has too few: it may be misspelled English as well as Dutch.
    """
    found = list(words(text))
    detected = language_of_words(found, language)
    return detected != language and len(found) >= MIN_DETECTION_WORDS


def language_of_text(text: str) -> str:
    """The language of a long text, by its function words, else by its script; Latin is "en"."""
    detected = language_of_words(words(text), "en")
    return (detected == "en" and _language_of_script(text, 0.5)) or detected


def without_words(text: str, common: Collection[str]) -> str:
    """The text without its `common` words; unchanged if it has no others."""
    kept = [run for run in text.split() if not all(word in common for word in words(run))]
    return " ".join(kept) or text
