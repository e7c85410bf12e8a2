from __future__ import annotations

import json
import logging
import os
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

import canaries
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from key_forms import DEFAULTS, frames_of, key, pem

from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.auth.profiles.fields import FIELDS, Profile, decompose
from toolkit.auth.profiles.saving import load_credentials, remove_credentials, save_credentials, saved_credentials
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, ToolkitError, UnsafeAddress
from toolkit.local.settings import Settings

# Each example saves over the one before, in the same folder, which is part of the test.
SAME_FOLDER = hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60)
names = st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,20}\Z")
key_pairs = st.builds(
    KeyPair,
    texts.filter(lambda text: ":" not in text),
    texts,
    environment=st.sampled_from(["live", "paper"]),
    scheme=st.sampled_from(["headers", "basic"]),
)
form_fields = st.none() | st.dictionaries(st.sampled_from(["scope", "resource", "x.y"]), texts, max_size=2)
client_secrets = st.builds(
    ClientSecret,
    texts,
    texts,
    environment=st.sampled_from(["broker-live", "broker-sandbox"]),
    name=names,
    form_fields=form_fields,
)


client_keys = st.builds(
    ClientKey,
    texts,
    st.sampled_from(list(DEFAULTS)).map(key),
    environment=st.sampled_from(["broker-live", "broker-sandbox"]),
    audience=st.sampled_from(["token-endpoint", "issuer", "https://auth.example.com"]),
    key_id=st.none() | texts,
    assertion_typ=st.none() | st.sampled_from(["JWT", "client-authentication+jwt"]),
    assertion_lifetime=st.integers(1, 3600),
    form_fields=form_fields,
)


@pytest.fixture(params=["memory_keyring", "no_keyring"])
def place(request):
    """Run the test with a keyring and without one."""
    request.getfixturevalue(request.param)
    return request.param


def quietly(call, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **keywords)


@SAME_FOLDER
@given(st.data())
def test_saved_is_loaded(place, settings, folder, data):
    """Loaded credentials equal the saved ones, with and without a keyring, in a file that only its user reads."""
    credentials, name = data.draw(key_pairs | client_secrets | client_keys), data.draw(names)
    profile = quietly(save_credentials, credentials, name, settings=settings)
    (file,) = folder.glob("*.toml")
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    loaded = load_credentials(credentials.environment, name, settings=settings)
    assert loaded.fingerprint() == credentials.fingerprint()
    assert (loaded.name, loaded.environment, loaded.kind) == (name, credentials.environment, credentials.kind)
    assert decompose(loaded) == decompose(credentials)
    assert profile in saved_credentials(settings=settings)
    assert (profile.name, profile.environment, profile.kind) == (name, credentials.environment, credentials.kind)
    remove_credentials(name, credentials.environment)
    assert saved_credentials(settings=settings) == []


def test_save_to_keyring(memory_keyring, settings, folder):
    """With a keyring the file is sealed: the secret is in neither of the two, and there is no warning."""
    credentials = ClientSecret("client", canaries.new(), environment="broker-sandbox")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profile = save_credentials(credentials, "fund", settings=settings)
    assert profile == Profile("fund", Environment.BROKER_SANDBOX, CredentialKind.CLIENT_SECRET, "keyring")
    (file,) = folder.glob("*.toml")
    assert file.name == "broker-sandbox.fund.toml"
    canaries.assert_absent(file.read_bytes(), canaries.secrets_of(credentials))
    canaries.assert_absent("".join(memory_keyring.entries.values()), canaries.secrets_of(credentials))
    assert load_credentials("broker-sandbox", settings=settings).client_secret == credentials.client_secret


@pytest.mark.parametrize("broken", ["get", "set"])
def test_save_with_locked_keyring(memory_keyring, settings, folder, broken):
    """A locked or broken keyring is an error, and nothing is saved in the clear in its place."""
    memory_keyring.broken = {broken}
    with pytest.raises(ConfigurationError, match="locked") as caught:
        save_credentials(KeyPair("k", "secret-key-1", environment="live"), "a", settings=settings)
    assert caught.value.about == "keyring"
    memory_keyring.broken, memory_keyring.get_password = set(), lambda *_: None  # it keeps nothing
    with pytest.raises(ConfigurationError, match="locked"):
        save_credentials(KeyPair("k", "secret-key-1", environment="live"), "a", settings=settings)
    assert list(folder.glob("*.toml")) == []


