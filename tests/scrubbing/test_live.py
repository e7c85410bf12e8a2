"""The secrets of all sessions are searched for together, and forgotten when their session ends."""

from __future__ import annotations

import gc
import secrets

import pytest

from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.live import SessionSecrets


@pytest.fixture
def registry():
    return SessionSecrets()


def knowing(*texts):
    return KnownSecrets(("ACCESS_TOKEN", Secret(text)) for text in texts)


def made_up():
    return secrets.token_urlsafe(24)


def test_each_session_has_its_own_placeholders(registry):
    """A secret gets the placeholder of the session that knows it; the first session's if several do."""
    one, other, both = made_up(), made_up(), made_up()
    sessions = [knowing(both, one), knowing(other, both)]
    for session in sessions:
        registry.add(session)
    assert registry.scrub_text(f"{one} {other} {both}") == "<ACCESS_TOKEN-2> <ACCESS_TOKEN> <ACCESS_TOKEN>"
    assert registry.scrub(f"{one} {other}".encode()) == b"<ACCESS_TOKEN-2> <ACCESS_TOKEN>"


def test_what_becomes_known_later(registry):
    """Later secrets are replaced too, also those of a session older than one that ended."""
    first, ended = knowing(made_up()), knowing(made_up())
    registry.add(first)
    registry.add(ended)
    del ended
    gc.collect()
    second = knowing(made_up())
    registry.add(second)
    for session in (first, second):
        later = made_up()
        session.add("ACCESS_TOKEN", Secret(later))
        assert registry.scrub_text(later) == "<ACCESS_TOKEN-2>"


def test_what_ended_is_forgotten(registry):
    """Secrets go with their session, at the latest when the next session begins; others stay."""
    gone, stays = made_up(), made_up()
    ended, living = knowing(gone), knowing(stays)
    registry.add(ended)
    registry.add(living)
    held = Secret(gone)
    del ended
    gc.collect()
    registry.add(knowing())
    assert registry.scrub_text(f"{gone} {stays}") == f"{gone} <ACCESS_TOKEN>"
    assert registry._all.placeholder_of(held) is None
    assert registry._all.placeholder_of(Secret(stays)) is not None


def test_short_secrets(registry):
    """A secret too short to be told from other text is masked where a credential stands."""
    with pytest.warns(UserWarning, match="fewer than 8"):
        session = knowing("short")
    registry.add(session)
    assert registry.scrub_text("a short story, password=short") == "a short story, password=<ACCESS_TOKEN>"


def test_text_that_is_not_unicode(registry):
    """Lone surrogates pass as they are, with and without a secret beside them."""
    secret = made_up()
    session = knowing(secret)
    registry.add(session)
    assert registry.scrub_text("\udc80 plain") == "\udc80 plain"
    assert registry.scrub_text(f"\udc80 {secret}") == "\udc80 <ACCESS_TOKEN>"
