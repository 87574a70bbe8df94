"""Commands that ask: search, ask."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from typer import Option

from app.api.responses import HitBody, as_json
from app.cli.options import Books, Json, Question
from app.cli.output import print_json, remark
from app.cli.running import command, open_application
from app.domain.answer import Answer
from app.domain.answering.exercises import Solutions
from app.domain.answering.request import ANSWER_CHUNKS, AskRequest
from app.domain.retrieval.query import SearchFilter, SearchQuery
from app.settings import Settings

Chunks: TypeAlias = Annotated[int, Option("--k", min=1, max=100, help="Chunks to retrieve.")]


@command()
async def search(
    settings: Settings, question: Question, book: Books = None, k: Chunks = 5, json: Json = False
) -> None:
    """Find passages: score, sections, link and beginning of each."""
    query = SearchQuery(question, k=k, filter=SearchFilter(books=tuple(book or ())))
    async with open_application(settings) as app:
        result = await app.retrieve.search(query)
    if json:
        hits = [as_json(HitBody.of(hit)) for hit in result.hits]
        print_json({"hits": hits, "degraded": list(result.degraded)})
        return
    for rank, hit in enumerate(result.hits, 1):
        print(f"{rank}. {hit.score:.3f}  {' > '.join(hit.chunk.heading_path)}")
        print(f"   {hit.chunk.deep_link_url}")
        print(f"   {' '.join(hit.chunk.text_content.split())[:240]}")
    if not result.hits:
        remark("nothing found")


@command()
async def ask(
    settings: Settings,
    question: Question,
    book: Books = None,
    k: Chunks = ANSWER_CHUNKS,
    json: Json = False,
) -> None:
    """Answer a question with citations, as for a reader who asks from no page."""
    request = AskRequest(
        question.strip(),
        filter=SearchFilter(books=tuple(book or ())),
        k=k,
        solutions=Solutions(settings.solutions),
    )
    async with open_application(settings) as app:
        answer = await app.answer.answer(request)
    if json:
        print_json(as_json(answer))
    else:
        _print_answer(answer)


def _print_answer(answer: Answer) -> None:
    if answer.searched_for:
        print(f"Searched for: {answer.searched_for}\n")
    print(answer.answer)
    for passage in answer.passages:
        print(f"\n  {' > '.join(passage.heading_path)}\n  {passage.url}")
        print("".join(f"    {line}".rstrip() + "\n" for line in passage.text.splitlines()), end="")
    cited = {} if answer.passages else {one.index: one for one in answer.citations}
    for citation in cited.values():
        print(f"  [{citation.index}] {' > '.join(citation.heading_path)}")
        print(f"      {citation.url}")
    if answer.refused and answer.sources:
        print("Nearest sections:")
        for source in answer.sources:
            print(f"  {' > '.join(source.heading_path)}\n      {source.url}")
    for part in answer.degraded:
        remark(f"degraded: {part}")
