"""Answering: question analysis, extraction, verification of citations, refusal."""
