"""`toolkit credentials` as a person uses it: what is printed, what is saved, and the exit status."""

from __future__ import annotations

import os
import re
import secrets
import sys
import warnings

import keyring
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from keyring.backend import KeyringBackend
from keyring.backends import null
from typer.testing import CliRunner

import toolkit as tk
from toolkit.auth.profiles.saving import load_credentials
from toolkit.cli.commands.credentials import app
from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, ToolkitError, UnsafeAddress

KEY = ec.generate_private_key(ec.SECP256R1())


class MemoryKeyring(KeyringBackend):
    """A system keyring that works."""

    priority = 5

    def __init__(self):
        super().__init__()
        self.entries = {}

    def get_password(self, service, username):
        return self.entries.get((service, username))

    def set_password(self, service, username, password):
        self.entries[service, username] = password

    def delete_password(self, service, username):
        del self.entries[service, username]


@pytest.fixture(autouse=True)
def system_keyring():
    """A keyring of the test's own."""
    before, backend = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home folder of the test's own, without variables of ours, and a terminal wide enough for tables."""
    folder = tmp_path / "home"
    folder.mkdir()
    for variable in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(variable)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("platformdirs.user_config_dir", lambda name, appauthor=None: str(folder / ".config" / name))
    return folder


@pytest.fixture(autouse=True)
def project(home, monkeypatch):
    """A project with all addresses, and the working directory."""
    folder = home / "project"
    folder.mkdir()
    lines = [f'{name} = "https://{name.replace("_", "-")}.example.com"' for name in ADDRESS_NAMES]
    (folder / "toolkit.toml").write_text("\n".join(["[addresses]", *lines]))
    monkeypatch.chdir(folder)
    return folder


class Person:
    """Somebody at the terminal: what they type, and what they were asked; `seen` was typed for all to see."""

    def __init__(self):
        self.answers, self.unseen, self.seen = [], [], []

    def types(self, *answers):
        self.answers += answers

    def type_unseen(self, question):
        self.unseen.append(question)
        return self.answers.pop(0)

    def type_seen(self, question):
        self.seen.append(question)
        return self.answers.pop(0)


@pytest.fixture
def person(monkeypatch):
    """Somebody at the terminal; without this fixture nobody is there."""
    one = Person()
    for place in ("toolkit.cli.commands.asking.can_ask", "toolkit.cli.commands.credentials.can_ask"):
        monkeypatch.setattr(place, lambda: True)
    monkeypatch.setattr("getpass.getpass", one.type_unseen)
    monkeypatch.setattr("builtins.input", one.type_seen)
    return one


def run(*arguments, piped=None, status=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(app, list(arguments), input=piped)
    assert done.exit_code == status, (done.output, done.exception)
    return done.output


def refusal(*arguments, piped=None, kind=ConfigurationError):
    done = CliRunner().invoke(app, list(arguments), input=piped)
    assert isinstance(done.exception, kind), (done.output, done.exception)
    assert done.exception.next_step
    return str(done.exception)


def pem(passphrase=None):
    form = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase.encode())
    return KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, form).decode()


def add_pair(person, name="mine", environment="paper"):
    pair = "PK" + secrets.token_hex(8), secrets.token_urlsafe(24)
    person.types(*pair)
    return pair, run("add", name, "--environment", environment)


def test_a_key_pair_is_typed_unseen_and_saved(person, system_keyring, project):
    """Both halves are typed unseen; where they are and where they may go is said, and neither is shown."""
    (key_id, secret_key), told = add_pair(person)
    assert person.unseen == ["Key ID of paper: ", "Secret key of paper: "]
    assert person.seen == []
    loaded = load_credentials("paper", "mine")
    assert (loaded.key_id.reveal(), loaded.secret_key.reveal()) == (key_id, secret_key)
    assert secret_key in "".join(system_keyring.entries.values())
    assert "Saved mine for paper (key pair) in keyring." in told
    assert "trading_paper  https://trading-paper.example.com" in told
    assert "https://market-data.example.com" in told
    assert "trading-live" not in told
    assert str(project / "toolkit.toml") in told
    assert "toolkit credentials test mine --environment paper" in told
    assert key_id not in told
    assert secret_key not in told


