"""The panel connects as its form says, shows what goes wrong, and keeps secrets out of everything that is saved."""

from __future__ import annotations

import base64
import http.server
import json
import re
import secrets
import textwrap
from dataclasses import replace

import pandas as pd
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_der_private_key,
)
from ipywidgets.widgets.widget import _instances as all_widgets
from recordings import serve

import toolkit
from toolkit.auth.kinds import KeyPair
from toolkit.auth.profiles import practice_profiles
from toolkit.cassettes.cassette import Cassette
from toolkit.core.document import ADDRESS_NAMES, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.problems import UNNAMED_CASSETTE
from toolkit.notebook.panel.widget import Panel
from toolkit.session.session import Session

PRESS = "Press Connect, then run this cell again."


def private_key_pem(credentials):
    """Return the private key of credentials in the form that services hand out."""
    data = credentials.secrets()[0][1].reveal()
    return f"-----BEGIN PRIVATE KEY-----\n{textwrap.fill(data, 64)}\n-----END PRIVATE KEY-----\n"


def typed(credentials):
    """Return the kind to choose for these credentials, and the texts to type, in the order of the fields."""
    if credentials.kind == "key pair":
        return "new key pair", credentials.key_id.reveal(), credentials.secret_key.reveal()
    if credentials.kind == "client secret":
        return "new client secret", credentials.client_id, credentials.client_secret.reveal()
    return "new client key", credentials.client_id, private_key_pem(credentials)


def test_a_panel_without_a_recording_waits_to_be_connected(open_panel):
    """Nothing is sent until Connect is pressed; a cell that runs too early says what to do."""
    user = open_panel("paper")
    with pytest.raises(ConfigurationError) as caught:
        user.panel.session  # noqa: B018
    assert (caught.value.what, caught.value.next_step) == ("The panel is not connected.", PRESS)
    assert user.status == "Not connected."
    assert repr(user.panel) == "<Panel: paper, not connected>"


@pytest.mark.parametrize("name", ["live", "paper", "broker-secret", "broker-key", "sandbox-secret", "sandbox-key"])
def test_typed_credentials_connect(open_panel, service, name):
    """Every kind of credentials of every environment can be typed, is tried, and makes an ordinary session."""
    credentials = service.credentials[name]
    user = open_panel(credentials.environment)
    kind, *texts = typed(credentials)
    user.choose("credentials", kind)
    user.connect(*texts)
    rows = 1 if credentials.kind == "key pair" else 25
    assert user.status == f"Connected. The service accepts these credentials: {rows} account{'s'[: rows > 1]}."
    assert type(user.panel.session) is Session
    assert len(user.panel.session.accounts()) == rows


def test_a_refused_secret_is_shown_beside_its_field(open_panel, service, capsys):
    """The words stand beside the secret, no traceback appears, and the next cell says the same."""
    user = open_panel("broker-sandbox")
    user.connect(service.credentials["sandbox-secret"].client_id, secrets.token_hex(20))
    assert "refused the credentials: status 401" in user.words("client_secret")
    assert user.status == "Not connected."
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ConfigurationError, match="refused the credentials: status 401") as caught:
        user.panel.session  # noqa: B018
    assert caught.value.next_step == PRESS


def test_refused_credentials_leave_nothing_open(open_panel, service, monkeypatch):
    """A refused attempt closes its sessions and holds no cassette: the next one records to the same file."""
    opened, make = [], Session.__init__

    def note(session, *arguments, **options):
        opened.append(session)
        make(session, *arguments, **options)

    monkeypatch.setattr(Session, "__init__", note)
    refused = open_panel("broker-sandbox", cassette="take")
    refused.connect(service.credentials["sandbox-secret"].client_id, secrets.token_hex(20))
    assert "refused the credentials" in refused.words("client_secret")
    assert [session.is_closed for session in opened] == [True, True]
    accepted = open_panel(None, service.credentials["sandbox-secret"], "take")
    accepted.press()
    assert accepted.status.endswith("Calls are recorded to take.yaml.")


def test_a_key_that_lost_its_line_breaks_connects(open_panel, service):
    """A pasted key without its line breaks connects."""
    credentials = service.credentials["sandbox-key"]
    user = open_panel("broker-sandbox")
    user.choose("credentials", "new client key")
    user.connect(credentials.client_id, private_key_pem(credentials).replace("\n", ""))
    assert user.status.startswith("Connected.")


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
    assert words in user.words(field)


