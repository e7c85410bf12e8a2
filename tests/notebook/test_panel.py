"""The panel connects as its form says, keeps a working session, and keeps secrets out of everything that is saved."""

from __future__ import annotations

import base64
import json
import secrets
import textwrap
import threading

import pandas as pd
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_der_private_key,
)

import toolkit
from toolkit.auth.destinations import new_in_environment
from toolkit.cassettes.cassette import Cassette
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.local.settings import Settings
from toolkit.session.session import Session

PRESS = "Press Connect, then run this cell again."
PATIENCE = 20  # seconds


def private_key_pem(credentials):
    """Return the private key of credentials in the form that services hand out."""
    data = credentials.secrets()[0][1].reveal()
    return f"-----BEGIN PRIVATE KEY-----\n{textwrap.fill(data, 64)}\n-----END PRIVATE KEY-----\n"


def encrypted_pem(credentials, passphrase):
    key = load_der_private_key(base64.b64decode(credentials.secrets()[0][1].reveal()), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase.encode())).decode()


def typed(credentials):
    """Return the kind to choose for these credentials, and the texts to type, in the order of the fields."""
    if credentials.kind == "key pair":
        return "new key pair", credentials.key_id.reveal(), credentials.secret_key.reveal()
    if credentials.kind == "client secret":
        return "new client secret", credentials.client_id, credentials.client_secret.reveal()
    return "new client key", credentials.client_id, private_key_pem(credentials)


@pytest.fixture
def can_ask(monkeypatch):
    """Let questions be answered below the cell."""
    for module in ("connecting", "panel"):
        monkeypatch.setattr(f"toolkit.notebook.{module}.can_ask", lambda: True)


def answer(monkeypatch, *texts):
    """Answer questions below the cell with these texts, and return the list of questions."""
    asked, waiting = [], [*texts]

    def prompt(question):
        asked.append(question)
        return waiting.pop(0)

    monkeypatch.setattr("getpass.getpass", prompt)
    return asked


def test_a_panel_without_a_recording_waits_to_be_connected(open_panel, shell, request):
    """A cell that runs before Connect was pressed says what to do, in other words where nobody can press."""
    user = open_panel("paper")
    with pytest.raises(ConfigurationError) as caught:
        user.panel.session  # noqa: B018
    assert ("Press" in caught.value.next_step, "tk.Session" in caught.value.next_step) == (False, True)
    request.getfixturevalue("can_ask")
    with pytest.raises(ConfigurationError) as caught:
        user.panel.session  # noqa: B018
    assert (caught.value.what, caught.value.next_step) == ("The panel is not connected.", PRESS)
    with pytest.raises(ConfigurationError, match="not connected: The address trading_paper is not set") as caught:
        open_panel("paper", settings=Settings()).panel.session  # noqa: B018
    assert "Press" not in caught.value.next_step  # the button is disabled
    assert user.status == "Not connected."
    assert repr(user.panel) == "<Panel: paper, not connected>"


@pytest.mark.parametrize("name", ["live", "paper", "broker-secret", "broker-key", "sandbox-secret", "sandbox-key"])
def test_typed_credentials_connect(open_panel, service, name):
    """Every kind of credentials of every environment can be typed, is tried, and makes an ordinary session."""
    credentials = service.credentials[name]
    user = open_panel(credentials.environment)
    kind, *texts = typed(credentials)
    user.choose("credentials", kind)
    fields = user.form.inputs.get_state()["fields"]
    assert not any(field["masked"] for field in fields if field["is_option"])
    shown = [field for field in fields if not field["is_option"]]
    assert [field["name"] for field in shown if not field["masked"]] == ["client_id"] * ("client" in kind)
    user.connect(*texts)
    rows = 1 if credentials.kind == "key pair" else 25
    assert user.status == f"Connected. The service accepts these credentials and shows {rows} account{'s'[: rows > 1]}."
    assert type(user.panel.session) is Session
    assert len(user.panel.session.accounts()) == rows
    requests = 2 if credentials.kind == "key pair" else 3  # one of them for a token
    assert service.stats.by_credentials[name] == requests


def test_two_panels_share_no_secret(open_panel, service):
    """The session of each panel gets the secrets that were typed in it, whichever connects or calls last."""
    users = {}
    for name in ("live", "broker-secret", "live-2", "broker-key"):
        credentials = service.credentials[name]
        users[name] = open_panel(credentials.environment)
        kind, *texts = typed(credentials)
        users[name].choose("credentials", kind)
        users[name].connect(*texts)
        service.stats.reset()
        for other in users.values():
            other.panel.session.accounts()
        assert {*service.stats.by_credentials} == {*users}


