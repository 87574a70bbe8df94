"""How good a ranking of chunks or paragraphs is, in characters of the source.

A *retrieved* chunk is its file and source spans; a *gold* span is found by a chunk that shares at
least `MIN_OVERLAP` code points with it (or all of it, if it is shorter): touching it at a line end
is not finding it. A question without gold spans is answered by its gold file: any chunk of that
file (or folder) finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, fsum, log2

from app.domain.document import Span
from app.domain.retrieval.question import GoldSpan, Question

MIN_OVERLAP = 16
NDCG_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Where a retrieved chunk lies; `spans` ascending and disjoint."""

    file: str
    spans: tuple[Span, ...]

    @property
    def length(self) -> int:
        return sum(end - start for start, end in self.spans)


@dataclass(frozen=True, slots=True)
class RankingScores:
    """One question's scores. `precision` and `iou` are None without gold spans."""

    recall: float
    """Share of the gold's characters that the first k chunks cover. Where gold spans are
    alternatives, of the best covered one; by gold file, 1 or 0."""
    first_hit: int
    """Rank of the first chunk that finds a gold, from 1, within all that was retrieved; or 0."""
    ndcg: float
    precision: float | None
    """Gold characters in the first k chunks, each once, over all characters of those chunks,
    repeats counted: as in Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval",
    Chroma 2024, but for characters instead of tokens and always k chunks."""
    iou: float | None
    """The same, with the gold characters that were not found added to the denominator (ibid.)."""
    first_page_hit: int
    """Rank of the first chunk of a file that answers, wherever in it; or 0."""

    def hit(self, k: int) -> float:
        return float(0 < self.first_hit <= k)

    def page_hit(self, k: int) -> float:
        return float(0 < self.first_page_hit <= k)

    @property
    def reciprocal_rank(self) -> float:
        return 1 / self.first_hit if self.first_hit else 0.0


def score_ranking(question: Question, ranking: Sequence[Retrieved], k: int) -> RankingScores:
    """Score a ranking, best first. Give at least NDCG_DEPTH chunks, where there are as many."""
    if not question.gold:
        return _score_by_file(question.gold_file, ranking, k)
    found = [_found(question.gold, retrieved) for retrieved in ranking]
    first_hit = next((rank for rank, golds in enumerate(found, 1) if golds), 0)
    retrieved_length = sum(retrieved.length for retrieved in ranking[:k])
    # Golds may overlap (a table row given twice): count characters of their union.
    union = [GoldSpan(file, *span) for file, span in _union(question.gold)]
    union_covered = sum(coverage(union, ranking[:k]))
    missed = sum(gold.end - gold.start for gold in union) - union_covered
    return RankingScores(
        recall=recall(question, ranking[:k]),
        first_hit=first_hit,
        ndcg=_ndcg_any(first_hit)
        if question.alternatives
        else _ndcg_parts(found, len(question.gold)),
        precision=union_covered / retrieved_length if retrieved_length else 0.0,
        iou=union_covered / (retrieved_length + missed) if retrieved_length else 0.0,
        first_page_hit=_first_page_hit(question, ranking),
    )


def recall(question: Question, retrieved: Sequence[Retrieved]) -> float:
    """Share of the gold's characters that lie in what was retrieved, 0 to 1."""
    if not question.gold:
        return float(any(_in_gold_file(question.gold_file, one.file) for one in retrieved))
    covered = coverage(question.gold, retrieved)
    lengths = [gold.end - gold.start for gold in question.gold]
    if question.alternatives:
        return max(part / (length or 1) for part, length in zip(covered, lengths, strict=True))
    return sum(covered) / (sum(lengths) or 1)


def coverage(golds: Sequence[GoldSpan], ranking: Sequence[Retrieved]) -> list[int]:
    """Characters of each gold span that lie in the union of the retrieved spans."""
    spans_by_file: dict[str, list[Span]] = {gold.file: [] for gold in golds}
    for retrieved in ranking:
        if retrieved.file in spans_by_file:
            spans_by_file[retrieved.file].extend(retrieved.spans)
    merged = {file: merge(spans) for file, spans in spans_by_file.items()}
    return [_overlap(gold, merged[gold.file]) for gold in golds]


def merge(spans: Sequence[Span]) -> list[Span]:
    """Their union as disjoint spans that do not touch, ascending."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _union(golds: Sequence[GoldSpan]) -> Iterator[tuple[str, Span]]:
    for file in {gold.file: None for gold in golds}:
        for span in merge([(gold.start, gold.end) for gold in golds if gold.file == file]):
            yield file, span


def _overlap(gold: GoldSpan, spans: Sequence[Span]) -> int:
    return sum(max(0, min(gold.end, end) - max(gold.start, start)) for start, end in spans)


def _found(golds: Sequence[GoldSpan], retrieved: Retrieved) -> frozenset[int]:
    return frozenset(
        index
        for index, gold in enumerate(golds)
        if gold.file == retrieved.file
        and _overlap(gold, retrieved.spans) >= max(1, min(MIN_OVERLAP, gold.end - gold.start))
    )


def _in_gold_file(gold_file: str, file: str) -> bool:
    return file == gold_file or (gold_file.endswith("/") and file.startswith(gold_file))


def _score_by_file(gold_file: str, ranking: Sequence[Retrieved], k: int) -> RankingScores:
    ranks = (rank for rank, one in enumerate(ranking, 1) if _in_gold_file(gold_file, one.file))
    first_hit = next(ranks, 0)
    return RankingScores(
        recall=float(0 < first_hit <= k),
        first_hit=first_hit,
        ndcg=_ndcg_any(first_hit),
        precision=None,
        iou=None,
        first_page_hit=first_hit,
    )


def _first_page_hit(question: Question, ranking: Sequence[Retrieved]) -> int:
    files = {gold.file for gold in question.gold}
    return next((rank for rank, one in enumerate(ranking, 1) if one.file in files), 0)


def _ndcg_any(first_hit: int) -> float:
    """nDCG@10 where one answer is enough: the ideal has it at rank 1."""
    return 1 / log2(1 + first_hit) if 0 < first_hit <= NDCG_DEPTH else 0.0


def _ndcg_parts(found: Sequence[frozenset[int]], golds: int) -> float:
    """nDCG@10 where a chunk is relevant if it finds a gold that none before it found.

    Gain 1 for such a chunk, however many golds it finds; the ideal ranking has as many relevant
    chunks at the top as there were, and one more for each gold that was not found. (Clarke et
    al., "Novelty and Diversity in Information Retrieval Evaluation", SIGIR 2008, with alpha 1 and
    binary gain: repeats of the same passage by overlap earn nothing.)
    """
    seen: frozenset[int] = frozenset()
    relevant: list[int] = []
    for rank, new in enumerate(found[:NDCG_DEPTH], 1):
        if not new <= seen:
            relevant.append(rank)
        seen |= new
    ideal = min(NDCG_DEPTH, len(relevant) + golds - len(seen))
    return _dcg(relevant) / _dcg(range(1, ideal + 1))


def _dcg(ranks: Iterable[int]) -> float:
    return fsum(1 / log2(1 + rank) for rank in ranks)


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that `share` of all do not exceed."""
    if not values:
        return 0.0
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]