@pytest.mark.usefixtures("no_pauses")
def test_a_service_that_cannot_be_reached_is_shown_beside_the_environment(open_panel, service):
    """An unreachable service is reported at the environment, which its address belongs to."""
    user = open_panel(None, service.credentials["paper"])
    service.close()
    user.press()
    assert "cannot be reached: nothing listens there." in user.words("environment")


@pytest.mark.parametrize("environment", list(Environment))
def test_a_missing_address_is_said_before_anything_is_typed(open_panel, tmp_path, monkeypatch, environment):
    """The missing setting, its file and its variable are named at once, without fields or a button to press."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    file = tmp_path / "toolkit.toml"
    complete = {name: f"https://{name}.example.com".replace("_", "-") for name in ADDRESS_NAMES}
    for name in environment.rules.addresses.values():
        some = {other: text for other, text in complete.items() if other != name}
        user = open_panel(environment, settings=Settings(some, project=tmp_path, file=file))
        words = user.words("environment")
        is_needed = "market_data" not in name  # the trial call does not go there
        assert ((name in words), bool(user.controls.fields)) == (is_needed, not is_needed)
        assert user.controls._button.disabled is is_needed
        if is_needed:
            assert f"toolkit.toml (folder “{tmp_path.name}”), or the variable TOOLKIT_{name.upper()}_URL" in words
            assert str(tmp_path) not in words
            with pytest.raises(ConfigurationError, match=f"the address {name} is not set"):
                user.panel.connect()


def test_without_any_address_the_panel_says_how_to_practise(open_panel, tmp_path, monkeypatch):
    """With nothing configured, the panel names both addresses, and the practice service as a way to try it."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    user = open_panel("broker-live", settings=Settings(project=tmp_path, file=tmp_path / "toolkit.toml"))
    words = user.words("environment")
    assert "the addresses broker and auth are not set" in words
    assert "tk.practice().start()" in words
    in_code = open_panel("paper", settings=Settings(project=tmp_path))
    assert "Set it in the settings that the cell gives to tk.panel()." in in_code.words("environment")


def test_connecting_removes_words_about_an_earlier_failure(open_panel, service):
    """Words about an earlier failure are removed when the panel connects."""
    credentials = service.credentials["sandbox-secret"]
    user = open_panel("broker-sandbox")
    user.connect(credentials.client_id, secrets.token_hex(20))
    user.connect(credentials.client_id, credentials.client_secret.reveal())
    assert user.words("client_secret") == ""
    assert user.status.startswith("Connected.")


