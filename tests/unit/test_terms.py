"""Sizes in tokens follow what a book's script costs in tokens; words are counted in any script."""

from itertools import cycle, islice
from pathlib import Path

import pytest

from app.adapters.tokens import token_counter
from app.bootstrap.ingesting import chunk_book
from app.domain.scripts import script_scale, word_count
from app.services.ingest_plan import IngestRequest
from tests.markdown_pages import read_folder

# One paragraph in five languages.
TEXTS = {
    "en": "A book is divided into pieces so that a search can find the right place. Each piece "
    "holds a few paragraphs, and its heading says what it is about.",
    "de": "Ein Buch wird in Stücke zerlegt, damit eine Suche die richtige Stelle finden kann. "
    "Jedes Stück enthält einige Absätze, und seine Überschrift sagt, worum es geht.",
    "hi": "किताब को टुकड़ों में बाँटा जाता है ताकि खोज सही जगह ढूँढ सके। हर टुकड़े में कुछ अनुच्छेद होते हैं, "
    "और उसका शीर्षक बताता है कि वह किस बारे में है।",
    "ar": "يقسم الكتاب إلى أجزاء لكي يجد البحث المكان الصحيح. يحتوي كل جزء على بعض الفقرات، "
    "ويقول عنوانه عما يتحدث.",
    "zh": "书被分成若干片段，以便搜索能找到正确的位置。每个片段包含几个段落，它的标题说明其内容。",
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "…",
        "Δ and μ are Greek letters; this is not. " + TEXTS["en"],
        "Mọi người đều có quyền được tìm thấy câu trả lời trong sách.",
        "😀 → “quoted” — ½ ∑ " + TEXTS["en"],
    ],
)
def test_latin_text_with_a_few_other_letters_is_not_scaled(text: str) -> None:
    assert script_scale([text], token_counter()) == 1.0


def _request(folder: Path, language: str) -> IngestRequest:
    folder.mkdir()
    text = islice(cycle([TEXTS[language]]), 40)
    page = "\n\n".join(f"{one} {number}" for number, one in enumerate(text))
    (folder / "page.md").write_text(f"# X\n\n{page}\n")
    return IngestRequest(folder)


@pytest.mark.parametrize("language", ["hi", "ar", "zh"])
def test_a_book_in_another_script_has_as_many_chunks_as_in_english(
    tmp_path: Path, language: str
) -> None:
    count = token_counter()
    sizes = {}
    for each in ("en", language):
        request = _request(tmp_path / each, each)
        book = read_folder(request.folder)
        chunks = list(chunk_book(book, request))
        whole = {one.own_text for chunk in chunks for one in chunk.passages}
        assert all(block.text in whole for block in book.blocks() if block.kind != "heading")
        assert [one.token_count for one in chunks] == [count(one.text_content) for one in chunks]
        sizes[each] = len(chunks)
    assert abs(sizes[language] - sizes["en"]) <= 2


def test_sizes_are_not_scaled_beyond_the_embedders_limit(tmp_path: Path) -> None:
    request = _request(tmp_path / "book", "hi")
    book = read_folder(request.folder)
    largest = {
        limit: max(one.token_count for one in chunk_book(book, request, longest_text=limit))
        for limit in (512, 1_000, None)
    }
    assert largest[512] < largest[1_000] < largest[None]
    assert largest[1_000] <= 1_000


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("Owls hunt mice — at night.", 6),
        ("올빼미는 밤에 쥐를 잡는다.", 4),
        ("猫头鹰在夜里捕捉老鼠。", 6),
        ("フクロウは夜にネズミを狩ります。", 5),
        ("นกฮูกล่าหนูในเวลากลางคืน", 5),
        ("を", 1),
    ],
)
def test_words_are_counted_in_any_script(text: str, count: int) -> None:
    assert word_count(text) == count
