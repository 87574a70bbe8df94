"""Bar charts as SVG, by matplotlib: an optional extra, imported when a chart is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from app.domain.errors import ConfigError, InputError


def bar_charts(
    path: Path, title: str, names: Sequence[str], measures: Mapping[str, Sequence[float]]
) -> None:
    """Draw one small chart a measure, a bar a name. The same figures give the same bytes.

    ConfigError when matplotlib is not installed, InputError when `path` cannot be written.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an optional extra
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        message = "charts need matplotlib: pip install 'textbook-rag[plots]'"
        raise ConfigError(message) from error
    columns = min(4, len(measures))
    rows = -(-len(measures) // columns)
    with mpl.rc_context({"svg.hashsalt": "textbook-rag", "font.size": 8}):
        figure = Figure(figsize=(3 * columns, 2.2 * rows), layout="constrained")
        figure.suptitle(title)
        for place, (measure, values) in enumerate(measures.items(), 1):
            axes = figure.add_subplot(rows, columns, place)
            bars = axes.barh(list(names), list(values), color="#3b6ea5")
            axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
            axes.set_title(measure)
            axes.invert_yaxis()
            axes.margins(x=0.2)
            axes.spines[["top", "right"]].set_visible(False)
        try:
            figure.savefig(path, format="svg", metadata={"Date": None})
        except OSError as error:
            message = f"{path}: cannot be written ({error.strerror})"
            raise InputError(message) from error
