"""`toolkit credentials` as a person uses it: output, saved profiles and exit status."""

from __future__ import annotations

import os
import re
import secrets

import keyring
import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from key_forms import MAKERS, pem
from memory_keyring import MemoryKeyring
from typer.testing import CliRunner

import toolkit as tk
from toolkit.auth.destinations import check_destinations
from toolkit.auth.profiles.saving import load_credentials
from toolkit.cli.credentials_command import app
from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError, CredentialsMismatch

pytestmark = pytest.mark.filterwarnings("ignore")
KEY = MAKERS["P-256"]()
LOCKED = pem(KEY, encryption=BestAvailableEncryption(b"hush hush"))


@pytest.fixture(autouse=True)
def system_keyring():
    """Replace the system's keyring by one in memory."""
    before, backend = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture(autouse=True)
def home(home, monkeypatch):
    """Give the test a home folder, no TOOLKIT_* variables, and a terminal wide enough for tables."""
    for variable in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("platformdirs.user_config_dir", lambda name, appauthor=None: str(home / ".config" / name))
    return home


@pytest.fixture(autouse=True)
def project(project, monkeypatch):
    """Make a project with all addresses the working directory."""
    lines = [f'{name} = "https://{name.replace("_", "-")}.example.com"' for name in ADDRESS_NAMES]
    (project / "toolkit.toml").write_text("\n".join(["[addresses]", *lines]))
    monkeypatch.chdir(project)
    return project


class Person:
    """A person at the terminal: their answers, and the questions that they were asked."""

    def __init__(self):
        self.answers, self.asked = [], []

    def types(self, *answers):
        self.answers += answers

    def answer(self, question):
        self.asked.append(question)
        return self.answers.pop(0)


@pytest.fixture
def person(monkeypatch):
    """Put a person at the terminal; without this fixture nobody can answer."""
    person = Person()
    for module in ("credentials_command", "terminal"):
        monkeypatch.setattr(f"toolkit.cli.{module}.can_ask", lambda: True)
    monkeypatch.setattr("getpass.getpass", person.answer)
    monkeypatch.setattr("builtins.input", lambda question: person.answer(f"seen: {question}"))
    return person


def run(*arguments, piped=None, status=0):
    result = CliRunner().invoke(app, list(arguments), input=piped)
    assert result.exit_code == status, (result.output, result.exception)
    return result.output


def refusal(*arguments, piped=None, kind=ConfigurationError):
    result = CliRunner().invoke(app, list(arguments), input=piped)
    assert isinstance(result.exception, kind), (result.output, result.exception)
    assert result.exception.next_step
    return str(result.exception)


def add_pair(person, name="mine", environment="paper"):
    pair = "PK" + secrets.token_hex(8), secrets.token_urlsafe(24)
    person.types(*pair)
    return pair, run("add", name, "--environment", environment)


def test_add_key_pair(person, home):
    """Key ID and secret key are typed without echo and saved; the output names place and addresses, never a value."""
    (key_id, secret_key), output = add_pair(person)
    assert person.asked == ["Key ID for paper: ", "Secret key for paper: "]
    loaded = load_credentials("paper", "mine")
    assert (loaded.key_id.reveal(), loaded.secret_key.reveal()) == (key_id, secret_key)
    (file,) = (home / ".config" / "service-access-toolkit" / "profiles").glob("*.toml")
    assert secret_key not in file.read_text()
    for words in (
        "Saved mine for paper (key pair) in keyring.",
        "~/project/toolkit.toml",
        'tk.Session("paper", "mine")',
    ):
        assert words in output
    for words in (key_id, secret_key, "trading-live", "header"):
        assert words not in output


SIGNED = ("--kind", "client-key", "--client-id", "client-1")


@pytest.mark.parametrize(
    ("arguments", "answers", "questions"),
    [
        (("-e", "live"), (" PK-1234567\t", "secret-1234567 "), ["Key ID for live: ", "Secret key for live: "]),
        (("-e", "live", "--stdin"), "\ufeff PK-1234567\nsecret-1234567 \r\nnote\n", []),
        (
            ("-e", "broker-live", "--scope", "orders"),
            ("client-1", "hush-hush-1"),
            ["seen: Client ID for broker-live: ", "Client secret for broker-live: "],
        ),
        (("-e", "broker-live", "--client-id", "client-1", "--key-file", "plain.pem"), (), []),
        (
            ("-e", "broker-live", *SIGNED),
            ("~/project/locked.pem", "hush hush"),
            ["seen: Private key file for broker-live (PEM or JWK): ", "Private key passphrase for broker-live: "],
        ),
        (("-e", "broker-live", *SIGNED, "--stdin"), f"{LOCKED}hush hush\n", []),
    ],
)
def test_values(person, project, arguments, answers, questions):
    """What no option gives is typed, secrets without echo, or piped line by line; space around a value is left out."""
    (project / "plain.pem").write_text(pem(KEY))
    (project / "locked.pem").write_text(LOCKED)
    is_piped = "--stdin" in arguments
    person.types(*(() if is_piped else answers))
    run("add", "mine", *arguments, piped=answers if is_piped else None)
    loaded = load_credentials(arguments[1], "mine")
    assert person.asked == questions
    same = {
        "key pair": tk.KeyPair("PK-1234567", "secret-1234567", environment="live"),
        "client secret": tk.ClientSecret("client-1", "hush-hush-1", environment="broker-live"),
        "client key": tk.ClientKey("client-1", KEY, environment="broker-live"),
    }[str(loaded.kind)]
    assert loaded.proof() == same.proof()


