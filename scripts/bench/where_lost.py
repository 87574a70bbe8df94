"""Where key facts of students' questions are lost: in the search, in the choice, or in the words.

    python scripts/bench/where_lost.py --home /tmp/students-index

Over the answerable questions of the development half, none refused, from an index of the books they
name, made by `scripts/bench/students.py` or `textbook-rag ingest`. Prints the share of key facts
shown, the most that three or five of the retrieved paragraphs in 270 words could show, by number of
hits, and the losses by class. With --questions one line for each question that is not fully shown.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from dev_sets import ROOT

from app.adapters.question_file import read_questions
from app.bootstrap.application import Application, application
from app.domain.answering.answerability import RefusalPolicy
from app.domain.answering.passages import MAX_ANSWER_WORDS, MAX_PASSAGES
from app.domain.answering.units import is_quotable
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.helpfulness import finds_gold, has_facts
from app.domain.evaluation.retrieval_metrics import Retrieved
from app.domain.retrieval.query import ContextPassage, SearchQuery
from app.services.evaluate import ask_request
from app.settings import Settings

POOLS = {8: 3_000, 15: 9_000, 30: 20_000}
"""Hits to the token budget of their paragraphs; the first pair is that of an answer."""
DEPTH = 40
"""Hits in which the gold's rank is searched."""


@dataclass(frozen=True, slots=True)
class Lost:
    question: Question
    shown: str
    pools: Mapping[int, Sequence[ContextPassage]]
    gold_shown: bool
    rank: int
    """Rank of the first hit that finds the gold, from 1; 0 beyond `DEPTH`."""

    @property
    def reason(self) -> str:
        found = self.pools[8]
        if has_facts(self.shown, self.question.key_facts):
            return "shown"
        if self.gold_shown:
            return "gold shown, key fact elsewhere"
        if any(_is_gold(self.question, one) for one in found):
            return "gold among the paragraphs found, others chosen"
        if not self.rank:
            return f"gold not among {DEPTH} hits"
        return "gold in hits below those of the answer" if self.rank > 8 else "no room for the gold"


def _is_gold(question: Question, one: ContextPassage) -> bool:
    place = Retrieved(one.file, ((one.passage.start, one.passage.end),))
    return finds_gold(replace(question, needs_all_gold=False), [place])


def reachable(question: Question, found: Sequence[ContextPassage], passages: int) -> bool:
    """Whether some of these paragraphs have all key facts, within the number and words allowed."""
    facts = question.key_facts
    best: dict[frozenset[int], int] = {}
    for text in (one.passage.text for one in found if is_quotable(one.passage)):
        held = frozenset(at for at, fact in enumerate(facts) if has_facts(text, [fact]))
        best[held] = min(len(text.split()), best.get(held, MAX_ANSWER_WORDS))
    best.pop(frozenset(), None)
    return any(
        frozenset().union(*chosen) == frozenset(range(len(facts)))
        and (number == 1 or sum(best[one] for one in chosen) <= MAX_ANSWER_WORDS)
        for number in range(1, passages + 1)
        for chosen in combinations(best, number)
    )


async def examine(app: Application, question: Question) -> Lost:
    request = ask_request(question, question.book)
    consult = app.answer.consult
    read = await consult.read(request)
    answer = await app.answer.answer(request)
    query = SearchQuery(
        read.request.question, k=DEPTH, filter=read.scope.filter, history=request.history
    )
    hits = (await app.retrieve.search(query)).hits
    pools = {8: read.context}
    for number, tokens in POOLS.items():
        if number not in pools:
            pools[number] = await consult.retrieve.context(hits[:number], tokens)
    shown = {one for passage in answer.passages for one in passage.paragraph_ids}
    places = [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in hits]
    return Lost(
        question,
        "\n\n".join(passage.text for passage in answer.passages),
        pools,
        any(one.passage.paragraph_id in shown and _is_gold(question, one) for one in read.context),
        next((at for at, one in enumerate(places, 1) if finds_gold(question, [one])), 0),
    )


async def run(home: Path, *, questions: bool) -> None:
    settings = Settings(home=home, embedder="local", generator="extractive")
    asked = [
        one
        for one in read_questions(ROOT / "tests/data/student_questions.jsonl")
        if one.half == "development" and one.answerable
    ]
    async with application(settings) as app:
        consult = replace(app.answer.consult, refusal_policy=RefusalPolicy(0.0, 0.0))
        unrefused = replace(app, answer=replace(app.answer, consult=consult))
        lost = [await examine(unrefused, one) for one in asked]
    report(lost)
    for one in lost if questions else ():
        if one.reason != "shown":
            print(f"{one.reason}; hit {one.rank}: {one.question.id} {one.question.question}")


def report(lost: Sequence[Lost]) -> None:
    total = len(lost)
    print(f"\nof {total} questions\n")
    for reason, number in Counter(one.reason for one in lost).most_common():
        print(f"{reason:50} {number:4} {number / total:7.1%}")
    print(f"\ngold shown {sum(one.gold_shown for one in lost) / total:.1%}\n")
    print("hits   all paragraphs found   the best three   the best", MAX_PASSAGES)
    for hits in POOLS:
        every = [
            has_facts("\n\n".join(each.passage.text for each in one.pools[hits]), facts)
            for one in lost
            if (facts := one.question.key_facts)
        ]
        best = [
            [reachable(one.question, one.pools[hits], number) for one in lost]
            for number in (3, MAX_PASSAGES)
        ]
        print(f"{hits:4}", *(f"{sum(each) / total:18.1%}" for each in (every, *best)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--home", type=Path, required=True, help="where the index is kept")
    parser.add_argument("--questions", action="store_true", help="print the questions not shown")
    options = parser.parse_args()
    asyncio.run(run(options.home, questions=options.questions))


if __name__ == "__main__":
    main()
