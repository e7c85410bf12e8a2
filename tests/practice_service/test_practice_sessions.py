"""Sessions with a practice service, by the name of its credentials."""

from __future__ import annotations

from dataclasses import replace

import pytest

import toolkit as tk
from toolkit.auth.profiles.saving import practice_credentials
from toolkit.core.document import Environment


@pytest.mark.parametrize("changed", ["auth_sandbox", "broker_sandbox", "market_data_sandbox"])
def test_practice_credentials_stay_with_their_service(service, changed):
    """If any address of the environment is another, practice credentials are not found: nothing could send them."""
    addresses = {**service.settings.addresses, changed: "https://elsewhere.example"}
    settings = replace(service.settings, addresses=addresses)
    assert practice_credentials(Environment.BROKER_SANDBOX, settings) == {}
    with pytest.raises(tk.ConfigurationError, match="of that name exists for broker-sandbox"):
        tk.Session("broker-sandbox", "sandbox-secret", settings=settings)
    del addresses[changed]
    assert practice_credentials(Environment.BROKER_SANDBOX, replace(settings, addresses=addresses)) == {}


def test_a_service_that_stopped():
    """Names are found while the service runs: not after close() and not after the service was dropped."""
    for stop in (lambda service: service.close(), lambda service: None):
        service = tk.practice(accounts=1).start()
        settings = service.settings
        assert len(practice_credentials(Environment.PAPER, settings)) == 2
        stop(service)
        del service
        assert practice_credentials(Environment.PAPER, settings) == {}


def test_replay_while_offline(service, monkeypatch, tmp_path):
    """What was recorded by name replays by name while the toolkit is offline and the service does not listen."""
    path = tmp_path / "mine.yaml"
    with tk.Session("broker-sandbox", "sandbox-secret", cassette=path, settings=service.settings) as session:
        recorded = session.accounts()
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    with tk.practice() as silent:
        by_name = tk.Session("broker-sandbox", "sandbox-secret", cassette=path, settings=silent.settings)
        for session in (by_name, silent.session("sandbox-secret", cassette=path)):
            assert session.accounts().equals(recorded)


def test_no_profile_in_place_of_practice(monkeypatch):
    """After the service has stopped, a profile of the same name is not sent to its ports, which others may use."""
    monkeypatch.setenv("TOOLKIT_PAPER__PAPER_KEY_ID", "fake-key-id-1")
    monkeypatch.setenv("TOOLKIT_PAPER__PAPER_SECRET_KEY", "fake-secret-key-1")
    with tk.practice(accounts=1) as service:
        settings = service.settings
        assert tk.Session("paper", "paper", settings=settings).credentials is service.credentials["paper"]
    with pytest.raises(tk.ConfigurationError, match="has stopped"):
        tk.Session("paper", "paper", settings=settings)
    assert tk.Session("paper", "paper", settings=tk.Settings()).credentials.key_id.reveal() == "fake-key-id-1"