def test_load_order(settings, project, monkeypatch):
    """Environment variables count more than .env, and .env more than saved profiles."""
    quietly(save_credentials, KeyPair("saved-id", "s", environment="live"), "default", settings=settings)
    assert load_credentials("live", settings=settings).key_id.reveal() == "saved-id"
    (project / ".env").write_text("TOOLKIT_LIVE_KEY_ID=dotenv-id\nTOOLKIT_LIVE_SECRET_KEY=s\n")
    assert load_credentials("live", settings=settings).key_id.reveal() == "dotenv-id"
    environ = {"TOOLKIT_LIVE_KEY_ID": "variable-id", "TOOLKIT_LIVE_SECRET_KEY": "s"}
    assert load_credentials("live", settings=settings, environ=environ).key_id.reveal() == "variable-id"
    assert [profile.source for profile in saved_credentials(settings=settings, environ=environ)] == [
        "environment variables"
    ]
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert load_credentials("live", "default", settings=settings).key_id.reveal() == "variable-id"


def test_binding(place, settings, project):
    """Another address than the saved one is refused, its path prefix included, and the error names both."""
    credentials = ClientSecret("client", "a-secret-1", environment="broker-live")
    quietly(save_credentials, credentials, "a", settings=settings)
    same_host = settings.addresses["auth"]
    for text in ("https://auth.example.net", f"{same_host}:8443", "http://localhost:80", f"{same_host}/v7"):
        other = Settings({**settings.addresses, "auth": text}, project=project)
        with pytest.raises(UnsafeAddress) as caught:
            load_credentials("broker-live", settings=other)
        assert "https://auth.example.com" in str(caught.value)
        assert text.removesuffix(":80") in str(caught.value)
        assert "toolkit credentials allow" in caught.value.next_step
        assert f"with TOOLKIT_AUTH_URL={other.addresses['auth']} in the environment." in caught.value.next_step
        assert caught.value.__cause__ is None
    same = Settings({"auth": "https://AUTH.example.com:443/", "trading_live": "https://any.example"}, project=project)
    assert load_credentials("broker-live", settings=same).fingerprint() == credentials.fingerprint()
    assert load_credentials("broker-live", settings=Settings(project=project)).client_id == "client"


def test_locked_or_lost_keyring(memory_keyring, settings):
    """If the keyring is locked, or the key is lost, loading is an error; the profile is listed and can be removed."""
    save_credentials(KeyPair("k", "s", environment="live"), "a", settings=settings)
    memory_keyring.broken = {"get"}
    with pytest.raises(ConfigurationError, match="locked") as caught:
        load_credentials("live", settings=settings)
    assert caught.value.__context__ is None
    memory_keyring.broken, memory_keyring.entries = set(), dict.fromkeys(memory_keyring.entries, "not a key")
    with pytest.raises(ConfigurationError, match="is invalid"):
        load_credentials("live", settings=settings)
    memory_keyring.entries = {}
    with pytest.raises(ConfigurationError, match="cannot be decrypted") as caught:
        load_credentials("live", settings=settings)
    assert "`toolkit credentials add a --environment live`" in caught.value.next_step
    assert [profile.name for profile in saved_credentials(settings=settings)] == ["a"]
    remove_credentials("a", "live")
    assert saved_credentials(settings=settings) == []


CANARY = "kanari-5f1d"
SHAPES = ["{}", " {} ", "{}\n", "-----BEGIN PRIVATE KEY-----{}", '{{"kty":"{}"}}', "{}é", "~/{}", "{}\x00"]


values = st.sampled_from(SHAPES).map(lambda shape: shape.format(CANARY))


def write_profile(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


@hypothesis_settings(SAME_FOLDER, max_examples=3 * hypothesis_settings().max_examples)
@given(
    st.sampled_from(Environment),
    st.dictionaries(st.sampled_from(sorted(FIELDS)), values, min_size=1, max_size=4),
    st.sampled_from(["variables", ".env", "file"]),
)
def test_no_value_is_quoted(settings, project, folder, caplog, environment, written, place):
    """Whatever is written in any place, no error, frame, warning, log record or list has a value in it."""
    variables = {f"TOOLKIT_{environment.name}_{name.upper()}": value for name, value in written.items()}
    environ = variables if place == "variables" else {}
    lines = [f"{name}='{value}'" for name, value in variables.items() if place == ".env"]
    (project / ".env").write_text("\n".join(lines), encoding="utf-8")
    for file in folder.glob("*"):
        file.unlink()
    if place == "file":
        lines = [f"{name} = {json.dumps(value)}" for name, value in written.items()]
        lines += ["[destinations]", 'auth = "https://auth.example.com"']
        write_profile(folder, f"{environment}.default.toml", "\n".join(lines))
    shown = []
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        try:
            shown.append(repr(load_credentials(environment, settings=settings, environ=environ)))
        except ToolkitError as error:
            shown += ["".join(traceback.format_exception(error)), repr(error), *error._render_traceback_()]
            shown.append(frames_of(error))
        listed = saved_credentials(settings=settings, environ=environ)
        shown += [repr(listed), *map(repr, listed), caplog.text]
        shown += [str(warning.message) for warning in caught]
    assert [text for text in shown if CANARY in text] == []
    assert CANARY not in "\n".join(os.environ.values())


def test_one_key(memory_keyring, settings):
    """All profiles are sealed with one key, which is made once, however many save first at the same time."""

    def save(number):
        save_credentials(KeyPair(f"id-{number}", "s", environment="live"), f"own-{number}", settings=settings)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, range(8)))
    assert len(memory_keyring.entries) == 1
    assert load_credentials("live", "own-7", settings=settings).key_id.reveal() == "id-7"


