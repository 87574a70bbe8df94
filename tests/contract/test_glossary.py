"""The terms of the glossary that stand on a page."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.errors import BookNotFound
from app.domain.glossary import GlossaryTerm, TermFinder, glossary_terms, with_references
from app.services.book_scope import find_page
from app.services.page_glossary import LookUpTerms
from tests.fake_world import FakeIndex, make_chunk, passage
from tests.made_chunks import made_manifest
from tests.markdown_pages import read_text
from tests.recorded_cases import case_lines


def entry(term: str, text: str = "", paragraph_id: str = "") -> Passage:
    return passage(
        text or f"{term}: meaning of {term}",
        paragraph_id or f"p-{term}",
        BlockKind.GLOSSARY_ENTRY,
        terms=(term,),
    )


def found(text: str, *terms: str) -> list[tuple[str, tuple[str, ...]]]:
    entries = [one for term in terms for one in glossary_terms(entry(term))]
    on_page = TermFinder(entries).find([passage(text, "p-text")])
    return [(one.term, one.forms) for one in on_page]


@pytest.mark.parametrize(("given", "expected"), case_lines("glossary_terms"))
def test_terms_are_found_as_whole_words(given: str, expected: str) -> None:
    text, terms = given.split(" | ")
    forms = [f"{term}: {' / '.join(forms)}" for term, forms in found(text, *terms.split(" / "))]
    assert " | ".join(forms) == expected


@pytest.mark.parametrize(
    ("text", "definition"),
    [
        ("posting\nan entry of a list", "an entry of a list"),
        ("Posting: an entry", "an entry"),
        ("posting \u2013 an entry", "an entry"),
        ("posting\n--an entry", "--an entry"),
        ("An entry of a list is a posting", "An entry of a list is a posting"),
    ],
)
def test_the_definition_is_the_entry_without_its_term(text: str, definition: str) -> None:
    (term,) = glossary_terms(entry("posting", text))
    assert term.definition == definition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See posting list.", "an entry"),
        ("see also Posting List", "an entry"),
        ("See PL", "an entry"),
        ("See how a posting list is made, step by step.", None),
        ("See another term.", None),
        ("See entry.", None),
        ("See the light.", None),
    ],
)
def test_a_term_that_refers_to_another_is_explained_as_that_one_is(
    text: str, expected: str | None
) -> None:
    listed = {
        "posting list (PL)": "posting list (PL): an entry",
        "entry": "entry: see list",
        "list": f"list: {text}",
    }
    terms = [one for term, said in listed.items() for one in glossary_terms(entry(term, said))]
    *_, explained = with_references(terms).values()
    assert explained.term == "list"
    assert explained.definition == (expected or text)
    assert explained.paragraph_id == ("p-posting list (PL)" if expected else "p-list")


def test_terms_of_one_entry_share_its_definition() -> None:
    source = "<dl>\n<dt>-a</dt>\n<dt>--add</dt>\n<dd>Add it.</dd>\n<dt>-x</dt><dd>No.</dd>\n</dl>\n"
    blocks = read_text(source).blocks
    passages = [passage(one.text, "p-x", one.kind, terms=one.terms) for one in blocks]
    told = [(one.term, one.definition) for entry in passages for one in glossary_terms(entry)]
    assert told == [("-a", "Add it."), ("--add", "Add it."), ("-x", "No.")]


def test_only_entries_of_the_glossary_define() -> None:
    assert list(glossary_terms(passage("posting: an entry", terms=("posting",)))) == []


def test_an_entry_does_not_count_as_a_use_of_its_own_term() -> None:
    finder = TermFinder(glossary_terms(entry("posting")))
    assert finder.find([entry("posting")]) == []
    assert len(finder.find([entry("list", "list: of postings")])) == 1


def glossary_chunk(page: str, *passages: Passage, book: str = "book", index: int = 0) -> Chunk:
    return replace(
        make_chunk("", file=page, book=book, index=index),
        passages=passages,
        deep_link_url=f"https://{book}.example/{page}#glossary:~:text=x",
    )


def definitions(index: FakeIndex, page: str, books: Sequence[BookId] = ()) -> list[tuple[str, str]]:
    """Return the terms that are explained on a page, with their definitions."""

    async def look_up() -> list[GlossaryTerm]:
        found = await find_page(index, page, books)
        assert found is not None
        manifest, chunks = found
        return await LookUpTerms(index).on_page(chunks, manifest)

    return [(one.term, one.definition) for one in asyncio.run(look_up())]


def test_what_the_page_itself_defines_goes_before_another_page() -> None:
    index = FakeIndex(
        [
            glossary_chunk("a", entry("valve", "valve: of the heart", "p-a"), passage("A valve.")),
            glossary_chunk("b", entry("valve", "valve: of a vein", "p-b"), passage("Valves.")),
            glossary_chunk("c", passage("A valve.")),
        ]
    )
    assert definitions(index, "/a") == [("valve", "of the heart")]
    assert definitions(index, "/b") == [("valve", "of a vein")]
    assert definitions(index, "/c") == [("valve", "of the heart")]


@pytest.mark.parametrize("heading", ["Appendix B: Glossary", "Key Terms", "Glossar", "術語表"])
def test_a_book_with_a_glossary_explains_no_terms_of_other_lists(heading: str) -> None:
    entries = [
        replace(entry("valve"), heading_path=("Heart", heading)),
        replace(entry("name"), heading_path=("Settings", "Keys")),
    ]
    index = FakeIndex(
        [glossary_chunk("a", *entries), glossary_chunk("b", passage("A valve name."))]
    )
    assert definitions(index, "/b") == [("valve", "meaning of valve")]
    index.stored = [glossary_chunk("a", entries[1]), *index.stored[1:]]
    assert definitions(index, "/b") == [("name", "meaning of name")]


def test_a_url_asks_the_book_of_its_site_first() -> None:
    stored = [
        glossary_chunk("a", entry("valve", f"valve: in {book}"), passage("A valve."), book=book)
        for book in ("one", "two")
    ]
    manifests = [
        replace(made_manifest(book), base_url=f"https://{book}.example") for book in ("one", "two")
    ]
    index = FakeIndex(stored, manifests)
    assert definitions(index, "https://two.example/a") == [("valve", "in two")]
    assert definitions(index, "/a") == [("valve", "in one")]
    assert definitions(index, "https://one.example/a", [BookId("two")]) == [("valve", "in two")]
    assert asyncio.run(find_page(index, "/nothing")) is None
    with pytest.raises(BookNotFound, match="'three'"):
        definitions(index, "/a", [BookId("three")])


GLOSSARIES = {
    "bold": (
        "- **Posting**: an entry.\n- **Rank fusion** (RF) \u2014 a merge.",
        ["Posting", "Rank fusion (RF)"],
    ),
    "plain": ("- Posting: an entry.\n- Index: a table.", ["Posting", "Index"]),
}


@pytest.mark.parametrize(("source", "terms"), GLOSSARIES.values(), ids=GLOSSARIES)
def test_a_list_of_a_glossary_is_its_entries(source: str, terms: list[str]) -> None:
    entries = [one for one in read_text(f"# Glossary\n\n{source}\n").blocks if not one.level]
    assert {one.kind for one in entries} == {BlockKind.GLOSSARY_ENTRY}
    assert [term for one in entries for term in one.terms] == terms


@pytest.mark.parametrize(
    "source",
    [
        "# Terms we use\n\n- **Posting**: an entry.\n- **Index**: a table.",
        "# Glossary\n\n- **Posting**: an entry.\n- See the index for more.",
        "# Glossary\n\n- What all of us in this field mean by it: an entry.\n- Index: a table.",
    ],
)
def test_another_list_stays_one(source: str) -> None:
    (block,) = [one for one in read_text(source).blocks if not one.level]
    assert block.kind is BlockKind.LIST
