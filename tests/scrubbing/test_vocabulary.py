"""Names of credentials are recognized however they are written; other names are not."""

from __future__ import annotations

import pytest

from toolkit.scrubbing.vocabulary import (
    Place,
    credential_kind,
    is_core_name,
)

HEADER, QUERY, FORM, JSON, COOKIE = Place

ORDINARY = {
    HEADER: "Accept Authorization-Info WWW-Authenticate Cookie Idempotency-Key X-Auth-Email traceparent"
    " X-Request-Id ETag x-ratelimit-remaining-tokens",
    QUERY: "page_token client_id state",
    JSON: "nextPageToken continuation_token token_type max_tokens completion_tokens author authenticated"
    " session_open sessions public_key checksum/secret publishableKey key_id keyboard monkey has_password"
    " issueKey client_secret_expires_at keywords sort_key tokenId token0 tokenAddress passenger bypass"
    " design assigned_to signal signin_url pinned password_reset_url",
}


@pytest.mark.parametrize(("place", "name"), [(place, name) for place in ORDINARY for name in ORDINARY[place].split()])
def test_ordinary_names(place, name):
    """Cursors, counts, types, public keys and other words are not credentials."""
    assert credential_kind(name, place) is None
    assert not is_core_name(name, place)