def test_accepted_credentials_need_not_be_typed_again(open_panel, service):
    """Accepted credentials become a choice of the panel for another mode or session."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.connect(*texts)
    first = user.panel.session
    assert user.controls._credentials.dropdown.label == "default · this notebook"
    user.press()
    assert user.status.startswith("Connected.")
    assert user.panel.session is not first


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
            answers(monkeypatch, secrets.token_hex(10), secrets.token_hex(20))
        else:
            user.press()
        assert user.status == "The choices above could not be connected. The session below is the earlier session."
        assert (user.panel.session, user.panel._view.tone, user.summary) == (session, "bad", summary)
        with pytest.raises(ConfigurationError, match="could not connect: ") as caught:
            user.panel.connect()
        assert "the earlier session" in caught.value.next_step
    assert len(session.accounts()) == 1
    user.choose("mode", "call")
    user.choose("credentials", "paper")
    user.press()
    assert user.status.startswith("Connected.")
    assert session.is_closed


def test_a_replay_after_a_recording_starts_with_it(open_panel, service, tour, settings):
    """The recording is chosen, not the first in the folder, even after another name was typed or nothing recorded."""
    (tour.parent / "alpha.yaml").write_bytes(tour.read_bytes())
    user = open_panel(None, service.credentials["paper"])
    for name in ("my-rec", "not-yet"):
        user.choose("mode", "record")
        user.choose("cassette", "new")
        user.controls._cassette.name.value = name
        user.press()
        if name == "my-rec":
            user.panel.session.accounts()
            user.press()  # once more to the same file
            user.panel.session.trading.get("/v2/account", params={"again": "yes"})
        user.controls._cassette.name.value = "another-name"
        user.choose("mode", "replay")
        assert user.chosen("cassette") == name
        user.press()
    assert "not-yet.yaml does not exist" in user.words("cassette")
    assert user.panel.session.cassette.path == settings.cassettes_folder / "not-yet.yaml"
    user.choose("cassette", "my-rec")
    user.press()
    assert len(user.panel.session.cassette) == 2


def test_a_saved_profile_connects_by_name(open_panel, service, monkeypatch):
    """Only the profiles of the environment are offered; the profile that the notebook names is chosen."""
    for name in ("first", "second"):
        credentials = service.credentials["paper"]
        monkeypatch.setenv(f"TOOLKIT_PAPER__{name.upper()}_KEY_ID", credentials.key_id.reveal())
        monkeypatch.setenv(f"TOOLKIT_PAPER__{name.upper()}_SECRET_KEY", credentials.secret_key.reveal())
    user = open_panel("paper", "second")
    assert user.options("credentials")[:2] == ["first · environment variables", "second · environment variables"]
    user.press()
    assert user.panel.session.credentials.name == "second"
    user.choose("environment", "live")
    assert user.options("credentials") == ["live · practice service", "live-2 · practice service", "new key pair …"]


def test_a_profile_that_is_not_saved_is_reported(open_panel):
    """A profile that is not saved here is reported, without its name."""
    user = open_panel("paper", "nobody-here")
    assert "The credentials that this notebook names are not saved here for paper." in user.words("credentials")
    assert "nobody-here" not in user.words("credentials")


def test_credentials_of_another_environment_are_refused_at_once():
    """Credentials of another environment raise an error in the cell (section 1, rule 5)."""
    with pytest.raises(CredentialsMismatch):
        toolkit.panel("live", toolkit.KeyPair("key-id-1", "secret-key-1", environment="paper"), settings=Settings())


def test_an_existing_cassette_is_replayed_at_once_with_nothing_configured(open_panel, tour, service, monkeypatch):
    """A notebook with a panel runs from top to bottom without credentials, addresses or network."""
    service.close()
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    user = open_panel(cassette="tour", settings=Settings(project=tour.parents[1]))
    assert user.status == "Replaying tour.yaml. Nothing is sent, and no credentials are needed."
    assert user.panel.environment == "broker-sandbox"
    assert user.panel.session.replays_only
    assert len(user.panel.session.accounts()) == 25


def test_a_replay_does_not_read_profiles(open_panel, tour, monkeypatch):
    """Neither profile files nor a keyring are opened until something is to be sent."""

    def look(**_):
        raise AssertionError("profiles were read")

    monkeypatch.setattr("toolkit.auth.profiles.saving.saved_credentials", look)
    user = open_panel("broker-sandbox", "sandbox-secret", "tour")
    assert user.status.startswith("Replaying")
    assert "Credentials" not in str([part.description for part in user.controls.slots["credentials"].children])


def test_a_replay_of_another_environment_is_refused(open_panel, tour):
    """A replay of another environment is refused, with the names of the cassette's environments."""
    user = open_panel("paper", cassette="tour")
    assert "has no calls of the environment paper" in user.words("environment")
    assert "broker-sandbox" in user.words("environment")
    user.choose("environment", "broker-sandbox")
    user.press()
    assert user.status.startswith("Replaying")


def test_a_broken_cassette_is_reported_beside_the_choice(open_panel, tour):
    """A broken cassette is reported on the panel, beside the dropdown."""
    tour.write_text("no: cassette\n")
    user = open_panel(cassette="tour")
    user.send(user.panel._view, {"type": "hello"})
    assert 'role="alert"' in user.words("cassette")


def test_recording_adds_the_calls_of_the_session_and_nothing_else(open_panel, service, settings):
    """The trial is not recorded, so that a replay tells the same story as the recording."""
    user = open_panel(None, service.credentials["sandbox-key"], "new-tour")
    assert user.controls.mode == "record"
    user.press()
    assert user.status.endswith("Calls are recorded to new-tour.yaml.")
    path = settings.cassettes_folder / "new-tour.yaml"
    assert not path.exists()
    recorded = user.panel.session.accounts()
    calls, tokens = user.panel.session.calls(), user.panel.session.tokens()
    assert service.stats.token_requests == 1  # of the trial, whose token the session has
    user.panel.close()
    replayed = open_panel(cassette="new-tour").panel.session
    pd.testing.assert_frame_equal(replayed.accounts(), recorded)
    pd.testing.assert_frame_equal(replayed.calls(), calls)
    pd.testing.assert_frame_equal(replayed.tokens().drop(columns=["remaining"]), tokens.drop(columns=["remaining"]))


