"""Grounded answers by Cohere's chat API: paragraphs are documents, and citations have their ids."""

from collections.abc import Iterator, Sequence

from app.adapters.providers.chat import Body, ChatModel, Response
from app.adapters.providers.http import Event, field_of, text_of, usage_of
from app.domain.characters import well_formed
from app.domain.generated_text.model_text import GeneratedCitation, GeneratorEvent, ModelText
from app.domain.prompts import ANSWER_FROM_DOCUMENTS, answer_messages, visible
from app.domain.retrieval.query import ContextPassage
from app.services.ports import GenerationRequest


class CohereGenerator(ChatModel):
    path = "v2/chat"
    first_seconds = 20.0
    """Time limit for each event: an answer may take longer."""

    def prompt(self, request: GenerationRequest) -> tuple[Body, Response]:
        messages = answer_messages(ANSWER_FROM_DOCUMENTS, request.question, request.history)
        # Positions, since a long paragraph may be here in several pieces.
        documents = [
            {"id": str(at), "data": _document(one)} for at, one in enumerate(request.context)
        ]
        # Command A supports the citation modes FAST and OFF only.
        options = {"documents": documents, "citation_options": {"mode": "FAST"}}
        cited = [one.passage.paragraph_id for one in request.context]
        return self.body(messages) | options, Response(ModelText(), self.first_seconds, cited)

    def read(self, event: Event, response: Response) -> Iterator[GeneratorEvent]:
        kind = event.get("type")
        if kind == "content-delta":
            # A block of the model's thinking has a field of its own.
            yield from response.text.feed(text_of(event, "delta", "message", "content", "text"))
        elif kind == "citation-start":
            yield from _citations(field_of(event, "delta", "message", "citations"), response.cited)
        elif kind == "message-end":
            self._end(event.get("delta"), response)

    def _end(self, delta: object, response: Response) -> None:
        reason = text_of(delta, "finish_reason") or "COMPLETE"
        if reason.startswith(("ERROR", "TIMEOUT")):
            raise self.failed(text_of(delta, "error") or reason)
        # The billed tokens or, if they are missing, the used ones.
        counts = field_of(delta, "usage", "billed_units") or field_of(delta, "usage", "tokens")
        used = field_of(counts, "input_tokens"), field_of(counts, "output_tokens")
        response.usage = usage_of(*used)
        response.reason, response.ended = reason, True


def _document(one: ContextPassage) -> dict[str, str]:
    passage = one.passage
    return {"title": visible(" > ".join(passage.heading_path)), "text": visible(passage.text)}


def _citations(citation: object, paragraph_ids: Sequence[str]) -> Iterator[GeneratedCitation]:
    """Yield the citation; not one of the model's thinking or plan, which is not shown.

    It may come before or after its text.
    """
    of_text = field_of(citation, "type") in (None, "TEXT_CONTENT")
    start, sources = field_of(citation, "start"), field_of(citation, "sources")
    names = [text_of(one, "id") for one in (sources if isinstance(sources, list) else ())]
    known = {str(at): one for at, one in enumerate(paragraph_ids)}
    cited = tuple(dict.fromkeys(known[name] for name in names if name in known))
    if of_text and cited and isinstance(start, int):
        yield GeneratedCitation(start, well_formed(text_of(citation, "text")), cited)
