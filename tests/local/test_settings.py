# ruff: noqa: S301 - pickles made by these tests

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

import pytest

from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.local.settings import Settings, as_settings, check_trust, is_offline

TOML = """\
header_prefix = "ACME"
cassettes = "recordings"

[addresses]
trading_live = "https://trading.example.com/"
auth_sandbox = "https://auth.sandbox.example.com"
"""


def write(project, text, encoding="utf-8"):
    file = project / "toolkit.toml"
    file.write_bytes(text.encode(encoding))
    return file


def load(project, environ=None):
    with contextlib.chdir(project):
        return Settings.load(environ=environ or {})


def refusal(project, environ=None, kind=ConfigurationError):
    with pytest.raises(kind) as caught:
        load(project, environ)
    assert caught.value.next_step
    return str(caught.value)


def test_load(project):
    """Addresses, header prefix and cassettes folder come from the project's toolkit.toml."""
    file = write(project, TOML)
    settings = load(project)
    assert settings.addresses == {
        "trading_live": "https://trading.example.com",
        "auth_sandbox": "https://auth.sandbox.example.com",
    }
    assert settings.header_prefix == "ACME"
    assert settings.cassettes_folder == project / "recordings"
    assert (settings.project, settings.file) == (project, file)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('header_prefix = "ACME"\n\n[addresses\n', "line 3"),
        ("[addresses]\nauth = https://auth.example.com\n", "line 2"),
        ('[addresses]\nauth = "a"\nauth = "b"\n', "line 3"),
        pytest.param("a = " + "[" * 100_000, "", id="lists"),
        pytest.param("a = " + "{a=" * 100_000, "", id="tables"),
        pytest.param("a = " + "9" * 100_000, "", id="number"),
    ],
)
def test_malformed_file(project, text, line):
    """A malformed file is an error that names file and line, even a file that exhausts the parser."""
    file = write(project, text)
    message = refusal(project)
    assert f"{file} is not valid TOML" in message
    assert line in message


def test_unreadable_file(project):
    """A file that was named but cannot be read is an error that names it and says why; a link to it is read."""
    (project / "link.toml").symlink_to(project / "file.toml")
    contents = {"No such file": None, "larger than 1 MiB": b"#" * (1 << 20) + b"#", "not UTF-8 text": b"\xff"}
    for reason, content in contents.items():
        if content is not None:
            (project / "file.toml").write_bytes(content)
        with pytest.raises(ConfigurationError, match=f"Cannot read {project}/link.toml: .*{reason}"):
            Settings.load(project / "link.toml")
    (project / "file.toml").write_text(TOML)
    assert Settings.load(project / "link.toml").header_prefix == "ACME"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[addreses]\nauth = "https://a.example"', ["setting 'addreses' is not known", "Did you mean addresses?"]),
        ('header_prefx = "ACME"', ["setting 'header_prefx' is not known", "Did you mean header_prefix?"]),
        ('client_secret = "QXZ012345678"', ["looks like a credential", "tk.save_credentials()"]),
        (
            '[addresses]\nauth_sanbox = "https://a.example"',
            ["addresses 'auth_sanbox' is not known", "Did you mean auth_sandbox?"],
        ),
        ('[addresses]\nx = "https://a.example"', ["addresses is not known", "one of trading_live, trading_paper"]),
        ('addresses = "https://a.example"', ["must be a table, not a string", "[addresses]"]),
        ("[addresses]\nauth = 5", ["The address auth is int, not a string."]),
        ('[addresses]\nauth = "auth.example.com"', ["The address auth is not an address"]),
        ('header_prefix = "X Y"', ["header_prefix is not valid in a header name", "SVC"]),
        ("cassettes = 5", ["The cassettes folder is not a path."]),
        ('scrubbing = "names"', ["scrubbing must be a table, not a string", "[scrubbing]"]),
        ('[scrubbing]\nname = ["pin"]', ["scrubbing 'name' is not known", "Did you mean names?"]),
        ('[scrubbing]\nnames = "pin"', ["names under [scrubbing] is not a list of strings"]),
        ("scan = 5", ["scan must be a table, not int."]),
        ("publish = true", ["publish can only be 'as is'", 'publish = "as is"']),
        ('stale_after = "180"', ["stale_after is not an age in days.", 'stale_after = "180d"']),
        ('stale_after = "0d"', ["stale_after is not an age in days."]),
    ],
)
def test_wrong_value(project, text, words):
    """A wrong name or value is an error that names it, the nearest valid name and the file, but no value."""
    file = write(project, text)
    message = refusal(project)
    assert [word for word in [*words, str(file)] if word not in message] == []
    assert "QXZ012345678" not in message