def test_a_new_cassette_is_named_on_the_panel(open_panel, service, settings):
    """Recording asks for a name, and says so if it is missing."""
    user = open_panel(None, service.credentials["paper"])
    user.choose("mode", "record")
    user.choose("cassette", "new")
    user.press()
    assert "The cassette has no name." in user.words("cassette")
    user.controls._cassette.name.value = " mine "
    user.press()
    user.panel.session.accounts()
    assert len(Cassette(settings.cassettes_folder / "mine.yaml", "none")) == 1


def test_a_corrupt_cassette_is_found_before_anything_is_sent(open_panel, service, tour):
    """Recording to a file that is not a cassette fails before the credentials are sent anywhere."""
    tour.write_text("no: cassette\n")
    before = service.stats.by_endpoint
    user = open_panel(None, service.credentials["sandbox-secret"])
    user.choose("mode", "record")
    user.choose("cassette", "tour")
    user.press()
    assert 'role="alert"' in user.words("cassette")
    assert service.stats.by_endpoint == before


def test_offline_offers_replay_only(open_panel, service, monkeypatch):
    """TOOLKIT_OFFLINE leaves replay only; without recordings the panel says where they would be."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    user = open_panel("paper", service.credentials["paper"])
    assert [value for _, value in user.controls._mode.options] == ["replay"]
    assert "No cassettes in the folder cassettes yet. Record one while online." in user.words("cassette")


def test_going_offline_later_keeps_calls_from_going_out(open_panel, service, monkeypatch):
    """`tk.offline()` is respected when Connect is pressed, even if the panel was made earlier."""
    user = open_panel(None, service.credentials["paper"])
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    user.press()
    assert "TOOLKIT_OFFLINE keeps calls from being sent" in user.words("mode")
    assert not service.stats.by_endpoint


def test_a_real_account_carries_a_badge(open_panel, service, monkeypatch):
    """A real account has a badge before and after connecting, and in the plain text."""
    pair = service.credentials["live"]
    real = KeyPair(pair.key_id, pair.secret_key, environment="live")
    monkeypatch.setattr(practice_profiles, "running_services", list)  # as if the service ran elsewhere
    user = open_panel(None, real)
    assert "real account" in user.words("environment")
    user.press()
    assert "real account" in user.summary
    assert "real account" in user.panel.session._repr_html_()
    assert repr(user.panel) == "<Panel: live · real account · calls the service>"
    user.choose("environment", "paper")
    assert "real account" not in user.words("environment")


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
        texts += [text for _, secret in credentials.secrets() for text in [secret.reveal()]]
        texts += given[-1:]
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
    assert user.panel._connecting.connection is None
    assert user.controls.take() == {}


def test_pressing_twice_asks_once(open_panel, service):
    """A second press before the page answers is the same question, so the texts are not lost."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.press()
    user.press()
    user.answer(*texts, number=1)
    assert user.status.startswith("Connected.")


def test_the_status_is_the_last_to_change(open_panel, service):
    """The panel says that it is connected once the typed credentials are chosen, so that the next choice stands."""
    user = open_panel("paper")
    chosen = []
    user.panel._view.observe(lambda change: chosen.append((change["new"], user.chosen("credentials"))), "status")
    user.connect(*typed(service.credentials["paper"])[1:])
    assert [label for status, label in chosen if status.startswith("Connected.")] == ["default · this notebook"]


