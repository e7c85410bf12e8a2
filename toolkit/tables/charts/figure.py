"""What pictures are drawn from: a session, or tables that came from one."""
# MERGE: A figure that looks the same everywhere: on light and on dark ground, today and on the next run. Its style is its own: whatever styles the user has set neither change it nor are changed by it. The ground is transparent, and text and lines are of the grey between white and black.

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

from toolkit.core.errors import ConfigurationError, TabulationError
from toolkit.core.escaping import excerpt

if TYPE_CHECKING:
    import pandas as pd


try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
except ImportError:
    raise ConfigurationError(
        "Pictures need matplotlib, which is not installed.", 'Install it: pip install "service-access-toolkit[lab]".'
    ) from None


# 4.3 to 1 on white and on #111, as near to both as a colour can be.
INK: Final = "#797979"
BLUE: Final = "#3a86c8"
RED: Final = "#d9534f"
AMBER: Final = "#c98a1b"

_WIDTH: Final = 8.0  # inches
_DOTS: Final = 192  # an inch: two to a point of the screen
_STYLE: Final[dict[Any, Any]] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlepad": 12,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "figure.edgecolor": "none",
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    "font.size": 10,
    "grid.color": INK,
    "grid.alpha": 0.18,
    "legend.frameon": False,
    "legend.handletextpad": 0.2,
    "legend.fontsize": 9,
    "legend.labelcolor": INK,
    "savefig.facecolor": "none",
    "savefig.edgecolor": "none",
    "svg.hashsalt": "service-access-toolkit",
    "text.color": INK,
    "text.parse_math": False,  # what a server calls an account is no formula
    "text.usetex": False,
    "timezone": "UTC",
    "xtick.color": INK,
    "xtick.labelsize": 9,
    "ytick.color": INK,
    "ytick.labelsize": 9,
}
# Of no picture's style: which back end draws windows, and what matplotlib would warn of.
_NOT_STYLE: Final = frozenset({"backend", "backend_fallback", "interactive", "toolbar", "webagg.port", "date.epoch"})
_DATED: Final = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


class Picture(Figure):
    """A figure of matplotlib; in a notebook it shows itself. `axes[0]` is where to add to it.

    Attributes:
        words: what it shows, in a line for those who cannot see it.
    """

    words: str = ""

    def __repr__(self) -> str:
        return f"<Picture: {self.words}>"

    __str__ = __repr__

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write it to a file as `matplotlib.figure.Figure.savefig` does, without date and version, in its own style."""
        suffix = "" if hasattr(fname, "write") else Path(fname).suffix.lower().lstrip(".")
        dated = _DATED.get(str(options.get("format") or suffix or "png").lower(), {})
        with own_style():
            options = {"dpi": _DOTS, "bbox_inches": "tight", **options}
            options["metadata"] = {**dated, **(options.get("metadata") or {})}
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, Any]]:
        png = self._repr_png_()
        width, height = (int.from_bytes(png[at : at + 4], "big") // 2 for at in (16, 20))  # of the header, RFC 2083
        data = {"text/plain": repr(self), "image/png": base64.b64encode(png).decode("ascii")}
        return data, {"image/png": {"width": width, "height": height}}

    def _ipython_display_(self) -> None:
        # matplotlib's own formatter for figures goes before `_repr_mimebundle_`, and writes its version.
        from IPython import display  # IPython has asked

        show: Any = display.display
        data, metadata = self._repr_mimebundle_()
        show(data, metadata=metadata, raw=True)


@contextmanager
def own_style() -> Iterator[None]:
    """Draw in the style of pictures, whatever style is in force outside."""
    defaults: dict[Any, Any] = {name: value for name, value in mpl.rcParamsDefault.items() if name not in _NOT_STYLE}
    with mpl.rc_context({**defaults, **_STYLE}):
        yield


@contextmanager
def picture(title: str, *, height: float, source: str) -> Iterator[tuple[Picture, Axes]]:
    """A picture with a title and one plot, to be drawn in.

    Args:
        title: what it shows.
        height: of the plot, in inches.
        source: live or replayed and of when; stands below it.
    """
    with own_style():
        figure = Picture(figsize=(_WIDTH, height + 1.1), layout="constrained")
        axes = figure.add_subplot()
        axes.set_title(title)
        figure.supxlabel(source, x=0.995, ha="right", fontsize=8, color=INK)
        figure.words = f"{title}; {source}"
        yield figure, axes
        # Laid out once: each further layout would start from the one before, and move things a little.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def draw_marks(axes: Axes, places: pd.Series[Any], height: int, status: pd.Series[Any]) -> None:
    """Calls on a line: a dot each, a cross for one that was answered with an error or not at all."""
    is_bad = failed(status)
    for marker, colour, size, some in (("o", BLUE, 5.5, places[~is_bad]), ("X", RED, 7, places[is_bad])):
        if len(some):
            axes.plot(some, [height] * len(some), marker, color=colour, markersize=size, markeredgewidth=0, alpha=0.85)


def failed(status: pd.Series[Any]) -> pd.Series[bool]:
    """Which calls were answered with an error; 599 stands for no answer at all."""
    return (status >= 400).fillna(value=False).astype(bool)


def draw_legend(axes: Axes, status: pd.Series[Any]) -> None:
    """What a cross is, where there is one."""
    if not failed(status).any():
        return
    marks = [
        Line2D([], [], marker=marker, color=colour, markersize=size, linestyle="none", label=label)
        for marker, colour, size, label in (("o", BLUE, 5.5, "a call"), ("X", RED, 7, "one that failed"))
    ]
    axes.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.1)


def rows_of(axes: Axes, labels: list[str]) -> None:
    """Name the rows of a plot, the first one on top."""
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def nothing_to_show(axes: Axes, words: str) -> None:
    """In place of a plot, why there is none."""
    axes.set_axis_off()
    axes.text(0.0, 0.6, words, transform=axes.transAxes, va="center")


ATTRIBUTE: Final = "source"
UNKNOWN: Final = "source not known: drawn from a table"
AT_MOST: Final = 8  # bars or lines, before the rest is summed up


@runtime_checkable
class HasTables(Protocol):
    """A session, as far as charts go: its calls and its tokens as tables."""

    def calls(self) -> pd.DataFrame: ...

    def tokens(self) -> pd.DataFrame: ...


Source: TypeAlias = HasTables | str | None


def source_of(source: Source, *tables: pd.DataFrame) -> str:
    """Return where the figures come from, live or replayed and of when: as given, or as a table notes it."""
    if isinstance(source, HasTables):
        return source_of(None, source.calls())
    noted = (str(table.attrs[ATTRIBUTE]) for table in tables if ATTRIBUTE in table.attrs)
    return excerpt(source or next(noted, UNKNOWN), 120)


def need_session(session: object, function: str) -> None:
    """Raise TabulationError unless it is a session, or none is given."""
    if session is not None and not isinstance(session, HasTables):
        raise TabulationError(
            f"{function} takes a session, not {type(session).__name__}.",
            "Give tables by their names, such as calls=session.calls().",
        )


def need(table: pd.DataFrame, *columns: str) -> None:
    """Raise TabulationError unless it is a table with these columns."""
    if not hasattr(table, "columns"):
        raise TabulationError(
            f"A picture is drawn from a table, not from {type(table).__name__}.",
            "A session has accounts(), calls() and tokens().",
        )
    missing = [column for column in columns if column not in table.columns]
    if missing:
        has = ", ".join(excerpt(str(column), 40) for column in table.columns) or "none"
        raise TabulationError(f"The table has no column {', '.join(missing)}.", f"Its columns: {has}.")
