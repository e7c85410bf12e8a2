"""Charts of tokens, calls and balances, drawn with matplotlib from the tables of a session.

`drawing` has the three charts (add another one there, and export it here and in `toolkit`); what they share, such as
the style, is in `figure`. Importing this package requires matplotlib, so it is imported only when a chart is drawn.
"""

from toolkit.core.errors import ConfigurationError, how_to_install

try:
    import matplotlib as mpl  # noqa: F401 - every module below needs it
except ImportError:
    raise ConfigurationError("Charts need matplotlib, which is not installed.", how_to_install("lab")) from None

from toolkit.tables.charts.drawing import balances, call_latencies, token_timeline

__all__ = ["balances", "call_latencies", "token_timeline"]
