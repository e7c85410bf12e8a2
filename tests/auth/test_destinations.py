from __future__ import annotations

import canaries
import pytest

from toolkit.auth.destinations import (
    HEADER_PREFIX,
    allow_destinations,
    check_destinations,
    destinations_of,
    memory_file,
    uses_of,
)
from toolkit.auth.kinds import ClientSecret, KeyPair
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.local.files import is_open_to_others
from toolkit.local.folders import config_folder
from toolkit.local.settings import Settings


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
    """Credentials from variables go to no address that only a file names until the command of the error allowed it."""
    for _ in range(2):
        with pytest.raises(UnsafeAddress) as caught:
            check_destinations(from_variables(), in_project("a.example"))
    for text in ("be used with the address broker, https://a.example/broker", "~/project/toolkit.toml"):
        assert text in caught.value.what
    assert "credentials allow default --environment broker-live` in the project folder. " in caught.value.next_step
    assert "in code or in your own environment (TOOLKIT_BROKER_URL and TOOLKIT_AUTH_URL)" in caught.value.next_step
    assert not config_folder().exists()
    allow(from_variables(), in_project("a.example"))
    check_destinations(from_variables(), in_project("a.example"))
    for secret, host in (("not-a-real-secret", "b.example"), ("another-secret", "a.example")):
        with pytest.raises(UnsafeAddress):
            check_destinations(from_variables(secret), in_project(host))


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


def test_no_secret_in_the_file(in_project):
    """The files hold no credentials in any form, nor their unkeyed digest."""
    credentials = KeyPair(canaries.new(), canaries.new(), environment="paper")
    credentials.note_source(".env")
    allow(credentials, in_project("a.example"))
    written = "".join(file.read_text() for file in config_folder().iterdir())
    assert "https://a.example" in written
    assert credentials.fingerprint() not in written
    canaries.assert_absent(written.encode(), canaries.secrets_of(credentials))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2, "uses": {}}', '{"version": 1, "uses": {"x": 1}}'])
def test_malformed_file(in_project, content):
    """A file that was changed is an error that names it: nobody knows where the credentials may go."""
    allow(from_variables(), in_project("a.example"))
    memory_file().write_text(content)
    with pytest.raises(ConfigurationError, match=r"destinations\.json"):
        check_destinations(from_variables(), in_project("a.example"))
    (
        config_folder() / "destinations.key"
    ).unlink()  # which is made when credentials are allowed, not when text is typed
    with pytest.raises(ConfigurationError, match=r"destinations\.json"):
        check_destinations(ClientSecret("id", "a-typed-secret", environment="broker-live"), in_project("b.example"))
