"""Calls at a limited rate."""

from __future__ import annotations

from toolkit.core.errors import ConfigurationError
from toolkit.transport.retry import is_number


def as_rate(per_second: object) -> float | None:
    """Return the argument `per_second` of a session: calls a second, or None for no limit.

    Raises:
        ConfigurationError: if it is neither None nor a number above 0.
    """
    if per_second is None:
        return None
    if is_number(per_second) and per_second > 0:  # type: ignore[operator]
        return float(per_second)  # type: ignore[arg-type]
    raise ConfigurationError(
        "per_second is not a number of calls above 0.",
        "Pass a number such as per_second=5 (0.5 is one call in two seconds), or None for no limit.",
        about="per_second",
    )