def test_where_they_go_is_said_before_anything_is_asked(person, monkeypatch, capsys):
    """The project may be a stranger's: one sees where one's secrets are about to go."""

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("getpass.getpass", interrupt)
    assert "https://trading-paper.example.com" in run("add", "mine", "-e", "paper", status=130)
    assert run("list").startswith("There are no credentials.")


def test_without_a_keyring_the_file_is_named(person, home):
    """It is said aloud that they are in a file, unencrypted, and where."""
    keyring.set_keyring(null.Keyring())
    person.types("PK-1234567", "secret-1234567")
    with pytest.warns(UserWarning, match=r"No system keyring .*live\.mine\.toml.*unencrypted"):
        done = CliRunner().invoke(app, ["add", "mine", "-e", "live"])
    assert "live.mine.toml" in done.output
    file = home / ".config" / "service-access-toolkit" / "profiles" / "live.mine.toml"
    assert "secret-1234567" in file.read_text()
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_client_secret(person):
    """The client ID is no secret and may be an option or typed seen; a scope goes along."""
    person.types("client-1", "hush-hush-1")
    run("add", "fund", "-e", "broker-live", "--scope", "accounts.read orders", "--form-field", "resource=a=b")
    assert person.seen == ["Client ID of broker-live: "]
    assert person.unseen == ["Client secret of broker-live: "]
    loaded = load_credentials("broker-live", "fund")
    assert (loaded.client_id, loaded.client_secret.reveal()) == ("client-1", "hush-hush-1")
    assert loaded.form_fields == {"scope": "accounts.read orders", "resource": "a=b"}


def test_a_client_key_from_a_file(person, project):
    """With --key-file nothing is asked for that is known, and every option is saved."""
    (project / "key.pem").write_text(pem())
    run(
        *("add", "fund", "-e", "broker-sandbox", "--client-id", "client-1", "--key-file", "key.pem", "--kid", "k1"),
        *("--algorithm", "ES256", "--audience", "issuer", "--assertion-typ", "none", "--assertion-lifetime", "30"),
    )
    assert (person.seen, person.unseen) == ([], [])
    loaded = load_credentials("broker-sandbox", "fund")
    assert (
        loaded.fingerprint()
        == tk.ClientKey("client-1", KEY, environment="broker-sandbox", key_id="k1", audience="issuer").fingerprint()
    )
    assert (loaded.assertion_typ, loaded.assertion_lifetime) == (None, 30)


def test_an_encrypted_key_asks_for_its_passphrase(person, home):
    """A file asked for is typed seen, the passphrase of its key unseen; a wrong one saves nothing."""
    (home / "key.pem").write_text(pem("hush hush"))
    person.types("client-1", "~/key.pem", "wrong")
    assert "passphrase" in refusal("add", "fund", "-e", "broker-live", "--kind", "client-key")
    assert "There are no credentials" in run("list")
    person.types("client-1", "~/key.pem", "hush hush")
    told = run("add", "fund", "-e", "broker-live", "--kind", "client-key")
    assert person.unseen[-1] == "Private key passphrase of broker-live: "
    assert "client key" in told
    assert load_credentials("broker-live", "fund").kind == "client key"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_piped_in(line_end, start):
    """With --stdin the values are read one a line, as a password manager gives them; further lines are left alone."""
    run(
        "add",
        "a",
        "-e",
        "live",
        "--stdin",
        piped=start + line_end.join(["PK-1", "secret key".replace(" ", "-"), "note"]),
    )
    assert load_credentials("live", "a").secret_key.reveal() == "secret-key"
    run("add", "a", "-e", "broker-live", "--client-id", "c", "--stdin", piped=f"hush-hush-1{line_end}")
    assert load_credentials("broker-live", "a").client_secret.reveal() == "hush-hush-1"


