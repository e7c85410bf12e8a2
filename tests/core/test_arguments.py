"""A misplaced secret is not quoted by the error for an unknown name."""

from __future__ import annotations

import pytest

from toolkit.core.arguments import as_choice
from toolkit.core.errors import UnknownName

NAMES = ["broker-sandbox", "market_data_sandbox"]


def test_a_secret_named_after_a_choice():
    """A long text that begins like a choice is not quoted, since it may be a secret; a slip in a long name is."""
    with pytest.raises(UnknownName) as caught:
        as_choice("broker-sandbox-9f2c81aa77be", NAMES, about="name")
    assert "9f2c" not in str(caught.value)
    with pytest.raises(UnknownName, match="'market_data_sandboxx'"):
        as_choice("market_data_sandboxx", NAMES, about="name")
