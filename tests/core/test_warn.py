from __future__ import annotations

import warnings

from toolkit.core.warn import warn


def test_warn_at_the_caller():
    """A warning points at the first caller outside toolkit and httpx."""
    package = {"__name__": "httpx._client", "inner": {"__name__": "toolkit.somewhere", "warn": warn}}
    exec("def inner(): warn('careful')", package["inner"])  # noqa: S102 - stands for a module of another package
    exec("def outer(): inner['inner']()", package)  # noqa: S102 - likewise
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package["outer"]()
        warn("directly")
    assert [warning.filename for warning in caught] == [__file__, __file__]