def test_variables_take_precedence(project):
    """A variable takes precedence over the file; an empty variable counts as not set."""
    write(project, TOML)
    settings = load(
        project,
        {
            "TOOLKIT_AUTH_SANDBOX_URL": "https://other.example.com/",
            "TOOLKIT_TRADING_LIVE_URL": "",
            "TOOLKIT_HEADER_PREFIX": "OTHER",
            "TOOLKIT_CASSETTES": "elsewhere",
        },
    )
    assert settings.addresses == {
        "trading_live": "https://trading.example.com",
        "auth_sandbox": "https://other.example.com",
    }
    assert settings.header_prefix == "OTHER"
    assert settings.cassettes_folder == project / "elsewhere"


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("TOOLKIT_AUTH_SANBOX_URL", "TOOLKIT_AUTH_SANDBOX_URL"),
        ("TOOLKIT_TRADING_URL", "TOOLKIT_TRADING_LIVE_URL"),
        ("TOOLKIT_HEADER_PREFX", "TOOLKIT_HEADER_PREFIX"),
        ("TOOLKIT_CASSETTE", "TOOLKIT_CASSETTES"),
        ("TOOLKIT_OFLINE", "TOOLKIT_OFFLINE"),
        ("TOOLKIT_VERFIY", "TOOLKIT_VERIFY"),
    ],
)
def test_misspelt_variable(project, variable, meant):
    """A misspelt variable is refused instead of being ignored."""
    message = refusal(project, {variable: "QXZ012345678"})
    assert variable in message
    assert f"Did you mean {meant}?" in message
    assert "QXZ012345678" not in message


def test_missing_address(project):
    """A missing address is an error that names the setting, the variable and the file."""
    with pytest.raises(ConfigurationError) as caught:
        load(project).address("auth_sandbox")
    assert caught.value.about == "auth_sandbox"
    message = str(caught.value)
    with pytest.raises(ConfigurationError, match="Did you mean auth_sandbox"):
        load(project).address("auth_sanbox")
    assert "auth_sandbox is not set" in message
    assert 'auth_sandbox = "https://..." under [addresses]' in message
    assert "TOOLKIT_AUTH_SANDBOX_URL, which is not read from .env" in message
    assert str(project / "toolkit.toml") in message
    assert "TOOLKIT_PROJECT" in message


@pytest.mark.parametrize("value", ["1", "true", "YES", " on ", None, "", "0", "False", "no", "off"])
def test_offline(monkeypatch, value):
    """TOOLKIT_OFFLINE takes the usual forms of yes and no; unset or empty means online."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", value or "")
    assert is_offline() is (value in ("1", "true", "YES", " on "))


def test_offline_malformed(monkeypatch):
    """Any other value of TOOLKIT_OFFLINE is refused, so that a typing error does not lead to live calls."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "ja")
    with pytest.raises(ConfigurationError, match="TOOLKIT_OFFLINE is 'ja'"):
        is_offline()


@pytest.mark.parametrize(
    "cassettes", ["/elsewhere", "..", "a/../../b", "~/cassettes", "~", "link", "link/below", "\\u0000"]
)
def test_cassettes_outside_the_project(project, home, cassettes):
    """A settings file may not put cassettes outside its project; a variable and code may."""
    (home / "elsewhere").mkdir()
    (project / "link").symlink_to(home / "elsewhere")
    file = write(project, f'cassettes = "{cassettes}"')
    message = refusal(project)
    assert f"cassettes folder set in {file} is outside the project folder" in message
    assert "TOOLKIT_CASSETTES" in message
    assert load(project, {"TOOLKIT_CASSETTES": str(home)}).cassettes_folder == home
    assert Settings(cassettes=home / "elsewhere", project=project).cassettes_folder == home / "elsewhere"
    (home / "elsewhere" / ".env").write_text("TOOLKIT_CASSETTES=x\n")  # an editor may have exported it
    assert "/.env is outside" in refusal(project, {"TOOLKIT_CASSETTES": str(home)})


