"""Measure which claims the verification accepts, on the human answers of clapnq-dev.

    python scripts/bench/verification.py ../shared/data --home /tmp/dev-index

Each sentence of an answer is a claim that its gold paragraph supports, and that the other
paragraphs found for the question (up to six) should not; the same for sequences of three and six of
its words. Prints the share of claims accepted, by the required coverage of terms.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from unittest.mock import patch

from dev_sets import DEV_SETS, dev_sets_parser, indexed, single_questions
from extraction import Known, known

from app.adapters.sentences import split_sentences
from app.bootstrap.application import Application
from app.domain.answering import verification
from app.domain.answering.verification import MIN_COVERAGE, Verifier, by_paragraph
from app.domain.book_id import BookId
from app.domain.retrieval.query import ContextPassage, SearchFilter, SearchQuery
from app.domain.terms import Terms, words

SET = "clapnq-dev"
OTHERS = 6
RUNS = (0, 6, 3)
"""Words of a claim; 0: the whole sentence."""
COVERAGES = (0.3, 0.4, MIN_COVERAGE, 0.6, 0.7)


def claims(question: Known, size: int) -> Iterator[str]:
    for start, end in split_sentences(question.answers[0], "en"):
        sentence = question.answers[0][start:end]
        words = sentence.split()
        if not size:
            yield sentence
        elif len(words) > size:
            middle = (len(words) - size) // 2
            yield " ".join(words[middle : middle + size])


def is_gold(question: Known, one: ContextPassage) -> bool:
    return any(
        one.file == gold.file and one.passage.start < gold.end and gold.start < one.passage.end
        for gold in question.gold
    )


def passed(question: Known, context: Sequence[ContextPassage], claim: str, terms: Terms) -> bool:
    paragraphs = by_paragraph(context)
    verifier = Verifier(paragraphs, terms, split_sentences, frozenset(words(question.question)))
    return any(verifier.verify(claim, paragraph_id) for paragraph_id in paragraphs)


async def contexts(app: Application, question: Known) -> tuple[list[ContextPassage], ...]:
    """The gold paragraphs, and some of the others one by one."""
    scope = SearchFilter(books=(BookId(SET),))
    hits = (await app.retrieve.search(SearchQuery(question.question, k=20, filter=scope))).hits
    found = await app.retrieve.context(hits, 20_000)
    gold = [one for one in found if is_gold(question, one)]
    others = [[one] for one in found if not is_gold(question, one)][:OTHERS]
    return (gold, *others)


async def run(data: Path, home: Path) -> None:
    sets = [one for one in DEV_SETS if one.book == SET]
    async with indexed(data, home, sets) as app:
        terms = partial(app.answer.consult.retrieve.analysis.lexical.terms, language="en")
        asked = {one.question for one in single_questions(data, SET) if one.answerable}
        found = [
            (one, await contexts(app, one))
            for one in known(data / "qa" / SET / "questions.jsonl")
            if one.question in asked and one.answers
        ]
    print(
        f"\n{'coverage':10}" + "".join(f"{size or 'sentence':>12} {'others':>8}" for size in RUNS)
    )
    for coverage in COVERAGES:
        cells = ""
        with patch.object(verification, "MIN_COVERAGE", coverage):
            for size in RUNS:
                shares: dict[bool, list[bool]] = defaultdict(list)
                for question, (gold, *others) in found:
                    for claim in claims(question, size) if gold else ():
                        shares[True].append(passed(question, gold, claim, terms))
                        shares[False] += [passed(question, one, claim, terms) for one in others]
                right, wrong = (sum(shares[key]) / len(shares[key]) for key in (True, False))
                cells += f"{right:12.1%} {wrong:8.1%}"
        print(f"> {coverage:<8}" + cells, flush=True)


def main() -> None:
    options = dev_sets_parser(__doc__).parse_args()
    asyncio.run(run(options.data, options.home))


if __name__ == "__main__":
    main()
