from __future__ import annotations

import canaries
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolkit.auth.destinations import (
    HEADER_PREFIX,
    allow_destinations,
    check_destinations,
    destinations_of,
    memory_file,
    new_in_environment,
    note_destinations,
    uses_of,
)
from toolkit.auth.kinds import ClientSecret, KeyPair
from toolkit.auth.sealing import locked
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.local.files import is_open_to_others
from toolkit.local.folders import APPLICATION, config_folder
from toolkit.local.locks import try_lock
from toolkit.local.settings import Settings

texts = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=40)


@pytest.fixture
def in_project(home):
    """Return a function that makes a project whose toolkit.toml names a host, and returns its settings."""

    def make(host, name="project", **environ):
        folder = home / name
        folder.mkdir(exist_ok=True)
        lines = [
            f'{address} = "https://{host}/{address}"' for address in ("trading_paper", "auth", "broker", "auth_sandbox")
        ]
        (folder / "toolkit.toml").write_text("\n".join(["[addresses]", *lines, ""]))
        return Settings.load(folder / "toolkit.toml", environ=environ)

    return make


def from_variables(secret="not-a-real-secret", environment="broker-live"):
    credentials = ClientSecret("client", secret, environment=environment)
    credentials.note_source("environment variables")
    return credentials


def allow(credentials, settings):
    """Allow credentials to go where the settings say, as the command and the panel do."""
    allow_destinations(credentials, destinations_of(credentials.environment, credentials.kind, settings))


def test_first_use_is_refused(in_project):
    """Credentials from variables go to no address that only a file names; the error names it and the command."""
    for _ in range(2):
        with pytest.raises(UnsafeAddress) as caught:
            check_destinations(from_variables(), in_project("a.example"))
    for text in ("not been allowed to go to the address broker, https://a.example/broker", "~/project/toolkit.toml"):
        assert text in caught.value.what
    assert "toolkit credentials allow default --environment broker-live` in that project. " in caught.value.next_step
    assert "you set yourself in code or in TOOLKIT_BROKER_URL and TOOLKIT_AUTH_URL" in caught.value.next_step
    assert not config_folder().exists()


def test_loopback_and_prefix_of_a_clone(in_project):
    """What was allowed elsewhere goes neither to a listener on this machine nor under another header prefix."""
    allow(from_variables(), in_project("a.example"))
    with pytest.raises(UnsafeAddress):
        check_destinations(from_variables(), in_project("127.0.0.1", "clone"))
    pair, project = KeyPair("key", "not-a-real-secret", environment="paper"), in_project("b.example")
    pair.note_source("saved", {"trading_paper": "https://b.example/trading_paper", HEADER_PREFIX: "SVC"})
    prefixed = Settings(project.addresses, "ACME", project=project.project)
    with pytest.raises(UnsafeAddress, match="header prefix is now ACME"):
        check_destinations(pair, prefixed)
    partner = ClientSecret("client", "not-a-real-secret", environment="broker-live")
    partner.note_source("saved", {name: project.addresses[name] for name in ("broker", "auth")})
    check_destinations(partner, prefixed)  # the prefix is that of key pairs


@pytest.mark.parametrize("is_known", [False, True])
def test_the_users_word(in_project, is_known):
    """Addresses in code and in the user's variables are neither questioned nor remembered."""
    credentials = from_variables()
    if is_known:
        allow(credentials, in_project("a.example"))
    before = uses_of(credentials)
    check_destinations(credentials, Settings({"auth": "https://b.example/auth"}))
    environ = {f"TOOLKIT_{name}_URL": "https://c.example/auth" for name in ("AUTH", "BROKER")}
    check_destinations(credentials, in_project("evil.example", **environ))
    assert uses_of(credentials) == before
    assert config_folder().exists() is is_known
    assert not is_known or not is_open_to_others(memory_file())
    with pytest.raises(UnsafeAddress, match="address auth"):  # one of two is not enough
        check_destinations(credentials, in_project("evil.example", TOOLKIT_BROKER_URL="https://c.example"))


