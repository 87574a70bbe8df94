"""How readers ask for a part of the book: the one table of these words, by language.

The words are as `words` returns them; those of Chinese in simplified characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from app.domain.terms import NUMERALS


class IntentKind(StrEnum):
    SUMMARY = "summary"
    EXERCISE = "exercise"
    QUIZ = "quiz"


@dataclass(frozen=True)
class RequestWords:
    """The words of one language, separated by blanks."""

    chapter: str
    page: str
    this: str
    exercise: str
    summary: str
    """A request for the summary of a chapter or page that it names has one of these words."""
    quiz: str
    solve: str
    summary_alone: str
    """Requests that name no part of the book, between commas; their words come in any order."""
    quiz_alone: str
    polite: str
    """Words that any request may contain."""
    other: str
    """Words that a request may contain that names a chapter, page or exercise."""
    on: str = ""
    """Words between "chapter" and its topic."""
    last: str = ""
    """Words after the topic."""
    spaced: bool = True
    """Whether the language writes blanks between words."""

    @cached_property
    def part(self) -> re.Pattern[str]:
        """Finds "this chapter", "chapter 4", "4th chapter", "chapter on mitosis"."""
        chapter, number = _any(self.chapter), self._number
        forms = [
            f"{_any(self.this)}~(?:(?P<chapter>{chapter})|{_any(self.page)})",
            f"{chapter}~(?P<number>{number})(?!~{number})",
            f"(?P<ordinal>{number})~{chapter}(?!~{number})",
        ]
        if self.on:
            ending = f"(?: {_any(self.last)})*+$"
            forms.append(rf"{chapter} {_any(self.on)} (?P<topic>\S.*?)(?={ending})")
        return self._compiled(forms)

    @cached_property
    def task(self) -> re.Pattern[str]:
        """Finds "exercise 2" and "exercise 4 2"."""
        number = self._number
        task = f"{_any(self.exercise)}~(?P<first>{number})(?: (?P<second>{number}))?(?!~{number})"
        return self._compiled([task])

    def words_of(self, text: str) -> frozenset[str]:
        """Return the words of a text; without blanks, the known ones, or the text if it has others.

        Of known words that begin at one place the longest is taken.
        """
        if self.spaced:
            return frozenset(text.split())
        found = self._known.findall(text)
        return frozenset(found if "".join(found) == text.replace(" ", "") else [text])

    @property
    def _number(self) -> str:
        if self.spaced:
            return r"\d{1,3}(?:st|nd|rd|th)?(?!\S)"
        return rf"(?:\d{{1,3}}(?!\d)|[{NUMERALS}]{{1,3}})"

    @cached_property
    def _known(self) -> re.Pattern[str]:
        named = (self.chapter, self.page, self.this, self.exercise, self.polite, self.other)
        alone = f"{self.summary_alone} {self.quiz_alone}".replace(",", " ")
        return re.compile(_any(" ".join((*named, self.summary, self.quiz, self.solve, alone))))

    def _compiled(self, forms: list[str]) -> re.Pattern[str]:
        """Compile alternatives in which ~ stands between words."""
        start, end, blank = (r"(?<!\S)", r"(?!\S)", " ") if self.spaced else (r"(?<!\d)", "", " ?")
        return re.compile(f"{start}(?:{'|'.join(forms)}){end}".replace("~", blank))


def _any(words: str) -> str:
    """Return an expression for one of these words, the longest first."""
    return f"(?:{'|'.join(sorted(words.split(), key=len, reverse=True))})"


REQUEST_WORDS = {
    "en": RequestWords(
        chapter="chapter ch",
        page="page",
        this="this current",
        exercise="exercise problem",
        summary="summarise summarize summary overview recap outline sum about gist in cover covers"
        " contain contains explain learn points takeaways",
        quiz="quiz test exercises questions",
        solve="solve answer do help solution hint",
        summary_alone="summarise, summarize, sum up, give summary, write summary, give overview,"
        " give recap, tl dr",
        quiz_alone="quiz me, test me, give quiz, give me questions, ask me questions,"
        " give me exercises",
        polite="please can could would you me us a an the this for on up want to now short brief"
        " quick some few practice",
        other="i we of in from with what is are s give show tell ask write make whole book my does"
        " will main key",
        on="on about called titled",
        last="about cover covers contain contains please for me up in short",
    ),
    "de": RequestWords(
        chapter="kapitel kapitels",
        page="seite",
        this="dieses diesem dieser diese aktuelle aktuellen",
        exercise="übung aufgabe übungsaufgabe",
        summary="fasse fass zusammenfassung zusammenfassen zusammen überblick worum handelt wovon"
        " behandelt steht inhalt erkläre erklär thema hauptpunkte wichtigste wichtigsten punkte",
        quiz="quiz quizfragen frag frage fragen prüfe teste abfragen übungen aufgaben"
        " übungsaufgaben",
        solve="löse lösen lösung hilf tipp",
        summary_alone="fasse zusammen, fass zusammen, zusammenfassen, gib zusammenfassung,"
        " gib überblick, schreib zusammenfassung",
        quiz_alone="frag ab, frage ab, abfragen, teste mich, prüfe mich, stelle fragen,"
        " gib aufgaben, gib übungen",
        polite="bitte kannst könntest du mir mich uns das dies eine einen ein die ein paar mal kurz"
        " kurze kurzen jetzt",
        other="ich den der des von vom aus in im für zu zum zur über auf bei mit gib zeig zeige"
        " stelle mach mache geht es ab was ist wird",
        on="über zu zum zur",
        last="zusammen handelt ab bitte kurz",
    ),
    "es": RequestWords(
        chapter="capítulo",
        page="página",
        this="este esta",
        exercise="ejercicio problema",
        summary="resume resumir resumen resúmeme resumeme sintetiza trata contiene dice hay va"
        " explica explícame tema puntos",
        quiz="examíname pregúntame cuestionario preguntas ejercicios",
        solve="resuelve resolver solución ayúdame pista",
        summary_alone="resume esto, resumir esto, resúmeme, haz resumen, hazme resumen,"
        " dame resumen",
        quiz_alone="examíname, pregúntame, hazme preguntas, hazme cuestionario, dame ejercicios",
        polite="por favor puedes podrías me un una unas unos el la esto breve corto ahora",
        other="yo los las de del en con para sobre a dame haz hazme muéstrame qué cuál es",
        on="sobre",
        last="por favor trata",
    ),
    "fr": RequestWords(
        chapter="chapitre",
        page="page",
        this="ce cette",
        exercise="exercice problème",
        summary="résume résumer résumé résumez parle synthèse traite contient dit y explique sujet"
        " thème points",
        quiz="quiz interroge questions exercices",
        solve="résous résoudre résolvez solution aide indice",
        summary_alone="résume, résumez, résumer, fais résumé, donne résumé",
        quiz_alone="interroge moi, pose moi questions, donne moi exercices, fais moi quiz",
        polite="s il te vous plaît peux tu pouvez moi me un une le la ceci cela ça des de bref"
        " court maintenant",
        other="les l d du en dans pour sur à donne fais montre quoi qu est que quel a t",
        on="sur",
        last="s il te vous plaît parle traite",
    ),
    "zh": RequestWords(
        chapter="章 章节",
        page="页 页面 网页",
        this="这 这一 这个 本 当前 该",
        exercise="练习 习题 练习题 题",
        summary="总结 概括 概述 归纳 摘要 大意 内容 重点 要点 讲 讲了 讲的 讲解 讲述 说了 介绍"
        " 解释",
        quiz="测验 测试 考考 考 出题 提问 问题 题 题目 练习 练习题 习题",
        solve="解 解答 解决 做 答案 提示 怎么做",
        summary_alone="总结, 概括, 给我 摘要",
        quiz_alone="考考 我, 考 我, 测验 我, 出题, 出 题, 出 题目, 出 练习题",
        polite="请 你 帮 帮我 给 给我 能 能否 可以 一下 一个 一些 几个 几道 吗 吧 简要 简短 简单",
        other="请问 我 第 的 了 出 写 对 把 关于 主要 是 什么 哪些 有 里 中",
        spaced=False,
    ),
    "ja": RequestWords(
        chapter="章",
        page="ページ 頁",
        this="この 本 今の 現在の",
        exercise="問題 練習問題 演習 演習問題 練習",
        summary="要約 まとめ まとめて 概要 要点 内容 ポイント 何について 何が 書いて 書かれて"
        " 説明して",
        quiz="クイズ テスト 出題 問題を出して 質問して 練習問題を出して",
        solve="解いて 解き方 答え ヒント 教えて",
        summary_alone="要約 して, まとめて, 要約 教えて, ページ 要約",
        quiz_alone="クイズ 出して, 問題を出して, 出題 して, 質問して, 練習問題を出して",
        polite="を の に ください 下さい もらえますか くれますか 簡単に 短く これ 何か",
        other="第 から は が について で です か して 教えて 出して 作って いますか あります 何",
        spaced=False,
    ),
}
