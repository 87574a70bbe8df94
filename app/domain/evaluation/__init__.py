"""Evaluation: questions with gold spans, metrics, calibration."""