def test_a_key_piped_in(project):
    """A private key of several lines is read to its end, and what follows is its passphrase."""
    whole = tk.ClientKey("c", KEY, environment="broker-live").fingerprint()
    options = ("-e", "broker-live", "--kind", "client-key", "--stdin")
    run("add", "plain", *options, piped=f"c\n{pem()}note\n")
    run("add", "encrypted", *options, piped=f"c\n{pem('hush hush')}hush hush\n")
    (project / "key.pem").write_text(pem("hush hush"))
    run("add", "file", *options, "--client-id", "c", "--key-file", "key.pem", piped="hush hush\n")
    for name in ("plain", "encrypted", "file"):
        assert load_credentials("broker-live", name).fingerprint() == whole


@pytest.mark.parametrize(
    ("piped", "told"), [("", "Key ID is missing"), ("PK-1\n", "Secret key is missing"), ("PK-1\n\nx", "is missing")]
)
def test_too_little_piped_in(piped, told):
    """What is missing is named."""
    assert told in refusal("add", "a", "-e", "live", "--stdin", piped=piped)


@pytest.mark.parametrize("data", [b"kanari-5f1d\xff\n", b"kanari-5f1d" * 200_000])
def test_no_text_piped_in(data):
    """What is no text, or endless, is refused and not quoted."""
    done = CliRunner().invoke(app, ["add", "a", "-e", "live", "--stdin"], input=data)
    assert isinstance(done.exception, ConfigurationError)
    assert done.exception.__context__ is None
    assert "kanari" not in str(done.exception) + done.output


def test_nobody_there():
    """Without a terminal nothing is read: the error names the variables and --stdin."""
    told = refusal("add", "a", "-e", "broker-live", piped="kanari-5f1d\n")
    assert "TOOLKIT_BROKER_LIVE_CLIENT_SECRET" in told
    assert "--stdin" in told


def test_stdin_that_is_a_terminal(monkeypatch):
    """Typed after --stdin the values would be seen."""
    monkeypatch.setattr(
        "toolkit.cli.commands.asking.sys", type("sys", (), {"stdin": type("tty", (), {"isatty": lambda: True})})
    )
    assert "for all to see" in refusal("add", "a", "-e", "live", "--stdin")


@pytest.mark.parametrize(
    ("arguments", "told", "kind"),
    [
        (["a", "-e", "live", "--kind", "client-secret"], "takes no client secret", CredentialsMismatch),
        (["a", "-e", "broker-live", "--kind", "key-pair"], "takes no key pair", CredentialsMismatch),
        (["../a", "-e", "live"], "profile name", ConfigurationError),
        (["a", "-e", "broker-live", "--form-field", "kanari-5f1d"], "no equals sign", ConfigurationError),
        (["a", "-e", "broker-live", "--key-file", "kanari-5f1d.pem"], "--key-file names", ConfigurationError),
    ],
)
def test_refused_before_anything_is_asked(person, arguments, told, kind):
    """What cannot be saved is refused at once, and nothing is quoted."""
    message = refusal("add", *arguments, kind=kind)
    assert told in message
    assert "kanari" not in message
    assert (person.unseen, person.seen) == ([], [])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-e", "live", "--client-id", "c"], "--client-id"),
        (["-e", "broker-live", "--scheme", "basic"], "--scheme"),
        (["-e", "broker-live", "--kind", "client-secret", "--kid", "k"], "--kid"),
        (["-e", "live", "--scheme", "digest"], "scheme"),
    ],
)
def test_an_option_without_use(person, options, told):
    """An option that the kind has no use for is refused by its name, not overlooked."""
    person.types("value-1-long-enough", "value-2-long-enough")
    assert told in refusal("add", "a", *options, kind=ToolkitError)
    assert "There are no credentials" in run("list")


def test_no_address(person, project):
    """Without an address there is nothing to bind to: said before anything is asked."""
    (project / "toolkit.toml").write_text("")
    assert "No address of paper" in refusal("add", "a", "-e", "paper")
    assert person.unseen == []


