"""The form offers what fits: credentials by place, practice services, cassettes; little to visitors; trust first."""

from __future__ import annotations

import json

import pytest

from toolkit.auth.destinations import destinations_of, note_destinations
from toolkit.core.document import ADDRESS_NAMES, CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.notebook.connecting import TRUST, Mode
from toolkit.practice_service import practice

HERE = Environment.PAPER, CredentialKind.KEY_PAIR


def desk_in_variables(monkeypatch, pair, name="desk"):
    monkeypatch.setenv(f"TOOLKIT_PAPER__{name.upper()}_KEY_ID", pair.key_id.reveal())
    monkeypatch.setenv(f"TOOLKIT_PAPER__{name.upper()}_SECRET_KEY", pair.secret_key.reveal())


def fields(user):
    return [field.name for field in user.form.fields if not field.is_option]


def test_each_choice_shows_what_it_needs(open_panel, service, tour):
    """A replay shows no credentials, a live session no cassette, a recording both, and a new cassette first."""
    tour.with_name("another.part.yaml").write_text("")  # a recording in progress is not offered
    user = open_panel("paper")
    user.choose("credentials", "paper-2")
    for mode, shown in (("replay", "cassette"), ("record", "cassette name credentials"), ("call", "credentials")):
        user.choose("mode", mode)
        parts = ("cassette", "name", "credentials")
        assert [part for part in parts if user.is_shown(f"_{part}")] == shown.split()
        if mode == "replay":
            assert user.options("cassette") == ["tour"]
        elif mode == "record":
            assert user.form.cassette is None
            user.choose("cassette", "tour")
            assert user.form.cassette == "tour"
            user.choose("cassette", "new")
    assert user.chosen("credentials").startswith("paper-2")
    assert user.options("environment")[2] == "broker-live · live broker partner"
    assert open_panel().form.environment == "paper"


def test_credentials_are_offered_by_place(open_panel, service, monkeypatch):
    """Those of the environment are offered: saved ones before practice; the one that the notebook names is chosen."""
    for name in ("first", "second"):
        desk_in_variables(monkeypatch, service.credentials["paper"], name)
    user = open_panel("paper", "second")
    assert user.options("credentials") == [
        "first · environment variables",
        "second · environment variables",
        "paper · practice service",
        "paper-2 · practice service",
        "new key pair …",
    ]
    user.press()
    assert user.panel.session.credentials.name == "second"
    assert open_panel("paper").chosen("credentials") == "first · environment variables"
    user.choose("environment", "live")
    assert user.options("credentials") == ["live · practice service", "live-2 · practice service", "new key pair …"]
    missing = open_panel("paper", "nobody-here")
    missing.choose("credentials", "new")
    assert "The credentials that this notebook names are not saved here for paper." in missing.words
    assert "nobody-here" not in missing.words


