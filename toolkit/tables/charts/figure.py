"""The parts that all charts share: a figure with a fixed style, and marks and rows on it.

A chart looks the same on every machine and in every run. Its style is fixed: the user's matplotlib styles do not change
it, and it does not change them. The background is white, in a dark page too: no colour of text has the contrast of 4.5
to 1 that WCAG 2 (level AA, 1.4.3) asks for on both white and #111. Readers who cannot see a chart get its rows as text.
"""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.registry import BackendFilter, backend_registry
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from toolkit.core import tracebacks
from toolkit.core.text import as_html

if TYPE_CHECKING:
    import pandas as pd

# On white, text has a contrast of 7 to 1, and bars and marks at least 3 to 1 (WCAG 2, 1.4.11).
PAPER: Final = "#ffffff"
INK: Final = "#595959"
BLUE: Final = "#3a86c8"
RED: Final = "#d9534f"
AMBER: Final = "#b97a0f"

MAX_ROWS: Final = 8  # bars or lines; the last row sums up the rest

_BACKENDS: Any = backend_registry  # has no type annotations
_WIDTH: Final = 8.0  # inches
_DPI: Final = 192  # two dots for each CSS pixel
# Where this differs from the defaults of matplotlib.
_STYLE: Final[dict[Any, Any]] = {
    "axes.edgecolor": INK,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 12,
    "figure.facecolor": PAPER,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    "grid.color": INK,
    "grid.alpha": 0.18,
    "legend.frameon": False,
    "legend.handletextpad": 0.2,
    "legend.fontsize": 9,
    "legend.labelcolor": INK,
    "svg.hashsalt": "service-access-toolkit",
    "text.color": INK,
    "text.parse_math": False,  # a $ in the name of an account does not start a formula
    "xtick.color": INK,
    "xtick.labelsize": 9,
    "ytick.color": INK,
    "ytick.labelsize": 9,
}
# Settings that are not style: the window backend, and others that matplotlib warns about.
_NOT_STYLE: Final = frozenset({"backend", "backend_fallback", "interactive", "toolbar", "webagg.port", "date.epoch"})
# Metadata to leave out of a file, because it holds dates and versions.
_VARYING_METADATA: Final = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


class Chart(Figure):
    """A matplotlib figure that displays itself in a notebook. Add to it through `axes[0]`.

    Attributes:
        title: what the chart shows.
        source: where its data came from.
        rows: each bar or line in words, from the top.
    """

    title: str = ""
    source: str = ""
    rows: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Title and source in one line."""
        return f"{self.title}; {self.source}"

    @property
    def alternative_text(self) -> str:
        """Title, rows and source, for readers who cannot see the chart; pages and files carry it."""
        return ". ".join(filter(None, (self.title, "; ".join(self.rows), self.source))) + "."

    def __repr__(self) -> str:
        return f"<Chart: {self.words}>"

    __str__ = __repr__

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the chart to a file, in its own style and without date and version.

        Takes the options of `matplotlib.figure.Figure.savefig`. PNG and SVG carry the alternative text as description.
        """
        suffix = "" if hasattr(fname, "write") else Path(fname).suffix.lower().lstrip(".")
        kind = str(options.get("format") or suffix or "png").lower()
        own: dict[str, Any] = {**_VARYING_METADATA.get(kind, {})}
        if kind in ("png", "svg"):
            own["Description"] = self.alternative_text
        with _chart_style():
            options = {"dpi": _DPI, "bbox_inches": "tight", **options}
            options["metadata"] = {**own, **(options.get("metadata") or {})}
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()

    def _repr_html_(self) -> str:
        png = self._repr_png_()
        return _image_html(png, self.alternative_text)

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        png = self._repr_png_()
        width, height = _size(png)
        # JupyterLab shows HTML rather than the image, and has no alternative text for images.
        data = {
            "text/plain": repr(self),
            "text/html": _image_html(png, self.alternative_text),
            "image/png": base64.b64encode(png).decode("ascii"),
        }
        return data, {"image/png": {"width": width, "height": height, "alt": self.alternative_text}}

    def _ipython_display_(self) -> None:
        # Otherwise IPython would use matplotlib's own formatter for figures, which writes its version into the PNG.
        from IPython import display

        show: Any = display.display
        data, metadata = self._repr_mimebundle_()
        show(data, metadata=metadata, raw=True)

    def show(self, warn: bool = True) -> None:  # noqa: ARG002 - matplotlib's signature
        """Show the chart: below the cell in a notebook, else in a window, and return when it is closed.

        Where no window can be opened, the chart is written to a file in the folder for temporary files, and a warning
        says where.
        """
        from matplotlib import pyplot as plt

        if getattr(tracebacks.shell(), "kernel", None) is not None:
            self._ipython_display_()
        elif mpl.get_backend().lower() in _BACKENDS.list_builtin(BackendFilter.INTERACTIVE):
            plt.figure(self)
            plt.show()
        else:
            path = Path(tempfile.mkdtemp(prefix="chart-")) / "chart.png"
            self.savefig(path)
            tracebacks.warn(f"No window can be opened here; the chart is in {path}")


