"""Measure the attribution of sentences without a citation, compared with simpler methods.

    python scripts/bench/attribution.py ../shared/data --home /tmp/dev-index

Supported sentences: those of clapnq-dev's human answers, with the context that an answer would
have; the gold paragraph is added if it was not found. Unsupported sentences: those of a page of
OpenStax Biology, with six other paragraphs of the same page. A method's threshold is the lowest
from 0.00 to 0.95 that cites at most 2 % of the unsupported sentences, on one half of the questions
and pages; the figures are from the other half.

Prints the shares of sentences cited (cited), of citations to a gold paragraph (right), of supported
sentences cited correctly (recall), of unsupported sentences cited (wrong), and of supported
sentences cited although their halves are exchanged (swapped).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

from dev_sets import DEV_SETS, dev_sets_parser, indexed, single_questions
from extraction import Known, known

from app.adapters.local_embedder import LocalEmbedder
from app.adapters.sentences import split_sentences
from app.bootstrap.application import Application
from app.bootstrap.books import read_source
from app.domain.answering import attribution
from app.domain.answering.attribution import MIN_ORDER, MIN_SHARE, Attributor
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Passage
from app.domain.document import Block, BlockKind
from app.domain.retrieval.query import ContextPassage, SearchFilter, SearchQuery
from app.domain.terms import Terms, words
from app.services.ingest_plan import IngestRequest

SET = "clapnq-dev"
PAGES = 60
PARAGRAPHS = 6
SENTENCES = 12
"""Sentences per page, from paragraphs that are not in its context."""
WORDS = 25
"""Minimum number of words of such a paragraph."""
MOST_WRONG = 0.02
THRESHOLDS = [step / 20 for step in range(20)]


@dataclass(frozen=True, slots=True)
class Claim:
    text: str
    texts: dict[str, str]
    """Paragraph id to text."""
    attributor: Attributor
    gold: frozenset[str]
    """Ids of the paragraphs that support it; empty if there is none."""
    tuned_on: bool


Scores: TypeAlias = Callable[[Claim], dict[str, float]]
"""Paragraph id to its score for the claim; the best is cited if it reaches the threshold."""


def is_gold(question: Known, one: ContextPassage) -> bool:
    return any(
        one.file == gold.file and one.passage.start < gold.end and gold.start < one.passage.end
        for gold in question.gold
    )


def claims(
    sentences: Sequence[str],
    context: Sequence[ContextPassage],
    terms: Terms,
    question: str = "",
    gold: frozenset[str] = frozenset(),
    *,
    tuned_on: bool,
) -> Iterator[Claim]:
    paragraphs = by_paragraph(context)
    attributor = Attributor(
        Verifier(paragraphs, terms, split_sentences, frozenset(words(question)))
    )
    texts = {key: " ".join(one.passage.text for one in each) for key, each in paragraphs.items()}
    for sentence in sentences:
        if len(terms(sentence)) >= attribution.MIN_TERMS:
            yield Claim(sentence, texts, attributor, gold, tuned_on)


def sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, "en")]


async def held(app: Application, data: Path, terms: Terms) -> list[Claim]:
    asked = {one.question for one in single_questions(data, SET) if one.answerable}
    scope = SearchFilter(books=(BookId(SET),))
    found: list[Claim] = []
    for at, question in enumerate(known(data / "qa" / SET / "questions.jsonl")):
        if question.question not in asked or not question.answers:
            continue
        query = SearchQuery(question.question, k=20, filter=scope)
        hits = (await app.retrieve.search(query)).hits
        consulted = list(await app.retrieve.context(hits[:5], 3_000))
        wider = await app.retrieve.context(hits, 20_000)
        consulted += [one for one in wider if is_gold(question, one) and one not in consulted]
        gold = frozenset(one.passage.paragraph_id for one in consulted if is_gold(question, one))
        if gold:
            sentences = [one for answer in question.answers for one in sentences_of(answer)]
            even = at % 2 == 0
            asking = question.question
            found += claims(sentences, consulted, terms, asking, gold, tuned_on=even)
    return found


def not_held(data: Path, terms: Terms) -> list[Claim]:
    one = next(each for each in DEV_SETS if each.book == "openstax-biology")
    book = read_source(IngestRequest(data / one.folder, book=one.book, site=one.site))
    chosen = random.Random(3)
    found: list[Claim] = []
    for at, document in enumerate(chosen.sample(list(book.documents), PAGES)):
        long = [
            block
            for block in document.blocks
            if block.kind is BlockKind.PARAGRAPH and len(block.text.split()) >= WORDS
        ]
        if len(long) < PARAGRAPHS:
            continue
        context = [_passage(block, f"p-{n}") for n, block in enumerate(long[::2][:PARAGRAPHS])]
        others = [text for block in long[1::2] for text in sentences_of(block.text)]
        sentences = chosen.sample(others, min(SENTENCES, len(others)))
        found += claims(sentences, context, terms, tuned_on=at % 2 == 0)
    return found


def _passage(block: Block, paragraph_id: str) -> ContextPassage:
    path = tuple(block.heading_path)
    passage = Passage(paragraph_id, block.kind, block.text, 0, len(block.text), "", path)
    return ContextPassage(passage, BookId("book"), "", "", 1.0, (), 0)


def attributed(claim: Claim) -> dict[str, float]:
    """The program's own method, with the share as the score."""
    order = claim.attributor.order
    scores = in_any_order(claim)
    return {key: share for key, share in scores.items() if order(claim.text, key) >= MIN_ORDER}


