"""Tables: from JSON, from a session's calls, and of its tokens.

Types of columns: numbers as `tabulate` is told, integers `Int64`, booleans `boolean`, instants
`datetime64[us, UTC]`, dates `datetime64[us]`, text pandas' `str`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, get_args

import pandas as pd
import pyarrow as pa
from pandas.api import types

from toolkit.errors import TabulationError
from toolkit.tabulation import arrow_reader
from toolkit.tabulation.asked_dtypes import asked, needs_text
from toolkit.tabulation.column_names import Path, distinct, dotted
from toolkit.tabulation.columns import FLOAT_DIGITS, Column, Losses, Numbers, column_of, typed
from toolkit.tabulation.flatten import columns_of
from toolkit.tabulation.json_body import body_of
from toolkit.tabulation.row_choice import choose_rows