def _size(png: bytes) -> tuple[int, int]:
    """Return width and height in CSS pixels, from the IHDR chunk (PNG, third edition, section 11.2.1)."""
    width, height = (int.from_bytes(png[at : at + 4], "big") // 2 for at in (16, 20))
    return width, height


def _image_html(png: bytes, alternative: str) -> str:
    width, height = _size(png)
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    return f'<img src="{source}" alt="{as_html(alternative)}" width="{width}" height="{height}">'


@contextmanager
def new_chart(title: str, *, height: float, source: str) -> Iterator[tuple[Chart, Axes]]:
    """Yield a chart with an empty plot, `height` inches high, and the source line below it; lay it out afterwards."""
    with _chart_style():
        chart = Chart(figsize=(_WIDTH, height + 1.1), layout="constrained")
        axes = chart.add_subplot()
        axes.set_title(title)
        chart.supxlabel(source, x=0.995, ha="right", fontsize=8, color=INK)
        chart.title, chart.source = title, source
        yield chart, axes
        # Another layout would start from this one, and move things a little.
        chart.draw_without_rendering()
        chart.set_layout_engine("none")


@contextmanager
def _chart_style() -> Iterator[None]:
    defaults: dict[Any, Any] = {name: value for name, value in mpl.rcParamsDefault.items() if name not in _NOT_STYLE}
    with mpl.rc_context({**defaults, **_STYLE}):
        yield


def draw_calls(axes: Axes, positions: pd.Series[Any], row: int, status: pd.Series[Any]) -> None:
    """Draw calls on a row: a dot for each call, a cross if it failed."""
    is_failed = _failed(status)
    for marker, colour, size, part in (
        ("o", BLUE, 5.5, positions[~is_failed]),
        ("X", RED, 7, positions[is_failed]),
    ):
        if len(part):
            axes.plot(part, [row] * len(part), marker, color=colour, markersize=size, markeredgewidth=0, alpha=0.85)


def draw_legend(axes: Axes, status: pd.Series[Any]) -> None:
    """Explain the crosses, if there are any."""
    if not _failed(status).any():
        return
    marks = [
        Line2D([], [], marker=marker, color=colour, markersize=size, linestyle="none", label=label)
        for marker, colour, size, label in (("o", BLUE, 5.5, "a call"), ("X", RED, 7, "a failed call"))
    ]
    axes.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)


def _failed(status: pd.Series[Any]) -> pd.Series[bool]:
    """Return True for each call that was answered with an error, or not at all (599)."""
    return (status >= 400).fillna(value=False).astype(bool)


def name_rows(axes: Axes, labels: Sequence[str], words: Sequence[str]) -> None:
    """Write the names of the rows beside the plot, the first row on top.

    Args:
        words: what each row shows, for the alternative text.
    """
    if isinstance(chart := axes.figure, Chart):
        chart.rows = tuple(f"{label}: {word}" for label, word in zip(labels, words, strict=True))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def draw_message(axes: Axes, message: str) -> None:
    """Write a message instead of an empty plot."""
    axes.set_axis_off()
    axes.text(0.0, 0.6, message, transform=axes.transAxes, va="center")
