"""The parts that all charts share: arguments, a figure with a fixed style, and the marks and rows drawn on it.

The same data gives a byte-for-byte identical chart on every machine and in every run. The style is fixed: it neither
depends on the user's matplotlib styles nor changes them. Charts are drawn on white. On a dark page, their lightness is
inverted, so that text and marks keep their contrast; in print, they stay white. Text stays readable in a narrow window.
Names and numbers are above their row's marks, so that no line runs through them. Readers who cannot see a chart get its
rows as text.
"""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from toolkit.core.errors import TabulationError, wrong_type
from toolkit.core.text import as_html, excerpt

if TYPE_CHECKING:
    import pandas as pd

# On white, text has a contrast of 7 to 1, and bars and marks at least 3 to 1 (WCAG 2, 1.4.11).
INK: Final = "#595959"
BLUE: Final = "#3a86c8"
RED: Final = "#d9534f"
AMBER: Final = "#b97a0f"

MARKS: Final = "A dot is a call, and a cross is a failed call."
BAND: Final = 0.16  # how far the marks of a row are below its text, and half their height

_WIDTH: Final = 4.7  # inches
_ROW: Final = 0.52
_DPI: Final = 192  # two dots for each CSS pixel
_LINE: Final = 48  # characters of the title; small text may be 1.5 times as long
# Where this differs from the defaults of matplotlib.
_STYLE: Final[dict[Any, Any]] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "svg.hashsalt": "service-access-toolkit",
    "text.color": INK,
    "text.parse_math": False,  # a $ in the name of an account does not start a formula
    "xtick.color": INK,
}
# Metadata to leave out of a file, because it contains dates and versions.
_VARYING: Final = {"png": ("Software",), "svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer")}
# White becomes the background of JupyterLab's dark theme; hues do not change.
_DARK: Final = (
    '@media screen { [data-jp-theme-light="false"] .access-chart, .vscode-dark .access-chart '
    "{ filter: invert(0.93) hue-rotate(180deg); } }"
)


