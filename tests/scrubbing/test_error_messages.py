"""Answers that talk about credentials without holding one are recorded as they came."""

from __future__ import annotations

from tests.benchmarks.overscrubbing import changed_messages, messages


def test_no_error_message_is_changed(tmp_path):
    """Sentences, JSON errors, pages and settings in English and Japanese stay as they are."""
    assert changed_messages(messages(300, seed=11), tmp_path) == []
