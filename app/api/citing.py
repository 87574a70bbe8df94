"""Permanent links to paragraphs: `/cite/{paragraph_id}`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import RedirectResponse

from app.api.problems import problem_response, request_id
from app.api.requests import BookName
from app.api.routes import Rag, problems
from app.domain.urls import encoded_url

router = APIRouter()

# `p-...`, or an id given by the author: any HTML id without a slash.
ParagraphId = Annotated[str, Path(max_length=200, examples=["p-8v4x1q0mhz"])]


@router.get(
    "/cite/{paragraph_id}",
    tags=["books"],
    summary="Go to a paragraph",
    status_code=302,
    response_class=RedirectResponse,
    responses=problems(404, 410, 422, 503),
)
async def cite(
    paragraph_id: ParagraphId,
    request: Request,
    rag: Rag,
    book: BookName | None = None,
) -> Response:
    """Redirect to the paragraph's current URL; 410 with the nearest section if it was removed."""
    target = await rag.cite.find(paragraph_id, book)
    if target is None:
        detail = f"no indexed book has a paragraph {paragraph_id!r}"
        return problem_response(404, "paragraph_not_found", detail, request_id(request))
    if target.gone:
        detail = f"the paragraph left the book; the nearest section is {target.url or 'unknown'}"
        response = problem_response(410, "paragraph_gone", detail, request_id(request))
        if target.url:
            response.headers["Link"] = f'<{encoded_url(target.url)}>; rel="alternate"'
        return response
    return RedirectResponse(encoded_url(target.url), status_code=302)
