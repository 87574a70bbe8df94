"""Citations whose links lead to the quoted words."""

from __future__ import annotations

from dataclasses import replace

from app.domain.answer import Answer
from app.domain.answering.request import AskRequest
from app.domain.document import BlockKind
from app.domain.errors import StorageError
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector, Vector
from app.services.quote_links import LinkQuotes
from tests.answer_fakes import World, chunk, passage
from tests.retrieval_fakes import FakeIndex

OWLS = passage(
    "Owls are birds of prey. They hunt mice and voles at night without a sound.", "p-owls"
)
SAID = "They hunt mice and voles at night without a sound."
QUESTION = "When do owls hunt mice and voles?"


def links(answer: Answer) -> dict[str, str]:
    return {one.quote: one.url for one in answer.citations}


async def test_link_of_a_citation_and_of_the_end_is_that_of_its_quote() -> None:
    answer = await World((OWLS,)).answering().answer(AskRequest(QUESTION))
    assert links(answer)[SAID] == (f"{OWLS.url}:~:text=They%20hunt%20mice%20and")


async def test_a_quote_is_not_of_words_that_a_heading_has() -> None:
    owls = replace(OWLS, heading_path=("Birds", "They hunt mice and voles at night"))
    answer = await World((owls,)).answering().answer(AskRequest(QUESTION))
    assert links(answer)[SAID] == (f"{OWLS.url}:~:text=voles%20at%20night%20without")


async def test_a_list_item_of_the_words_of_a_heading_is_found_by_what_follows_it() -> None:
    items = passage("- How owls hunt mice\n- How owls hunt voles", "p-items", BlockKind.LIST)
    below = replace(
        OWLS, heading_path=(*items.heading_path, "How owls hunt voles"), start=60, end=140
    )
    answer = await World((items, below)).answering().answer(AskRequest(QUESTION))
    assert links(answer)["How owls hunt voles"].endswith(":~:text=How%20owls%20hunt%20voles,-How")


async def test_a_quote_is_not_of_words_that_an_included_paragraph_has() -> None:
    # All paragraphs of an included file have the span of the directive.
    texts = ("Bats hear.", "They hunt mice and voles at dawn.")
    included = [replace(passage(text, f"p-{text[:4]}"), end=20) for text in texts]
    page = chunk([*included, replace(OWLS, start=30, end=120)])
    use_case = replace(World((OWLS,)).answering(), links=LinkQuotes(FakeIndex([page])))
    answer = await use_case.answer(AskRequest(QUESTION))
    assert links(answer)[SAID] == (f"{OWLS.url}:~:text=and%20voles%20at%20night")


class BrokenIndex(FakeIndex):
    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        message = "gone"
        raise StorageError(message)


async def test_link_stays_the_paragraphs_when_the_page_cannot_be_read() -> None:
    use_case = World((OWLS,)).answering()
    broken = replace(use_case, links=LinkQuotes(BrokenIndex([])))
    answer = await broken.answer(AskRequest(QUESTION))
    assert {one.url for one in answer.citations} == {OWLS.url}