@pytest.mark.parametrize("name", ["../live", "a b", "", 3])
def test_malformed_names(settings, name):
    """A name that is not safe in a path is refused, and so is the name of a profile that does not exist."""
    with pytest.raises(ConfigurationError, match="not a valid profile name"):
        save_credentials(ClientSecret("client", "a-secret-1", environment="broker-live"), name, settings=settings)
    with pytest.raises(ConfigurationError, match="exists for broker-live"):
        load_credentials("broker-live", "nobody", settings=settings)


def test_written_by_hand(settings, home, folder):
    """A person may write a file that names a key file; it is bound to addresses like any other."""
    (home / "key.pem").write_text(pem(key("P-256")))
    text = 'client_id = "c"\nprivate_key_file = "~/key.pem"\n[destinations]\n'
    write_profile(folder, "broker-live.mine.toml", text)
    with pytest.raises(ConfigurationError, match="does not list the addresses"):
        load_credentials("broker-live", settings=settings)
    destinations = "\n".join(f'{name} = "{settings.addresses[name]}"' for name in ("auth", "broker", "market_data"))
    write_profile(folder, "broker-live.mine.toml", text + destinations)
    credentials = load_credentials("broker-live", settings=settings)
    assert (credentials.name, credentials.kind) == ("mine", "client key")
    (folder / "broker-live.mine.toml").chmod(0o644)
    with pytest.warns(UserWarning, match="Other users of this machine can read .* Run `chmod 600`"):
        load_credentials("broker-live", settings=settings)
    write_profile(folder, "broker-live.mine.toml", text + destinations.replace("auth.example.com", "auth.example.org"))
    with pytest.raises(UnsafeAddress, match=r"https://auth\.example\.org"):
        load_credentials("broker-live", settings=settings)
    assert load_credentials("broker-live", settings=settings, anywhere=True).name == "mine"


def test_sealed_file_under_another_name(memory_keyring, settings, folder):
    """A sealed file opens for its own profile only, not when it is copied to the name of another."""
    save_credentials(KeyPair("k", "s", environment="live"), "a", settings=settings)
    write_profile(folder, "paper.a.toml", (folder / "live.a.toml").read_text())
    with pytest.raises(ConfigurationError, match="a for paper cannot be decrypted") as caught:
        load_credentials("paper", settings=settings)
    assert "`toolkit credentials add a --environment paper`" in caught.value.next_step


NO_ADDRESSES, NO_FIELD, CHANGED = "does not list the addresses", "has an unknown field", "was changed or"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", NO_ADDRESSES),
        ("[destinations]", NO_ADDRESSES),
        ("destinations = 3", NO_ADDRESSES),
        ('[destinations]\nfoo = "https://a.example"', NO_ADDRESSES),
        ('[destinations]\nheader_prefix = "SVC"', NO_ADDRESSES),
        ('client_secret = ""', NO_FIELD),
        ("audience = 5", NO_FIELD),
        ('owner = "x"', NO_FIELD),
        ('sealed = "x"', CHANGED),
        ('sealed = "x"\nkind = "x"', CHANGED),
        ('sealed = "x"\nkind = "client key"\nowner = "x"', CHANGED),
    ],
)
def test_file_that_is_not_a_profile(folder, settings, text, words):
    """The error says what is wrong with the file and how to write it; a list leaves the profile out with a warning."""
    write_profile(folder, "broker-live.a.toml", text if "sealed" in text else f'client_id = "k"\n{text}')
    with pytest.raises(ConfigurationError, match=rf"broker-live\.a\.toml .*{words}") as caught:
        load_credentials("broker-live", settings=settings)
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert words == CHANGED or "[destinations]" in caught.value.next_step
    with pytest.warns(UserWarning, match=f"Left out: .*{words}"):
        assert saved_credentials(settings=settings) == []
