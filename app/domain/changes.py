"""What a new version of a book changes in its index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.chunking.chunk import Chunk


@dataclass(frozen=True, slots=True)
class Changes:
    """Numbers of chunks."""

    added: int = 0
    changed: int = 0
    """Took the place of an old one: some of the same paragraphs, other text or another file."""
    removed: int = 0


def compare(before: Mapping[str, tuple[str, ...]], chunks: Sequence[Chunk]) -> Changes:
    """Compare by chunk id; a new chunk that holds a paragraph of a gone one changes it.

    `before` maps the ids of the indexed chunks to their paragraph ids.
    """
    ids = {chunk.chunk_id for chunk in chunks}
    gone = {chunk_id: held for chunk_id, held in before.items() if chunk_id not in ids}
    owner = {paragraph: chunk_id for chunk_id, held in gone.items() for paragraph in held}
    new = [chunk for chunk in chunks if chunk.chunk_id not in before]
    replaced: set[str] = set()
    for chunk in new:
        owners = (owner[held] for held in chunk.paragraph_ids if held in owner)
        old = next((one for one in owners if one not in replaced), None)
        if old is not None:
            replaced.add(old)
    return Changes(len(new) - len(replaced), len(replaced), len(gone) - len(replaced))


def fingerprint(chunks: Iterable[Chunk], *settings: object) -> str:
    """Hash all that decides what is stored: equal fingerprints mean nothing to do.

    `settings` are the model, the encoder and whatever else makes vectors of texts.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for chunk in chunks:
        digest.update(repr(chunk).encode())
    return digest.hexdigest()
