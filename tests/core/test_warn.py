from __future__ import annotations

import warnings

from toolkit.core.warn import warn


def test_warn_at_the_caller():
    """A warning shows the line of the caller beyond toolkit and httpx, through however many functions of theirs."""
    package = {"__name__": "httpx._client", "inner": {"__name__": "toolkit.somewhere", "warn": warn}}
    exec("def inner(): warn('careful')", package["inner"])  # noqa: S102 - modules of two packages
    exec("def outer(): inner['inner']()", package)  # noqa: S102 - the same
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package["outer"]()
        warn("directly")
    assert [each.filename for each in caught] == [__file__, __file__]
