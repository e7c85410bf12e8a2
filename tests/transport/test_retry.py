"""Which requests are sent again, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

import toolkit as tk
from toolkit.transport.retry import may_be_repeated, retry_after_of

NOW = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)


def http_date(seconds):
    """Return the HTTP date that lies so many seconds after NOW."""
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


# The limits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("tries", value) for value in (0, 101, 2.0, True, "4", None)),
        *(("within", value) for value in (-1, float("nan"), float("inf"), True, "30", None)),
    ],
)
def test_malformed(name, value):
    """Limits that make no sense are refused where they are made, and the error names which."""
    with pytest.raises(tk.ConfigurationError, match=name) as caught:
        tk.Retry(**{name: value})
    assert caught.value.about == name


# The pauses


def test_pauses_grow():
    """Without a Retry-After, each pause may be twice as long as the one before; chance decides how long it is."""
    retry = tk.Retry(tries=5, within=100)
    assert [retry.pause(tries, 0.0, None, jitter=1.0) for tries in range(1, 6)] == [0.5, 1.0, 2.0, 4.0, None]
    assert [retry.pause(tries, 0.0, None, jitter=0.5) for tries in range(1, 3)] == [0.25, 0.5]


def test_pauses_end_within_the_limit():
    """A pause is cut at the limit, and there is none if the service wants a longer one than is left."""
    retry = tk.Retry(tries=5, within=10)
    assert retry.pause(4, 9.0, None, jitter=1.0) == 1.0
    assert (retry.pause(1, 9.0, 1.0, jitter=1.0), retry.pause(1, 9.0, 1.1, jitter=1.0)) == (1.0, None)


# What may be repeated

REQUEST = httpx.Request("GET", "https://service.example.com/")


@pytest.mark.parametrize("status", [200, 202, 301, 400, 401, 403, 404, 408, 425, 429, 500, 502, 503, 504])
def test_statuses(status):
    """429 and 503 may pass; no other status says so."""
    assert may_be_repeated(REQUEST, httpx.Response(status)) == (status in (429, 503))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        *((name, True) for name in ("ConnectError", "ConnectTimeout", "ReadError", "WriteError")),
        ("RemoteProtocolError", True),
        *((name, False) for name in ("ReadTimeout", "WriteTimeout", "PoolTimeout", "CloseError")),
        *((name, False) for name in ("LocalProtocolError", "ProxyError", "UnsupportedProtocol")),
    ],
)
def test_errors(error, expected):
    """A connection that broke may work the next time; a service that takes long is not asked again."""
    assert may_be_repeated(REQUEST, getattr(httpx, error)("no")) == expected


# Retry-After


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": " 0 "}, 0.0),
        ({"Retry-After": "9" * 400}, 999_999_999.0),
        ({"Retry-After": http_date(5)}, 5.0),
        ({"Retry-After": http_date(-5)}, 0.0),
        ({"Retry-After": http_date(3605), "Date": http_date(3600)}, 5.0),
        ({"Retry-After": http_date(5), "Date": "yesterday"}, 5.0),
        *(({"Retry-After": text}, None) for text in ("", "soon", "-1", "1.5", "7s", "Tue, 99 May 2026 09:30:00 GMT")),
        ({}, None),
    ],
)
def test_retry_after(headers, seconds):
    """Seconds and dates are understood; a date counts from the service's own clock, as far as it shows it."""
    assert retry_after_of(httpx.Headers(headers), NOW) == seconds
