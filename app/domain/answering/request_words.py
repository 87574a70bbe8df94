"""The words of requests for a part of the book, by language."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class IntentKind(StrEnum):
    SUMMARY = "summary"
    EXERCISE = "exercise"
    QUIZ = "quiz"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of one language; all words as returned by `words`.

    If the language is written without blanks, texts are split into these words, longest first.
    """

    chapter: frozenset[str]
    page: frozenset[str]
    this: frozenset[str]
    on: frozenset[str]
    """Words between "chapter" and its topic."""
    last: frozenset[str]
    """Words after the topic."""
    exercise: frozenset[str]
    other: frozenset[str]
    """Other words that a request may contain."""
    kinds: dict[IntentKind, frozenset[str]]
    """Words of each kind; a request has at least one of them."""
    alone: dict[IntentKind, tuple[frozenset[str], ...]]
    """Sets of words that make a request without naming a part of the book, in any order."""
    polite: frozenset[str]
    """Other words that such a request may contain."""
    spaced: bool = True
    """Whether the language writes blanks between words."""

    def every(self) -> frozenset[str]:
        """Return all words."""
        named = self.chapter | self.page | self.this | self.on | self.exercise
        alone = (words for listed in self.alone.values() for words in listed)
        return named.union(self.other, self.polite, *self.kinds.values(), *alone)


def _vocabulary(
    kinds: dict[IntentKind, str],
    alone: dict[IntentKind, str],
    *,
    spaced: bool = True,
    **listed: str,
) -> Vocabulary:
    """`alone` has the sets of words of a kind between commas."""
    return Vocabulary(
        kinds={kind: frozenset(words.split()) for kind, words in kinds.items()},
        alone={
            kind: tuple(frozenset(words.split()) for words in sets.split(","))
            for kind, sets in alone.items()
        },
        spaced=spaced,
        **{field: frozenset(words.split()) for field, words in listed.items()},
    )


