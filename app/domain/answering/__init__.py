"""From question and context to a grounded answer: terms, extraction, verification, refusal."""