def test_a_refused_secret_is_shown_beside_its_field(open_panel, service, monkeypatch, capsys):
    """The words stand beside the secret, which alone is emptied; connecting removes them."""
    credentials = service.credentials["sandbox-secret"]
    user = open_panel("broker-sandbox")
    user.choose("credentials", "new client secret")
    sent = []
    monkeypatch.setattr(user.form.inputs, "send", sent.append)
    user.connect(credentials.client_id, secrets.token_hex(20))
    assert "refused the credentials: status 401" in user.problems["client_secret"]
    assert sent[-1] == {"type": "forget", "names": ["client_secret"]}
    assert (user.status, user.panel._view.tone) == ("Not connected.", "bad")
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ConfigurationError, match="refused the credentials: status 401"):
        user.panel.session  # noqa: B018
    user.connect(credentials.client_id, credentials.client_secret.reveal())
    assert user.problems == {}
    assert user.status.startswith("Connected.")
    assert "client_id" in next(message["names"] for message in sent[::-1] if message["type"] == "forget")


@pytest.mark.parametrize(
    ("kind", "texts", "field", "words"),
    [
        ("new key pair", ("", "secret-of-the-key"), "key_id", "The key ID is empty."),
        ("new client secret", ("", "secret-of-client"), "client_id", "The client ID is empty."),
        ("new client secret", ("id", "two\nlines"), "client_secret", "line break"),
        ("new client key", ("id", ""), "private_key", "The private key is missing."),
        ("new client key", ("id", '{"keys": []}'), "private_key", "JWK set"),
        ("new client key", ("id",), "private_key", "The private key is missing."),
    ],
)
def test_a_malformed_text_is_shown_beside_its_field(open_panel, settings, kind, texts, field, words):
    """What is missing or malformed is shown where it was typed, and nothing is sent."""
    user = open_panel("paper" if kind == "new key pair" else "broker-sandbox", settings=settings)
    user.choose("credentials", kind)
    user.connect(*texts)
    assert words in user.problems[field]
    user.press()
    user.choose("environment", "live")
    user.answer(*texts)  # too late
    assert (user.status, user.panel._view.tone, user.problems) == ("Not connected.", "idle", {})


def test_tested_credentials_can_be_saved(open_panel, service, monkeypatch):
    """Save appears once typed credentials were accepted, keeps what is saved already, and is gone afterwards."""
    user = open_panel("paper")
    assert not user.is_shown("_save")
    user.connect(*typed(service.credentials["paper"])[1:])
    assert user.is_shown("_save")
    user.form.save_name.value = "desk"
    user.form._save.click()
    user.send(user.panel._view, {"type": "hello"})  # the pointer or the focus comes to the panel
    assert "Saved as desk" in user.status
    assert not user.is_shown("_save")
    assert any(label.startswith("desk · ") for label in user.options("credentials"))
    again = open_panel("paper", "desk")
    again.press()
    assert again.panel.session.credentials.name == "desk"
    assert not again.is_shown("_save")
    again.choose("credentials", "new key pair")
    again.connect(*typed(service.credentials["paper"])[1:])
    again.form._save.click()
    assert "already saved" in again.words
    again.choose("credentials", "new key pair")
    assert not again.is_shown("_save")  # it would not save what is typed now
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    visitor = open_panel("paper")
    visitor.connect(*typed(service.credentials["paper"])[1:])
    assert not visitor.is_shown("_save")


@pytest.mark.usefixtures("can_ask")
def test_a_failed_connection_keeps_the_session(open_panel, service, tour, monkeypatch):
    """Whatever a later attempt fails with, the earlier session goes on and the panel says so; connect() raises."""
    user = open_panel(None, service.credentials["paper"])
    user.press()
    session, summary = user.panel.session, user.summary
    tour.write_text("no: cassette\n")
    for mode in ("call", "replay", "record"):
        user.choose("mode", mode)
        if mode == "call":
            user.choose("credentials", "new key pair")
            user.connect(secrets.token_hex(10), secrets.token_hex(20))
            answer(monkeypatch, secrets.token_hex(10), secrets.token_hex(20))
        else:
            user.press()
        assert user.status == "Could not connect with the choices above. The session below is the previous one."
        assert (user.panel.session, user.panel._view.tone, user.summary) == (session, "bad", summary)
        with pytest.raises(ConfigurationError, match="could not connect: ") as caught:
            user.panel.connect()
        assert "the previous session" in caught.value.next_step
    assert len(session.accounts()) == 1


