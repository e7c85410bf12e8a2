"""The panel says where typed secrets go, and asks before anything is typed for a new destination."""

from __future__ import annotations

import pytest

import toolkit as tk
from toolkit.auth.destinations import DestinationMemory, check_destinations, destinations_of, note_destinations
from toolkit.auth.profiles.saving import load_credentials
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.notebook.panel.asking import is_trusted
from toolkit.notebook.panel.problems import TRUST

HERE = Environment.PAPER, CredentialKind.KEY_PAIR


@pytest.fixture
def project_of(tmp_path, monkeypatch):
    """Return a function that writes a project with addresses of a host, and returns its settings."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)

    def make(host):
        folder = tmp_path / host
        folder.mkdir(exist_ok=True)
        (folder / "toolkit.toml").write_text(f'[addresses]\ntrading_paper = "https://{host}/v1"\n')
        return Settings.load(folder / "toolkit.toml", environ={})

    return make


def use(settings):
    note_destinations(HERE[0], destinations_of(*HERE, settings))


def fields(user):
    return [field.name for field in user.controls.fields if not field.is_option]


def test_first_use(open_panel, project_of):
    """The first destination of all is asked about, too, and shown where texts are typed; then it is known."""
    user = open_panel("paper", settings=project_of("a.example"))
    user.choose("credentials", "new key pair")
    assert fields(user) == []
    user.controls._credentials.trust.value = True
    assert fields(user) == ["key_id", "secret_key"]
    assert "https://a.example/v1" in user.words("credentials")
    assert ", from toolkit.toml (folder “a.example”):" in user.words("credentials")
    assert fields(open_panel("paper", settings=project_of("a.example"))) == ["key_id", "secret_key"]


@pytest.mark.parametrize("place", ["variables", ".env"])
def test_credentials_from_variables(open_panel, project_of, monkeypatch, place):
    """The panel shows where credentials from variables would go, and sends them there once the user ticks the box."""
    sent = []
    monkeypatch.setattr("toolkit.session.session.Session.accounts", lambda session: sent.append(session) or [])
    settings = project_of("a.example")
    for name, text in {"KEY_ID": "fake-key-id-1", "SECRET_KEY": "fake-Canary-41aB8Qx9"}.items():
        if place == "variables":
            monkeypatch.setenv(f"TOOLKIT_PAPER_{name}", text)
        else:
            with (settings.project / ".env").open("a") as file:
                file.write(f"TOOLKIT_PAPER_{name}={text}\n")
    user = open_panel("paper", settings=settings)
    user.choose("credentials", "default")
    for text in ("https://a.example/v1", "toolkit.toml (folder “a.example”)", TRUST):
        assert text in user.words("credentials")
    user.press()
    assert TRUST in user.words("connect")
    assert not sent
    user.controls._credentials.trust.value = True
    user.press()
    assert sent
    assert user.panel.connected_session is not None
    check_destinations(load_credentials("paper", settings=settings), settings)
    again = open_panel("paper", settings=settings)
    assert TRUST not in again.words("credentials")


def test_code_is_not_questioned(open_panel, settings):
    """Addresses that code names need no words."""
    user = open_panel("paper")
    assert "sent only" not in user.words("credentials")


def test_new_destination(open_panel, project_of, tmp_path):
    """For a new destination there are no fields until the user ticks a box below both; it is asked once."""
    use(project_of("a.example"))
    user = open_panel("paper", settings=project_of("evil.example"))
    user.choose("credentials", "new key pair")
    assert fields(user) == []
    for text in ("https://a.example/v1", "https://evil.example/v1", "toolkit.toml (folder “evil.example”)", TRUST):
        assert text in user.words("credentials")
    assert str(tmp_path) not in user.words("credentials")  # which is saved with the notebook
    user.press()
    assert TRUST in user.words("connect")
    assert user.panel.connected_session is None
    user.choose("mode", "record")
    user.controls._cassette.name.value = "take"
    user.press()
    assert TRUST in user.words("connect")
    user.choose("mode", "call")
    box = user.controls._credentials.trust
    assert box in user.controls.slots["credentials"].children
    box.value = True
    assert fields(user) == ["key_id", "secret_key"]
    assert box not in user.controls.slots["credentials"].children
    again = open_panel("paper", settings=project_of("evil.example"))
    assert fields(again) == ["key_id", "secret_key"]


def test_read_only_folder(open_panel, project_of, monkeypatch):
    """Where the answer cannot be remembered, it holds for this panel."""
    use(project_of("a.example"))
    user = open_panel("paper", settings=project_of("evil.example"))

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("toolkit.auth.destinations.write_atomically", refuse)
    user.controls._credentials.trust.value = True
    assert fields(user) == ["key_id", "secret_key"]
    assert fields(open_panel("paper", settings=project_of("evil.example"))) == []


def test_unreadable_dotenv(open_panel, project_of):
    """If nobody knows whether the project set a variable, the panel opens, and connecting says why nothing is sent."""
    file = project_of("a.example").file
    (file.parent / ".env").write_bytes(b"#" * (2 << 20))
    variables = {"TOOLKIT_TRADING_PAPER_URL": "https://b.example"}
    user = open_panel("paper", settings=Settings.load(file, environ=variables))
    user.choose("credentials", "new key pair")
    user.connect("fake-key-id-1", "fake-Canary-41aB8Qx9")
    assert user.panel.connected_session is None
    assert ".env" in user.words("credentials")


def test_visitors_are_not_told(open_panel, project_of, monkeypatch):
    """Visitors see the addresses, but neither the owner's paths nor where the owner's credentials went."""
    use(project_of("a.example"))
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    user = open_panel("paper", settings=project_of("evil.example"))
    assert fields(user) == ["key_id", "secret_key"]
    words = user.words("credentials")
    assert "https://evil.example/v1" in words
    assert "a.example" not in words
    assert "toolkit.toml" not in words


@pytest.mark.parametrize(("answer", "trusts"), [("yes", True), (" Y ", True), ("no", False), ("", False)])
def test_question_below_the_cell(open_panel, project_of, monkeypatch, answer, trusts):
    """`panel.connect()` asks about the destination before it asks for texts."""
    use(project_of("a.example"))
    asked = []
    monkeypatch.setattr("toolkit.notebook.panel.asking.can_ask", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or answer)

    def interrupt(_):
        raise EOFError

    monkeypatch.setattr("getpass.getpass", interrupt)
    user = open_panel("paper", settings=project_of("evil.example"))
    with pytest.raises(ConfigurationError, match="Key ID" if trusts else "destination of these credentials is new"):
        user.panel.connect()
    (question,) = asked
    assert "https://evil.example/v1" in question


def test_nobody_to_ask(project_of, monkeypatch):
    """Where nobody can answer, the error names both destinations."""
    monkeypatch.setattr("toolkit.notebook.panel.asking.can_ask", lambda: False)
    use(project_of("a.example"))
    from toolkit.auth.destinations import new_in_environment

    with pytest.raises(ConfigurationError, match=r"evil\.example.*a\.example"):
        is_trusted(new_in_environment(*HERE, project_of("evil.example")))


def test_credentials_that_were_allowed_elsewhere(open_panel, project_of, monkeypatch):
    """For credentials from variables both destinations are shown; if no answer can be kept, so is the command."""
    monkeypatch.setenv("TOOLKIT_PAPER_KEY_ID", "fake-key-id-1")
    monkeypatch.setenv("TOOLKIT_PAPER_SECRET_KEY", "fake-Canary-41aB8Qx9")
    here = project_of("a.example")
    credentials = tk.KeyPair("fake-key-id-1", "fake-Canary-41aB8Qx9", environment="paper")
    DestinationMemory().add(credentials, destinations_of(*HERE, here))
    user = open_panel("paper", settings=project_of("evil.example"))
    user.choose("credentials", "default")
    for text in ("https://a.example/v1", "https://evil.example/v1"):
        assert text in user.words("credentials")
    refuse = lambda *_, **__: (_ for _ in ()).throw(OSError(30, "Read-only"))
    monkeypatch.setattr("toolkit.auth.destinations.write_atomically", refuse)
    user.controls._credentials.trust.value = True
    user.press()
    for text in ("https://a.example/v1", "https://evil.example/v1", "toolkit credentials allow default"):
        assert text in user.words("environment")
