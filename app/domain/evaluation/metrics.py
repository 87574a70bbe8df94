"""Metrics by a question's gold: of a ranking, in characters of the source, and of an answer.

A retrieved chunk is a file and source spans. It finds a gold span if it shares at least
`MIN_OVERLAP` code points with it, or the whole span if that is shorter. For a question without
gold spans, any chunk of its gold file or folder is a hit. Of an answer the outcome, the key facts
shown and the citations are measured.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum, log2

from app.domain.answer import Answer, Confidence
from app.domain.document import Span, union
from app.domain.evaluation.gold_question import GoldSpan, Question
from app.domain.evaluation.measurement import Measured
from app.domain.retrieval.query import Hit
from app.domain.scripts import word_count

MIN_OVERLAP = 16
"""Code points."""
NDCG_DEPTH = 10
STANDARD_DEPTH = 5
"""Depth of recall and hit rate that every evaluation reports in addition to its k."""
OUTCOMES = ("answered", "uncertain", "refused")


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The source of a retrieved chunk or paragraph; `spans` are ascending and disjoint."""

    file: str
    spans: tuple[Span, ...]


def ranking_of(hits: Sequence[Hit]) -> list[Retrieved]:
    return [Retrieved(hit.chunk.file, hit.chunk.spans) for hit in hits]


def retrieval_metrics(
    question: Question, ranking: Sequence[Retrieved], k: int
) -> dict[str, float | None]:
    """Return the metrics of a ranking, best first: at least NDCG_DEPTH chunks if there are so many.

    None for an unanswerable question; precision is None without gold spans. If k is the standard
    depth, it adds no metrics.
    """
    first, top = first_hit(question, ranking), ranking[:k]
    metrics = {
        f"recall@{STANDARD_DEPTH}": recall(question, ranking[:STANDARD_DEPTH]),
        "hit@1": float(first == 1),
        f"hit@{STANDARD_DEPTH}": float(0 < first <= STANDARD_DEPTH),
        "mrr": 1 / first if first else 0.0,
        f"ndcg@{NDCG_DEPTH}": _ndcg(question, ranking),
        "precision": _precision(question.gold, top) if question.gold else None,
        f"recall@{k}": recall(question, top),
        f"hit@{k}": float(0 < first <= k),
    }
    return metrics if question.answerable else dict.fromkeys(metrics)


def first_hit(question: Question, ranking: Sequence[Retrieved]) -> int:
    """Return the rank of the first chunk that finds a gold span, from 1; 0 if none does."""
    return next((rank for rank, one in enumerate(ranking, 1) if _found(question, one)), 0)


def _precision(golds: Sequence[GoldSpan], retrieved: Sequence[Retrieved]) -> float:
    """Distinct gold characters in the chunks, divided by all their characters, repeats included.

    As in Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma 2024, but with
    characters instead of tokens and k chunks.
    """
    # Gold spans may overlap, so characters of their union are counted.
    distinct = [
        GoldSpan(file, *span)
        for file in {gold.file: None for gold in golds}
        for span in union((gold.start, gold.end) for gold in golds if gold.file == file)
    ]
    length = sum(end - start for one in retrieved for start, end in one.spans)
    return sum(coverage(distinct, retrieved)) / length if length else 0.0


def recall(question: Question, retrieved: Sequence[Retrieved]) -> float:
    """Return the share of the gold characters in the retrieved spans, 0 to 1.

    If the gold spans are alternatives, only the best covered one counts. For a gold file: 1 if a
    chunk of it is retrieved, else 0.
    """
    if not question.gold:
        return float(any(_in_gold_file(question.gold_file, one.file) for one in retrieved))
    covered = coverage(question.gold, retrieved)
    lengths = [gold.end - gold.start for gold in question.gold]
    if question.alternatives:
        return max(part / (length or 1) for part, length in zip(covered, lengths, strict=True))
    return sum(covered) / (sum(lengths) or 1)


def coverage(golds: Sequence[GoldSpan], ranking: Sequence[Retrieved]) -> list[int]:
    """Count the characters of each gold span in the union of the retrieved spans."""
    spans_by_file: dict[str, list[Span]] = {gold.file: [] for gold in golds}
    for retrieved in ranking:
        if retrieved.file in spans_by_file:
            spans_by_file[retrieved.file].extend(retrieved.spans)
    merged = {file: union(spans) for file, spans in spans_by_file.items()}
    return [_overlap(gold, merged[gold.file]) for gold in golds]


def _overlap(gold: GoldSpan, spans: Sequence[Span]) -> int:
    return sum(max(0, min(gold.end, end) - max(gold.start, start)) for start, end in spans)


