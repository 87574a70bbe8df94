"""The adapter that evaluation needs: question files."""

from app.adapters.question_file import read_questions

__all__ = ["read_questions"]
