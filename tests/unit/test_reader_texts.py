"""The text that a reader sees of each piece of a block that is too long for a chunk."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from app.adapters.markdown.book import read_text
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.chunking.config import ChunkingConfig
from app.domain.chunking.reader_texts import divide_lines, divide_prose
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Document, Site
from app.domain.fences_and_tables import without_fences
from tests.chunking_documents import book_of, paragraph, tools


def read(text: str, site: Site = Site.PLAIN) -> tuple[Document, list[Chunk]]:
    document = read_text(text, site=site)
    chunks = stream_chunks(document, book_of(document), ChunkingConfig(), tools())
    return document, list(chunks)


def passages(chunks: list[Chunk], kind: BlockKind) -> list[Passage]:
    return [one for each in chunks for one in each.passages if one.kind is kind]


def solid(text: str) -> str:
    return "".join(text.split())


def functions(count: int) -> str:
    return "\n\n".join(f"def owl_{n}(night):\n    return night + {n}" for n in range(count))


def test_parts_of_a_long_listing_have_no_fence_and_all_lines() -> None:
    document, chunks = read(f"# Owls\n\n```python owls.py\n{functions(120)}\n```\n")
    code = next(block for block in document.blocks if block.kind is BlockKind.CODE)
    parts = passages(chunks, BlockKind.CODE)
    assert len(parts) > 1
    assert solid("".join(part.text for part in parts)) == solid(code.text)
    assert "    return night + 1\n\ndef owl_2" in parts[0].text


def test_parts_of_a_code_cell_have_no_options() -> None:
    options = ":tags: [hide-input]\n"
    _, chunks = read(
        f"# Owls\n\n```{{code-cell}} ipython3\n{options}\n{functions(120)}\n```\n", Site.MYST
    )
    parts = passages(chunks, BlockKind.CODE)
    assert len(parts) > 1
    assert solid("".join(part.text for part in parts)) == solid(functions(120))


def test_parts_of_an_exercise_keep_their_lines_and_its_table() -> None:
    table = "Owl | Weight\n--- | ---\nbarn owl | 500 g\n"
    text = f"Weigh the owls.\n\n{table}\n```python\n{functions(120)}\n```\n"
    document, chunks = read(f":::exercise\n{text}\n:::\n")
    parts = passages(chunks, BlockKind.EXERCISE)
    assert len(parts) > 1
    (block,) = document.blocks
    shown = "\n".join(without_fences(part.text) for part in parts)
    assert shown.split() == without_fences(block.text).split()
    assert "def owl_1(night):\n    return night + 1\n" in parts[0].text


def test_parts_of_a_table_in_html_have_no_tags() -> None:
    rows = "".join(f"<tr><td>owl {n}</td><td>{n} mice</td></tr>\n" for n in range(20))
    summary = paragraph(Random(1), 120).replace('"', "")
    document, chunks = read(
        f'<table summary="{summary}"><caption>Owls and mice</caption>\n'
        f"<thead><tr><th>Owl</th><th>Mice</th></tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
    parts = passages(chunks, BlockKind.TABLE)
    assert len(parts) > 2
    assert {line for part in parts for line in part.text.split("\n")} == {
        *document.blocks[0].text.split("\n")
    }


def test_the_header_of_a_table_with_a_long_summary_is_next_to_its_first_row() -> None:
    rows = "".join(f"<tr><td>owl {n}</td><td>{'mouse ' * 60}</td></tr>\n" for n in range(9))
    for sentences in range(28, 44):
        summary = paragraph(Random(1), sentences).replace('"', "")
        _, chunks = read(
            f'<table summary="{summary}"><thead><tr><th>Owl</th><th>Mice</th></tr></thead>\n'
            f"<tbody>\n{rows}</tbody></table>\n"
        )
        parts = passages(chunks, BlockKind.TABLE)
        assert any("Owl | Mice\nowl 0 | mouse" in part.text for part in parts), sentences


def test_a_chunk_of_a_table_that_is_mark_up_only_shows_the_table() -> None:
    summary = paragraph(Random(1), 60).replace('"', "")
    document, chunks = read(
        f'<table summary="{summary}"><tr><th>Owl</th><th>Mice</th></tr>\n'
        "<tr><td>barn owl</td><td>9</td></tr></table>\n"
    )
    (table,) = document.blocks
    assert len(chunks) > 1
    assert chunks[0].reader_text == table.text == "Owl | Mice\nbarn owl | 9"
    assert chunks[0].passages[0].end == table.end


def test_a_chunk_of_mark_up_only_has_a_passage() -> None:
    options = "\n".join(f":option{n}: {paragraph(Random(n), 1)}" for n in range(90))
    _, chunks = read(f"```{{code-cell}} python\n{options}\n\nhoot()\n```\n", Site.MYST)
    assert len(chunks) > 2
    assert all(each.reader_text for each in chunks)
    assert not any("option" in each.reader_text for each in chunks)


@given(st.lists(st.sampled_from(["", "hoot()", "    if night:", "}", "}", "owl = 1"]), max_size=30))
def test_lines_of_code_are_divided_without_loss(lines: list[str]) -> None:
    sources = ["```py", *(f"> {line}" for line in lines), "```"]
    shares = divide_lines("\n".join(lines), sources)
    assert len(shares) == len(sources)
    assert shares[0].text == ""
    assert [solid(share.text) for share in shares[1:-1]] == [solid(line) for line in lines]


@given(st.integers(1, 30), st.integers(1, 8), st.integers(0, 99))
def test_prose_is_divided_without_loss(words: int, count: int, seed: int) -> None:
    random = Random(seed)
    text = " ".join(random.choice(["owl", "mouse", "night\n", "é"]) for _ in range(words))
    sources = [random.choice(["<td>", "owl", "*mouse* night", text]) for _ in range(count)]
    shares = divide_prose(text, sources)
    assert len(shares) == count
    assert solid("".join(share.text for share in shares)) == solid(text)


def test_what_is_not_found_is_between_its_neighbours() -> None:
    text = "Owls fly at night. They weigh 500 g\nor more. Mice fear them."
    sources = ["Owls fly at night.", "They weigh \\weight{500} or more.", "*Mice* fear them."]
    assert [share.text for share in divide_prose(text, sources)] == [
        "Owls fly at night.",
        "They weigh 500 g\nor more.",
        "Mice fear them.",
    ]