def test_options_of_a_key(project):
    """Every option of a client key is saved; a profile is replaced only after a question or with --replace."""
    (project / "key.pem").write_text(pem(KEY))
    arguments = (
        *("add", "fund", "-e", "broker-sandbox", "--client-id", "client-1", "--key-file", "key.pem", "--key-id", "k1"),
        *("--algorithm", "ES256", "--audience", "issuer", "--assertion-typ", "none", "--assertion-lifetime", "30"),
        *("--scope", "accounts.read orders", "--form-field", "resource=a=b"),
    )
    run(*arguments)
    loaded = load_credentials("broker-sandbox", "fund")
    assert (loaded.key_id, loaded.audience, loaded.assertion_typ, loaded.assertion_lifetime) == (
        "k1",
        "issuer",
        None,
        30,
    )
    assert loaded.form_fields == {"scope": "accounts.read orders", "resource": "a=b"}
    assert "add --replace" in refusal(*arguments)
    run(*arguments, "--replace")


@pytest.mark.parametrize(
    ("piped", "words"),
    [("", "Key ID is missing"), ("PK-1\n\nx", "Secret key is missing"), (b"kanari-5f1d\xff\n", "not UTF-8")],
)
def test_unusable_input(piped, words):
    """A missing value is named, nothing is quoted, and secrets are read from a pipe with --stdin only."""
    message = refusal("add", "a", "-e", "live", "--stdin", piped=piped)
    assert words in message
    assert "kanari" not in message
    assert "add --stdin" in refusal("add", "a", "-e", "live", piped="PK-1").lower()


@pytest.mark.parametrize(
    ("arguments", "output", "kind"),
    [
        (["a", "-e", "live", "--kind", "client-secret"], "does not accept a client secret", CredentialsMismatch),
        (["a", "-e", "papr"], "Did you mean paper?", ConfigurationError),
        (["../a", "-e", "live"], "profile name", ConfigurationError),
        (["a", "-e", "broker-live", "--key-file", "kanari-5f1d.pem"], "Cannot read the private", ConfigurationError),
        (["a", "-e", "live", "--client-id", "kanari-5f1d"], "Client ID in your input cannot", CredentialsMismatch),
    ],
)
def test_refused_before_asking(person, arguments, output, kind):
    """Options that cannot be used are refused before the first question, and not quoted."""
    message = refusal("add", *arguments, kind=kind)
    assert output in message
    assert "kanari" not in message
    assert person.asked == []


def test_list(person, project, home, monkeypatch):
    """The list shows profiles and their places, what is not used, and what is broken; never a value."""
    (project / ".env").write_text("TOOLKIT_PAPER__MINE_KEY_ID=PK-1\nTOOLKIT_PAPER__MINE_SECRET_KEY=kanari-5f1d\n")
    (_, secret_key), _ = add_pair(person)
    monkeypatch.setenv("TOOLKIT_LIVE_KEY_ID", "kanari-5f1d")
    listed = run("list")
    assert re.search(r"mine +key pair +\.env *\n", listed)
    assert re.search(r"mine +key pair +keyring +not used", listed)
    assert re.search(r"live +default +broken: .*TOOLKIT_LIVE_KEY_ID .*also need", listed)
    assert "Add the missing fields" in listed
    assert "environment is not known" in refusal("list", "-e", "elsewhere")
    assert "kanari" not in listed
    assert secret_key not in listed
    assert "Removed mine for paper." in run("remove", "mine", "-e", "paper", "--yes")


def test_remove(person, monkeypatch):
    """After a confirmation, or with --yes where nobody can confirm, the credentials are gone."""
    add_pair(person)
    assert "Remove the profile mine for paper?" in run("remove", "mine", "-e", "paper", piped="n\n", status=1)
    assert "Removed mine for paper" in run("remove", "mine", "-e", "paper", piped="y\n")
    assert "could not be removed" in refusal("remove", "mine", "-e", "paper", "--yes")
    monkeypatch.setattr("toolkit.cli.terminal.can_ask", lambda: False)
    assert "--yes" in refusal("remove", "mine", "-e", "paper")


@pytest.fixture
def service(monkeypatch):
    """Start a practice service, and point the variables of the test to it."""
    with tk.practice(accounts=1) as service:
        for name, address in service.settings.addresses.items():
            monkeypatch.setenv(f"TOOLKIT_{name.upper()}_URL", address)
        yield service


