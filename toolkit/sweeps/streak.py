"""Failures in a row: when every key fails the same way, the sweep stops early, because going on only costs time."""

from __future__ import annotations

from typing import Final

from toolkit.core.errors import ServiceError, ToolkitError, Unreachable
from toolkit.sweeps.outcomes import KeyFailure

_LEAST: Final = 32
_WARN_AT: Final = 100


class Streak:
    """Counts failures in a row, and raises when the service answers no key.

    Args:
        at_once: number of keys that are asked for at the same time; the limit is at least twice that.

    Attributes:
        hint: what to warn the user of while the sweep goes on, or None.
    """

    def __init__(self, at_once: int) -> None:
        self._limit = max(_LEAST, 2 * at_once)
        self._last: KeyFailure | None = None
        self._in_vain = 0
        self._alike = 0
        self._has_success = False
        self.hint: str | None = None

    def note(self, failure: KeyFailure | None) -> None:
        """Note the outcome of a key.

        Raises:
            Unreachable: after too many keys in a row without an answer.
            ServiceError: after too many in a row that were answered with 401, 408, 429 or 5xx.
        """
        if failure is None:
            self._has_success, self._in_vain, self._alike = True, 0, 0
            return
        is_in_vain = not failure.is_final or failure.status == 401
        self._in_vain = self._in_vain + 1 if is_in_vain else 0
        last, self._last = self._last, failure
        self._alike = self._alike + 1 if last is not None and last.status == failure.status else 1
        if self._in_vain >= self._limit:
            raise self._error(failure)
        if self._alike == _WARN_AT and not self._has_success:
            self.hint = (
                f"The first {_WARN_AT} keys all failed: {failure.reason.rstrip('.')}. If that is not what you expect, "
                "interrupt the sweep and check call(key); .retry() asks for failures again."
            )

    def _error(self, failure: KeyFailure) -> ToolkitError:
        what = f"The last {self._in_vain} keys all failed ({failure.reason}), so the sweep has stopped."
        advice = "What was answered is kept. Run the sweep again when the service answers: it goes on where it stopped."
        if failure.status == 401:
            advice = "What was answered is kept. Check the credentials, then call .retry() on the result of a new run."
        if failure.status is None:
            return Unreachable(what, advice)
        return ServiceError(what, advice, status=failure.status)