def test_enter_in_a_field_connects(open_panel, service):
    """Pressing Enter in a field connects."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.send(user.controls._credentials.inputs, {"type": "submit"})
    user.answer(*texts)
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

    monkeypatch.setattr("toolkit.notebook.panel.connecting.connect", fail)
    user = open_panel(None, service.credentials["paper"])
    user.press()
    assert words in user.words("connect")
    assert secret not in user.words("connect")
    assert not user.controls._button.disabled


def test_file_names_are_escaped(open_panel, settings):
    """The names of cassettes are escaped."""
    name = "<img src=x onerror=alert(1)>.yaml"
    settings.cassettes_folder.mkdir()
    (settings.cassettes_folder / name).write_text("no: cassette\n")
    user = open_panel("paper", cassette=settings.cassettes_folder / name)
    assert "<img" not in user.words("cassette")
    assert "&lt;img" in user.words("cassette")


def test_the_state_of_a_replay_is_the_same_each_time(open_panel, tour, widget_state):
    """A saved notebook depends neither on the present nor on chance, apart from the names of widgets."""

    def run():
        before = set(all_widgets)
        user = open_panel(cassette="tour")
        user.panel.session.accounts()
        user.panel._after_cell(None)
        states = [widget.get_state() for name, widget in all_widgets.items() if name not in before]
        text = re.sub(r"IPY_MODEL_\w+", "", json.dumps(states))
        user.panel.close()
        return text

    first = run()
    assert len(first) < 25_000
    assert "expires" not in first
    assert run() == first


def test_a_replay_lists_other_cassettes_only_when_a_page_shows_the_panel(open_panel, tour):
    """Without a page, the saved state does not depend on the folder."""
    (tour.parent / "another.yaml").write_bytes(tour.read_bytes())
    user = open_panel(cassette="tour")
    assert [value for _, value in user.controls._cassette.dropdown.options] == ["tour"]
    user.send(user.panel._view, {"type": "hello"})
    assert [value for _, value in user.controls._cassette.dropdown.options] == ["another", "tour"]
    assert user.controls.cassette == "tour"


def test_the_lifetime_of_a_live_token_is_sent_to_the_page(open_panel, service, monkeypatch):
    """The lifetime of a live token is sent once for each token, and whenever a page greets; it is not saved."""
    user = open_panel(None, service.credentials["sandbox-key"])
    sent = []
    monkeypatch.setattr(user.panel._view, "send", sent.append)
    user.press()
    user.panel._after_cell(None)
    user.panel.session.accounts()
    user.panel._after_cell(None)
    assert [message["type"] for message in sent] == ["token"]
    assert 0 < sent[0]["remaining"] <= sent[0]["lifetime"] <= 900
    assert sent[0].keys() == {"type", "remaining", "lifetime"}
    before = json.dumps(user.panel._view.get_state(), default=str)
    for content in ({"type": "hello"}, {"type": "other"}, {}, None, "hello"):
        user.send(user.panel._view, content)
    assert len(sent) == 2
    assert json.dumps(user.panel._view.get_state(), default=str) == before
    service.revoke_tokens()
    user.panel.session.accounts()
    user.panel._after_cell(None)
    assert len(sent) == 3


def test_the_summary_follows_the_cells(open_panel, service, shell):
    """The summary is updated after each cell until the panel is closed."""
    user = open_panel(None, service.credentials["sandbox-key"], "growing")
    user.press()
    assert "0 interactions" in user.summary
    user.panel.session.accounts()
    shell.events.trigger("post_run_cell", None)
    assert "1 interaction" in user.summary
    user.panel.close()
    assert not [callback for callback in shell.events.callbacks["post_run_cell"] if "Panel" in repr(callback)]


def test_closing_leaves_nothing_behind(open_panel, service, tour):
    """The session is closed and every widget is gone; closing again does nothing."""
    before = set(all_widgets)
    user = open_panel("broker-sandbox", cassette="tour")
    user.choose("mode", "call")
    user.choose("credentials", "new client key")
    user.press()
    user.controls.complain(user.panel._connecting.failure or UNNAMED_CASSETTE)
    user.panel.close()
    user.panel.close()
    kept = [widget for name, widget in all_widgets.items() if name not in before]
    assert {type(widget).__name__ for widget in kept} <= {"ButtonStyle", "HTMLStyle", "TextStyle"}
    with pytest.raises(ConfigurationError):
        user.panel.session  # noqa: B018


def test_a_panel_is_a_widget_with_a_short_text(open_panel, tour):
    """A panel shows itself at the end of a cell, with one line of text for front ends without widgets."""
    user = open_panel(cassette="tour")
    bundle = user.panel._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "run this cell again" in bundle["text/html"]
    assert re.fullmatch(r"<Panel: broker-sandbox · replay tour\.yaml, recorded \d+ \w+ \d{4}>", bundle["text/plain"])


def test_the_public_name_loads_the_panel(tour):
    """The settings of `toolkit.panel()` default to those of the project."""
    made = toolkit.panel(cassette=tour)
    assert isinstance(made, Panel)
    made.close()


def test_a_profile_folder_that_cannot_be_read_is_reported(open_panel, monkeypatch):
    """The panel appears with the words of the error beside the credentials, and offers to type them."""

    def fail(**_):
        raise ConfigurationError("The folder of saved profiles cannot be read.", "Fix it.")

    monkeypatch.setattr("toolkit.auth.profiles.saving.saved_credentials", fail)
    user = open_panel("paper")
    assert "The folder of saved profiles cannot be read." in user.words("credentials")
    assert user.controls.fields


def test_recording_offers_a_new_cassette_first(open_panel, settings, service):
    """A recording is added to only if the user chose it."""
    folder = settings.cassettes_folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "of-somebody.yaml").write_bytes(b"# service-access-toolkit cassette 1\nversion: 1\ninteractions:\n")
    user = open_panel(None, service.credentials["paper"])
    user.choose("mode", "replay")
    user.choose("mode", "record")
    assert user.panel._controls.cassette is None
    user.choose("cassette", "of-somebody")
    assert user.panel._controls.cassette == "of-somebody"


def test_words_come_before_the_widget(open_panel, tour, monkeypatch):
    """The words are an output of their own before the widget, for pages where the widget is missing."""
    shown = []
    monkeypatch.setattr("toolkit.notebook.panel.widget.show", lambda data, *, raw: shown.append((data, raw)))
    open_panel(cassette="tour").panel._ipython_display_()
    assert [raw for _, raw in shown] == [True, True]
    assert [list(data) for data, _ in shown] == [
        ["text/plain", "text/html"],
        ["application/vnd.jupyter.widget-view+json"],
    ]
    assert "replay tour.yaml, recorded" in shown[0][0]["text/html"]


def test_the_status_says_when_another_choice_is_not_connected_yet(open_panel, service):
    """The status says when the form differs from the session, until the same choice is made again."""
    user = open_panel(None, service.credentials["paper"])
    user.press()
    connected = user.status
    user.choose("environment", "live")
    assert user.status.startswith("The choices above are not connected yet")
    assert user.panel._view.tone == "idle"
    assert user.panel.session.environment == user.panel.environment == "paper"
    assert "<strong>paper</strong>" in user.summary
    user.choose("environment", "paper")
    assert (user.status, user.panel._view.tone) == (connected, "good")
    user.choose("mode", "record")
    assert user.status.startswith("The choices above are not connected yet")


def test_choosing_after_a_failure_resets_the_status(open_panel):
    """A new choice resets the words and the colour of an earlier failure."""
    user = open_panel("paper")
    user.connect("", "")
    assert user.panel._view.tone == "bad"
    user.choose("environment", "live")
    assert (user.status, user.panel._view.tone) == ("Not connected.", "idle")


def forgotten(user, monkeypatch):
    """Return the list of fields that the page is told to empty, from now on."""
    names = []

    def send(content, *_):
        if content["type"] == "forget":
            names.append(content["names"])

    monkeypatch.setattr(user.controls._credentials.inputs, "send", send)
    return names


@pytest.mark.usefixtures("no_pauses")
def test_only_a_refused_secret_is_emptied(open_panel, service, monkeypatch):
    """Only a refused secret is emptied, and nothing if the service cannot be reached."""
    credentials = service.credentials["paper"]
    user = open_panel("paper")
    names = forgotten(user, monkeypatch)
    user.connect(credentials.key_id.reveal(), secrets.token_hex(20))
    assert names == [["secret_key"]]
    user.connect("", credentials.secret_key.reveal())
    assert names == [["secret_key"]]
    service.close()
    user.connect(credentials.key_id.reveal(), credentials.secret_key.reveal())
    assert "cannot be reached" in user.words("environment")
    assert names == [["secret_key"]]


def test_another_environment_forgets_what_was_typed(open_panel, settings, monkeypatch):
    """Choosing another environment empties all fields, though they may be the same."""
    user = open_panel("paper")
    names = forgotten(user, monkeypatch)
    user.press()
    user.choose("environment", "live")
    assert names == [["key_id", "secret_key", "scheme"]]
    user.answer("key-of-paper", "secret-of-paper")
    assert user.panel._connecting.connection is None
    assert user.controls.take() == {}


def encrypted_pem(credentials, passphrase):
    key = load_der_private_key(base64.b64decode(credentials.secrets()[0][1].reveal()), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(passphrase.encode())).decode()


def test_an_encrypted_key_is_asked_for_its_passphrase(open_panel, service, monkeypatch, widget_state):
    """The field appears, the key stays, a wrong passphrase is emptied, and the right one connects."""
    credentials, passphrase = service.credentials["sandbox-key"], secrets.token_hex(12)
    key = encrypted_pem(credentials, passphrase)
    user = open_panel("broker-sandbox")
    user.choose("credentials", "new client key")
    names = forgotten(user, monkeypatch)
    user.connect(credentials.client_id, key)
    assert user.words("passphrase") == "This private key is encrypted. Type its passphrase."
    assert [field.label for field in user.controls.fields][:3] == ["Client ID", "Private key", "Passphrase"]
    assert names == [["passphrase"]]
    user.connect(credentials.client_id, key, "not-the-passphrase")
    assert "cannot be decrypted with this passphrase" in user.words("passphrase")
    assert names == [["passphrase"], ["passphrase"]]
    user.connect(credentials.client_id, key, passphrase)
    assert user.status.startswith("Connected.")
    assert names[-1][:3] == ["client_id", "private_key", "passphrase"]
    assert passphrase not in widget_state()
    user.choose("credentials", "new client key")
    assert "passphrase" not in [field.name for field in user.controls.fields]


def test_visitors_are_offered_no_saved_credentials(open_panel, service, monkeypatch):
    """Visitors of Voila are not offered saved credentials, only those of the notebook."""
    for name, credentials in (("KEY_ID", "key_id"), ("SECRET_KEY", "secret_key")):
        text = getattr(service.credentials["paper"], credentials).reveal()
        monkeypatch.setenv(f"TOOLKIT_PAPER__DESK_{name}", text)
    assert [label for label, _ in open_panel("paper").controls._credentials.dropdown.options] == [
        "desk · environment variables",
        "paper · practice service",
        "paper-2 · practice service",
        "new key pair …",
    ]
    monkeypatch.setenv("SERVER_SOFTWARE", "voila/0.5.8")
    user = open_panel("paper", "desk")
    assert user.options("credentials") == ["new key pair …"]
    assert "not offered to visitors" in user.words("credentials")
    given = open_panel(None, service.credentials["paper"])
    given.press()
    assert given.status.startswith("Connected.")


@pytest.fixture
def for_visitors(monkeypatch):
    monkeypatch.setenv("VOILA_BASE_URL", "/")


@pytest.mark.usefixtures("for_visitors")
def test_visitors_record_nothing_and_replay_what_the_notebook_names(open_panel, tour, settings):
    """Visitors cannot record, and can replay only the cassette that the notebook names."""
    (settings.cassettes_folder / "merger.yaml").write_bytes(tour.read_bytes())
    user = open_panel(cassette="tour")
    user.send(user.panel._view, {"type": "hello"})
    assert user.status.startswith("Replaying tour.yaml.")
    assert [label for label, _ in user.controls._cassette.dropdown.options] == ["tour"]
    assert [value for _, value in user.controls._mode.options] == [Mode.LIVE, Mode.REPLAY]
    assert [value for _, value in open_panel().controls._mode.options] == [Mode.LIVE]


@pytest.mark.usefixtures("for_visitors")
def test_visitors_are_told_what_went_wrong_without_paths(open_panel, tour, settings, service, tmp_path, monkeypatch):
    """Visitors read about problems without paths of the owner's files."""
    tour.rename(tour.with_name("tours.yaml"))
    missing = open_panel("broker-sandbox", cassette="tour")
    missing.choose("mode", "replay")
    missing.press()
    assert "Tell the owner of this page." in missing.words("cassette")
    unset = open_panel("paper", settings=Settings(project=tmp_path, file=tmp_path / "toolkit.toml"))
    assert "Tell the owner of this page." in unset.words("environment")
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    nothing = open_panel()
    assert "This notebook does not name a cassette to replay." in nothing.words("cassette")
    for user in (missing, unset, nothing):
        shown = json.dumps([slot.get_state() for slot in user.controls.slots.values()], default=str)
        words = "".join(map(user.words, user.controls.slots))
        assert [text for text in (str(tmp_path), "tours") if text in shown + words] == []


