"""The panel connects as it is told, says what goes wrong, and holds no secret in anything that is saved."""

from __future__ import annotations

import base64
import json
import re
import secrets
import textwrap

import pandas as pd
import pytest
from IPython.core.events import EventManager, available_events
from ipywidgets.widgets.widget import _instances as all_widgets

import toolkit
from toolkit.cassettes.cassette import Cassette
from toolkit.errors import CassetteMiss, ConfigurationError, CredentialsMismatch
from toolkit.notebook.panel import Panel
from toolkit.secret import Secret
from toolkit.session import Session
from toolkit.settings import Settings

PRESS = "Press Connect, then run this cell again."


def private_key_pem(credentials):
    """The private key of credentials in the form that services hand out."""
    data = credentials.secrets()[0][1].reveal()
    return f"-----BEGIN PRIVATE KEY-----\n{textwrap.fill(data, 64)}\n-----END PRIVATE KEY-----\n"


def typed(credentials):
    """What somebody types to use these credentials: the kind, and the texts in the order of the fields."""
    if credentials.kind == "key pair":
        return "new key pair", credentials.key_id.reveal(), credentials.secret_key.reveal()
    if credentials.kind == "client secret":
        return "new client secret", credentials.client_id, credentials.client_secret.reveal()
    return "new client key", credentials.client_id, private_key_pem(credentials)


def test_a_panel_without_a_recording_waits_to_be_connected(open_panel):
    """Nothing is sent before Connect is pressed; a cell that is run too early says what to do."""
    user = open_panel("paper")
    with pytest.raises(ConfigurationError) as caught:
        user.panel.session  # noqa: B018
    assert (caught.value.what, caught.value.next_step) == ("The panel is not connected.", PRESS)
    assert user.status == "Not connected."
    assert repr(user.panel) == "<Panel: paper, not connected>"


@pytest.mark.parametrize("name", ["live", "paper", "broker-secret", "broker-key", "sandbox-secret", "sandbox-key"])
def test_typed_credentials_connect(open_panel, service, name):
    """Every kind of credentials of every environment can be typed, is proved, and makes an ordinary session."""
    credentials = service.credentials[name]
    user = open_panel(credentials.environment)
    kind, *texts = typed(credentials)
    user.choose("who", kind)
    user.connect(*texts)
    rows = 1 if credentials.kind == "key pair" else 25
    assert user.status == f"Connected. The service knows these credentials: {rows} account{'s'[: rows > 1]}."
    assert type(user.panel.session) is Session
    assert len(user.panel.session.accounts()) == rows


def test_a_key_that_lost_its_line_breaks_connects(open_panel, service):
    """A one-line field takes the line breaks of a pasted key; it is the same key all the same."""
    credentials = service.credentials["sandbox-key"]
    user = open_panel("broker-sandbox")
    user.choose("who", "new client key")
    user.connect(credentials.client_id, private_key_pem(credentials).replace("\n", ""))
    assert user.status.startswith("Connected.")


def test_the_proof_is_no_call_of_the_session(open_panel, service):
    """The session that the cells get has made no call yet, but shares the token of the proof."""
    user = open_panel(None, service.credentials["sandbox-key"])
    user.press()
    assert user.panel.session.calls().empty
    user.panel.session.accounts()
    assert service.stats.token_requests == 1


def test_a_refused_secret_is_said_beside_its_field(open_panel, service, capsys):
    """The words stand beside the secret, no traceback appears, and a cell that follows says the same."""
    user = open_panel("broker-sandbox")
    user.connect(service.credentials["sandbox-secret"].client_id, secrets.token_hex(20))
    assert "refused the credentials: status 401" in user.words("client_secret")
    assert user.status == "Not connected."
    assert capsys.readouterr() == ("", "")
    with pytest.raises(ConfigurationError, match="refused the credentials: status 401") as caught:
        user.panel.session  # noqa: B018
    assert caught.value.next_step == PRESS


def test_a_refused_key_pair_is_said_beside_the_secret_key(open_panel, service):
    """An account holder has no token endpoint: the accounts call itself is refused."""
    user = open_panel("paper")
    user.connect(service.credentials["paper"].key_id.reveal(), secrets.token_hex(20))
    assert "401" in user.words("secret_key")