def test_replacing(person):
    """A profile of that name is replaced when one says so: by an answer, or by --replace."""
    add_pair(person)
    assert "Add --replace" in refusal("add", "mine", "-e", "paper", "--stdin", piped="PK-2\nsecret-2-2-2\n")
    before = load_credentials("paper").fingerprint()
    assert "already. Replace it?" in run("add", "mine", "-e", "paper", piped="n\n", status=1)
    assert load_credentials("paper").fingerprint() == before
    person.types("PK-3", "secret-3-3-3")
    run("add", "mine", "-e", "paper", piped="y\n")
    assert load_credentials("paper").key_id.reveal() == "PK-3"
    run("add", "mine", "-e", "paper", "--stdin", "--replace", piped="PK-4\nsecret-4-4-4\n")
    assert load_credentials("paper").key_id.reveal() == "PK-4"


def test_saved_behind_another_place(person, project):
    """Where .env gives credentials of that name, one is told that those saved are not used."""
    (project / ".env").write_text("TOOLKIT_PAPER__MINE_KEY_ID=PK-1\nTOOLKIT_PAPER__MINE_SECRET_KEY=kanari-5f1d\n")
    _, told = add_pair(person)
    assert "not used until they are taken out there: .env" in told
    listed = run("list")
    assert re.search(r"mine +key pair +\.env *\n", listed)
    assert re.search(r"mine +key pair +keyring +not used", listed)
    assert "kanari" not in listed
    removed = run("remove", "mine", "-e", "paper", "--yes")
    assert ".env still gives credentials of that name" in removed


def test_list(person, project, home, monkeypatch):
    """What there is and where from; what is broken is named with what is wrong; of one environment if asked."""
    (_, secret_key), _ = add_pair(person)
    monkeypatch.setenv("TOOLKIT_LIVE_KEY_ID", "kanari-5f1d")
    (home / ".config" / "service-access-toolkit" / "profiles" / "broker-live.bad.toml").write_text("kanari-5f1d")
    told = run("list")
    assert re.search(r"live +default +broken: .*TOOLKIT_LIVE_KEY_ID without TOOLKIT_LIVE_SECRET_KEY", told)
    assert re.search(r"paper +mine +key pair +keyring", told)
    assert re.search(r"broker-live +bad +broken: .*not valid TOML", told)
    assert "Give what is missing" in told
    assert "kanari" not in told
    assert secret_key not in told
    assert "mine" not in run("list", "-e", "live")
    assert "There are no credentials for broker-sandbox" in run("list", "-e", "broker-sandbox")


def test_list_without_any():
    """Without any it says what to do next."""
    told = run("list")
    assert "toolkit credentials add default --environment paper" in told
    assert "toolkit practice" in told


def test_remove(person, system_keyring):
    """One is asked first; then keyring and file are rid of them."""
    add_pair(person)
    assert "Remove mine of paper?" in run("remove", "mine", "-e", "paper", piped="n\n", status=1)
    assert system_keyring.entries
    assert "Removed mine of paper" in run("remove", "mine", "-e", "paper", piped="y\n")
    assert not system_keyring.entries
    assert "Variables are yours to unset" in refusal("remove", "mine", "-e", "paper", "--yes")


def test_remove_without_a_terminal(system_keyring):
    """Nobody there to ask: nothing is removed unless one said so."""
    run("add", "a", "-e", "live", "--stdin", piped="PK-1\nsecret-1-1-1\n")
    assert "--yes" in refusal("remove", "a", "-e", "live")
    assert system_keyring.entries
    run("remove", "a", "-e", "live", "--yes")
    assert not system_keyring.entries


@pytest.fixture(scope="module")
def practice():
    """A practice service, and its addresses as variables."""
    with tk.practice() as service:
        yield service


@pytest.fixture
def service(practice, monkeypatch):
    """The same, as what the variables of this test lead to."""
    for name, address in practice.settings.addresses.items():
        monkeypatch.setenv(f"TOOLKIT_{name.upper()}_URL", address)
    return practice


