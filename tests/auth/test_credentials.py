from __future__ import annotations

import getpass
import json
import pickle
import secrets
import traceback
import warnings
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_forms import frames_of, jwk, pem
from key_forms import key as key_of_kind

from toolkit.auth.credentials import ask_secret, can_ask, remember_input
from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, ToolkitError
from toolkit.core.secret import Secret

# Text that does not occur in a message, name or address by chance.
CANARIES = st.text("QXZ0123456789", min_size=12)
CANARY = "QXZ0123456789QXZ"


def key(number=0):
    return key_of_kind("P-256", number)


def key_pair(**changes):
    return KeyPair(**{"key_id": "QXZ-key-id-0", "secret_key": "QXZ-secret-0", "environment": "paper", **changes})


def client_secret(**changes):
    return ClientSecret(
        **{"client_id": "client-1", "client_secret": "QXZ-secret-0", "environment": "broker-sandbox", **changes}
    )


def client_key(**changes):
    return ClientKey(**{"client_id": "client-1", "private_key": key(), "environment": "broker-sandbox", **changes})


MAKERS = [key_pair, client_secret, client_key]


@pytest.mark.parametrize("make", [client_secret, client_key])
def test_form_fields(make):
    """Further form fields are kept as an immutable copy."""
    given_fields = {"scope": "accounts.read accounts.write"}
    credentials = make(form_fields=given_fields)
    given_fields["scope"] = "other"
    assert credentials.form_fields == {"scope": "accounts.read accounts.write"}
    with pytest.raises(TypeError):
        credentials.form_fields["scope"] = "other"
    assert make(form_fields={"resource_key": "x"}).form_fields == {"resource_key": Secret("x")}
    named = ({"client_secret": CANARY}, {"a b": "c"}, {5: "c"})
    for wrong in (*named, {"scope": "a\nb"}, {"scope": ""}, {"scope": 5}, "scope=a"):
        with pytest.raises(ConfigurationError, match=r"form.field"):
            make(form_fields=wrong)


@pytest.mark.parametrize("environment", Environment)
@pytest.mark.parametrize("make", MAKERS)
def test_environments(make, environment):
    """An environment that does not take the kind of credentials refuses them and names the kinds that it takes."""
    taken = environment.rules.credentials
    kind = make().kind
    if kind in taken:
        assert make(environment=environment).environment is environment
        assert make(environment=str(environment)).environment is environment
    else:
        with pytest.raises(CredentialsMismatch) as caught:
            make(environment=environment)
        assert caught.value.what == f"The environment {environment} does not accept a {kind}."
        assert caught.value.about == "environment"
        assert all(other in caught.value.next_step for other in taken)
        assert environment.rules.holder in caught.value.next_step


def test_fingerprint():
    """Fingerprints are equal if and only if the credentials are, whatever the profile name and the form of the key."""
    different = [
        KeyPair("ab", "a", environment="live"),
        KeyPair("a", "ba", environment="live"),
        KeyPair("a", "ba", environment="paper"),
        ClientSecret("ab", "a", environment="broker-live"),
        ClientSecret("a", "ba", environment="broker-live"),
        ClientSecret("a", "ba", environment="broker-sandbox"),
        *(client_key(private_key=key(number)) for number in (0, 1)),
        *(client_key(audience=audience, key_id=key_id) for audience, key_id in (("ab", "a"), ("a", "ba"), ("a", None))),
        *(client_key(private_key=key_of_kind("RSA"), algorithm=name) for name in ("RS256", "PS256")),
        *(make(form_fields={"scope": "a"}) for make in (client_secret, client_key)),
        *(make(client_id="client-2") for make in (client_secret, client_key)),
    ]
    assert len({credentials.fingerprint() for credentials in different}) == len(different)
    assert KeyPair("ab", "a", environment="live", name="b", scheme="basic").fingerprint() == different[0].fingerprint()
    for private_key in (pem(key()), jwk(key())):
        assert client_key(private_key=private_key, name="b").fingerprint() == client_key().fingerprint()


def assert_hidden(make, *canaries, **arguments):
    """Check that a ToolkitError is raised, and that neither the error nor a frame of the toolkit shows a canary."""
    with pytest.raises(ToolkitError) as caught:
        make(**arguments)
    error = caught.value
    assert error.__context__ is error.__cause__ is None
    shown = [*traceback.format_exception(error), repr(error), repr(vars(error)), frames_of(error)]
    assert [line for line in shown if any(canary in line for canary in canaries)] == []


# Each makes any text a bad value.
SPOILERS = st.sampled_from(["\n", "\0", " ", "é", "\u202e", "\ud800"])
ARGUMENTS = {
    key_pair: ["key_id", "secret_key", "name", "scheme"],
    client_secret: ["client_id", "client_secret", "name"],
    client_key: ["client_id", "private_key", "name", "key_id", "algorithm", "audience", "assertion_typ"],
}
WRAPPERS = st.sampled_from([str, Secret, lambda text: text.encode("utf-8", "replace"), lambda text: [text]])
CASES = [(make, argument) for make, arguments in ARGUMENTS.items() for argument in arguments]