def in_any_order(claim: Claim) -> dict[str, float]:
    verify = claim.attributor.verifier.verify
    shares = claim.attributor.shares(claim.text)
    return {key: share for key, share in shares.items() if verify(claim.text, key)}


def swapped(claim: Claim) -> Claim:
    """The sentence with its halves exchanged; the paragraph still contains its names."""
    said = claim.text.rstrip(".").split()
    middle = len(said) // 2
    return replace(claim, text=" ".join([*said[middle:], *said[:middle]]))


def overlap(claim: Claim) -> dict[str, float]:
    said = set(words(claim.text))
    return {key: len(said & set(words(text))) / len(said) for key, text in claim.texts.items()}


def rouge_l(claim: Claim) -> dict[str, float]:
    """Recall of the longest common subsequence of words, for the best sentence."""
    said = [*words(claim.text)]
    return {
        key: max(_common([*words(one)], said) for one in sentences_of(text)) / len(said)
        for key, text in claim.texts.items()
    }


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    row = [0] * (len(second) + 1)
    for one in first:
        before = row
        row = [0]
        for at, other in enumerate(second):
            row.append(before[at] + 1 if one == other else max(before[at + 1], row[at]))
    return row[-1]


def cosine(vectors: dict[str, Sequence[float]], claim: Claim) -> dict[str, float]:
    said = vectors[claim.text]
    return {
        key: sum(a * b for a, b in zip(said, vectors[text], strict=True))
        for key, text in claim.texts.items()
    }


def best(scores: dict[str, float], threshold: float) -> str | None:
    key = max(scores, key=lambda one: scores[one], default=None)
    return key if key is not None and scores[key] >= threshold else None


def row(name: str, method: Scores, every: Sequence[Claim], fixed: float | None = None) -> None:
    scored = [(one, method(one)) for one in every]

    def wrong(threshold: float, *, tuned_on: bool) -> float:
        cited = [
            best(scores, threshold) is not None
            for one, scores in scored
            if one.tuned_on is tuned_on and not one.gold
        ]
        return sum(cited) / len(cited)

    least = (one for one in THRESHOLDS if wrong(one, tuned_on=True) <= MOST_WRONG)
    threshold = next(least, 1.0) if fixed is None else fixed
    kept = [(one, best(scores, threshold)) for one, scores in scored if not one.tuned_on]
    cited = [(one, key) for one, key in kept if one.gold and key is not None]
    right = sum(key in one.gold for one, key in cited)
    held_claims = sum(bool(one.gold) for one, _ in kept)
    other = [method(swapped(one)) for one, _ in kept if one.gold]
    shares = (
        len(cited) / held_claims,
        right / max(len(cited), 1),
        right / held_claims,
        wrong(threshold, tuned_on=False),
        sum(best(scores, threshold) is not None for scores in other) / held_claims,
    )
    print(f"{name:34}{threshold:10.2f}" + "".join(f"{one:8.1%}" for one in shares), flush=True)


async def run(data: Path, home: Path) -> None:
    async with indexed(data, home, [one for one in DEV_SETS if one.book == SET]) as app:
        terms = cache(partial(app.answer.consult.retrieve.analysis.lexical.terms, language="en"))
        every = [*await held(app, data, terms), *not_held(data, terms)]
    texts = list(
        dict.fromkeys(
            text for one in every for text in (one.text, swapped(one).text, *one.texts.values())
        )
    )
    embedded = await LocalEmbedder.load().embed_documents(texts)
    vectors: dict[str, Sequence[float]] = dict(zip(texts, embedded, strict=True))
    gold = sum(bool(one.gold) for one in every)
    print(f"\n{gold} sentences that a paragraph holds, {len(every) - gold} that none holds")
    print(
        f"{'':34}{'threshold':>10}{'cited':>8}{'right':>8}{'recall':>8}{'wrong':>8}{'swapped':>8}"
    )
    row("attribution, as shipped", attributed, every, MIN_SHARE)
    row("attribution, in any order", in_any_order, every, MIN_SHARE)
    row("attribution, threshold fitted", attributed, every)
    row("verifier alone", in_any_order, every, 0.0)
    row("cosine of the local model", partial(cosine, vectors), every)
    row("ROUGE-L recall, best sentence", rouge_l, every)
    row("word overlap", overlap, every)


def main() -> None:
    options = dev_sets_parser(__doc__).parse_args()
    asyncio.run(run(options.data, options.home))


if __name__ == "__main__":
    main()