def test_settings_in_code(project, monkeypatch):
    """None stands for the settings of the project, and arguments of other types are refused."""
    write(project, TOML)
    monkeypatch.chdir(project)
    assert repr(as_settings(None)) == "<Settings trading_live, auth_sandbox; headers ACME-*; cassettes in recordings>"
    for call, argument in ((lambda: as_settings({}), "settings"), (lambda: Settings(project="here"), "project")):
        with pytest.raises(ConfigurationError, match=f"{argument} must be"):
            call()


def test_verify(project):
    """Whose certificates are trusted comes from the file, a variable or code, each with what it may say."""
    assert load(project).trusted is None
    write(project, 'verify = "system"')
    assert (load(project).trusted, load(project).place_of("verify")) == ("system", project / "toolkit.toml")
    settings = load(project, {"TOOLKIT_VERIFY": "certs/ca.pem"})
    assert settings.trusted == str(project / "certs" / "ca.pem")
    assert settings.place_of("verify") == "TOOLKIT_VERIFY"
    assert Settings(verify=Path("ca.pem"), project=project).trusted == str(project / "ca.pem")
    assert pickle.loads(pickle.dumps(settings)).trusted == settings.trusted


@pytest.mark.parametrize("value", ["false", "0", '"off"', '"ca.pem"', '"/etc/ssl/ca.pem"', "true", "[]", '""'])
def test_verify_in_a_file(project, value):
    """A settings file may be anybody's: it can neither turn verification off nor name authorities of its own."""
    file = write(project, f"verify = {value}")
    message = refusal(project)
    assert str(file) in message
    assert "TOOLKIT_VERIFY" in message


@pytest.mark.parametrize("value", ["0", "false", "Off", "no", "none", "1"])
def test_verify_is_not_turned_off(project, value):
    """No variable turns verification off, nor does code that makes settings."""
    assert "cannot turn off" in refusal(project, {"TOOLKIT_VERIFY": value})
    for wrong in (False, True, value, 3):
        with pytest.raises(ConfigurationError, match="verify"):
            Settings(verify=wrong)


AUTHORITIES = {"SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"}
PROXIES = {"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "SSLKEYLOGFILE"}
REMOTE, LOCAL = "https://a.example", "http://127.0.0.1:8000"


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "HTTPS_PROXY", "https_proxy"])
@pytest.mark.parametrize(
    ("verify", "needs_proxy", "address", "used"),
    [
        (True, True, REMOTE, AUTHORITIES | PROXIES),
        ("system", False, REMOTE, AUTHORITIES),
        ("ca.pem", True, REMOTE, PROXIES),
        (True, True, LOCAL, AUTHORITIES),
    ],
)
def test_trust(project, monkeypatch, name, verify, needs_proxy, address, used):
    """The user's variables choose certificates, proxies and key logs; a project's .env that would is refused."""
    monkeypatch.setenv(name, "x")
    settings = Settings({"auth": address}, project=project)
    assert check_trust(verify, settings, needs_proxy=needs_proxy) == verify
    (project / ".env").write_text(f"{name}=x\n")
    refused = pytest.raises(UnsafeAddress, match=f"~/project/.env sets {name.upper()}")
    with refused if name.upper() in used else contextlib.nullcontext():
        assert check_trust(verify, settings, needs_proxy=needs_proxy) == verify


def test_trust_in_settings(project, monkeypatch):
    """What TOOLKIT_VERIFY names is trusted in place of the rest, if no .env around sets it and code names no other."""
    for name in ("TOOLKIT_VERIFY", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, "ca.pem")
    settings = load(project, {"TOOLKIT_VERIFY": "ca.pem"})
    (project / ".env").write_text("SSL_CERT_FILE=x\n")
    assert check_trust(True, settings, needs_proxy=False) == str(project / "ca.pem")
    (project / "beside").mkdir()
    (project / "beside" / ".env").write_text("TOOLKIT_VERIFY=x\n")
    assert check_trust("my.pem", settings, needs_proxy=False) == "my.pem"
    with pytest.raises(UnsafeAddress, match="TOOLKIT_VERIFY"):
        check_trust(True, settings, needs_proxy=False)