@given(st.sampled_from(CASES), CANARIES, SPOILERS, WRAPPERS)
def test_bad_value_is_in_no_frame(case, canary, spoiler, wrap):
    """A value that is refused is not in the local variables of the toolkit's frames, whatever the argument."""
    make, argument = case
    assert_hidden(make, canary, **{argument: wrap(canary + spoiler)})


def test_a_key_id_with_a_colon_is_refused_for_http_basic():
    with pytest.raises(ConfigurationError, match="contains a colon"):
        key_pair(key_id="a:b", scheme="basic")


def test_can_ask(monkeypatch):
    """Somebody can answer at a terminal, and in a notebook whose front end takes input."""
    for stdin, is_terminal in ((None, False), (SimpleNamespace(isatty=lambda: True), True)):
        monkeypatch.setattr("sys.stdin", stdin)
        assert can_ask() is is_terminal
    for takes_input in (True, False):
        shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=takes_input))
        monkeypatch.setattr("toolkit.auth.credentials.shell", lambda shell=shell: shell)
        assert can_ask() is takes_input


@pytest.mark.parametrize("make", MAKERS)
def test_immutable(make):
    """No attribute of credentials can be changed or removed, including their kind, and no pickle holds a secret."""
    credentials = make()
    for secret in (credentials, getattr(credentials, "private_key", credentials)):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(secret)
    for attribute in (*vars(credentials), "kind", "secrets"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(credentials, attribute, "x")
        with pytest.raises(AttributeError, match="immutable"):
            delattr(credentials, attribute)


SECRET = secrets.token_urlsafe(24)
SETUP = "from toolkit.auth.credentials import warn_if_in_cell as check; from toolkit.core.secret import Secret"


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """Start an IPython shell of the test's own, with a history in memory."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    shell = InteractiveShell.instance(config=config)
    shell.run_cell(SETUP, silent=True)
    yield shell
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def run(shell):
    """Return a function that runs a cell and returns the texts of its warnings."""

    def run(source, *, stored=True, silent=False):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            result = shell.run_cell(source, store_history=stored, silent=silent)
        result.raise_error()
        return [str(warning.message) for warning in caught if warning.category is UserWarning]

    return run


def test_one_warning_per_kind(run):
    """Each kind of secret in the source of the cell is warned of, and again when the cell runs again."""
    source = f"check([('CLIENT_SECRET', Secret('{SECRET}')), ('API_KEY_ID', Secret('{SECRET}'))])"
    for _ in range(2):
        first, second = run(source)
        assert first.startswith("The client secret is in this cell, ")
        assert "The key ID is in this cell" in second
        assert "getpass.getpass()" in first
        assert "toolkit credentials add" in first
        assert SECRET not in first + second


def test_answer_to_input(run, shell):
    """A secret that was typed at `input()` raises a warning, because JupyterLab saves it in the notebook."""
    shell.user_ns["answer"] = SECRET
    remember_input(SECRET)
    (text,) = run("check([('CLIENT_SECRET', Secret(answer))])")
    assert text.startswith("The client secret was typed at an input() prompt")
    assert SECRET not in text


@pytest.mark.parametrize("write", [repr, json.dumps, "'''{}'''".format, lambda pem: repr(pem.replace("\n", ""))])
def test_pem(run, shell, write):
    """A PEM is found in whatever way its lines are written in the cell."""
    shell.user_ns["pem"] = text = pem(key())
    assert len(run(f"text = {write(text)}\ncheck([('PRIVATE_KEY', Secret(pem))])")) == 1
    assert run("check([('PRIVATE_KEY', Secret(pem))])") == []
    assert run("'''-----BEGIN PRIVATE KEY-----'''\ncheck([('PRIVATE_KEY', Secret(pem))])") == []


def test_ask_unseen(monkeypatch):
    """By default a secret is typed unseen; a prompt such as `input` takes its place."""
    monkeypatch.setattr("getpass.getpass", lambda question: f"unseen after {question}")
    assert ask_secret("Key ID: ") == Secret("unseen after Key ID: ")
    assert ask_secret("Key ID: ", lambda question: f"seen after {question}") == Secret("seen after Key ID: ")


def test_no_more_input():
    """The end of the input is an error with the caller's next step."""

    def end(_):
        raise EOFError

    with pytest.raises(ConfigurationError, match='"Passphrase" was not answered: the input has ended') as caught:
        ask_secret("Passphrase: ", end, next_step="Leave --passphrase out.")
    assert caught.value.next_step == "Leave --passphrase out."
    assert caught.value.__context__ is None


def test_not_where_typing_shows(monkeypatch):
    """If the terminal would show what is typed, nothing is read."""

    def show(_):
        warnings.warn("Can not control echo", getpass.GetPassWarning, stacklevel=1)
        pytest.fail("the answer was read")

    monkeypatch.setattr("getpass.getpass", show)
    with pytest.raises(ConfigurationError, match="cannot hide what you type"):
        ask_secret("Secret key: ")