def test_a_front_end_that_drops_typed_texts_is_noticed(open_panel, monkeypatch):
    """A front end that drops binary messages is reported, rather than empty fields."""
    user = open_panel("paper")
    user.send(user.panel._view, {"type": "hello"})
    user.connect()
    assert "This front end does not send what is typed here." in user.words("connect")
    assert "run panel.connect() in a cell" in user.words("connect")
    assert (user.status, user.words("key_id")) == ("Not connected.", "")
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    visitor = open_panel("paper")
    visitor.connect()
    assert "in a cell" not in visitor.words("connect")


def test_the_current_token_is_numbered(open_panel, service):
    """The summary numbers the current token as the tables of the session do."""
    user = open_panel(None, service.credentials["sandbox-key"])
    user.press()
    user.panel.session.accounts()
    user.panel._after_cell(None)
    assert 'data-counting="token 1"' in user.summary
    service.revoke_tokens()
    user.panel.session.accounts()
    user.panel._after_cell(None)
    assert 'data-counting="token 2"' in user.summary


def answers(monkeypatch, *texts):
    """Answer questions below the cell with these texts, and return the list of questions."""
    asked, waiting = [], [*texts]
    monkeypatch.setattr("toolkit.notebook.panel.asking.can_ask", lambda: True)

    def prompt(question):
        asked.append(question)
        return waiting.pop(0)

    monkeypatch.setattr("getpass.getpass", prompt)
    return asked