VOCABULARIES = {
    "en": _vocabulary(
        {
            IntentKind.SUMMARY: "summarise summarize summary overview recap outline sum about gist"
            " in cover covers contain contains explain learn points takeaways",
            IntentKind.EXERCISE: "solve answer do help solution hint",
            IntentKind.QUIZ: "quiz test exercises questions",
        },
        {
            IntentKind.SUMMARY: "summarise, summarize, sum up, give summary, write summary,"
            " give overview, give recap, tl dr",
            IntentKind.QUIZ: "quiz me, test me, give quiz, give me questions, ask me questions,"
            " give me exercises",
        },
        chapter="chapter ch",
        page="page",
        this="this current",
        on="on about called titled",
        last="about cover covers contain contains please for me up in short",
        exercise="exercise problem",
        other="please can could would you me i us we a an the of in from for to on up with what is"
        " s give show tell ask write make whole short brief quick some few practice book my"
        " does are will main key",
        polite="please can could would you me us a an the this for on up want to now short brief"
        " quick some few practice",
    ),
    "de": _vocabulary(
        {
            IntentKind.SUMMARY: "fasse fass zusammenfassung zusammenfassen zusammen überblick worum"
            " handelt wovon behandelt steht inhalt"
            " erkläre erklär thema hauptpunkte wichtigste wichtigsten punkte",
            IntentKind.EXERCISE: "löse lösen lösung hilf tipp",
            IntentKind.QUIZ: "quiz quizfragen frag frage fragen prüfe teste abfragen übungen"
            " aufgaben übungsaufgaben",
        },
        {
            IntentKind.SUMMARY: "fasse zusammen, fass zusammen, zusammenfassen,"
            " gib zusammenfassung, gib überblick, schreib zusammenfassung",
            IntentKind.QUIZ: "frag ab, frage ab, abfragen, teste mich, prüfe mich, stelle fragen,"
            " gib aufgaben, gib übungen",
        },
        chapter="kapitel kapitels",
        page="seite",
        this="dieses diesem dieser diese aktuelle aktuellen",
        on="über zu zum zur",
        last="zusammen handelt ab bitte kurz",
        exercise="übung aufgabe übungsaufgabe",
        other="bitte kannst könntest du mir mich ich uns eine einen ein den die das der des von vom"
        " aus in im für zu zum zur über auf bei mit gib zeig zeige stelle mach mache geht es ab"
        " was ist wird kurze kurz kurzen paar",
        polite="bitte kannst könntest du mir mich uns das dies eine einen ein die ein paar mal kurz"
        " kurze kurzen jetzt",
    ),
    "es": _vocabulary(
        {
            IntentKind.SUMMARY: "resume resumir resumen resúmeme resumeme sintetiza trata"
            " contiene dice hay va explica explícame tema puntos",
            IntentKind.EXERCISE: "resuelve resolver solución ayúdame pista",
            IntentKind.QUIZ: "examíname pregúntame cuestionario preguntas ejercicios",
        },
        {
            IntentKind.SUMMARY: "resume esto, resumir esto, resúmeme, haz resumen, hazme resumen,"
            " dame resumen",
            IntentKind.QUIZ: "examíname, pregúntame, hazme preguntas, hazme cuestionario,"
            " dame ejercicios",
        },
        chapter="capítulo",
        page="página",
        this="este esta",
        on="sobre",
        last="por favor trata",
        exercise="ejercicio problema",
        other="por favor puedes podrías me yo un una el la los las de del en con para sobre a dame"
        " haz hazme muéstrame qué cuál es breve corto unas unos",
        polite="por favor puedes podrías me un una unas unos el la esto breve corto ahora",
    ),
    "fr": _vocabulary(
        {
            IntentKind.SUMMARY: "résume résumer résumé résumez parle synthèse"
            " traite contient dit y explique sujet thème points",
            IntentKind.EXERCISE: "résous résoudre résolvez solution aide indice",
            IntentKind.QUIZ: "quiz interroge questions exercices",
        },
        {
            IntentKind.SUMMARY: "résume, résumez, résumer, fais résumé, donne résumé",
            IntentKind.QUIZ: "interroge moi, pose moi questions, donne moi exercices,"
            " fais moi quiz",
        },
        chapter="chapitre",
        page="page",
        this="ce cette",
        on="sur",
        last="s il te vous plaît parle traite",
        exercise="exercice problème",
        other="s il te vous plaît peux tu pouvez moi me un une le la l les de d du des en dans pour"
        " sur à donne fais montre quoi qu est que quel a t bref court",
        polite="s il te vous plaît peux tu pouvez moi me un une le la ceci cela ça des de bref"
        " court maintenant",
    ),
    "zh": _vocabulary(
        {
            IntentKind.SUMMARY: "总结 概括 概述 归纳 摘要 大意 内容 重点 要点 讲 讲了 讲的"
            " 讲解 讲述 说了 介绍 解释 總結 概述 歸納 內容 重點 要點 講 講了 講的"
            " 講解 講述 說了 介紹 解釋",
            IntentKind.EXERCISE: "解 解答 解决 做 答案 提示 怎么做 解決 怎麼做",
            IntentKind.QUIZ: "测验 测试 考考 考 出题 提问 问题 题 题目 练习 练习题 习题"
            " 測驗 測試 出題 提問 問題 題 題目 練習 練習題 習題",
        },
        {
            IntentKind.SUMMARY: "总结, 概括, 给我 摘要, 總結, 給我 摘要",
            IntentKind.QUIZ: "考考 我, 考 我, 测验 我, 出题, 出 题, 出 题目, 出 练习题,"
            " 測驗 我, 出題, 出 題, 出 題目, 出 練習題",
        },
        chapter="章 章节 章節",
        page="页 页面 网页 頁 頁面 網頁",
        this="这 这一 这个 本 当前 该 這 這一 這個 當前 該",
        on="",
        last="",
        exercise="练习 习题 练习题 题 練習 習題 練習題 題",
        other="请 请问 你 我 帮 帮我 给 给我 能 能否 可以 第 的 了 一下 一个 一些 几个 几道 出 写"
        " 对 把 关于 主要 简要 简短 简单 是 什么 哪些 有 里 中 吗 吧"
        " 請 請問 幫 幫我 給 給我 一個 幾個 幾道 寫 對 關於 簡要 簡短 簡單 什麼 裡 嗎",
        polite="请 你 帮 帮我 给 给我 能 能否 可以 一下 一个 一些 几个 几道 吗 吧 简要 简短 简单"
        " 請 幫 幫我 給 給我 一個 幾個 幾道 嗎 簡要 簡短 簡單",
        spaced=False,
    ),
    "ja": _vocabulary(
        {
            IntentKind.SUMMARY: "要約 まとめ まとめて 概要 要点 内容 ポイント 何について 何が"
            " 書いて 書かれて 説明して",
            IntentKind.EXERCISE: "解いて 解き方 答え ヒント 教えて",
            IntentKind.QUIZ: "クイズ テスト 出題 問題を出して 質問して 練習問題を出して",
        },
        {
            IntentKind.SUMMARY: "要約 して, まとめて, 要約 教えて, ページ 要約",
            IntentKind.QUIZ: "クイズ 出して, 問題を出して, 出題 して, 質問して, 練習問題を出して",
        },
        chapter="章",
        page="ページ 頁",
        this="この 本 今の 現在の",
        on="",
        last="",
        exercise="問題 練習問題 演習 演習問題 練習",
        other="第 を の から は が に について で です か して ください 下さい 教えて"
        " 出して 作って もらえますか くれますか いますか あります 何 簡単に 短く",
        polite="を の に ください 下さい もらえますか くれますか 簡単に 短く これ 何か",
        spaced=False,
    ),
}
