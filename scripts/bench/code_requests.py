"""How often a request for code is answered with code: "show me an example of X", "code for X".

    python scripts/bench/code_requests.py BOOK_DIR... [--home DIR] [--sample 40]

Ingests each book and asks for subjects that it shows in listings of three lines or more: headings
of sections with such a listing, and identifiers of its prose that two listings contain. Prints the
share of answers with a listing, with a listing of that section or with that identifier, and with
one as the first passage; without the rule `code asked for`, with it, and the difference with its
95 % interval (paired bootstrap). "In context" is the share of questions for which such a listing is
among the paragraphs that the answer is chosen from.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from dev_sets import Silent

from app.bootstrap.application import Application, application
from app.domain.answering.extraction_input import ALL_RULES, Rule
from app.domain.answering.request import AskRequest
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.evaluation.paired_bootstrap import Difference, paired_bootstrap
from app.domain.retrieval.query import SearchFilter
from app.services.answer_question import AnswerQuestion
from app.services.generators import ExtractiveGenerator
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases
from app.settings import Settings

FRAMES = (
    "show me an example of {}",
    "show me code for {}",
    "{} example",
    "can you give me an example of {}?",
    "example code for {} please",
    "what does {} look like in code?",
)
METRICS = ("listing", "right listing", "listing first", "in context")
LEAST_LINES = 3
MOST_LISTINGS = 12
"""A heading with more listings below it is too wide a subject."""
LONGEST_HEADING = 5
_NO_SUBJECT = re.compile(
    r"summary|conclusion|quiz|introduction|overview|exercise|example|next|learned|part \d|listing"
    r"|step \d|what|how|why|\?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]+){2,}|[a-z]+_[a-z_]+)\b")
_LEAST_USES = 3
"""Paragraphs that an identifier is named in."""


@dataclass(frozen=True, slots=True)
class CodeRequest:
    book: BookId
    of: str
    """"headings" or "identifiers"."""
    question: str
    listings: Set[str]
    """Paragraph ids of the right listings."""


async def requests(app: Application, book: BookId, size: int) -> list[CodeRequest]:
    """Return up to `size` requests about headings, and as many about identifiers."""
    chunks = await app.index.matching(SearchFilter(books=(book,)))
    passages = {one.paragraph_id: one for chunk in chunks for one in chunk.passages}
    chance = random.Random(7)
    found: list[CodeRequest] = []
    for of, subjects in (
        ("headings", sections(passages.values())),
        ("identifiers", identifiers(passages.values())),
    ):
        for subject in chance.sample(sorted(subjects), min(size, len(subjects))):
            question = chance.choice(FRAMES).format(subject)
            found.append(CodeRequest(book, of, question, subjects[subject]))
    return found


def listings(passages: Collection[Passage]) -> Iterator[Passage]:
    for one in passages:
        if one.kind is BlockKind.CODE and len(one.text.splitlines()) >= LEAST_LINES:
            yield one


def sections(passages: Collection[Passage]) -> Mapping[str, Set[str]]:
    """Return the listings below each short heading that names a subject."""
    found: dict[str, set[str]] = defaultdict(set)
    for one in listings(passages):
        title = one.heading_path[-1]
        short = len(title.split()) <= LONGEST_HEADING
        if len(one.heading_path) > 1 and short and not _NO_SUBJECT.search(title):
            found[title].add(one.paragraph_id)
    return {title: ids for title, ids in found.items() if len(ids) <= MOST_LISTINGS}


def identifiers(passages: Collection[Passage]) -> Mapping[str, Set[str]]:
    """Return the listings with each identifier of the prose."""
    prose = [one.text for one in passages if one.kind is BlockKind.PARAGRAPH]
    uses = Counter(name for text in prose for name in set(_IDENTIFIER.findall(text)))
    found: dict[str, set[str]] = defaultdict(set)
    for one in listings(passages):
        for name in set(re.findall(r"\w+", one.text)):
            if uses[name] >= _LEAST_USES:
                found[name].add(one.paragraph_id)
    return {name: ids for name, ids in found.items() if len(ids) > 1}


async def shares(answer: AnswerQuestion, asked: CodeRequest) -> dict[str, tuple[float, float]]:
    request = AskRequest(asked.question, filter=SearchFilter(books=(asked.book,)))
    context = [one.passage for one in (await answer.consult.read(request)).context]
    code = {one.paragraph_id for one in context if one.kind is BlockKind.CODE}
    passages = [set(one.paragraph_ids) for one in (await answer.answer(request)).passages]
    shown = set().union(*passages)
    found = (
        shown & code,
        shown & asked.listings,
        passages[0] & code if passages else (),
        asked.listings & {one.paragraph_id for one in context},
    )
    return {name: (float(bool(one)), 1.0) for name, one in zip(METRICS, found, strict=True)}


def with_rules(answer: AnswerQuestion, rules: Set[Rule]) -> AnswerQuestion:
    extractive = answer.extractive
    assert isinstance(extractive, ExtractiveGenerator)
    changed = replace(extractive, rules=rules)
    return replace(answer, extractive=changed, generator=changed)


def row(label: str, count: int, found: Mapping[str, Difference]) -> str:
    cells = [
        f"{100 * one.a:.1f} -> {100 * one.b:.1f} ({100 * one.low:+.1f} to {100 * one.high:+.1f})"
        for one in map(found.__getitem__, METRICS)
    ]
    return f"| {label} | {count} | {' | '.join(cells)} |"


async def run(folders: Sequence[Path], home: Path, size: int) -> None:
    asked: list[CodeRequest] = []
    async with application(Settings(home=home, embedder="local", generator="extractive")) as app:
        for folder in folders:
            book = BookId(folder.name)
            await app.ingest.run(IngestRequest(folder, book=book), Phases(Silent()))
            asked += await requests(app, book, size)
        without, every = [
            [await shares(with_rules(app.answer, rules), one) for one in asked]
            for rules in (ALL_RULES - {Rule.CODE}, ALL_RULES)
        ]
    print(f"| subjects | n | {' | '.join(METRICS)} |")
    for of in ("headings", "identifiers"):
        rows = [at for at, one in enumerate(asked) if one.of == of]
        found = {
            name: paired_bootstrap(
                [without[at][name] for at in rows], [every[at][name] for at in rows]
            )
            for name in METRICS
        }
        print(row(of, len(rows), found))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("books", nargs="+", type=Path, metavar="BOOK_DIR")
    parser.add_argument("--home", type=Path, help="where the index is kept (a temporary folder)")
    parser.add_argument("--sample", type=int, default=40)
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        asyncio.run(run(options.books, options.home or Path(scratch), options.sample))


if __name__ == "__main__":
    main()
