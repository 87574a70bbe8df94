"""Differences between a new version of a book and its index."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from app.domain.chunking.chunk import Chunk


@dataclass(frozen=True, slots=True)
class Changes:
    """Numbers of chunks."""

    added: int = 0
    changed: int = 0
    """Replaced an old chunk: it shares paragraphs, but has other text or another file."""
    removed: int = 0


def compare(before: Mapping[str, tuple[str, ...]], chunks: Sequence[Chunk]) -> Changes:
    """Compare by chunk id; a new chunk with a paragraph of a removed one replaces it.

    `before` maps the ids of the indexed chunks to their paragraph ids.
    """
    ids = {chunk.chunk_id for chunk in chunks}
    gone = {chunk_id: held for chunk_id, held in before.items() if chunk_id not in ids}
    holders = _holders(gone)
    new = [chunk for chunk in chunks if chunk.chunk_id not in before]
    replaced: set[str] = set()
    for chunk in new:
        replaced.update(islice(_free(chunk.paragraph_ids, holders, replaced), 1))
    return Changes(len(new) - len(replaced), len(replaced), len(gone) - len(replaced))


def _free(
    paragraphs: Iterable[str], holders: Mapping[str, list[str]], replaced: Set[str]
) -> Iterator[str]:
    """Holders of the paragraphs that are not replaced yet; the others leave the lists."""
    for paragraph in paragraphs:
        held = holders.get(paragraph, [])
        while held:
            if held[-1] not in replaced:
                yield held[-1]
            held.pop()


def _holders(chunks: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Paragraph id to the chunks that contain it; those that only repeat it come first."""
    places = sorted(
        (place, chunk_id, paragraph)
        for chunk_id, held in chunks.items()
        for place, paragraph in enumerate(held)
    )
    places.reverse()
    holders: dict[str, list[str]] = {}
    for _, chunk_id, paragraph in places:
        holders.setdefault(paragraph, []).append(chunk_id)
    return holders


def fingerprint(chunks: Iterable[Chunk], *settings: object) -> str:
    """Hash of everything that decides what is stored: equal fingerprints mean nothing to do.

    `settings` are the model, the encoder and whatever else determines vectors.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for chunk in chunks:
        digest.update(repr(chunk).encode())
    return digest.hexdigest()
