"""The table of some columns: their names, their types, and warnings about what the types cannot hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolkit.core.escaping import excerpt
from toolkit.core.user_code import warn
from toolkit.tables.arrow_text import FLOAT_DIGITS, Numbers, frame_of, string_array
from toolkit.tables.column_names import KeyPath, distinct, dotted, telling_key
from toolkit.tables.columns import Column, Losses, column_of, with_inferred_type
from toolkit.tables.requested_dtypes import as_requested_dtype
from toolkit.tables.schema_columns import as_schema, unknown_names

if TYPE_CHECKING:
    import pandas as pd


def named_columns(
    columns: Mapping[KeyPath, list[Any]],
    carried: Mapping[tuple[str, str], list[Any]],
    leading: Mapping[KeyPath, list[Any]] | None = None,
) -> dict[str, Column]:
    """Return columns by distinct names: the leading ones, those that identify the records around, the records' own."""
    ahead = leading or {}
    own = [dotted(path) for path in columns]
    paths = [*ahead, *((key,) for _, key in carried), *columns]
    uses = Counter([*own, *(key for _, key in carried)])
    names = [dotted(path) for path in ahead]
    names += [key if uses[key] == 1 else f"{place}.{key}" for place, key in carried] + own
    values = [*ahead.values(), *carried.values(), *columns.values()]
    unique = distinct(string_array(names).to_pylist())
    return {
        name: column_of(name, telling_key(path), part) for name, path, part in zip(unique, paths, values, strict=True)
    }


def table_of(
    columns: Mapping[str, Column], count: int, *, numbers: Numbers, requested: Mapping[str, Any], schema: Any = None
) -> pd.DataFrame:
    """Return the table of these columns, of `count` rows.

    Args:
        columns: the columns by name.
        numbers: as in `tabulate`.
        requested: dtypes of pandas for some of the columns, in place of those inferred.
        schema: a schema of Arrow, which the table gets instead; None if the types are inferred.

    Raises:
        TabulationError: if a value does not fit its column.
    """
    losses = Losses()
    if schema is not None:
        typed = as_schema(columns, count, schema, losses)
        _warn(losses)
        unknown = unknown_names(columns, schema)
        if unknown:
            warn(f"The schema does not have these fields, so they were left out: {_shown(unknown, 20)}")
        return frame_of(typed, count)
    finished = {
        name: as_requested_dtype(column, requested[name], numbers)
        if name in requested
        else with_inferred_type(column, numbers, losses)
        for name, column in columns.items()
    }
    _warn(losses)
    return frame_of(finished, count)


def _warn(losses: Losses) -> None:
    if losses.digits:
        what = f"Numbers have more than {FLOAT_DIGITS} significant digits, which float64 may not hold exactly"
        _warn_about(what, losses.digits, "numbers='decimal'")
    if losses.nanoseconds:
        _warn_about("Digits beyond the microsecond were dropped", losses.nanoseconds, "dtypes={...: 'str'}")


def _warn_about(what: str, names: Sequence[str], option: str) -> None:
    # The whole call is shown, because the table may come from session.accounts(), which has no such option.
    warn(f"{what}: {_shown(names)} (tk.tabulate(response, {option}) keeps them)")


def _shown(names: Sequence[str], limit: int = 5) -> str:
    return ", ".join(repr(excerpt(name, 40)) for name in names[:limit]) + (", ..." if len(names) > limit else "")
