"""Keeps paragraph ids stable between versions of a book, by its ledger."""

from __future__ import annotations

import re
from dataclasses import replace

from app.domain.document import Block, Book
from app.domain.identity import content_id, norm
from app.domain.ledger import Ledger, Paragraph, renew

# `p-0123456789-2` is the second paragraph with the text hashed to `p-0123456789`.
_WITHOUT_REPEAT = re.compile(r"(?<=^p-.{10})-\d+$")


def keep_ids(book: Book, ledger: Ledger) -> tuple[Book, Ledger]:
    """Return the book with the ledger's paragraph ids, and the updated ledger."""
    blocks = [block for block in book.blocks() if block.paragraph_id]
    ids, renewed = renew(ledger, [_paragraph(block) for block in blocks])
    given = iter(ids)

    def identified(block: Block) -> Block:
        paragraph_id = next(given) if block.paragraph_id else ""
        if paragraph_id == block.paragraph_id:
            return block
        return replace(block, paragraph_id=paragraph_id)

    documents = tuple(
        replace(document, blocks=tuple(identified(block) for block in document.blocks))
        for document in book.documents
    )
    return replace(book, documents=documents), renewed


def _paragraph(block: Block) -> Paragraph:
    authored = block.paragraph_id == block.author_id
    hashed = content_id(block.text) if authored else _WITHOUT_REPEAT.sub("", block.paragraph_id)
    return Paragraph(
        hashed,
        norm(block.text),
        block.file,
        block.heading_path,
        block.url,
        block.author_id if authored else "",
    )
