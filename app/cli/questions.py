"""Commands that ask: search, ask."""

from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias

from typer import Option

from app.api.responses import HitBody, as_json
from app.cli.command import Books, Json, Question, command, open_application
from app.cli.output import remark, show
from app.domain.answer import Answer
from app.domain.answering.exercises import Solutions
from app.domain.answering.request import ANSWER_CHUNKS, AskRequest
from app.domain.retrieval.query import Hit, SearchFilter
from app.settings import Settings

Chunks: TypeAlias = Annotated[int, Option("--k", min=1, max=100, help="Chunks to retrieve.")]


@command()
async def search(
    settings: Settings, question: Question, book: Books = None, k: Chunks = 5, json: Json = False
) -> None:
    """Find passages: score, sections, link and beginning of each."""
    asked = AskRequest(question, SearchFilter(books=tuple(book or ())), k=k)
    async with open_application(settings) as app:
        result = await app.retrieve.search(asked)
    hits = [as_json(HitBody.of(hit)) for hit in result.hits]
    found = {"hits": hits, "degraded": list(result.degraded)}
    show(found, _hit_lines(result.hits), as_json=json)
    if not result.hits:
        remark("nothing found")


def _hit_lines(hits: Sequence[Hit]) -> Iterator[str]:
    for rank, hit in enumerate(hits, 1):
        yield f"{rank}. {hit.score:.3f}  {' > '.join(hit.chunk.heading_path)}"
        yield f"   {hit.chunk.deep_link_url}"
        yield f"   {' '.join(hit.chunk.text_content.split())[:240]}"


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
    show(as_json(answer), _answer_lines(answer), as_json=json)
    if not json:
        for part in answer.degraded:
            remark(f"degraded: {part}")


def _answer_lines(answer: Answer) -> Iterator[str]:
    if answer.searched_for:
        yield f"Searched for: {answer.searched_for}\n"
    yield answer.answer
    for passage in answer.passages:
        yield f"\n  {' > '.join(passage.heading_path)}\n  {passage.url}"
    cited = {} if answer.passages else {one.index: one for one in answer.citations}
    for citation in cited.values():
        yield f"  [{citation.index}] {' > '.join(citation.heading_path)}\n      {citation.url}"
    if answer.refused and answer.sources:
        yield "Nearest sections:"
        for source in answer.sources:
            yield f"  {' > '.join(source.heading_path)}\n      {source.url}"