@pytest.mark.parametrize(
    ("kind", "texts", "field", "words"),
    [
        ("new key pair", ("", "secret-of-the-key"), "key_id", "The key ID is empty."),
        ("new key pair", ("key", ""), "secret_key", "The secret key is empty."),
        ("new client secret", ("", "secret-of-client"), "client_id", "The client ID is empty."),
        ("new client secret", ("id", "two\nlines"), "client_secret", "The client secret holds"),
        ("new client key", ("id", ""), "private_key", "The private key is missing."),
        ("new client key", ("id", '{"keys": []}'), "private_key", "This is a set of JWKs."),
        ("new client key", ("id",), "private_key", "The private key is missing."),
    ],
)
def test_a_malformed_text_is_said_beside_its_field(open_panel, kind, texts, field, words):
    """What is missing or malformed is said where it was typed, before anything is sent."""
    user = open_panel("paper" if kind == "new key pair" else "broker-sandbox", settings=Settings())
    user.choose("who", kind)
    user.connect(*texts)
    assert user.words(field).startswith(words)


def test_a_service_that_cannot_be_reached_is_said_beside_the_environment(open_panel, service):
    """The address belongs to the environment, and so does what is wrong with it."""
    user = open_panel(None, service.credentials["paper"])
    service.close()
    user.press()
    assert "cannot be reached: no connection." in user.words("environment")


def test_a_missing_address_is_said_beside_the_environment(open_panel, service, tmp_path):
    """Words of the settings name the address and where to set it."""
    user = open_panel(None, service.credentials["paper"], settings=Settings(project=tmp_path))
    user.press()
    assert "The address trading_paper is not set." in user.words("environment")


def test_connecting_again_takes_the_words_back(open_panel, service):
    """What was wrong is gone from the panel when it is right."""
    credentials = service.credentials["sandbox-secret"]
    user = open_panel("broker-sandbox")
    user.connect(credentials.client_id, secrets.token_hex(20))
    user.connect(credentials.client_id, credentials.client_secret.reveal())
    assert user.words("client_secret") == ""
    assert user.status.startswith("Connected.")


