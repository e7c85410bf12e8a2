"""Where `toolkit.warning` is found by its former name."""

from toolkit.warning import warn

__all__ = ["warn"]