def test_connecting_without_the_page_asks_below_the_cell(open_panel, service, monkeypatch, tmp_path):
    """connect() asks below the cell for the same fields, for a key by its path, and for a passphrase."""
    credentials, passphrase = service.credentials["sandbox-key"], secrets.token_hex(12)
    file = tmp_path / "key.pem"
    file.write_text(encrypted_pem(credentials, passphrase))
    user = open_panel("broker-sandbox")
    user.choose("credentials", "new client key")
    asked = answers(monkeypatch, credentials.client_id, str(file), passphrase)
    session = user.panel.connect()
    assert session is user.panel.session
    assert asked == [
        "Client ID of broker-sandbox: ",
        "Path of the private key file of broker-sandbox: ",
        "Passphrase of broker-sandbox: ",
    ]


def test_connecting_in_code_raises_what_the_panel_says(open_panel, service, monkeypatch):
    """connect() raises the problem that the panel shows."""
    user = open_panel("paper")
    user.choose("credentials", "new key pair")
    answers(monkeypatch, secrets.token_hex(10), secrets.token_hex(20))
    with pytest.raises(ConfigurationError, match="401"):
        user.panel.connect()
    monkeypatch.setattr("toolkit.notebook.panel.asking.can_ask", lambda: False)
    with pytest.raises(ConfigurationError, match="Credentials cannot be typed here"):
        user.panel.connect()
    user.choose("mode", "record")
    with pytest.raises(ConfigurationError, match="The cassette has no name"):
        user.panel.connect()
    chosen = open_panel(None, service.credentials["paper"])
    assert len(chosen.panel.connect().accounts()) == 1