class Chart(Figure):
    """A matplotlib figure that displays itself in a notebook. To add to it, use `axes[0]`.

    Attributes:
        title: what the chart shows.
        source: where its data came from.
        rows: the label and value of each row, from the top.
    """

    title: str = ""
    source: str = ""
    rows: tuple[str, ...] = ()

    @property
    def alternative_text(self) -> str:
        """Title, rows and source, for readers who cannot see the chart; part of the HTML and of saved files."""
        return ". ".join(filter(None, (self.title, "; ".join(self.rows), self.source))) + "."

    def __repr__(self) -> str:
        return f"<Chart: {self.title}; {self.source}>"

    __str__ = __repr__

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the chart to a file, in its own style and without a date or version.

        Takes the options of `matplotlib.figure.Figure.savefig`. PNG and SVG files contain the alternative text.
        """
        suffix = "" if hasattr(fname, "write") else Path(fname).suffix.lower().lstrip(".")
        kind = str(options.get("format") or suffix or "png").lower()
        own: dict[str, Any] = dict.fromkeys(_VARYING.get(kind, ()))
        if kind in ("png", "svg"):
            own["Description"] = self.alternative_text
        with style.context(_STYLE, after_reset=True):
            options = {"dpi": _DPI, "bbox_inches": "tight", **options}
            options["metadata"] = {**own, **(options.get("metadata") or {})}
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        content = self._repr_png_()
        png = base64.b64encode(content).decode("ascii")
        width, height = (
            int.from_bytes(content[at : at + 4], "big") // 2 for at in (16, 20)
        )  # CSS pixels, from its IHDR
        # JupyterLab prefers HTML to the image, for which it has no alternative text.
        image = (
            f'<style>{_DARK}</style><img class="access-chart" src="data:image/png;base64,{png}" '
            f'alt="{as_html(self.alternative_text)}" width="{width}" style="max-width: 100%; height: auto">'
        )
        data = {"text/plain": repr(self), "text/html": image, "image/png": png}
        return data, {"image/png": {"width": width, "height": height, "alt": self.alternative_text}}

    def _ipython_display_(self) -> None:
        # Otherwise IPython would use matplotlib's own formatter for figures, which writes its version into the PNG.
        from IPython import display

        show: Any = display.display
        data, metadata = self._repr_mimebundle_()
        show(data, metadata=metadata, raw=True)


@contextmanager
def new_chart(title: str, *, rows: Sequence[int], source: str) -> Iterator[tuple[Chart, list[Axes]]]:
    """Yield a chart and its plots, one for each number of rows in `rows`; freeze the layout afterwards."""
    with style.context(_STYLE, after_reset=True):
        heights = [_ROW * max(count, 1) + 0.55 for count in rows]
        chart = Chart(figsize=(_WIDTH, sum(heights) + 0.7), layout="constrained")
        plots = chart.subplots(len(rows), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
        chart.suptitle(textwrap.fill(title, _LINE), x=0.01, ha="left", fontsize=11, fontweight="bold")
        chart.supxlabel(textwrap.fill(source, _LINE * 3 // 2), x=0.99, ha="right", fontsize=8)
        chart.title, chart.source = title, source
        yield chart, list(plots[:, 0])
        # A second layout would start from this one, and would move things slightly.
        chart.draw_without_rendering()
        chart.set_layout_engine("none")


def draw_rows(axes: Axes, labels: Sequence[str], words: Sequence[str], nothing: str = "") -> None:
    """Write each row's label above its marks on the left, and its value on the right; the first row is on top.

    `nothing` is the text to write if there are no rows, such as "No call has finished."
    """
    for row, (label, word) in enumerate(zip(labels, words, strict=True)):
        for x, text, side in ((0, label, "left"), (1, word, "right")):
            place = axes.get_yaxis_transform()
            axes.text(x, row - 1.2 * BAND, text, transform=place, ha=side, va="center", fontsize=9.5)
    if not labels:
        axes.set_axis_off()
        axes.text(0, 0.5, nothing, transform=axes.transAxes)
    if isinstance(chart := axes.figure, Chart):
        chart.rows += tuple(f"{label}: {word}" for label, word in zip(labels, words, strict=True))
    axes.set_yticks([])
    axes.set_ylim(len(labels) - 1 + 2.5 * BAND, -2.5 * BAND)


def draw_calls(axes: Axes, positions: pd.Series[Any], row: int, status: pd.Series[Any]) -> None:
    """Draw calls on a row: a dot for each call, a cross if it failed."""
    failed = (status >= 400).fillna(value=False).astype(bool)  # 599 means no response
    for marker, colour, size, part in (("o", BLUE, 6, positions[~failed]), ("X", RED, 8, positions[failed])):
        if len(part):
            axes.plot(part, [row + BAND] * len(part), marker, color=colour, markersize=size, mew=0, alpha=0.85)


def source_of(source: Any, *tables: pd.DataFrame) -> str:
    """Return a chart's source line: `source` if it is text, otherwise the first `attrs["source"]` of the tables."""
    if hasattr(source, "calls"):
        return source_of(None, source.calls())
    if source is not None and not isinstance(source, str):
        raise wrong_type("source", "a session or a string", source, "Leave it out to use the table's own source.")
    notes = (str(table.attrs["source"]) for table in tables if "source" in table.attrs)
    return excerpt(source or next(notes, "source not known: drawn from a table"), 120)


def table_of(session: Any, name: str, table: pd.DataFrame | None, *columns: str) -> pd.DataFrame:
    """Return `table`, or else the session's table called `name`; raise TabulationError if it lacks a column."""
    is_session = hasattr(session, "calls") and hasattr(session, "tokens")
    if not is_session and (session is not None or table is None):
        what = f"This chart needs a session, not {type(session).__name__}."
        raise TabulationError(what, f"Pass a session, or {name}=session.{name}().", about="session")
    table = getattr(session, name)() if table is None else table
    check_columns(table, *columns, about=name)
    return table


def check_columns(table: pd.DataFrame, *columns: str, about: str) -> None:
    """Raise TabulationError unless this is a table with these columns."""
    if not hasattr(table, "columns"):
        what = f"A chart is drawn from a table, not from {type(table).__name__}."
        raise TabulationError(what, "Use session.accounts(), session.calls() or session.tokens().", about=about)
    names = ", ".join(excerpt(str(column), 40) for column in table.columns) or "none"
    for column in columns:
        if not isinstance(column, str) or column not in table.columns:
            what = f"The table has no column {excerpt(str(column), 40)}."
            raise TabulationError(what, f"Choose one of its columns: {names}.", about=about)
