"""The last calls of a session as a small table for the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolkit.escaping import as_html, excerpt
from toolkit.rich_display.words import count_text

if TYPE_CHECKING:
    import pandas as pd

SHOWN: Final = 5  # calls
_LONGEST_PATH: Final = 60  # characters
_COLUMNS: Final = ("when (UTC)", "interface", "path", "status", "elapsed", "token")
_FAILED: Final = 400  # the statuses of errors, RFC 9110 section 15.5


def recent_calls_html(calls: pd.DataFrame, variable: str) -> str:
    """The last calls, the latest at the bottom, and how many there were; empty without any.

    Args:
        calls: as `Session.calls(last=SHOWN)` gives them.
        variable: what the panel is called in the notebook.
    """
    if calls.empty:
        return ""
    head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    body = "".join(_row_html(call) for call in calls.itertuples())
    more = f", the last {SHOWN} shown; all: <code>{as_html(variable)}.session.calls()</code>"
    told = count_text(int(calls.index[-1]), "call") + (more if calls.index[0] > 1 else "")
    return (
        f'<div class="toolkit-calls"><div>{told}</div>'
        '<div class="toolkit-scroll" role="region" aria-label="Last calls" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def renewals(calls: pd.DataFrame) -> int:
    """How many tokens have followed the first, as the last calls tell."""
    numbers = calls["token"].dropna()
    return 0 if numbers.empty else int(numbers.max()) - 1


def _row_html(call: Any) -> str:
    cells = (
        f"{call.when:%H:%M:%S}",
        call.interface,
        f"{call.method} {excerpt(call.path, _LONGEST_PATH)}",
        "" if _is_missing(call.status) else str(call.status),
        "" if _is_missing(call.elapsed) else f"{call.elapsed:,.3f} s",
        "" if _is_missing(call.token) else str(call.token),
    )
    failed = ' class="toolkit-failed"' if not _is_missing(call.status) and call.status >= _FAILED else ""
    return f"<tr{failed}>{''.join(f'<td>{as_html(cell)}</td>' for cell in cells)}</tr>"


def _is_missing(value: Any) -> bool:
    import pandas as pd  # noqa: PLC0415 - only once there are calls

    return bool(pd.isna(value))
