"""While a practice service runs in the kernel, its credentials can be chosen, and everything says practice."""

from __future__ import annotations

import pytest

from toolkit.local.settings import Settings
from toolkit.practice_service import practice
from toolkit.session.session import Session

ENDED = "The practice service has ended"


@pytest.fixture
def unset(tmp_path, monkeypatch):
    """Return the settings of a project in which nothing is configured."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    return Settings(project=tmp_path, file=tmp_path / "toolkit.toml")


@pytest.mark.parametrize(
    ("environment", "label"),
    [
        ("live", "live · practice service"),
        ("paper", "paper-2 · practice service"),
        ("broker-live", "broker-key · practice service · client key"),
        ("broker-sandbox", "sandbox-secret · practice service · client secret"),
    ],
)
def test_practice_credentials_connect_without_settings(open_panel, service, unset, environment, label):
    """With nothing configured, practice credentials connect in every environment, and are not called a real account."""
    user = open_panel(environment, settings=unset)
    user.choose("credentials", label)
    assert "practice</span>" in user.words
    user.press()
    assert user.status.startswith("Connected.")
    session = user.panel.session
    session.accounts()
    assert session.is_practice
    shown = user.words + user.summary + repr(user.panel) + repr(session) + session._repr_html_()
    assert "real account" not in shown
    assert shown.count("practice</span>") == 3
    sent = "token" if "broker" in environment else "headers"
    assert service.stats.by_credentials[f"{session.credentials.name} · {sent}"] == 2


def test_a_service_that_starts_later_is_offered_and_chosen(open_panel, unset):
    """A panel without an address chooses the credentials of a service that starts; when it ends, they go."""
    user = open_panel("paper", settings=unset)
    assert user.options("credentials") == ["new key pair …"]
    assert user.form._button.disabled
    with practice() as service:
        user.panel._after_cell(None)
        assert user.form.credentials is service.credentials["paper"]
        assert not user.form._button.disabled
    user.panel._after_cell(None)
    assert user.options("credentials") == ["new key pair …"]
    assert user.status == "Not connected. The practice service has ended, and its credentials with it."
    assert user.form._button.disabled


def test_a_session_outlives_its_service_in_words_only(open_panel, unset):
    """When the service of a session ends, the panel says that the session can send nothing more."""
    with practice():
        user = open_panel("broker-sandbox", settings=unset)
        user.press()
        assert user.status.startswith("Connected.")
    user.panel._after_cell(None)
    assert user.status.startswith(ENDED)
    assert user.panel.session.is_practice
    assert "practice" in user.summary


def test_nothing_is_typed_for_a_service_that_has_ended(open_panel):
    """With the settings of a service that has ended, the panel offers no fields; those of the next are chosen."""
    with practice() as service:
        user = open_panel("live", settings=service.settings)
    user.panel._after_cell(None)
    assert "The practice service at these addresses has ended." in user.words
    assert "account" not in user.words
    assert user.form.fields == ()
    assert user.form._button.disabled
    with practice() as again:
        user.panel._after_cell(None)
        assert user.form.credentials is again.credentials["live"]
        user.press()
        assert user.status.startswith("Connected.")


def test_a_service_that_starts_again_keeps_the_choice_by_name(open_panel, unset):
    """A service that starts again has new credentials; those of the same name are chosen."""
    with practice():
        user = open_panel("broker-sandbox", settings=unset)
        user.choose("credentials", "sandbox-key")
    with practice() as again:
        user.panel._after_cell(None)
        assert user.form.credentials is again.credentials["sandbox-key"]


def test_two_services_are_told_apart(open_panel, unset):
    """The labels number the services if there are several, and each credentials go to their own."""
    with practice() as first, practice() as second:
        user = open_panel("paper", settings=unset)
        user.choose("credentials", "paper · practice service 2")
        user.press()
        assert (first.stats.calls, second.stats.calls) == (0, 1)


def test_saved_credentials_come_before_practice(open_panel, service, settings, monkeypatch):
    """A practice service does not take the place of saved credentials."""
    monkeypatch.setenv("TOOLKIT_PAPER_KEY_ID", "fake-key-id-1")
    monkeypatch.setenv("TOOLKIT_PAPER_SECRET_KEY", "fake-Canary-41aB8Qx9")
    user = open_panel("paper")
    assert user.chosen("credentials") == "default · environment variables"


def test_a_typed_key_of_a_practice_service_is_practice(open_panel, service):
    """At the addresses of a practice service, typed credentials are practice too, whatever they are called."""
    user = open_panel("live")
    pair = service.credentials["live"]
    user.connect(pair.key_id.reveal(), pair.secret_key.reveal())
    assert user.panel.session.is_practice
    assert "real account" not in user.summary + user.words + repr(user.panel.session)


def test_a_replay_is_not_called_practice_for_its_addresses(service, settings, tour):
    """A replay sends nothing, so the addresses do not say whose account was recorded."""
    replay = Session(cassette="tour", mode="none", settings=settings)
    assert not replay.is_practice