def test_a_variable_of_the_project_is_questioned(in_project, home):
    """A variable that the project's .env brings along is questioned like toolkit.toml."""
    credentials = from_variables()
    allow(credentials, in_project("a.example"))
    environ = {"TOOLKIT_AUTH_URL": "https://evil.example"}
    (home / "project" / ".env").write_text("TOOLKIT_AUTH_URL=https://evil.example/\n")
    with pytest.raises(UnsafeAddress, match=r"~/project/\.env"):
        check_destinations(credentials, in_project("a.example", **environ))


def test_new_in_an_environment(in_project):
    """Before a secret is typed, addresses that only the project names are listed, unless they were allowed before."""
    project = in_project("a.example")
    kind, environment = CredentialKind.CLIENT_SECRET, Environment.BROKER_LIVE
    assert [each.destination.name for each in new_in_environment(environment, kind, project)] == ["broker", "auth"]
    assert new_in_environment(environment, kind, Settings(project.addresses)) == []
    assert new_in_environment(environment, kind, in_project("127.0.0.1", "local")) == []
    note_destinations(environment, destinations_of(environment, kind, project))
    assert new_in_environment(environment, kind, project) == []
    (first, _) = new_in_environment(environment, kind, in_project("b.example"))
    assert "now https://b.example/broker (~/project/toolkit.toml); earlier, it was https://a.ex" in first.in_words()


def test_nothing_can_be_allowed(in_project):
    """A folder that cannot be written to, and a lock that another process keeps for a minute, are errors."""
    config_folder().parent.mkdir(parents=True)
    config_folder().touch()
    with pytest.raises(ConfigurationError, match=r"Cannot write .*destinations\.json"):
        allow(from_variables(), in_project("a.example"))
    config_folder().unlink()
    config_folder().mkdir()
    lock_file, pauses = config_folder() / "a.lock", []
    lock = try_lock(lock_file)
    with (
        pytest.raises(ConfigurationError, match="for a minute"),
        locked(config_folder() / "a.lock", pause=pauses.append),
    ):
        pytest.fail("the lock was not taken")
    assert sum(pauses) == pytest.approx(60)
    lock.release()
    for file in (lock_file, lock_file / "a.lock"):  # the second as on a disk without locks
        with locked(file, pause=pytest.fail):
            pass


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts, texts)
def test_no_secret_in_the_file(tmp_path_factory, in_project, key_id, secret):
    """The files hold no credentials in any form, nor their unkeyed digest."""
    folder = tmp_path_factory.mktemp("config") / APPLICATION
    credentials = KeyPair(f"id{key_id}".replace(":", "."), f"se{secret}", environment="paper")
    credentials.note_source(".env")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder.parent))
        allow(credentials, in_project("a.example"))
    written = "".join(file.read_text() for file in folder.iterdir())
    assert "https://a.example" in written
    assert credentials.fingerprint() not in written
    canaries.assert_absent(written.encode(), [value.reveal() for _, value in credentials.secrets()])


@pytest.mark.parametrize("has_key", [True, False])
@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2, "uses": {}}', '{"version": 1, "uses": {"x": 1}}'])
def test_malformed_file(in_project, content, has_key):
    """A file that was changed is an error that names it: nobody knows where the credentials may go.

    There is no key before credentials are allowed: texts that are typed into a panel are remembered without one.
    """
    allow(from_variables(), in_project("a.example"))
    memory_file().write_text(content)
    if not has_key:
        (config_folder() / "destinations.key").unlink()
        with pytest.raises(ConfigurationError, match=r"destinations\.json"):
            check_destinations(ClientSecret("id", "a-typed-secret", environment="broker-live"), in_project("b.example"))
    with pytest.raises(ConfigurationError, match=r"destinations\.json"):
        check_destinations(from_variables(), in_project("a.example"))
