"""Charts of tokens, calls and balances, drawn with matplotlib from the tables of a session.

Each chart is made in this order: check the arguments and find the source line (`arguments`), compute the rows in the
chart's own module (`timeline`, `latencies`, `bars`), draw them on a figure with a fixed style (`figure`). Importing
this package needs matplotlib and pandas, so nothing imports it before the first chart is drawn.
"""

from toolkit.core.errors import ConfigurationError, how_to_install

try:
    import matplotlib as mpl  # noqa: F401 - every module below needs it
except ImportError:
    raise ConfigurationError("Charts need matplotlib, which is not installed.", how_to_install("lab")) from None

from toolkit.tables.charts.bars import balances
from toolkit.tables.charts.latencies import call_latencies
from toolkit.tables.charts.timeline import token_timeline

__all__ = ["balances", "call_latencies", "token_timeline"]
