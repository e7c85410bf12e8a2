"""`toolkit credentials` as a person uses it: output, saved profiles and exit status."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
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
from keyring.backends import null
from memory_keyring import MemoryKeyring
from typer.testing import CliRunner

import toolkit as tk
from toolkit.auth.destinations import check_destinations
from toolkit.auth.profiles.saving import load_credentials
from toolkit.cli.credentials_command import app
from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, UnsafeAddress

KEY = ec.generate_private_key(ec.SECP256R1())


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
    """A person at the terminal: their answers, and the questions asked with echo (`seen`) and without (`unseen`)."""

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
    """Put a person at the terminal; without this fixture nobody can answer."""
    person = Person()
    for module in ("values", "credentials_add", "credentials_command", "credentials_destinations"):
        place = f"toolkit.cli.{module}.can_ask"
        monkeypatch.setattr(place, lambda: True)
    monkeypatch.setattr("getpass.getpass", person.type_unseen)
    monkeypatch.setattr("builtins.input", person.type_seen)
    return person


def run(*arguments, piped=None, status=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(app, list(arguments), input=piped)
    assert result.exit_code == status, (result.output, result.exception)
    return result.output


def refusal(*arguments, piped=None, kind=ConfigurationError):
    result = CliRunner().invoke(app, list(arguments), input=piped)
    assert isinstance(result.exception, kind), (result.output, result.exception)
    assert result.exception.next_step
    return str(result.exception)


def pem(passphrase=None):
    form = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase.encode())
    return KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, form).decode()


def add_pair(person, name="mine", environment="paper"):
    pair = "PK" + secrets.token_hex(8), secrets.token_urlsafe(24)
    person.types(*pair)
    return pair, run("add", name, "--environment", environment)


def test_add_key_pair(person, home, project):
    """Key ID and secret key are typed without echo and saved; the output names place and addresses, never a value."""
    (key_id, secret_key), output = add_pair(person)
    assert person.unseen == ["Key ID of paper: ", "Secret key of paper: "]
    assert person.seen == []
    loaded = load_credentials("paper", "mine")
    assert (loaded.key_id.reveal(), loaded.secret_key.reveal()) == (key_id, secret_key)
    (file,) = (home / ".config" / "service-access-toolkit" / "profiles").glob("*.toml")
    assert secret_key not in file.read_text()
    assert "Saved mine for paper (key pair) in keyring." in output
    assert "trading_paper  https://trading-paper.example.com" in output
    assert "https://market-data.example.com" in output
    assert "trading-live" not in output
    assert "~/project/toolkit.toml" in output
    assert "toolkit credentials test mine --environment paper" in output
    assert key_id not in output
    assert secret_key not in output


def test_add_default(person):
    """The hints for the profile `default` leave out its name; the header prefix of the document is not shown."""
    _, output = add_pair(person, "default")
    assert 'tk.Session("paper") ' in output
    assert "header" not in output
    assert "is not set" not in output
    add_pair(person, "research")
    assert "remark" not in run("list")


def test_header_prefix_of_the_project(person, project):
    """Another header prefix is shown with the headers that it stands for, because they carry the secrets."""
    text = (project / "toolkit.toml").read_text()
    (project / "toolkit.toml").write_text(f'header_prefix = "ACME"\n{text}')
    _, output = add_pair(person)
    headers = "ACME: the headers are ACME-API-KEY-ID and ACME-API-SECRET-KEY"
    assert f"header prefix  {headers}  (~/project/toolkit.toml)" in output


def test_pasted_spaces(person):
    """Space around a pasted value is left out, also from a pipe."""
    person.types(" PK-1234567\t", "secret-1234567 ")
    run("add", "typed", "-e", "live")
    run("add", "piped", "-e", "live", "--stdin", piped=" PK-1234567\nsecret-1234567 \r\n")
    for name in ("typed", "piped"):
        loaded = load_credentials("live", name)
        assert (loaded.key_id.reveal(), loaded.secret_key.reveal()) == ("PK-1234567", "secret-1234567")


def test_malformed_answer(person, project):
    """A malformed answer is asked for again at once, with what is wrong with it; the others stay."""
    (project / "key.pem").write_text(pem())
    person.types("", "PK-12 34\x00", "PK-1234567", "secr\u00e9t-1234567", "secret-1234567")
    output = run("add", "mine", "-e", "live")
    assert person.unseen == ["Key ID of live: "] * 3 + ["Secret key of live: "] * 2
    for flaw in ("key ID is empty", "key ID contains a control character", "secret key contains a character outside"):
        assert f"The {flaw}" in output
    assert "1234567" not in output
    person.types("client-1", "missing.pem", "key.pem")
    assert "Cannot read the file of the private key" in run("add", "fund", "-e", "broker-live", "--kind", "client-key")
    person.types("\u00e9", "\u00e9", "\u00e9", "PK-1234567")
    assert "outside ASCII" in refusal("add", "other", "-e", "live")


def test_addresses_are_printed_before_asking(person, project, monkeypatch):
    """The addresses are printed before the first question, because the project may be a stranger's.

    So are those that are missing, because the person may want to set them first.
    """
    (project / "toolkit.toml").write_text('[addresses]\ntrading_paper = "https://trading-paper.example.com"\n')

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("getpass.getpass", interrupt)
    output = run("add", "mine", "-e", "paper", status=130)
    assert "https://trading-paper.example.com" in output
    assert "market_data is not set." in output
    assert run("list").startswith("No profile exists.")


def test_add_without_keyring(person, home):
    """Without a keyring the output names the file and says that it is not encrypted."""
    keyring.set_keyring(null.Keyring())
    person.types("PK-1234567", "secret-1234567")
    with pytest.warns(UserWarning, match=r"No system keyring .*live\.mine\.toml.*unencrypted"):
        result = CliRunner().invoke(app, ["add", "mine", "-e", "live"])
    assert "live.mine.toml" in result.output
    file = home / ".config" / "service-access-toolkit" / "profiles" / "live.mine.toml"
    assert "secret-1234567" in file.read_text()
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600


def test_add_client_secret(person):
    """The client ID may be an option or typed with echo; scope and form fields are saved too."""
    person.types("client-1", "hush-hush-1")
    run("add", "fund", "-e", "broker-live", "--scope", "accounts.read orders", "--form-field", "resource=a=b")
    assert person.seen == ["Client ID of broker-live: "]
    assert person.unseen == ["Client secret of broker-live: "]
    loaded = load_credentials("broker-live", "fund")
    assert (loaded.client_id, loaded.client_secret.reveal()) == ("client-1", "hush-hush-1")
    assert loaded.form_fields == {"scope": "accounts.read orders", "resource": "a=b"}


def test_add_client_key_from_file(person, project):
    """With --key-file nothing is asked, and every option is saved."""
    (project / "key.pem").write_text(pem())
    run(
        *("add", "fund", "-e", "broker-sandbox", "--client-id", "client-1", "--key-file", "key.pem", "--key-id", "k1"),
        *("--algorithm", "ES256", "--audience", "issuer", "--assertion-typ", "none", "--assertion-lifetime", "30"),
    )
    assert (person.seen, person.unseen) == ([], [])
    loaded = load_credentials("broker-sandbox", "fund")
    assert (
        loaded.fingerprint()
        == tk.ClientKey("client-1", KEY, environment="broker-sandbox", key_id="k1", audience="issuer").fingerprint()
    )
    assert (loaded.assertion_typ, loaded.assertion_lifetime) == (None, 30)


def test_add_encrypted_key(person, home):
    """The passphrase of an encrypted key is typed without echo; a wrong one saves nothing."""
    (home / "key.pem").write_text(pem("hush hush"))
    person.types("client-1", "~/key.pem", "wrong")
    assert "passphrase" in refusal("add", "fund", "-e", "broker-live", "--kind", "client-key")
    assert "No profile exists" in run("list")
    person.types("client-1", "~/key.pem", "hush hush")
    output = run("add", "fund", "-e", "broker-live", "--kind", "client-key")
    assert person.unseen[-1] == "Private key passphrase of broker-live: "
    assert "client key" in output
    assert load_credentials("broker-live", "fund").kind == "client key"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_add_from_pipe(line_end, start):
    """With --stdin values are read one per line, as a password manager prints them; further lines are ignored."""
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


def test_add_key_from_pipe(project):
    """A private key of several lines is read to its end, and its passphrase follows."""
    whole = tk.ClientKey("c", KEY, environment="broker-live").fingerprint()
    options = ("-e", "broker-live", "--kind", "client-key", "--stdin")
    run("add", "plain", *options, piped=f"c\n{pem()}note\n")
    run("add", "encrypted", *options, piped=f"c\n{pem('hush hush')}hush hush\n")
    (project / "key.pem").write_text(pem("hush hush"))
    run("add", "file", *options, "--client-id", "c", "--key-file", "key.pem", piped="hush hush\n")
    for name in ("plain", "encrypted", "file"):
        assert load_credentials("broker-live", name).fingerprint() == whole


@pytest.mark.parametrize(
    ("piped", "output"), [("", "Key ID is missing"), ("PK-1\n", "Secret key is missing"), ("PK-1\n\nx", "is missing")]
)
def test_missing_piped_value(piped, output):
    """The error names the missing value."""
    assert output in refusal("add", "a", "-e", "live", "--stdin", piped=piped)


@pytest.mark.parametrize("data", [b"kanari-5f1d\xff\n", b"kanari-5f1d" * 200_000])
def test_piped_input_is_not_quoted(data):
    """Input that is not text, or too large, is refused without quoting it."""
    result = CliRunner().invoke(app, ["add", "a", "-e", "live", "--stdin"], input=data)
    assert isinstance(result.exception, ConfigurationError)
    assert result.exception.__context__ is None
    assert "kanari" not in str(result.exception) + result.output


def test_add_without_terminal():
    """Without a terminal nothing is read; the error names the variables and --stdin."""
    output = refusal("add", "a", "-e", "broker-live", piped="kanari-5f1d\n")
    assert "TOOLKIT_BROKER_LIVE_CLIENT_SECRET" in output
    assert "--stdin" in output


def test_add_with_all_values_needs_no_terminal(project):
    """An image that is built can save a key by its options alone; what would be asked is an error that says so."""
    (project / "key.pem").write_text(pem())
    (project / "locked.pem").write_text(pem("hush hush"))
    options = ("-e", "broker-live", "--client-id", "c", "--key-file")
    run("add", "a", *options, "key.pem")
    assert load_credentials("broker-live", "a").client_id == "c"
    assert "--replace" in refusal("add", "a", *options, "key.pem")
    assert "--stdin" in refusal("add", "b", *options, "locked.pem")


def test_stdin_at_a_terminal(monkeypatch):
    """--stdin is refused at a terminal, where typed secrets would be visible."""
    monkeypatch.setattr("toolkit.cli.values.sys", type("sys", (), {"stdin": type("tty", (), {"isatty": lambda: True})}))
    assert "would be visible" in refusal("add", "a", "-e", "live", "--stdin")


@pytest.mark.parametrize(
    ("arguments", "output", "kind"),
    [
        (["a", "-e", "live", "--kind", "client-secret"], "does not accept a client secret", CredentialsMismatch),
        (["a", "-e", "broker-live", "--kind", "key-pair"], "does not accept a key pair", CredentialsMismatch),
        (["../a", "-e", "live"], "profile name", ConfigurationError),
        (["a", "-e", "broker-live", "--form-field", "kanari-5f1d"], "no equals sign", ConfigurationError),
        (["a", "-e", "broker-live", "--key-file", "kanari-5f1d.pem"], "--key-file names", ConfigurationError),
        (["a", "-e", "live", "--key-file", "kanari-5f1d.pem"], "--key-file in your input cannot", CredentialsMismatch),
        (["a", "-e", "live", "--client-id", "kanari-5f1d"], "--client-id in your input cannot", CredentialsMismatch),
        (["a", "-e", "broker-live", "--scheme", "basic"], "--scheme in your input cannot", CredentialsMismatch),
        (
            ["a", "-e", "broker-live", "--kind", "client-secret", "--key-id", "kanari-5f1d"],
            "--key-id in your input cannot be used with a client secret",
            ConfigurationError,
        ),
    ],
)
def test_refused_before_asking(person, arguments, output, kind):
    """Options that cannot be used are refused before the first question, and not quoted."""
    message = refusal("add", *arguments, kind=kind)
    assert output in message
    assert "kanari" not in message
    assert (person.unseen, person.seen) == ([], [])


def test_malformed_option(person):
    """An option with a value that it does not take is refused by name, and nothing is saved."""
    person.types("value-1-long-enough", "value-2-long-enough")
    assert "scheme" in refusal("add", "a", "-e", "live", "--scheme", "digest")
    assert "No profile exists" in run("list")


def test_add_without_address(person, project):
    """Without an address to bind the credentials to, nothing is asked."""
    (project / "toolkit.toml").write_text("")
    assert "No address of paper" in refusal("add", "a", "-e", "paper")
    assert person.unseen == []


def test_replace(person):
    """An existing profile is replaced only after a confirmation or with --replace."""
    add_pair(person)
    assert "Add --replace" in refusal("add", "mine", "-e", "paper", "--stdin", piped="PK-2\nsecret-2-2-2\n")
    before = load_credentials("paper").fingerprint()
    assert "Replace it?" in run("add", "mine", "-e", "paper", piped="n\n", status=1)
    assert load_credentials("paper").fingerprint() == before
    person.types("PK-3", "secret-3-3-3")
    run("add", "mine", "-e", "paper", piped="y\n")
    assert load_credentials("paper").key_id.reveal() == "PK-3"
    run("add", "mine", "-e", "paper", "--stdin", "--replace", piped="PK-4\nsecret-4-4-4\n")
    assert load_credentials("paper").key_id.reveal() == "PK-4"


def test_add_behind_dotenv(person, project):
    """If .env has credentials of the same name, the output says that the saved ones are not used."""
    (project / ".env").write_text("TOOLKIT_PAPER__MINE_KEY_ID=PK-1\nTOOLKIT_PAPER__MINE_SECRET_KEY=kanari-5f1d\n")
    _, output = add_pair(person)
    assert "Remove it there: .env" in output
    listed = run("list")
    assert re.search(r"mine +key pair +\.env *\n", listed)
    assert re.search(r"mine +key pair +keyring +not used", listed)
    assert "kanari" not in listed
    removed = run("remove", "mine", "-e", "paper", "--yes")
    assert "A profile of that name remains in: .env" in removed


def test_list(person, project, home, monkeypatch):
    """The list shows profiles and their places, explains broken ones, and can be limited to an environment."""
    (_, secret_key), _ = add_pair(person)
    monkeypatch.setenv("TOOLKIT_LIVE_KEY_ID", "kanari-5f1d")
    (home / ".config" / "service-access-toolkit" / "profiles" / "broker-live.bad.toml").write_text("kanari-5f1d")
    output = run("list")
    assert re.search(r"live +default +broken: .*TOOLKIT_LIVE_KEY_ID without TOOLKIT_LIVE_SECRET_KEY", output)
    assert re.search(r"paper +mine +key pair +keyring", output)
    assert re.search(r"broker-live +bad +broken: .*not valid TOML", output)
    assert "Add what is missing" in output
    assert "kanari" not in output
    assert secret_key not in output
    assert "mine" not in run("list", "-e", "live")
    assert "No profile exists for broker-sandbox" in run("list", "-e", "broker-sandbox")


def test_remove(person):
    """After a confirmation, the credentials are gone."""
    add_pair(person)
    assert "Remove the profile mine for paper?" in run("remove", "mine", "-e", "paper", piped="n\n", status=1)
    assert "mine" in run("list")
    assert "Removed mine for paper" in run("remove", "mine", "-e", "paper", piped="y\n")
    assert "No profile exists" in run("list")
    assert "is not saved for paper" in refusal("remove", "mine", "-e", "paper", "--yes")


def test_remove_without_a_terminal():
    """Without a terminal to confirm, nothing is removed unless --yes is given."""
    run("add", "a", "-e", "live", "--stdin", piped="PK-1\nsecret-1-1-1\n")
    assert "--yes" in refusal("remove", "a", "-e", "live")
    assert "key pair" in run("list")
    run("remove", "a", "-e", "live", "--yes")
    assert "No profile exists" in run("list")


@pytest.fixture(scope="module")
def practice():
    """Start a practice service."""
    with tk.practice() as service:
        yield service


@pytest.fixture
def service(practice, monkeypatch):
    """Point the variables of the test to the practice service."""
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
def test_test_command(service, name, environment, lines):
    """Each interface is called once, after the token request of a broker partner; no body is shown."""
    save(service, name)
    output = run("test", "--environment", environment)
    assert "live calls" in output
    assert re.search(rf"{environment}: a .*, with the profile mine \(.*\)", output)
    positions = [re.search(line, output).start() for line in lines]
    assert positions == sorted(positions)
    assert "reachable; the service's document shows nothing to call there" in output
    assert "account_number" not in output
    assert "real account" not in output
    for _, secret in service.credentials[name].secrets():
        assert secret.reveal() not in output


@pytest.mark.parametrize(("name", "environment"), [("live", "live"), ("broker-secret", "broker-live")])
def test_test_command_real_account(service, name, environment):
    """The output says that the calls go to a real account and only read."""
    save(service, name)
    output = run("test", "mine", "-e", environment)
    assert "a real account" in output
    assert "only read" in output


def test_test_command_refused(service):
    """A refusal is explained, with exit status 1; without a token nothing else is called."""
    save(service, "sandbox-secret")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = tk.ClientSecret(
            service.credentials["sandbox-secret"].client_id, "kanari-5f1d-wrong", environment="broker-sandbox"
        )
        tk.save_credentials(wrong, "mine")
    output = run("test", "-e", "broker-sandbox", status=1)
    assert re.search(r"auth +POST /v1/oauth2/token .*refused", output)
    assert output.count("not called: it needs a token") == 2
    assert "kanari" not in output
    assert "Check client ID, secret or key, and that they belong to broker-sandbox. The credentials are the" in output
    assert "saved profile mine; to save others in their place: `toolkit credentials add mine --environment " in output


def test_test_command_refused_from_variables(service, monkeypatch):
    """Refused credentials that were not saved are corrected where they come from."""
    monkeypatch.setenv("TOOLKIT_PAPER_KEY_ID", "PK-1234567")
    monkeypatch.setenv("TOOLKIT_PAPER_SECRET_KEY", "kanari-5f1d-wrong")
    output = run("test", "-e", "paper", status=1)
    assert "paper: a paper account, with the profile default (environment variables)" in output
    assert "The credentials are the profile default in environment variables: correct them there." in output
    assert "credentials add" not in output


def test_test_command_without_addresses(service, monkeypatch, project):
    """If no address is set, nothing is called: the output does not speak of live calls, and the exit status is 1."""
    save(service, "paper")
    for name in ("TRADING_PAPER", "MARKET_DATA"):
        monkeypatch.delenv(f"TOOLKIT_{name}_URL")
    (project / "toolkit.toml").write_text("")
    output = run("test", "-e", "paper", status=1)
    assert "Nothing was called." in output
    assert "live calls" not in output


@pytest.mark.usefixtures("no_pauses")
def test_test_command_unreachable(service, monkeypatch):
    """An unreachable interface gives exit status 1; one without an address is not called."""
    monkeypatch.setenv("TOOLKIT_TRADING_LIVE_URL", "http://127.0.0.1:9")
    save(service, "live")
    output = run("test", "-e", "live", status=1)
    assert "cannot be reached: nothing listens there" in output
    monkeypatch.delenv("TOOLKIT_TRADING_LIVE_URL")
    (service_file := tk.Settings.load().file).write_text("")
    assert service_file.name == "toolkit.toml"
    output = run("test", "-e", "live")
    assert "not called: The address trading_live is not set." in output
    assert "trading_live is not set. If you set it later, run `toolkit credentials allow mine" in output


def test_test_command_says_once_what_is_new(project, monkeypatch):
    """An address that was added is refused once for all interfaces, with the command that allows it."""
    monkeypatch.setenv("TOOLKIT_PAPER_KEY_ID", "a-key-id-1")
    monkeypatch.setenv("TOOLKIT_PAPER_SECRET_KEY", "not-a-real-secret")
    (project / "toolkit.toml").write_text('[addresses]\ntrading_paper = "https://trading.example"\n')
    run("allow", "default", "-e", "paper", "--yes")
    with (project / "toolkit.toml").open("a") as file:
        file.write('market_data = "https://added.example"\n')
    output = run("test", "-e", "paper", status=1)
    assert output.count("https://added.example") == 1
    assert "as above" in output
    assert "toolkit credentials allow default --environment paper" in output


def test_test_command_offline(service, monkeypatch):
    """Nothing is sent offline."""
    save(service, "live")
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    before = service.stats.calls
    assert "TOOLKIT_OFFLINE" in refusal("test", "-e", "live")
    assert service.stats.calls == before


def test_changed_address_is_refused(person, project):
    """A project that changes an address does not receive the saved credentials."""
    add_pair(person)
    text = (project / "toolkit.toml").read_text()
    (project / "toolkit.toml").write_text(text.replace("https://trading-paper.example.com", "https://evil.example"))
    assert "https://evil.example" in refusal("test", "-e", "paper", kind=UnsafeAddress)


CLONE = '[addresses]\ntrading_paper = "https://evil.example"\n'


@pytest.mark.parametrize("place", ["keyring", "variables", "dotenv"])
def test_allow(person, project, monkeypatch, place):
    """A refused destination is shown beside the earlier one and allowed after a question, and then it is no more new.

    So it is wherever the credentials come from.
    """
    if place == "keyring":
        add_pair(person)
    else:
        variables = {"TOOLKIT_PAPER__MINE_KEY_ID": "a-key-id-1", "TOOLKIT_PAPER__MINE_SECRET_KEY": "not-a-real-secret"}
        for name, text in variables.items() if place == "variables" else ():
            monkeypatch.setenv(name, text)
        if place == "dotenv":
            (project / ".env").write_text("".join(f"{name}={text}\n" for name, text in variables.items()))
        run("allow", "mine", "-e", "paper", "--yes")
    (project / "toolkit.toml").write_text(CLONE)
    credentials = load_credentials("paper", "mine", settings=tk.Settings.load(), anywhere=True)
    with pytest.raises(UnsafeAddress, match="toolkit credentials allow mine --environment paper"):
        check_destinations(credentials, tk.Settings.load())
    output = run("allow", "mine", "-e", "paper", piped="n\n", status=1)
    for text in ("address trading_paper", "https://evil.example", "https://trading-paper.example.com", "~/project/"):
        assert text in output
    with pytest.raises(UnsafeAddress):
        check_destinations(credentials, tk.Settings.load())
    assert "Allowed." in run("allow", "mine", "-e", "paper", piped="y\n")
    check_destinations(load_credentials("paper", "mine"), tk.Settings.load())
    assert "may already go there" in run("allow", "mine", "-e", "paper")


def test_allow_without_a_terminal(person, project, monkeypatch):
    """Without a terminal `--yes` is needed."""
    add_pair(person)
    (project / "toolkit.toml").write_text(CLONE)
    monkeypatch.setattr("toolkit.cli.credentials_command.can_ask", lambda: False)
    monkeypatch.setattr("toolkit.cli.credentials_destinations.can_ask", lambda: False)
    assert "--yes" in refusal("allow", "mine", "-e", "paper")
    assert "Allowed." in run("allow", "mine", "-e", "paper", "--yes")
    assert load_credentials("paper", "mine").name == "mine"


def test_allow_that_cannot_be_written(person, project, home):
    """If the destination cannot be remembered, the command fails and says which file it could not write."""
    add_pair(person)
    (project / "toolkit.toml").write_text(CLONE)
    folder = home / ".config" / "service-access-toolkit"
    (folder / "destinations.json").unlink()
    (folder / "destinations.json").mkdir()
    assert "destinations.json" in refusal("allow", "mine", "-e", "paper", "--yes")


def test_new_destination_is_confirmed_before_typing(person, project):
    """In a project that names other addresses than before, `add` asks before any secret is typed."""
    add_pair(person)
    (project / "toolkit.toml").write_text(CLONE)
    person.unseen.clear()
    output = run("add", "other", "-e", "paper", piped="n\n", status=1)
    assert "https://evil.example (~/project/toolkit.toml)" in output
    assert "https://trading-paper.example.com" in output
    assert person.unseen == []
    person.types("a-key-id-1", "not-a-real-secret")
    assert "Saved other" in run("add", "other", "-e", "paper", piped="y\n")
    person.types("a-key-id-1", "not-a-real-secret")
    assert "Do you trust" not in run("add", "third", "-e", "paper")


def test_new_destination_of_a_pipe(person, project):
    """A pipe cannot be asked: a new destination needs `--yes`."""
    add_pair(person)
    (project / "toolkit.toml").write_text(CLONE)
    piped = "a-key-id-1\nnot-a-real-secret\n"
    arguments = "add", "other", "-e", "paper", "--stdin"
    assert "--yes" in refusal(*arguments, piped=piped, kind=UnsafeAddress)
    assert "Saved other" in run(*arguments, "--yes", piped=piped)


def test_tracebacks_show_no_local_variables():
    """Tracebacks of unforeseen errors do not show what was typed."""
    assert app.pretty_exceptions_enable is False
    assert app.pretty_exceptions_show_locals is False


def test_help():
    """The help of `add` explains why no option takes a secret."""
    assert "history of the shell" in re.sub(r"\s+", " ", run("add", "--help"))


def test_credentials_command_import_is_light():
    """Importing the command loads neither pandas nor cryptography nor keyring."""
    heavy = "{'pandas', 'cryptography', 'keyring'}"
    code = f"import sys, toolkit.cli.credentials_command; print({heavy} & sys.modules.keys())"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
