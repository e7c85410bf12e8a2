"""Pictures of tokens, calls and balances, drawn with matplotlib from the tables of pandas."""

from toolkit.tables.charts.bars import balances
from toolkit.tables.charts.latencies import call_latencies
from toolkit.tables.charts.timeline import token_timeline

__all__ = ["balances", "call_latencies", "token_timeline"]