def save(service, name, as_name="mine"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tk.save_credentials(service.credentials[name], as_name)


@pytest.mark.parametrize(
    ("name", "environment", "lines"),
    [
        ("paper", "paper", [r"trading +GET /v2/account +200 +0\.\d+ s +works", r"market_data +GET / +404 .*reachable"]),
        (
            "sandbox-key",
            "broker-sandbox",
            [r"auth +POST /v1/oauth2/token +200 .*a token", r"broker +GET /v1/accounts +200 .*works", r"market_data"],
        ),
    ],
)
def test_test(service, name, environment, lines):
    """One call of each interface, and for a broker partner the token request first; no body is shown."""
    save(service, name)
    told = run("test", "--environment", environment)
    positions = [re.search(line, told).start() for line in lines]
    assert positions == sorted(positions)
    assert "the document shows no path to try" in told
    assert "account_number" not in told
    assert "real account" not in told
    for _, secret in service.credentials[name].secrets():
        assert secret.reveal() not in told


@pytest.mark.parametrize(("name", "environment"), [("live", "live"), ("broker-secret", "broker-live")])
def test_test_of_a_real_account(service, name, environment):
    """It is said when calls go to a real account, and that they only read."""
    save(service, name)
    told = run("test", "mine", "-e", environment)
    assert "a real account" in told
    assert "only read" in told


def test_test_of_refused_credentials(service):
    """A refusal is said in words, with exit status 1; where there is no token nothing else is tried."""
    save(service, "sandbox-secret")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = tk.ClientSecret(
            service.credentials["sandbox-secret"].client_id, "kanari-5f1d-wrong", environment="broker-sandbox"
        )
        tk.save_credentials(wrong, "mine")
    told = run("test", "-e", "broker-sandbox", status=1)
    assert re.search(r"auth +POST /v1/oauth2/token .*refused", told)
    assert told.count("not tried: there is no token") == 2
    assert "kanari" not in told


def test_test_of_what_is_not_there(service, monkeypatch):
    """An interface that cannot be reached is exit status 1, one without an address is not tried."""
    monkeypatch.setenv("TOOLKIT_TRADING_LIVE_URL", "http://127.0.0.1:9")
    save(service, "live")
    told = run("test", "-e", "live", status=1)
    assert "cannot be reached: no connection" in told
    monkeypatch.delenv("TOOLKIT_TRADING_LIVE_URL")
    (service_file := tk.Settings.load().file).write_text("")
    assert service_file.name == "toolkit.toml"
    told = run("test", "-e", "live")
    assert "not tried: The address trading_live is not set." in told


def test_test_offline(service, monkeypatch):
    """Offline nothing is sent."""
    save(service, "live")
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    before = service.stats.calls
    assert "TOOLKIT_OFFLINE" in refusal("test", "-e", "live")
    assert service.stats.calls == before


def test_a_project_does_not_lure_secrets_away(person, project):
    """A cloned toolkit.toml with addresses of its own gets nothing of the keyring, however one tries them out."""
    add_pair(person)
    text = (project / "toolkit.toml").read_text()
    (project / "toolkit.toml").write_text(text.replace("https://trading-paper.example.com", "https://evil.example"))
    assert "https://evil.example" in refusal("test", "-e", "paper", kind=UnsafeAddress)


def test_tracebacks_show_no_local_variables():
    """Should something fail unforeseen, what was typed is not printed with it."""
    assert app.pretty_exceptions_enable is False
    assert app.pretty_exceptions_show_locals is False


@pytest.mark.parametrize("command", ["add", "list", "test", "remove"])
def test_help(command):
    """Each command has examples; that of `add` says why no option takes a secret."""
    told = run(command, "--help")
    assert f"toolkit credentials {command}" in told
    if command == "add":
        assert "history of the shell" in re.sub(r"\s+", " ", told)


def test_import_is_light():
    """The command loads nothing of pandas or cryptography before it is needed."""
    import subprocess

    code = "import sys, toolkit.cli.commands.credentials; print({'pandas', 'cryptography', 'keyring'} & sys.modules.keys())"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