def test_a_page_that_never_greeted_may_have_no_fields(open_panel):
    """A press on Connect mentions connect() until a page has greeted or answered."""
    user = open_panel("paper")
    user.press()
    assert "run panel.connect() in a cell" in user.words("connect")
    user.answer("", "")
    assert user.words("connect") == ""
    user.send(user.panel._view, {"type": "hello"})
    user.press()
    assert user.words("connect") == ""


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[2J"


class HostileService(http.server.BaseHTTPRequestHandler):
    """Answers with status and body by path, and with markup to all other paths."""

    def do_GET(self):
        status, body = self.server.replies.get(self.path, (404, HOSTILE))
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if body.startswith("{") else "text/html")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def test_markup_of_a_server_is_shown_as_text(settings, service, open_panel, monkeypatch):
    """Error bodies and paths are shown without elements and invisible characters."""
    with serve(HostileService) as running:
        running.replies = {"/v2/account": (500, HOSTILE)}
        hostile = replace(settings, addresses={**settings.addresses, "trading_paper": running.url})
        user = open_panel(None, service.credentials["paper"], settings=hostile)
        user.press()
        words = user.words("connect")
        running.replies["/v2/account"] = (200, json.dumps({"account_number": HOSTILE, "status": HOSTILE}))
        user.press()
        user.panel.session.trading.get("/<img src=x onerror=alert(1)>")
        user.panel._after_cell(None)
        shown = user.summary + user.status + repr(user.panel)
    assert "500" in words
    assert "toolkit-calls" in shown
    for text in (words, shown):
        assert not [mark for mark in ("<script", "<img", "\u202e", "\x1b") if mark in text]
