from __future__ import annotations

import pytest

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore


@pytest.fixture
def open_session(settings, service, make_credentials):
    """Return a function that opens a session with the in-process service and, by default, new credentials."""

    def opened(holder="broker-sandbox", kind=None, /, *, is_async=False, **options):
        options = {"settings": settings, "transport": service, "token_store": MemoryTokenStore(), **options}
        if "credentials" not in options:
            options["credentials"] = make_credentials(holder, kind)
        return (tk.AsyncSession if is_async else tk.Session)(**options)

    return opened


@pytest.fixture
def replayed(settings):
    """Return a function that replays a cassette without credentials and without a network."""

    def opened(cassette="c", **options):
        return tk.Session(cassette=cassette, mode="none", settings=settings, **options)

    return opened
