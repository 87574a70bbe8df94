"""The adapters that evaluation needs: question files and plots."""

from app.adapters.plots import Curve, bar_charts, curves, require_plots
from app.adapters.question_file import has_facts, read_questions

__all__ = ["Curve", "bar_charts", "curves", "has_facts", "read_questions", "require_plots"]
