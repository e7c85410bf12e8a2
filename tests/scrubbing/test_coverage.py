"""434 documented names of credentials, and 100 that nobody looked at: what a recording still shows."""

from __future__ import annotations

import pytest

from tests.benchmarks.corpus import held_out
from tests.benchmarks.corpus.forms import FORMS
from tests.benchmarks.corpus.names import CASES, Name, cases
from tests.benchmarks.coverage import CLEAR, count_names


@pytest.mark.parametrize(("names", "share"), [(CASES, 0.03), (cases(held_out.TABLES), 0.10)], ids=["known", "held out"])
def test_strong_values_under_documented_names_are_replaced(names: list[Name], share: float) -> None:
    """At most 3 in 100 names are recorded in clear; of names that nobody looked at, 10 in 100."""
    recorded, _ = count_names(names)
    assert list(recorded.values()).count(CLEAR) <= share * len(names)


def test_there_are_as_many_cases_as_the_documentation_says() -> None:
    """Counts are comparable with earlier ones."""
    assert (len({form.name for form in FORMS}), len({(case.place, case.name) for case in CASES})) == (128, 434)
