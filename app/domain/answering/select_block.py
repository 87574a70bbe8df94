"""The listing or the numbered list that a question asks for, "show me the code", "what steps".

value = coverage + HIT * (the passage's retrieval score / the best one)
    + LIKENESS * the greatest cosine of question and one of the block's units

Coverage is the weighted share of the question's terms, but for those that only say what is wanted
("code", "steps"): in the block or the sentence right before it a term counts whole, in the heading
of its section and the paragraph before NEAR, in the paragraph after it AFTER.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.domain.answering.listings import is_running_text, is_to_be_done
from app.domain.answering.relevance import HIT, LIKENESS, Relevance
from app.domain.answering.units import WHOLE, Unit, adjoin
from app.domain.document import BlockKind
from app.domain.terms import Terms

NEAR = 0.8
AFTER = 0.3
LEAST = 0.5
"""Coverage without which a block does not belong to the question."""
NAMED_SLACK = 0.3
"""How much less than the best sentence's score is enough where the question names code or steps."""
TO_DO_SLACK = 0.15
"""The same where it asks how to do something, for a listing that the reader is told to write."""

_NUMBERED = re.compile(r"^\s*\d{1,3}[.)][ \t]+\S", re.MULTILINE)


def select_block(
    units: Sequence[Unit],
    scores: Sequence[float],
    likeness: Sequence[float],
    relevance: Relevance,
) -> list[int]:
    """Positions of the sentence that introduces the block and of the block; empty if none fits."""
    asked = relevance.asked
    named = asked.listing or asked.steps
    if not (named or asked.to_do):
        return []
    blocks = _blocks(units, relevance, BlockKind.CODE if asked.listing else BlockKind.LIST)
    candidates = [(one, NAMED_SLACK if named else 0.0) for one in blocks]
    if asked.to_do and not asked.listing:
        listings = _blocks(units, relevance, BlockKind.CODE)
        led = (
            one
            for one in listings
            if len(one) > 1
            and is_to_be_done(units[one[-2]])
            and not is_running_text(units[one[-1]].text)
        )
        candidates += [(one, TO_DO_SLACK) for one in led]
    weights = asked.subject
    top = max((one.score for one in relevance.context), default=0.0) or 1.0
    best, found = max(scores, default=0.0), []
    for block, slack in candidates:
        coverage = _coverage(block, units, weights, relevance)
        passage = units[block[-1]].passage
        like = LIKENESS * max(likeness[at] for at in block)
        value = coverage + HIT * relevance.context[passage].score / top + like + slack
        if coverage >= LEAST and value > best:
            best, found = value, block
    return found


def _blocks(units: Sequence[Unit], relevance: Relevance, kind: BlockKind) -> list[list[int]]:
    """Each with the unit before it, when that stands right before it in the book."""
    blocks: dict[int, list[int]] = {}
    for at, unit in enumerate(units):
        passage = relevance.context[unit.passage].passage
        if unit.kind is kind is passage.kind:
            blocks.setdefault(unit.passage, []).append(at)
    return [
        [*_lead_in(block[0], units, relevance), *block]
        for at, block in blocks.items()
        if kind is BlockKind.CODE
        or len(_NUMBERED.findall(relevance.context[at].passage.text)) == len(block) > 1
    ]


def _lead_in(first: int, units: Sequence[Unit], relevance: Relevance) -> list[int]:
    """The sentence before the block, and before that the nearest on the question if it is not."""
    if not first or not adjoin(relevance.context, units[first - 1].passage, units[first].passage):
        return []
    passage, lead = units[first - 1].passage, first - 1
    if units[lead].kind in WHOLE:
        return []
    same = [at for at in range(lead + 1) if units[at].passage == passage]
    near = [at for at in same if relevance.terms(units[at].text) & set(relevance.asked.weights)]
    return sorted({near[-1] if near else lead, lead})


def _coverage(
    block: Sequence[int], units: Sequence[Unit], weights: dict[int, float], relevance: Relevance
) -> float:
    context, terms = relevance.context, relevance.terms
    at = units[block[-1]].passage
    leads = [one for one in block if units[one].passage != at]
    beside = [units[one].text for one in block if one not in leads[:-1]]
    own = terms("\n".join((context[at].passage.language, *beside)))
    before = context[at - 1].passage.text if at and adjoin(context, at - 1, at) else ""
    near = terms(" ".join((before, *_headings(context[at].passage.heading_path, weights, terms))))
    after = terms(context[at + 1].passage.text) if adjoin(context, at, at + 1) else frozenset()
    held = sum(
        weight * (1.0 if term in own else NEAR if term in near else AFTER if term in after else 0.0)
        for term, weight in weights.items()
    )
    return held / (sum(weights.values()) or 1.0)


def _headings(path: Sequence[str], weights: Mapping[int, float], terms: Terms) -> Sequence[str]:
    """The heading above; of one that says nothing of the question, as "Usage", its parent too."""
    own = path[-1:]
    return path[-2:] if own and weights.keys().isdisjoint(terms(own[0])) else own