def test_accepted_credentials_need_not_be_typed_again(open_panel, service):
    """They become a choice of this panel, so that another mode or a new session needs no typing."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.connect(*texts)
    first = user.panel.session
    assert user.controls._who.label == "default · key pair, in this notebook"
    user.press()
    assert user.status.startswith("Connected.")
    assert user.panel.session is not first


def test_a_failed_connection_leaves_no_session(open_panel, service):
    """A panel that says that it is not connected gives no session of before either."""
    user = open_panel(None, service.credentials["paper"])
    user.press()
    user.choose("who", "new key pair")
    user.connect(secrets.token_hex(10), secrets.token_hex(20))
    with pytest.raises(ConfigurationError):
        user.panel.session  # noqa: B018
    assert user.summary == ""


def test_a_saved_profile_connects_by_name(open_panel, service, monkeypatch):
    """Only the saved profiles of the environment are offered; the one that the notebook names is chosen."""
    for name in ("first", "second"):
        credentials = service.credentials["paper"]
        monkeypatch.setenv(f"TOOLKIT_PAPER__{name.upper()}_KEY_ID", credentials.key_id.reveal())
        monkeypatch.setenv(f"TOOLKIT_PAPER__{name.upper()}_SECRET_KEY", credentials.secret_key.reveal())
    user = open_panel("paper", "second")
    assert [label.split(" ")[0] for label, _ in user.controls._who.options] == ["first", "second", "new"]
    user.press()
    assert user.panel.session.credentials.name == "second"
    user.choose("environment", "live")
    assert [label for label, _ in user.controls._who.options] == ["new key pair …"]


def test_a_profile_that_is_not_saved_is_said(open_panel):
    """A notebook that names credentials which are not on this machine asks for others."""
    user = open_panel("paper", "nobody-here")
    assert "No credentials of the name that this notebook gives are saved for paper." in user.words("credentials")
    assert "nobody-here" not in user.words("credentials")


def test_credentials_of_another_environment_are_refused_at_once():
    """Section 1, rule 5: the mistake is in the cell, so the cell shows it."""
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


def test_a_replay_does_not_look_for_credentials(open_panel, tour, monkeypatch):
    """Neither profiles nor a keyring are opened before something is to be sent."""

    def look(**_):
        raise AssertionError("nobody asked for profiles")

    monkeypatch.setattr("toolkit.profiles.saved_credentials", look)
    user = open_panel("broker-sandbox", "sandbox-secret", "tour")
    assert user.status.startswith("Replaying")
    assert "Credentials" not in str([one.description for one in user.controls.slots["credentials"].children])


def test_a_replay_of_another_environment_is_refused_in_words(open_panel, tour):
    """A cassette without a call of the environment would miss every call; the words name what it holds."""
    user = open_panel("paper", cassette="tour")
    assert "holds no call of the environment paper" in user.words("environment")
    assert "broker-sandbox" in user.words("environment")
    user.choose("environment", "broker-sandbox")
    user.press()
    assert user.status.startswith("Replaying")


def test_a_broken_cassette_is_said_beside_it(open_panel, tour):
    """The panel appears all the same, with the words of the error."""
    tour.write_text("no: cassette\n")
    user = open_panel(cassette="tour")
    user.send(user.panel._view, {"type": "hello"})
    assert 'role="alert"' in user.words("cassette")


def test_recording_adds_the_calls_of_the_session_and_nothing_else(open_panel, service, settings):
    """The proof is not recorded, so that a replay tells the same story as the recording."""
    user = open_panel(None, service.credentials["sandbox-key"], "new-tour")
    assert user.controls.mode == "record"
    user.press()
    assert user.status.endswith("Calls are recorded to new-tour.yaml.")
    path = settings.cassettes_folder / "new-tour.yaml"
    assert not path.exists()
    recorded = user.panel.session.accounts()
    calls, tokens = user.panel.session.calls(), user.panel.session.tokens()
    user.panel.close()
    replayed = open_panel(cassette="new-tour").panel.session
    pd.testing.assert_frame_equal(replayed.accounts(), recorded)
    pd.testing.assert_frame_equal(replayed.calls(), calls)
    pd.testing.assert_frame_equal(replayed.tokens().drop(columns=["remaining"]), tokens.drop(columns=["remaining"]))


def test_a_new_cassette_is_named_on_the_panel(open_panel, service, settings):
    """Recording asks for a name, and says so when there is none."""
    user = open_panel(None, service.credentials["paper"])
    user.choose("mode", "record")
    user.choose("cassette", "new")
    user.press()
    assert "The cassette has no name." in user.words("cassette")
    user.controls._new_cassette.value = " mine "
    user.press()
    user.panel.session.accounts()
    assert len(Cassette(settings.cassettes_folder / "mine.yaml", "none")) == 1


def test_a_corrupt_cassette_is_found_before_anything_is_sent(open_panel, service, tour):
    """Recording to a file that is no cassette fails before the credentials go anywhere."""
    tour.write_text("no: cassette\n")
    before = service.stats.by_endpoint
    user = open_panel(None, service.credentials["sandbox-secret"])
    user.choose("mode", "record")
    user.choose("cassette", "tour")
    user.press()
    assert 'role="alert"' in user.words("cassette")
    assert service.stats.by_endpoint == before


def test_offline_offers_replay_only(open_panel, service, monkeypatch):
    """TOOLKIT_OFFLINE tightens the panel too; without recordings it says where they would be."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    user = open_panel("paper", service.credentials["paper"])
    assert [value for _, value in user.controls._mode.options] == ["replay"]
    assert "There are no cassettes in cassettes." in user.words("cassette")


def test_going_offline_later_keeps_calls_from_going_out(open_panel, service, monkeypatch):
    """`tk.offline()` after the panel was made is respected when Connect is pressed."""
    user = open_panel(None, service.credentials["paper"])
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    user.press()
    assert "TOOLKIT_OFFLINE keeps calls from going out" in user.words("mode")
    assert not service.stats.by_endpoint


def test_a_real_account_carries_a_badge(open_panel, service):
    """Before and after connecting, and in the plain text."""
    user = open_panel(None, service.credentials["live"])
    assert "real account" in user.words("environment")
    user.press()
    assert "real account" in user.summary
    assert repr(user.panel) == "<Panel: live · real account · live>"
    user.choose("environment", "paper")
    assert user.words("environment") == ""


