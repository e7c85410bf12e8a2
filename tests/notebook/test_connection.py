"""Connecting returns a session that has not sent anything, after one call that tries the credentials."""

from __future__ import annotations

import pytest

from toolkit.auth.credentials import ClientSecret
from toolkit.cassettes.cassette import Cassette
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteMiss, ConfigurationError, TokenRefused
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.connection import connect

SANDBOX = Environment.BROKER_SANDBOX


@pytest.fixture
def open_connection(settings):
    """Return a function that connects; sessions are closed at the end."""
    opened = []

    def open_one(*choices):
        opened.append(connect(*choices, settings))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.session.close()


def test_a_live_connection_is_tried_and_its_token_known(open_connection, service):
    """The trial is one token request and one call, which the session does not list."""
    connection = open_connection(SANDBOX, Mode.LIVE, None, service.credentials["sandbox-secret"])
    assert connection.accounts == 25
    token = connection.session.token
    assert token is not None
    assert (service.stats.token_requests, service.stats.calls) == (1, 1)
    connection.session.accounts()
    assert connection.session.token is token
    assert service.stats.token_requests == 1


def test_a_key_pair_has_no_token(open_connection, service):
    """A connection with a key pair has no token."""
    connection = open_connection(None, Mode.LIVE, None, service.credentials["live"])
    assert connection.session.environment == "live"
    assert connection.session.token is None


def test_the_trial_is_not_recorded(open_connection, service, settings):
    """The trial call neither adds to the cassette nor plays from it."""
    credentials = service.credentials["sandbox-secret"]
    connection = open_connection(SANDBOX, Mode.RECORD, "tour", credentials)
    assert len(connection.session.cassette) == 0
    connection.session.accounts()
    connection.session.close()
    again = open_connection(SANDBOX, Mode.RECORD, "tour", credentials)
    assert again.session.cassette.play_count == 0
    assert again.accounts == 25
    again.session.close()
    assert len(Cassette(settings.cassettes_folder / "tour.yaml", "none")) == 1


def test_refused_credentials_leave_nothing_open(open_connection, service):
    """Another session may record to the cassette as soon as the credentials were refused."""
    credentials = ClientSecret("practice-sandbox-secret", "not-the-secret-of-it", environment=SANDBOX)
    with pytest.raises(TokenRefused):
        open_connection(SANDBOX, Mode.RECORD, "tour", credentials)
    open_connection(SANDBOX, Mode.RECORD, "tour", service.credentials["sandbox-secret"]).session.close()


def test_a_replay_sends_nothing(open_connection, service, tour):
    """A replay does not send anything, not even a trial call."""
    before = service.stats.by_endpoint
    connection = open_connection(None, Mode.REPLAY, "tour", None)
    assert (connection.accounts, connection.session.token) == (None, None)
    assert len(connection.session.accounts()) == 25
    assert connection.session.token is not None
    assert service.stats.by_endpoint == before


def test_a_replay_of_what_is_not_there_is_refused(open_connection, tour):
    """A replay is refused if the cassette is missing or has other environments only."""
    with pytest.raises(CassetteMiss):
        open_connection(SANDBOX, Mode.REPLAY, "missing", None)
    with pytest.raises(ConfigurationError, match=r"tour\.yaml has no calls of the environment paper"):
        open_connection(Environment.PAPER, Mode.REPLAY, "tour", None)
