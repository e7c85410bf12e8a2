"""Pieces of HTML that read well in light and dark themes, on code-hosting sites and in print.

Styles are set on the elements, because such sites strip style sheets and classes; colours come from the theme's
variables where there are any. Without any style, a card is still a line of words and a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from toolkit.core.escaping import as_html, printable

_ALARM: Final = "var(--vscode-errorForeground, var(--jp-error-color1, #d64545))"
_CARD: Final = (
    "display:inline-block;max-width:100%;padding:.5em .9em;line-height:1.5;border-radius:6px;"
    "border:1px solid var(--vscode-panel-border, var(--jp-border-color2, #8886));"
    "color:var(--vscode-editor-foreground, var(--jp-ui-font-color1, inherit))"
)
_BADGE: Final = "display:inline-block;border:1px solid currentColor;border-radius:1em;padding:0 .55em;font-size:.9em"
# Opacity keeps the theme's own text colour, which reads on any background.
_MUTED: Final = "opacity:.75"
# JupyterLab would align table cells to the right.
_CELL: Final = "text-align:left;padding:.1em 1.2em .1em 0"


def badge(text: str, *, alarming: bool = False) -> str:
    """Return a word or two in a frame, in the colour of errors if `alarming`."""
    colour = f"font-weight:600;color:{_ALARM}" if alarming else _MUTED
    return f'<span style="{_BADGE};{colour}">{as_html(text)}</span>'


def code(text: str) -> str:
    """Return text set as code, shown literally."""
    return f"<code>{as_html(text)}</code>"


def card(title: str, badges: Iterable[str], rows: Iterable[tuple[str, str]]) -> str:
    """Return a frame with a title and a table of facts.

    Args:
        title: text.
        badges: HTML to put after the title.
        rows: for each fact its name as text and its value as HTML.
    """
    head = " · ".join([f"<strong>{as_html(title)}</strong>", *badges])
    name = f"{_CELL};vertical-align:top;white-space:nowrap;font-weight:normal;{_MUTED}"
    body = "".join(
        f'<tr style="background:none"><th scope="row" style="{name}">{as_html(label)}</th>'
        f'<td style="{_CELL}">{value}</td></tr>'
        for label, value in rows
    )
    table = f'<table style="margin:.4em 0 0;border:none"><tbody>{body}</tbody></table>' if body else ""
    return f'<div style="{_CARD}"><div>{head}</div>{table}</div>'


def notice(title: str, lines: Sequence[str]) -> str:
    """Return paragraphs beside a line in the colour of errors: what went wrong, then what to do about it."""
    first, *rest = lines
    more = "".join(f'<div style="{_MUTED}">{_with_line_breaks(line)}</div>' for line in rest if line)
    return (
        f'<div style="border-left:3px solid {_ALARM};padding:.1em 0 .1em .8em;line-height:1.5">'
        f'<div><strong style="color:{_ALARM}">{as_html(title)}</strong>: {_with_line_breaks(first)}</div>{more}</div>'
    )


def list_html(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of text as an HTML table."""
    head = "".join(f'<th scope="col" style="{_CELL};font-weight:600">{as_html(column)}</th>' for column in columns)
    cell = f'<td style="{_CELL}">'
    body = "".join(f"<tr>{''.join(f'{cell}{as_html(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def list_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of text as aligned columns of plain text."""
    lines = [tuple(columns), *(tuple(printable(cell).replace("\n", " ") for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _with_line_breaks(text: str) -> str:
    return as_html(text).replace("\n", "<br>")
