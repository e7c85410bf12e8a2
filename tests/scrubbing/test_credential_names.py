"""Names of credentials are recognized however they are written; other names are not."""

from __future__ import annotations

import re

import pytest

from toolkit.scrubbing.credential_names import FIELD_NAMES, URL_NAMES, field_kind, is_placeholder, url_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("access_token", "ACCESS_TOKEN"),
        ("AccessToken", "ACCESS_TOKEN"),
        ("client-secret", "CLIENT_SECRET"),
        ("user[password]", "PASSWORD"),
        ("spring.datasource.password", "PASSWORD"),
        ("device_code", "DEVICE_CODE"),
        ("code", None),
        ("token", None),
        ("session_id", None),
        ("client_id", None),
        ("page_token", None),
        ("", None),
    ],
)
def test_field_kind(name, kind):
    """A name counts in any case, with or without separators, and at the end of a path."""
    assert field_kind(name) == kind
    if kind:
        assert url_kind(name) == kind
        assert is_placeholder(f"<{kind}-2>")


@pytest.mark.parametrize("name", ["code", "token", "sig"])
def test_url_kind(name):
    """Some names mean a credential in URLs and forms only."""
    assert field_kind(name) is None
    assert url_kind(name.upper())
    assert re.fullmatch(URL_NAMES, name.encode())
    assert not re.fullmatch(FIELD_NAMES, name.encode())