@pytest.mark.parametrize("name", ["paper", "sandbox-key"])
def test_test_command(service, name):
    """Each interface is called once; only success is green."""
    tk.save_credentials(service.credentials[name], "mine")
    arguments = ["test", "--environment", str(service.credentials[name].environment)]
    output = CliRunner().invoke(app, arguments, color=True, env={"FORCE_COLOR": "1"}).output
    expected = r"as 'mine'.*GET /v\d/accounts? +200 +\x1b\[32mworks.*market_data .*GET / +404 +\x1b\[33mreached"
    assert re.search(expected, output, re.DOTALL)
    assert "to replace them" not in output  # advice about refused credentials
    for _, secret in service.credentials[name].secrets():
        assert secret.reveal() not in output


def test_test_command_refused(service, monkeypatch):
    """A refusal is explained, with exit status 1, and where to correct the credentials."""
    wrong = tk.ClientSecret("client-1", "kanari-5f1d-wrong", environment="broker-sandbox")
    tk.save_credentials(wrong, "mine")
    output = run("test", "-e", "broker-sandbox", status=1)
    assert re.search(r"broker +GET /v1/accounts .*refused", output)
    advice = "saved profile mine; to replace them, run `toolkit credentials add mine --environment "
    assert output.count(advice) == 1
    assert run("test", "mine", status=1).startswith("<Session broker-sandbox as 'mine'")
    monkeypatch.setenv("TOOLKIT_PAPER_KEY_ID", "PK-1234567")
    monkeypatch.setenv("TOOLKIT_PAPER_SECRET_KEY", "kanari-5f1d-wrong")
    assert "2 environments have a matching profile" in refusal("test")
    assert "No matching profile exists" in refusal("test", "other")
    second = run("test", "-e", "paper", status=1)
    assert "The credentials come from the profile default in environment variables: correct them there." in second
    assert "kanari" not in output + second


@pytest.mark.usefixtures("no_pauses")
def test_test_command_without_a_service(service, monkeypatch, project):
    """Without addresses, without a listener and offline, the output says so, and the exit status is 1."""
    monkeypatch.setenv("TOOLKIT_TRADING_LIVE_URL", "http://127.0.0.1:9")
    tk.save_credentials(service.credentials["live"], "mine")
    assert "cannot be reached: nothing listens there" in run("test", "-e", "live", status=1)
    monkeypatch.delenv("TOOLKIT_TRADING_LIVE_URL")
    (project / "toolkit.toml").write_text("")
    output = run("test", "-e", "live")
    assert "not called: The address trading_live is not set." in output
    assert "Addresses not set: trading_live. Once you set one, run `toolkit credentials allow mine" in output
    monkeypatch.delenv("TOOLKIT_MARKET_DATA_URL")
    assert "not called: The address market_data is not set." in run("test", "-e", "live", status=1)
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    assert "TOOLKIT_OFFLINE" in refusal("test", "-e", "live")


CLONE = '[addresses]\ntrading_paper = "https://evil.example"\n'


@pytest.mark.parametrize("is_saved", [True, False])
def test_allow(person, project, monkeypatch, is_saved):
    """A refused destination is shown beside the earlier one and allowed after a question."""
    if is_saved:
        add_pair(person)
    else:
        monkeypatch.setenv("TOOLKIT_PAPER__MINE_KEY_ID", "a-key-id-1")
        monkeypatch.setenv("TOOLKIT_PAPER__MINE_SECRET_KEY", "not-a-real-secret")
        run("allow", "mine", "-e", "paper", "--yes")
    (project / "toolkit.toml").write_text(CLONE)
    refused = CliRunner().invoke(app, ["test", "mine", "-e", "paper"])
    assert refused.exit_code == 1
    assert "https://evil.example" in f"{refused.output}{refused.exception}"
    output = run("allow", "mine", "-e", "paper", piped="n\n", status=1)
    for text in ("address trading_paper", "https://evil.example", "https://trading-paper.example.com", "~/project/"):
        assert text in output
    assert "Allowed." in run("allow", "mine", "-e", "paper", piped="y\n")
    check_destinations(load_credentials("paper", "mine"), tk.Settings.load())
    assert "are already allowed" in run("allow", "mine", "-e", "paper")


def test_new_destination_is_confirmed_before_typing(person, project):
    """In a project that names other addresses than before, `add` asks before any secret is typed; a pipe cannot."""
    add_pair(person)
    (project / "toolkit.toml").write_text(CLONE)
    person.asked.clear()
    output = run("add", "other", "-e", "paper", piped="n\n", status=1)
    assert "https://evil.example (~/project/toolkit.toml)" in output
    assert "https://trading-paper.example.com" in output
    assert person.asked == []
    arguments, piped = ("add", "other", "-e", "paper", "--stdin"), "a-key-id-1\nnot-a-real-secret\n"
    assert "--yes" in refusal(*arguments, piped=piped)
    assert "Saved other" in run(*arguments, "--yes", piped=piped)
    person.types("a-key-id-1", "not-a-real-secret")
    assert "Do you trust" not in run("add", "third", "-e", "paper")
