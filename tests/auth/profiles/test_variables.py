from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit.auth.profiles.fields import REQUIRED, fields_in_dotenv, fields_in_variables, kinds_of, variable
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError

PAIR = "TOOLKIT_LIVE_KEY_ID=key-id-1\nTOOLKIT_LIVE_SECRET_KEY=secret-1\n"
places = st.sampled_from(Environment).flatmap(
    lambda environment: st.tuples(
        st.just(environment),
        st.just("default") | st.from_regex(r"[a-z0-9]([a-z0-9]|-(?!-)){0,20}", fullmatch=True),
        st.sampled_from(sorted({field for kind in kinds_of(environment) for field in REQUIRED[kind]})),
    )
)


@given(places)
def test_variable_is_read_back(place):
    """The variable of a field is read back as that field, of that profile and environment."""
    environment, name, field = place
    (fields,) = fields_in_variables({variable(*place): "x"}, "somewhere", Path())
    assert (fields.environment, fields.name, {*fields.values}) == (environment, name, {field})
    assert fields.label(field) == variable(*place)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TOOLKIT_LIVE_KEY_ID", ("live", "default", "key_id")),
        ("TOOLKIT_BROKER_LIVE_PRIVATE_KEY_FILE", ("broker-live", "default", "private_key_file")),
        ("TOOLKIT_BROKER_LIVE__MY_FUND_PRIVATE_KEY_ID", ("broker-live", "my-fund", "private_key_id")),
        ("TOOLKIT_PAPER__PRIVATE_KEY_ID", ("paper", "private", "key_id")),
        ("TOOLKIT_PAPER__7_SCHEME", ("paper", "7", "scheme")),
        ("TOOLKIT_PAPER__CLIENT_ID_KEY_ID", ("paper", "client-id", "key_id")),
        ("TOOLKIT_BROKER_LIVE__FUND_KEY_ID", ("broker-live", "fund", "key_id")),
        ("TOOLKIT_LIVE__FUND_CLIENT_SECRET", ("live", "fund", "client_secret")),
    ],
)
def test_names(name, expected):
    """Variables are read as a person writes them."""
    (fields,) = fields_in_variables({name: "x"}, "somewhere", Path())
    assert (fields.environment, fields.name, *fields.values) == expected


def test_dotenv(project, monkeypatch):
    """The credentials in `.env` are found; the variables of the process are neither read nor changed."""
    (project / ".env").write_text(f"# mine\nexport {PAIR}OTHER=hush\nTOOLKIT_AUTH_URL=https://auth.example.com\n")
    before = dict(os.environ)
    (fields,) = fields_in_dotenv(project)
    assert (fields.source, fields.name, {*fields.values}) == (".env", "default", {"key_id", "secret_key"})
    assert fields.credentials().secret_key.reveal() == "secret-1"
    assert dict(os.environ) == before


def test_dotenv_is_not_expanded(project, monkeypatch):
    """A value that refers to a variable is not expanded, or a cloned file would get the user's secrets."""
    monkeypatch.setenv("OTHER_SECRET", "hush-hush")
    (project / ".env").write_text("TOOLKIT_LIVE_KEY_ID=k${OTHER_SECRET}\nTOOLKIT_LIVE_SECRET_KEY=${OTHER_SECRET}\n")
    (fields,) = fields_in_dotenv(project)
    assert fields.values["key_id"].reveal() == "k${OTHER_SECRET}"
    assert fields.values["secret_key"].reveal() == "${OTHER_SECRET}"


def test_dotenv_names_no_file_elsewhere(home, project, key_text):
    """`.env` may name a key file in the project but not outside, or a cloned file could use the user's keys."""
    for folder in (home, project):
        (folder / "key.pem").write_text(key_text)
    for written, fine in (("key.pem", True), ("../key.pem", False), ("~/key.pem", False)):
        (project / ".env").write_text(
            f"TOOLKIT_BROKER_LIVE_CLIENT_ID=c\nTOOLKIT_BROKER_LIVE_PRIVATE_KEY_FILE={written}\n"
        )
        (fields,) = fields_in_dotenv(project)
        if fine:
            assert fields.credentials().client_id == "c"
        else:
            with pytest.raises(ConfigurationError, match=r"PRIVATE_KEY_FILE in \.env names a file outside"):
                fields.credentials()


def test_dotenv_link(home, project):
    """A link out of the project is refused; a link within it is followed."""
    (home / "other.env").write_text(PAIR)
    (project / ".env").symlink_to(home / "other.env")
    with pytest.raises(ConfigurationError, match="link out of the project"):
        fields_in_dotenv(project)
    (project / ".env").unlink()
    (project / "own.env").write_text(PAIR)
    (project / ".env").symlink_to("own.env")
    assert len(fields_in_dotenv(project)) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("TOOLKIT_LIVE_KEY_ID=\"'\n\\$#{}x "), max_size=80))
def test_any_dotenv(project, caplog, text):
    """Any text is read or refused, and neither errors nor logs quote it."""
    (project / ".env").write_text(text + "\nTOOLKIT_LIVE_KEY_ID 'kanari-5f1d\n")
    message = ""
    try:
        fields_in_dotenv(project)
    except ConfigurationError as error:
        message = str(error)
    assert "kanari" not in message + caplog.text


def test_planted_dotenv(project, monkeypatch):
    """A file that a stranger left in a shared folder is refused, because it would choose the account."""
    (project / ".env").write_text(PAIR)
    monkeypatch.setattr("toolkit.local.folders._user", lambda: 1000)
    monkeypatch.setattr("toolkit.local.folders._owners", lambda path: {1001} if path.name == ".env" else {0})
    with pytest.raises(ConfigurationError, match="belongs neither to you") as caught:
        fields_in_dotenv(project)
    assert "of your own" in caught.value.next_step
    monkeypatch.setattr("toolkit.local.folders._owners", lambda _: {1001})
    assert len(fields_in_dotenv(project)) == 1
