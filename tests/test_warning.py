from __future__ import annotations

import warnings

from toolkit.warning import warn


def test_warn_at_the_caller():
    """A warning shows the line of the caller beyond the toolkit, through however many functions of it."""
    package = {"__name__": "toolkit.somewhere", "warn": warn}
    exec("def outer(): inner()\ndef inner(): warn('careful')", package)  # noqa: S102 - a module of the package's
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package["outer"]()
        warn("directly")
    assert [each.filename for each in caught] == [__file__, __file__]
