"""Voila starts a kernel for each visitor, and says so in its environment."""

from __future__ import annotations

import pytest

from toolkit.notebook.audience import is_for_visitors


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"VOILA_REQUEST_URL": "https://notes.example.com/voila/render/a.ipynb"}, True),
        ({"SERVER_SOFTWARE": "voila/0.5.8"}, True),
        ({"SERVER_SOFTWARE": "jupyter_server/2.15"}, False),
        ({}, False),
    ],
)
def test_a_kernel_of_voila_is_for_visitors(environ, expected):
    """Any other kernel is the owner's own."""
    assert is_for_visitors(environ) is expected