def test_a_replay_after_a_recording_is_of_it(open_panel, service, tour, settings):
    """The recording is chosen, not the first in the folder, even after a replay of another."""
    (tour.parent / "alpha.yaml").write_bytes(tour.read_bytes())
    user = open_panel(None, service.credentials["paper"])
    user.choose("mode", "replay")
    user.choose("cassette", "tour")
    for name in ("my-rec", "not-yet"):
        user.choose("mode", "record")
        assert user.chosen("cassette") == "new …"
        user.form._name.value = name
        user.press()
        if name == "my-rec":
            user.panel.session.accounts()
        user.form._name.value = "another-name"
        user.choose("mode", "replay")
        assert user.chosen("cassette") == name
        user.press()
    assert "not-yet.yaml" in user.words
    assert user.panel.session.cassette.path == settings.cassettes_folder / "not-yet.yaml"
    user.choose("cassette", "my-rec")
    earlier = user.panel.session
    user.press()
    assert (earlier.is_closed, len(user.panel.session.cassette)) == (True, 1)


def test_recording_adds_the_calls_of_the_session_and_nothing_else(open_panel, service, settings):
    """The trial is not recorded, so that a replay tells the same story as the recording."""
    user = open_panel(None, service.credentials["sandbox-key"], "new-tour")
    user.press()
    assert user.status.endswith("Calls are recorded to new-tour.yaml.")
    assert not (settings.cassettes_folder / "new-tour.yaml").exists()
    recorded = user.panel.session.accounts()
    calls, tokens = user.panel.session.calls(), user.panel.session.tokens()
    assert service.stats.token_requests == 1  # of the trial, whose token the session has
    user.panel.close()
    replayed = open_panel(cassette="new-tour").panel.session
    pd.testing.assert_frame_equal(replayed.accounts(), recorded)
    pd.testing.assert_frame_equal(replayed.calls(), calls)
    pd.testing.assert_frame_equal(replayed.tokens().drop(columns=["remaining"]), tokens.drop(columns=["remaining"]))


def test_a_new_cassette_is_named_on_the_panel(open_panel, service, settings):
    """Recording asks for a name that lies in the cassettes folder."""
    user = open_panel(None, service.credentials["paper"])
    user.choose("mode", "record")
    for name, words in (("", "The cassette has no name."), ("../x", "cannot be called"), ("a:b", "cannot be called")):
        user.form._name.value = name
        user.press()
        assert words in user.words
    user.form._name.value = " mine "
    user.press()
    user.panel.session.accounts()
    assert len(Cassette(settings.cassettes_folder / "mine.yaml", "none")) == 1


def test_an_existing_cassette_is_replayed_at_once_with_nothing_configured(open_panel, tour, service, monkeypatch):
    """A notebook with a panel runs from top to bottom without credentials, addresses or network."""

    def look(**_):
        raise AssertionError("profiles were read")

    service.close()
    monkeypatch.setattr("toolkit.auth.profiles.saving.saved_credentials", look)
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    user = open_panel(cassette="tour", settings=Settings(project=tour.parents[1]))
    assert user.status == "Replaying tour.yaml. Nothing is sent, and no credentials are needed."
    assert not user.is_shown("_credentials")
    assert user.panel.session.replays_only
    assert user.panel.session.environment == user.form.environment == "broker-sandbox"
    assert len(user.panel.session.accounts()) == 25
    other = open_panel("paper", cassette="tour")
    assert "has no calls made in the environment paper" in other.words


def test_offline_offers_replay_only(open_panel, service, monkeypatch):
    """TOOLKIT_OFFLINE leaves replay only, also if it is set after the panel was made."""
    earlier = open_panel(None, service.credentials["paper"])
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    user = open_panel("paper", service.credentials["paper"])
    assert [value for _, value in user.form._mode.options] == ["replay"]
    assert "There are no cassettes to replay. Record one while online." in user.words.replace("</div><div>", " ")
    earlier.press()
    assert "TOOLKIT_OFFLINE keeps calls from being sent" in earlier.words
    assert not service.stats.calls


def test_nothing_typed_is_in_any_widget_state(open_panel, service, widget_state, capsys):
    """No synced trait of any widget holds a typed text, be it refused, accepted or abandoned."""
    refused = secrets.token_hex(20)
    texts = [refused]
    user = open_panel("paper")
    user.connect(refused, refused)
    states = [widget_state()]
    for name in ("paper", "sandbox-secret", "sandbox-key"):
        credentials = service.credentials[name]
        user.choose("environment", credentials.environment)
        kind, *given = typed(credentials)
        user.choose("credentials", kind)
        user.connect(*given)
        assert user.panel.session
        states += [widget_state(), repr(user.panel), user.summary]
        texts += [secret.reveal() for _, secret in credentials.secrets()] + given[-1:]
    shown = "".join(states) + "".join(capsys.readouterr())
    for text in texts:
        encoded = base64.b64encode(text.encode()).decode()
        assert not [form for form in (text, json.dumps(text)[1:-1], encoded) if form in shown]


