from __future__ import annotations

import pytest

from toolkit.core.errors import ConfigurationError
from toolkit.core.problem import Problem, attempt


def test_error():
    """A problem becomes an error with the same two sentences."""
    error = Problem("It is wrong.", "Mend it.").error()
    assert isinstance(error, ConfigurationError)
    assert (error.what, error.next_step) == ("It is wrong.", "Mend it.")


def test_attempt():
    """An attempt returns what the call returns, or None for any error; an interrupt passes."""

    def fail(error):
        raise error

    assert attempt(lambda: 5) == 5
    assert attempt(lambda: fail(RecursionError())) is None
    with pytest.raises(KeyboardInterrupt):
        attempt(lambda: fail(KeyboardInterrupt()))
