"""Voila starts a kernel for each visitor, and says so in its environment; visitors are told less of what went wrong."""

from __future__ import annotations

import pytest

from toolkit.notebook.panel.audience import is_for_visitors, told_to_visitors
from toolkit.notebook.panel.problems import Problem


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"VOILA_REQUEST_URL": "https://notes.example.com/voila/render/a.ipynb"}, True),
        ({"SERVER_SOFTWARE": "voila/0.5.8"}, True),
        ({"VOILA_PREHEAT": "True", "VOILA_BASE_URL": "/", "VOILA_APP_PORT": "8866"}, True),
        ({"SERVER_SOFTWARE": "jupyter_server/2.15"}, False),
        ({}, False),
    ],
)
def test_a_kernel_of_voila_is_for_visitors(environ, expected):
    """Any other kernel is the owner's own."""
    assert is_for_visitors(environ) is expected


@pytest.mark.parametrize(
    ("what", "next_step", "is_told"),
    [
        (
            "The cassette tour.yaml holds no call of the environment live.",
            "It holds calls of paper; choose that.",
            True,
        ),
        ("The address auth is not set.", 'Set auth = "https://..." in the settings.', True),
        ("There is no cassette /home/desk/merger.yaml.", "Check the name.", False),
        (r"There is no cassette C:\desk\merger.yaml.", "Check the name.", False),
        ("The address auth is not set.", "Set it under [addresses] (looked at ~/desk/toolkit.toml).", False),
    ],
)
def test_visitors_are_not_told_where_files_are(what, next_step, is_told):
    """Nor what lies beside them; what has no path in it helps them as it is."""
    told = told_to_visitors(Problem("cassette", what, next_step))
    assert told.place == "cassette"
    assert ((told.what, told.next_step) == (what, next_step)) is is_told
    assert is_told or "desk" not in told.what + told.next_step
