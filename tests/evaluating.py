"""Evaluation of the answers of a `World`, without a command."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.measurement import Measure
from app.services.evaluate import Evaluate, Evaluation, EvaluationRequest
from app.services.phases import Advance, ignore
from app.services.retrieve import Retrieve
from tests.answer_fakes import World


def evaluated(
    world: World,
    questions: Sequence[Question],
    of: Measure = Measure.HELPFUL,
    advance: Advance = ignore,
) -> Evaluation:
    """Answer the questions; nothing is searched, since all gold files count as indexed."""
    nothing = cast("Any", None)
    use_case = Evaluate(cast("Retrieve", nothing), world.answering(), lambda: 0.0)
    return asyncio.run(use_case.run(questions, EvaluationRequest(of=of), advance))