def test_nothing_typed_is_in_any_widget_state(open_panel, service, widget_state, capsys):
    """Typed, refused, accepted or abandoned: no synced trait of any widget holds a text of the form."""
    refused = secrets.token_hex(20)
    texts = [refused]
    user = open_panel("paper")
    user.connect(refused, refused)
    states = [widget_state()]
    for name in ("paper", "sandbox-secret", "sandbox-key"):
        credentials = service.credentials[name]
        user.choose("environment", credentials.environment)
        kind, *given = typed(credentials)
        user.choose("who", kind)
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
    """A late answer, or one to a form that is gone, connects nothing and is not kept."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.press()
    user.answer(*texts, number=7)
    user.choose("mode", "replay")
    user.answer(*texts)
    assert user.panel._connection is None
    assert user.controls.take() == {}


def test_pressing_twice_asks_once(open_panel, service):
    """A second press while the page has not answered is the same question, so the texts are not lost."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.press()
    user.press()
    user.answer(*texts, number=1)
    assert user.status.startswith("Connected.")


def test_enter_in_a_field_connects(open_panel, service):
    """The keyboard alone is enough."""
    _, *texts = typed(service.credentials["paper"])
    user = open_panel("paper")
    user.send(user.controls._inputs, {"type": "submit"})
    user.answer(*texts)
    assert user.status.startswith("Connected.")


def test_what_is_none_of_our_errors_is_named_by_its_kind_only(open_panel, service, monkeypatch):
    """Its text may hold anything."""
    secret = secrets.token_hex(20)

    def fail(*_):
        raise RuntimeError(secret)

    monkeypatch.setattr("toolkit.notebook.panel.connect", fail)
    user = open_panel(None, service.credentials["paper"])
    user.press()
    assert "Connecting failed: RuntimeError." in user.words("connect")
    assert secret not in user.words("connect")


def test_interrupting_the_kernel_is_said(open_panel, service, monkeypatch):
    """The panel does not hang on "Connecting" when somebody stops the kernel."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("toolkit.notebook.panel.connect", stop)
    user = open_panel(None, service.credentials["paper"])
    user.press()
    assert "Connecting was interrupted." in user.words("connect")
    assert not user.controls._button.disabled


def test_words_of_others_are_escaped(open_panel, settings):
    """The name of a file is somebody else's text."""
    name = "<img src=x onerror=alert(1)>.yaml"
    settings.cassettes_folder.mkdir()
    (settings.cassettes_folder / name).write_text("no: cassette\n")
    user = open_panel("paper", cassette=settings.cassettes_folder / name)
    assert "<img" not in user.words("cassette")
    assert "&lt;img" in user.words("cassette")


def test_the_state_of_a_replay_is_the_same_each_time(open_panel, tour, widget_state):
    """A saved notebook has the same bytes: no present time, no order of chance, names of widgets aside."""

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
    assert len(first) < 20_000
    assert "expires" not in first
    assert run() == first


def test_a_replay_lists_other_cassettes_only_when_somebody_looks(open_panel, tour):
    """A page that shows the panel greets it; without one, the saved state does not depend on the folder."""
    (tour.parent / "another.yaml").write_bytes(tour.read_bytes())
    user = open_panel(cassette="tour")
    assert [value for _, value in user.controls._cassette.options] == ["tour"]
    user.send(user.panel._view, {"type": "hello"})
    assert [value for _, value in user.controls._cassette.options] == ["another", "tour"]
    assert user.controls.cassette == "tour"


def test_a_replayed_token_is_shown_as_it_stood(open_panel, tour):
    """Static, as of the recorded call, and never counted down."""
    user = open_panel(cassette="tour")
    assert "none yet" in user.summary
    user.panel.session.accounts()
    user.panel._after_cell(None)
    assert re.search(r"\d+:\d\d of \d+:\d\d left, as recorded", user.summary)
    assert "data-counting" not in user.summary