def test_an_answer_that_was_not_asked_for_is_dropped(open_panel, service):
    """An answer with another number, or to a form that is gone, connects nothing and is not kept."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.choose("credentials", "new key pair")
    user.press()
    user.answer(*texts, number=7)
    user.choose("mode", "replay")
    user.answer(*texts)
    assert user.panel.connected_session is None
    user.choose("mode", "call")
    user.press()
    user.choose("environment", "live")
    user.answer(*texts)
    assert user.panel.connected_session is None
    assert user.form.inputs.take() == {}


def test_enter_in_a_field_connects_and_pressing_twice_asks_once(open_panel, service):
    """A second press before the page answers is the same question, so the texts are not lost."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.choose("credentials", "new key pair")
    user.send(user.form.inputs, {"type": "submit"})
    assert user.status.startswith("Waiting for the page")
    user.press()
    user.answer(*texts, number=1)
    assert user.status.startswith("Connected.")


@pytest.mark.parametrize(
    ("error", "words"),
    [(RuntimeError, "Connecting failed: RuntimeError."), (KeyboardInterrupt, "Connecting was interrupted.")],
)
def test_an_unexpected_end_is_reported(open_panel, service, monkeypatch, error, words):
    """An unexpected error is named by its type only, since its text may hold anything; after it one may try again."""
    secret = secrets.token_hex(20)

    def fail(*_):
        raise error(secret)

    monkeypatch.setattr("toolkit.notebook.panel.connect", fail)
    user = open_panel(None, service.credentials["paper"])
    user.press()
    assert words in user.words
    assert secret not in user.words
    assert not user.form._button.disabled


@pytest.mark.usefixtures("can_ask")
def test_connecting_without_the_page_asks_below_the_cell(open_panel, service, widget_state, monkeypatch, tmp_path):
    """connect() asks below the cell for the same fields, and for a key by its path; it raises what the panel says.

    No answer is in a synced trait of a widget, and so in the notebook.
    """
    credentials, passphrase = service.credentials["sandbox-key"], secrets.token_hex(12)
    file = tmp_path / "key.pem"
    file.write_text(encrypted_pem(credentials, passphrase))
    user = open_panel("broker-sandbox")
    user.choose("credentials", "new client key")
    asked = answer(monkeypatch, credentials.client_id, str(file), passphrase)
    assert user.panel.connect() is user.panel.session
    assert asked == [
        "Client ID for broker-sandbox: ",
        "Path of the private key file for broker-sandbox: ",
        "Passphrase for broker-sandbox: ",
    ]
    refused, wrong = open_panel("paper"), [secrets.token_hex(10), secrets.token_hex(20)]
    refused.choose("credentials", "new key pair")
    answer(monkeypatch, *wrong)
    with pytest.raises(ConfigurationError, match="401"):
        refused.panel.connect()
    assert not [text for text in (str(file), passphrase, *wrong) if text in widget_state()]
    monkeypatch.setattr("toolkit.notebook.connecting.can_ask", lambda: False)
    with pytest.raises(ConfigurationError, match="Credentials cannot be typed here"):
        refused.panel.connect()


def test_credentials_of_another_environment_are_refused_at_once():
    """Credentials of another environment raise an error in the cell (section 1, rule 5)."""
    with pytest.raises(CredentialsMismatch):
        toolkit.panel("live", toolkit.KeyPair("key-id-1", "secret-key-1", environment="paper"), settings=Settings())


def test_one_thread_at_a_time(open_panel, project_of, monkeypatch):
    """While one thread looks where texts would go, a press in another waits, and asks for none that nobody trusts."""
    user = open_panel("paper", settings=project_of("evil.example"))
    looking, may_look, look = threading.Event(), threading.Event(), new_in_environment
    asked = []
    monkeypatch.setattr(user.form.inputs, "ask", lambda: asked.append("the page"))

    def slow(*arguments):
        looking.set()
        assert may_look.wait(PATIENCE)
        return look(*arguments)

    monkeypatch.setattr("toolkit.notebook.panel_form.new_in_environment", slow)
    hello = {"type": "hello"}
    greeting = threading.Thread(target=user.send, args=(user.panel._view, hello), daemon=True)
    pressing = threading.Thread(target=user.press, daemon=True)
    greeting.start()
    assert looking.wait(PATIENCE)
    pressing.start()
    user.send(user.panel._view, hello)  # this thread does not wait
    may_look.set()
    for thread in (greeting, pressing):
        thread.join(PATIENCE)
    assert asked == []
    assert "is new" in user.words
