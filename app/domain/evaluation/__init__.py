"""Evaluation: questions with gold spans, metrics, and the comparison of two runs."""
