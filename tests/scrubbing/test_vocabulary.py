"""Names of credentials are recognized however they are written; other names are not."""

from __future__ import annotations

import pytest

from toolkit.scrubbing.vocabulary import (
    Place,
    credential_kind,
    is_core_name,
    is_placeholder,
    needs_strong_value,
)

HEADER, QUERY, FORM, JSON, COOKIE = Place

CREDENTIALS = [
    (HEADER, "DD-API-KEY", "API_KEY"),
    (HEADER, "X-Unheard-Of-Token", "TOKEN"),
    (HEADER, "SVC-API-KEY-ID", "API_KEY_ID"),
    (HEADER, "acme-api-secret-key", "API_SECRET_KEY"),
    (HEADER, "X-Auth-Token", "ACCESS_TOKEN"),
    (HEADER, "Jenkins-Crumb", "CSRF_TOKEN"),
    (HEADER, "X-Ovh-Consumer", "API_KEY"),
    (HEADER, "X-Chkp-Sid", "SESSION_TOKEN"),
    (QUERY, "apikey", "API_KEY"),
    (QUERY, "steamkey", "API_KEY"),
    (QUERY, "hapikey", "API_KEY"),
    (QUERY, "code", "CODE"),
    (QUERY, "PHPSESSID", "SESSION_TOKEN"),
    (FORM, "user[password]", "PASSWORD"),
    (JSON, "spring.datasource.password", "PASSWORD"),
    (JSON, "AccessToken", "ACCESS_TOKEN"),
    (JSON, "acme_access_token", "ACCESS_TOKEN"),
    (JSON, "accesstoken", "ACCESS_TOKEN"),
    (JSON, "OPENAI_API_KEY", "API_KEY"),
    (JSON, "access", "ACCESS_TOKEN"),
    (JSON, "connectionString", "SECRET"),
    (JSON, "passwords", "PASSWORD"),
    (COOKIE, "anything", "COOKIE"),
]
ORDINARY = [
    (HEADER, "Accept"),
    (HEADER, "Authorization-Info"),
    (HEADER, "WWW-Authenticate"),
    (HEADER, "Cookie"),
    (HEADER, "Idempotency-Key"),
    (HEADER, "X-Auth-Email"),
    (HEADER, "traceparent"),
    (HEADER, "X-Request-Id"),
    (HEADER, "ETag"),
    (QUERY, "page_token"),
    (QUERY, "client_id"),
    (QUERY, "state"),
    (JSON, "nextPageToken"),
    (JSON, "continuation_token"),
    (JSON, "token_type"),
    (JSON, "max_tokens"),
    (JSON, "completion_tokens"),
    (JSON, "author"),
    (JSON, "authenticated"),
    (JSON, "session_open"),
    (JSON, "sessions"),
    (JSON, "public_key"),
    (JSON, "checksum/secret"),
    (JSON, "publishableKey"),
    (JSON, "key_id"),
    (JSON, "keyboard"),
    (JSON, "monkey"),
    (JSON, "has_password"),
    (JSON, "issueKey"),
    (JSON, "client_secret_expires_at"),
    (HEADER, "x-ratelimit-remaining-tokens"),
    (JSON, "keywords"),
    (JSON, "sort_key"),
    (JSON, "tokenId"),
    (JSON, "token0"),
    (JSON, "tokenAddress"),
    (JSON, "passenger"),
    (JSON, "bypass"),
    (JSON, "design"),
    (JSON, "assigned_to"),
    (JSON, "signal"),
    (JSON, "signin_url"),
    (JSON, "pinned"),
    (JSON, "password_reset_url"),
    (JSON, ""),
]


@pytest.mark.parametrize(("place", "name", "kind"), CREDENTIALS)
def test_credentials(place, name, kind):
    """Names of credentials have a kind, and a placeholder of that kind is recognized."""
    assert credential_kind(name, place) == kind
    assert is_placeholder(f"<{kind}-2>")


@pytest.mark.parametrize(("place", "name"), ORDINARY)
def test_ordinary_names(place, name):
    """Cursors, counts, types, public keys and other words are not credentials."""
    assert credential_kind(name, place) is None
    assert not is_core_name(name, place)


@pytest.mark.parametrize(
    ("name", "place", "is_core", "needs_strong"),
    [
        ("X-Api-Key", HEADER, True, False),
        ("X-Finnhub-Token", HEADER, True, False),
        ("X-Unheard-Of-Token", HEADER, True, False),
        ("unheard_of_token", JSON, False, False),
        ("pin", JSON, False, False),
        ("key", QUERY, True, True),
        ("password", JSON, True, False),
        ("acme_api_key", JSON, True, False),
        ("token", QUERY, True, False),
        ("token", JSON, True, True),
        ("key", JSON, False, True),
        ("code", JSON, False, True),
        ("session", JSON, False, True),
        ("session_id", JSON, False, True),
        ("session_id", FORM, True, False),
        ("JSESSIONID", COOKIE, True, False),
        ("theme", COOKIE, False, False),
    ],
)
def test_degrees(name, place, is_core, needs_strong):
    """Under exact names digests count too; under doubtful names only strong values count."""
    assert is_core_name(name, place) is is_core
    assert needs_strong_value(name, place) is needs_strong
