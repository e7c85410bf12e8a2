"""Charts of tokens, calls and balances, drawn with matplotlib from a session's tables.

`drawing` contains the three charts (add new ones to `drawing`, and export them here and in `toolkit`); the parts that
they share, such as the style, are in `figure`. The package imports matplotlib, so it is loaded only to draw a chart.
"""

from toolkit.core.errors import ConfigurationError, how_to_install

try:
    import matplotlib as mpl  # noqa: F401 - every module below needs it
except ImportError:
    raise ConfigurationError("Charts need matplotlib, which is not installed.", how_to_install("lab")) from None

from toolkit.tables.charts.drawing import balances, call_latencies, token_timeline

__all__ = ["balances", "call_latencies", "token_timeline"]
