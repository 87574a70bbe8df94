"""What holds for every page that is read, whatever is written in it."""

from __future__ import annotations

from app.domain.document import Document
from app.domain.page_links import page_links


def assert_sound(page: Document) -> None:
    """Spans lie in the file; blocks have a text, an id and a link."""
    size = len(page.source)
    for block in page.blocks:
        assert block.text.strip(), block
        assert 0 <= block.start <= block.end <= size, block
    ids = [block.paragraph_id for block in page.blocks]
    assert len(ids) == len(set(ids))
    assert len(page_links(page)) == len(page.blocks)
