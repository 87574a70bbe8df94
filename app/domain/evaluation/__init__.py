"""Evaluation: questions with gold spans, metrics, comparison of two runs, calibration."""