def test_a_live_token_is_told_to_the_page_and_to_no_trait(open_panel, service, monkeypatch):
    """Once a token, and whenever a page greets; the page counts down by itself."""
    user = open_panel(None, service.credentials["sandbox-key"])
    told = []
    monkeypatch.setattr(user.panel._view, "send", told.append)
    user.press()
    user.panel._after_cell(None)
    user.panel.session.accounts()
    user.panel._after_cell(None)
    assert [one["type"] for one in told] == ["token"]
    assert 0 < told[0]["remaining"] <= told[0]["lifetime"] <= 900
    user.send(user.panel._view, {"type": "hello"})
    assert len(told) == 2
    service.revoke_tokens()
    user.panel.session.accounts()
    user.panel._after_cell(None)
    assert len(told) == 3


def test_the_summary_follows_the_cells(open_panel, service, monkeypatch):
    """After each cell the panel shows what it did, and no longer once it is closed."""
    shell = type("Shell", (), {})()
    shell.events = EventManager(shell, available_events)
    monkeypatch.setattr("toolkit.notebook.panel.get_ipython", lambda: shell)
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
    user.choose("mode", "live")
    user.choose("who", "new client key")
    user.press()
    user.controls.complain(user.panel._failure or toolkit.notebook.problems.NO_CASSETTE_NAMED)
    user.panel.close()
    user.panel.close()
    kept = [widget for name, widget in all_widgets.items() if name not in before]
    assert {type(one).__name__ for one in kept} <= {"ButtonStyle", "HTMLStyle", "TextStyle"}
    with pytest.raises(ConfigurationError):
        user.panel.session  # noqa: B018


def test_the_environment_is_that_of_the_session(open_panel, service):
    """Choosing another environment changes the session only when Connect is pressed."""
    user = open_panel(None, service.credentials["paper"])
    user.press()
    user.choose("environment", "live")
    assert user.panel.environment == "paper"


def test_a_panel_is_a_widget_with_a_short_text(open_panel, tour):
    """It shows itself at the end of a cell; a front end without widgets shows one line."""
    user = open_panel(cassette="tour")
    bundle = user.panel._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert re.fullmatch(r"<Panel: broker-sandbox · replay tour\.yaml, recorded \d+ \w+ \d{4}>", bundle["text/plain"])


def test_the_public_name_loads_the_panel(tour):
    """`toolkit.panel(...)` is the way in; settings default to those of the project."""
    made = toolkit.panel(cassette=tour)
    assert isinstance(made, Panel)
    made.close()


def test_a_replay_misses_in_words_of_the_cassette(open_panel, tour):
    """What is not recorded raises what any session raises."""
    user = open_panel(cassette="tour")
    with pytest.raises(CassetteMiss):
        user.panel.session.broker.get("/v1/other")


def test_a_profile_folder_that_cannot_be_read_is_said(open_panel, monkeypatch):
    """The panel appears with the words of the error beside the credentials, and offers to type them."""

    def fail(**_):
        raise ConfigurationError("The folder of saved profiles cannot be read.", "Mend it.")

    monkeypatch.setattr("toolkit.profiles.saved_credentials", fail)
    user = open_panel("paper")
    assert "The folder of saved profiles cannot be read." in user.words("credentials")
    assert user.controls.fields


def test_the_secrets_are_handed_on_as_secrets(open_panel):
    """From the page to the credentials they are never plain text in an attribute."""
    user = open_panel("paper")
    text = secrets.token_hex(20)
    user.press()
    seen = []
    user.controls._inputs._answered = lambda: seen.append(user.controls.take())
    user.answer(text, text)
    assert seen == [{"key_id": Secret(text), "secret_key": Secret(text)}]
    assert text not in repr(vars(user.controls._inputs))


def test_recording_offers_a_new_cassette_first(open_panel, settings, service):
    """Nobody's recording is added to unless somebody chose it: in record mode the field asks for a new name."""
    folder = settings.cassettes_folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "of-somebody.yaml").write_bytes(b"# service-access-toolkit cassette 1\nversion: 1\ninteractions:\n")
    user = open_panel(None, service.credentials["paper"])
    user.choose("mode", "replay")
    user.choose("mode", "record")
    assert user.panel._controls.cassette is None
    user.choose("cassette", "of-somebody")
    assert user.panel._controls.cassette == "of-somebody"
