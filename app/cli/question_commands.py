"""Commands that ask: search, ask."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from app.api.asking import ask_request
from app.api.requests import ChatRequest
from app.api.responses import answer_json, hit_json
from app.bootstrap.application import application
from app.cli.output import print_json
from app.cli.printing import remark
from app.domain.answer import Answer, AnswerPassage, Citation
from app.domain.errors import InputError
from app.domain.reading_budget import read_json
from app.domain.retrieval.query import SearchFilter, SearchQuery
from app.services.safe_paths import read_text
from app.settings import Settings


async def search(arguments: argparse.Namespace, settings: Settings) -> None:
    books = SearchFilter(books=tuple(arguments.book))
    query = SearchQuery(arguments.question, k=arguments.k, mode=arguments.mode, filter=books)
    async with application(settings) as app:
        result = await app.retrieve.search(query)
    if arguments.json:
        hits = [hit_json(hit) for hit in result.hits]
        print_json({"hits": hits, "degraded": list(result.degraded)})
        return
    for rank, hit in enumerate(result.hits, 1):
        print(f"{rank}. {hit.score:.3f}  {' > '.join(hit.chunk.heading_path)}")
        print(f"   {hit.chunk.deep_link_url}")
        print(f"   {' '.join(hit.chunk.text_content.split())[:240]}")
    if not result.hits:
        remark("nothing found")


async def ask(arguments: argparse.Namespace, settings: Settings) -> None:
    body = _checked(arguments)
    request = replace(ask_request(body, arguments.book, settings), k=arguments.k)
    async with application(settings) as app:
        answer = await app.answer.answer(request)
    if arguments.json:
        print_json(answer_json(answer, settings.public_url))
    else:
        _print_answer(answer)


def _checked(arguments: argparse.Namespace) -> ChatRequest:
    """Return the question as a request of the API, validated. Raises InputError."""
    fields = {
        "question": arguments.question,
        "page_url": arguments.page,
        "scope": arguments.scope,
        "selection": {"text": arguments.selection} if arguments.selection else None,
        "solutions": arguments.solutions,
        "history": _history(arguments.history) if arguments.history else [],
    }
    try:
        return ChatRequest.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = f"{where}: {first['msg']}" if where else first["msg"]
        raise InputError(
            message.replace("Value error, ", "").replace("page_url", "--page")
        ) from None


def _history(path: Path) -> object:
    expected = "write an array of {role, content} objects"
    return read_json(read_text(path), str(path), expected=expected)


def _print_answer(answer: Answer) -> None:
    if answer.searched_for:
        print(f"Searched for: {answer.searched_for}\n")
    print(answer.answer)
    if answer.passages:
        _print_passages(answer.passages)
    else:
        _print_citations(answer.citations)
    if answer.refused and answer.sources:
        print("Nearest sections:")
        for source in answer.sources:
            print(f"  {' > '.join(source.heading_path)}\n      {source.url}")
    for part in answer.degraded:
        remark(f"degraded: {part}")


def _print_passages(passages: Sequence[AnswerPassage]) -> None:
    for passage in passages:
        print(f"\n  {' > '.join(passage.heading_path)}\n  {passage.url}")
        print("".join(f"    {line}".rstrip() + "\n" for line in passage.text.splitlines()), end="")


def _print_citations(citations: Sequence[Citation]) -> None:
    for citation in {citation.index: citation for citation in citations}.values():
        print(f"  [{citation.index}] {' > '.join(citation.heading_path)}")
        print(f"      {citation.url}")
