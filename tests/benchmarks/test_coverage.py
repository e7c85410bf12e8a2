"""Known secrets in 128 forms and 434 documented names of credentials: what a recording still shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.corpus import held_out
from tests.benchmarks.corpus.forms import FORMS, NOT_PROMISED, Form
from tests.benchmarks.corpus.names import CASES, Name, cases
from tests.benchmarks.coverage import CLEAR, count_names, record_form


@pytest.mark.parametrize("form", [form for form in FORMS if form.name not in NOT_PROMISED], ids=lambda form: form.name)
def test_a_known_secret_is_not_recorded_in_any_promised_form(form: Form, tmp_path: Path) -> None:
    """What credentials of the process hold is replaced in a plain cassette, or the interaction is refused."""
    assert record_form(form, "plain cassette", tmp_path) != CLEAR


@pytest.mark.parametrize(("names", "share"), [(CASES, 0.03), (cases(held_out.TABLES), 0.10)], ids=["known", "held out"])
def test_strong_values_under_documented_names_are_replaced(names: list[Name], share: float) -> None:
    """At most 3 in 100 names are recorded in clear; of names that nobody looked at, 10 in 100."""
    recorded, _ = count_names(names)
    assert list(recorded.values()).count(CLEAR) <= share * len(names)


def test_there_are_as_many_cases_as_the_documentation_says() -> None:
    """Counts are comparable with earlier ones."""
    assert (len({form.name for form in FORMS}), len({(case.place, case.name) for case in CASES})) == (128, 434)
