from __future__ import annotations

from pathlib import Path

import pytest
from key_forms import key, pem

from toolkit.auth.profiles.fields import ProfileFields, fields_in_dotenv, fields_in_variables
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import Secret


def make_fields(environment, folder=Path(), **values):
    secrets = {field: Secret(text) for field, text in values.items()}
    return ProfileFields(Environment(environment), "a", "the source", secrets, str.upper, folder)


def refusal(fields):
    with pytest.raises(ConfigurationError) as caught:
        fields.credentials()
    assert caught.value.next_step
    assert "the source" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("environment", "values", "missing"),
    [
        ("live", {"key_id": "k"}, "live also need SECRET_KEY."),
        ("paper", {"scheme": "basic"}, "paper also need KEY_ID and SECRET_KEY."),
        ("broker-live", {"client_id": "c"}, "broker-live also need CLIENT_SECRET or PRIVATE_KEY."),
        ("broker-live", {"client_secret": "s"}, "broker-live also need CLIENT_ID."),
        ("broker-live", {"audience": "issuer"}, "broker-live also need CLIENT_ID and PRIVATE_KEY."),
        ("broker-live", {"form_fields": "a=b"}, "also need CLIENT_ID and CLIENT_SECRET or CLIENT_ID and PRIVATE_KEY."),
    ],
)
def test_incomplete(environment, values, missing):
    """Incomplete credentials are an error that names what is missing."""
    message = refusal(make_fields(environment, **values))
    assert missing in message
    assert all(field.upper() in message for field in values)


@pytest.mark.parametrize(
    "values",
    [
        {"client_secret": "s", "private_key": "p"},
        {"client_secret_file": "s", "private_key_file": "p"},
        {"private_key": "s", "private_key_file": "p"},
        {"private_key_passphrase": "s", "private_key_passphrase_file": "p"},
    ],
)
def test_both_set(values):
    """Two secrets, or a secret and its file, are an error that names both."""
    message = refusal(make_fields("broker-live", client_id="c", **values))
    for field in values:
        assert field.upper() in message


def test_an_empty_file(tmp_path):
    """An empty file of a secret is an error that names the field."""
    (tmp_path / "secret").write_text(" \n")
    values = {"client_id": "c", "client_secret_file": "secret"}
    assert "CLIENT_SECRET_FILE in the source names an empty file" in refusal(
        make_fields("broker-live", tmp_path, **values)
    )


def test_of_another_environment():
    """Fields and kinds that an environment does not accept are refused."""
    with pytest.raises(CredentialsMismatch, match="CLIENT_ID in the source cannot be used for live"):
        make_fields("live", client_id="c").profile()
    with pytest.raises(CredentialsMismatch, match="live does not accept a client key"):
        make_fields("live").intended_kind(CredentialKind.CLIENT_KEY)


PAIR = "TOOLKIT_LIVE_KEY_ID=key-id-1\nTOOLKIT_LIVE_SECRET_KEY=secret-1\n"


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


def test_dotenv_is_not_expanded(project, monkeypatch):
    """A value that refers to a variable is not expanded, or a cloned file would get the user's secrets."""
    monkeypatch.setenv("OTHER_SECRET", "hush-hush")
    (project / ".env").write_text("TOOLKIT_LIVE_KEY_ID=k${OTHER_SECRET}\nTOOLKIT_LIVE_SECRET_KEY=${OTHER_SECRET}\n")
    (fields,) = fields_in_dotenv(project)
    assert fields.values["key_id"].reveal() == "k${OTHER_SECRET}"
    assert fields.values["secret_key"].reveal() == "${OTHER_SECRET}"


def test_dotenv_names_no_file_elsewhere(home, project):
    """`.env` may name a key file in the project but not outside, or a cloned file could use the user's keys."""
    for folder in (home, project):
        (folder / "key.pem").write_text(pem(key("P-256")))
    (project / "link.pem").symlink_to(home / "key.pem")
    for written, fine in (
        ("key.pem", True),
        (str(project / "key.pem"), True),
        ("../key.pem", False),
        ("~/key.pem", False),
        (str(home / "key.pem"), False),
        ("link.pem", False),
    ):
        (project / ".env").write_text(
            f"TOOLKIT_BROKER_LIVE_CLIENT_ID=c\nTOOLKIT_BROKER_LIVE_PRIVATE_KEY_FILE={written}\n"
        )
        (fields,) = fields_in_dotenv(project)
        if fine:
            assert fields.credentials().client_id == "c"
        else:
            with pytest.raises(ConfigurationError, match=r"PRIVATE_KEY_FILE in \.env names a file outside"):
                fields.credentials()


def test_planted_dotenv(project, monkeypatch):
    """A file that a stranger left in a shared folder is refused, because it would choose the account."""
    (project / ".env").mkdir()  # as a virtual environment may be named
    assert fields_in_dotenv(project) == []
    (project / ".env").rmdir()
    (project / ".env").write_text(PAIR)
    monkeypatch.setattr("toolkit.local.folders._user", lambda: 1000)
    monkeypatch.setattr("toolkit.local.folders._owners", lambda path: {1001} if path.name == ".env" else {0})
    with pytest.raises(ConfigurationError, match="belongs to neither you") as caught:
        fields_in_dotenv(project)
    assert "of your own" in caught.value.next_step
    monkeypatch.setattr("toolkit.local.folders._owners", lambda _: {1001})
    assert len(fields_in_dotenv(project)) == 1
