"""Charts as SVG, by matplotlib: an optional extra, imported when a chart is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from app.domain.errors import ConfigError, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve: TypeAlias = Sequence[tuple[float, float]]


def require_plots() -> None:
    """Raise ConfigError if matplotlib is not installed. Call it before long work."""
    if find_spec("matplotlib") is None:
        message = "charts need matplotlib: pip install 'textbook-rag[plots]'"
        raise ConfigError(message)


def bar_charts(
    path: Path, title: str, names: Sequence[str], measures: Mapping[str, Sequence[float]]
) -> None:
    """Draw one chart per measure with one bar per name. The same input gives the same bytes.

    ConfigError if matplotlib is not installed, InputError if `path` cannot be written.
    """
    columns = min(4, len(measures))
    rows = -(-len(measures) // columns)
    with _drawn(path, 3 * columns, 2.2 * rows) as figure:
        figure.suptitle(title)
        for place, (measure, values) in enumerate(measures.items(), 1):
            axes = figure.add_subplot(rows, columns, place)
            bars = axes.barh(list(names), list(values), color="#3b6ea5")
            axes.bar_label(bars, fmt="%.3g", padding=2, fontsize=7)
            axes.set_title(measure)
            axes.invert_yaxis()
            axes.set_xticks([])
            axes.margins(x=0.2)
            axes.set_xlim(left=0)
            axes.spines[["top", "right"]].set_visible(False)


def curves(
    path: Path,
    x_label: str,
    y_label: str,
    lines: Mapping[str, Curve],
    marks: Mapping[str, float] | None = None,
) -> None:
    """Draw named curves with y from 0 to 1, and named vertical lines at the x values of `marks`.

    Bytes and errors as in `bar_charts`.
    """
    with _drawn(path, 7.4, 3.2) as figure:
        axes = figure.add_subplot()
        for name, points in lines.items():
            axes.plot(
                *zip(*points, strict=True), label=name, marker="." if len(points) < 30 else ""
            )
        for number, (name, x) in enumerate((marks or {}).items()):
            axes.axvline(x, color="#555", linestyle=("--", ":")[number % 2], label=name)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_ylim(0, 1.03)
        axes.grid(visible=True, color="#ddd")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right upper", frameon=False)


@contextmanager
def _drawn(path: Path, width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure of this size in inches; write it to `path` at the end."""
    require_plots()
    import matplotlib as mpl  # noqa: PLC0415 - an optional extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    # Text stays text, in one font: paths, or a list of fonts, would be most of the file.
    with mpl.rc_context(
        {
            "svg.hashsalt": "textbook-rag",
            "svg.fonttype": "none",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": 8,
        }
    ):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        try:
            figure.savefig(path, format="svg", metadata={"Date": None})
        except OSError as error:
            message = f"{path}: cannot be written ({error.strerror}): choose another file"
            raise InputError(message) from error