def _found(question: Question, retrieved: Retrieved) -> frozenset[int]:
    """Return the numbers of the gold spans that a chunk finds; the gold file has number 0."""
    if not question.gold:
        return frozenset([0] if _in_gold_file(question.gold_file, retrieved.file) else [])
    return frozenset(
        index
        for index, gold in enumerate(question.gold)
        if gold.file == retrieved.file
        and _overlap(gold, retrieved.spans) >= max(1, min(MIN_OVERLAP, gold.end - gold.start))
    )


def _in_gold_file(gold_file: str, file: str) -> bool:
    return file == gold_file or (gold_file.endswith("/") and file.startswith(gold_file))


def _ndcg(question: Question, ranking: Sequence[Retrieved]) -> float:
    """nDCG@10 where a chunk is relevant if it finds a gold span that no earlier one found.

    A relevant chunk has gain 1, however many gold spans it finds. The ideal ranking has all
    relevant chunks on top, and one more for each gold span not found. This is alpha-nDCG (Clarke
    et al., "Novelty and Diversity in Information Retrieval Evaluation", SIGIR 2008) with alpha 1
    and binary gain: a passage repeated by overlap has no gain.
    """
    found = [_found(question, one) for one in ranking[:NDCG_DEPTH]]
    golds = len(question.gold) or 1
    if question.alternatives:
        found, golds = [frozenset([0]) if one else one for one in found], 1
    seen: frozenset[int] = frozenset()
    relevant: list[int] = []
    for rank, new in enumerate(found, 1):
        if not new <= seen:
            relevant.append(rank)
        seen |= new
    ideal = min(NDCG_DEPTH, len(relevant) + golds - len(seen))
    return _dcg(relevant) / _dcg(range(1, ideal + 1))


def _dcg(ranks: Iterable[int]) -> float:
    return fsum(1 / log2(1 + rank) for rank in ranks)


def judge_answer(question: Question, answer: Answer, hits: Sequence[Hit]) -> Measured:
    """Measure an answer made from these hits."""
    shown, outcome = shown_text(answer), "refused" if answer.refused else answer.confidence.value
    cited = (Retrieved(one.file, one.spans) for one in answer.citations)
    right = sum(question.answerable and first_hit(question, [one]) for one in cited)
    facts = bool(shown) and has_facts(shown, question.key_facts) if question.key_facts else None
    found = question.answerable and finds_all_gold(question, ranking_of(hits)[:STANDARD_DEPTH])
    metrics: dict[str, float | None] = {
        f"{sort}_{one}": float(one == outcome) if question.answerable is answerable else None
        for sort, answerable in (("answerable", True), ("unanswerable", False))
        for one in OUTCOMES
    }
    of_answerable = {
        "facts_shown": facts,
        "words_shown": None if answer.refused else word_count(shown),
        "found": found,
        "citation_precision": right / len(answer.citations) if answer.citations else None,
        "cited_gold": right > 0,
    }
    for name, value in of_answerable.items():
        metrics[name] = None if value is None or not question.answerable else float(value)
    return Measured(
        question,
        metrics,
        details={
            "mode": answer.mode,
            "confidence": answer.confidence,
            "outcome": outcome,
            "failure": _failure(question, answer, facts, found=found),
            "cited": len(answer.citations),
            "right": right,
            "refused": answer.refused,
            "degraded": bool(answer.degraded),
        },
    )


def _failure(
    question: Question, answer: Answer, facts_shown: bool | None, *, found: bool
) -> str | None:
    """Return the first reason why a question was not helped; None if it was."""
    if not question.answerable:
        answered = answer.confidence is Confidence.ANSWERED
        return "unanswerable, but shown as an answer" if answered else None
    if answer.refused:
        return "answerable, but refused"
    if facts_shown is not False:
        return None
    return "gold found, but a key fact is not shown" if found else "gold not among the hits"


def shown_text(answer: Answer) -> str:
    """The passages, or the answer's text if it has no passages; "" in a refusal."""
    if answer.refused:
        return ""
    return "\n\n".join(passage.text for passage in answer.passages) or answer.answer


def finds_all_gold(question: Question, ranking: Sequence[Retrieved]) -> bool:
    """Whether the ranking finds a gold span, or all of them if the question `gold_all`."""
    if not question.gold_all:
        return first_hit(question, ranking) > 0
    return all(first_hit(replace(question, gold=(gold,)), ranking) for gold in question.gold)


def has_facts(text: str, key_facts: Sequence[str]) -> bool:
    """Whether every pattern matches, ignoring case. A space in it also matches a line break."""
    forms = (text, " ".join(text.split()))
    patterns = [re.compile(fact, re.IGNORECASE | re.DOTALL) for fact in key_facts]
    return all(any(map(one.search, forms)) for one in patterns)