@pytest.mark.parametrize("environment", list(Environment))
def test_a_missing_address_is_said_before_anything_is_typed(open_panel, tmp_path, monkeypatch, environment):
    """The missing setting and its variable are named at once, without fields or a button to press."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    complete = {name: f"https://{name}.example.com".replace("_", "-") for name in ADDRESS_NAMES}
    for name in environment.rules.addresses.values():
        some = {other: text for other, text in complete.items() if other != name}
        user = open_panel(environment, settings=Settings(some, project=tmp_path, file=tmp_path / "toolkit.toml"))
        is_needed = "market_data" not in name  # the trial call does not go there
        assert (f"TOOLKIT_{name.upper()}_URL" in user.words, bool(user.form.fields)) == (is_needed, not is_needed)
        assert user.form._button.disabled is is_needed
        if is_needed:
            with pytest.raises(ConfigurationError, match=f"The address {name} is not set"):
                user.panel.connect()
    assert "tk.practice().start()" in open_panel(environment, settings=Settings(project=tmp_path)).words


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
    session = user.panel.session
    session.accounts()
    assert session.is_practice
    assert user.panel._view.facts["account"] == "practice"
    assert "real account" not in user.words + user.summary + repr(user.panel)
    requests = 3 if "broker" in environment else 2  # one of them for a token
    assert service.stats.by_credentials[session.credentials.name] == requests


def test_practice_services_come_and_go(open_panel, unset):
    """A service that starts later is offered and chosen; when it ends, the panel says so, and offers the next."""
    user = open_panel("paper", settings=unset)
    assert user.options("credentials") == ["new key pair …"]
    assert user.form._button.disabled
    with practice() as service:
        user.panel._after_cell(None)
        assert user.form.credentials is service.credentials["paper"]
        user.press()
        assert user.status.startswith("Connected.")
    user.panel._after_cell(None)
    assert user.options("credentials") == ["new key pair …"]
    assert user.status == "The practice service has stopped, so the session cannot send anything."
    ended = open_panel("live", settings=service.settings)
    assert "The practice service at these addresses has stopped." in ended.words
    assert "real account" not in ended.words
    assert ended.form.fields == ()
    with practice() as first, practice() as second:
        user.panel._after_cell(None)
        user.choose("credentials", "paper · practice service 2")
        user.press()
        assert (first.stats.calls, second.stats.calls) == (0, 1)


def test_visitors_get_what_the_notebook_names(open_panel, tour, settings, service, monkeypatch):
    """Visitors are offered neither saved credentials nor other cassettes, and record nothing."""
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    desk_in_variables(monkeypatch, service.credentials["paper"])
    (settings.cassettes_folder / "merger.yaml").write_bytes(tour.read_bytes())
    user = open_panel(cassette="tour")
    user.send(user.panel._view, {"type": "hello"})
    assert user.status.startswith("Replaying tour.yaml.")
    assert user.options("cassette") == ["tour"]
    assert [value for _, value in user.form._mode.options] == [Mode.LIVE, Mode.REPLAY]
    assert [value for _, value in open_panel().form._mode.options] == [Mode.LIVE]
    named = open_panel("paper", "desk")
    assert named.options("credentials") == ["new key pair …"]
    assert "not offered to visitors" in named.words
    given = open_panel(None, service.credentials["paper"])
    given.press()
    assert given.status.startswith("Connected.")


def test_visitors_are_told_what_went_wrong_without_paths(open_panel, tour, service, tmp_path, unset, monkeypatch):
    """Visitors read about problems without paths of the owner's files."""
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    tour.rename(tour.with_name("tours.yaml"))
    missing = open_panel("broker-sandbox", cassette="tour")
    missing.choose("mode", "replay")
    missing.press()
    for user in (missing, open_panel("paper", settings=unset)):
        assert "This page is not set up for these choices." in user.words
        shown = json.dumps([control.get_state() for control in user.form.controls], default=str)
        assert [text for text in (str(tmp_path), "tours") if text in shown] == []


def use(settings):
    note_destinations(HERE[0], destinations_of(*HERE, settings))


def test_a_new_destination_is_trusted_first(open_panel, project_of):
    """For a destination that a file of the project names there are no fields until the user ticks a box, once."""
    use(project_of("a.example"))
    user = open_panel("paper", settings=project_of("evil.example"))
    assert fields(user) == []
    for text in ("https://a.example/v1", "https://evil.example/v1", "toolkit.toml", TRUST):
        assert text in user.words
    assert user.form._button.disabled
    assert user.is_shown("_trust")
    user.form._trust.value = True
    assert fields(user) == ["key_id", "secret_key"]
    assert (user.is_shown("_trust"), user.form._trust.value) == (False, False)  # the next one is asked for anew
    assert fields(open_panel("paper", settings=project_of("evil.example"))) == ["key_id", "secret_key"]
    assert fields(open_panel("paper", settings=project_of("another.example"))) == []


def test_trust_holds_for_the_panel_in_a_read_only_folder(open_panel, project_of, monkeypatch):
    """Where the answer cannot be remembered, it holds for this panel; connect() names what is not trusted."""
    user = open_panel("paper", settings=project_of("evil.example"))

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("toolkit.auth.destinations.write_atomically", refuse)
    user.form._trust.value = True
    assert fields(user) == ["key_id", "secret_key"]
    again = open_panel("paper", settings=project_of("evil.example"))
    with pytest.raises(ConfigurationError, match="destination of these credentials is new"):
        again.panel.connect()


def test_credentials_from_variables_stay_here(open_panel, project_of, monkeypatch):
    """Credentials from variables are not sent to a new destination; the words name the command that allows it."""
    monkeypatch.setenv("TOOLKIT_PAPER_KEY_ID", "fake-key-id-1")
    monkeypatch.setenv("TOOLKIT_PAPER_SECRET_KEY", "fake-Canary-41aB8Qx9")
    user = open_panel("paper", settings=project_of("evil.example"))
    user.press()
    assert user.panel.connected_session is None
    for text in ("https://evil.example/v1", "toolkit credentials allow default"):
        assert text in user.words


def test_an_unreadable_dotenv(open_panel, project_of):
    """If nobody knows whether the project set a variable, the panel opens, and connecting says why nothing is sent."""
    file = project_of("a.example").file
    (file.parent / ".env").write_bytes(b"#" * (2 << 20))
    variables = {"TOOLKIT_TRADING_PAPER_URL": "https://b.example"}
    user = open_panel("paper", settings=Settings.load(file, environ=variables))
    user.choose("credentials", "new key pair")
    user.connect("fake-key-id-1", "fake-Canary-41aB8Qx9")
    assert user.panel.connected_session is None
    assert ".env" in user.words
