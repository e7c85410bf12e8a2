"""The form offers what can be chosen, and typed text becomes credentials."""

from __future__ import annotations

import secrets

import pytest

from toolkit.auth.kinds import ClientSecret, KeyPair
from toolkit.auth.profiles.fields import Profile
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings
from toolkit.notebook.panel.choices import (
    NEW_CASSETTE,
    NewChoice,
    SavedChoice,
    cassette_choices,
    credential_choices,
    environment_choices,
    first_credentials,
    first_environment,
    is_for_visitors,
)
from toolkit.notebook.panel.fields import FIELDS, make_credentials

PROFILES = [
    Profile("fund", Environment.LIVE, CredentialKind.KEY_PAIR, "keyring"),
    Profile("desk", Environment.BROKER_SANDBOX, CredentialKind.CLIENT_KEY, ".env"),
    Profile("test", Environment.BROKER_SANDBOX, CredentialKind.CLIENT_SECRET, "keyring"),
]


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Return the settings of an online project without addresses and without a cassettes folder."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    return Settings(project=tmp_path)


def record(settings, *names):
    settings.cassettes_folder.mkdir(exist_ok=True)
    for name in names:
        (settings.cassettes_folder / name).touch()


def test_every_environment_is_offered_with_its_holder():
    """Every environment is offered, with its holder in the words of the service document."""
    assert ("paper · paper account", "paper") in environment_choices()
    assert [value for _, value in environment_choices()] == list(Environment)


def test_an_unnamed_environment_is_never_a_real_account():
    """The first environment is that of a saved profile without a real account, or paper."""
    assert first_environment(PROFILES) is Environment.BROKER_SANDBOX
    assert first_environment(PROFILES[:1]) is Environment.PAPER
    assert first_environment([]) is Environment.PAPER


def test_cassettes_of_the_folder_are_offered_by_name(settings):
    """The named cassette is offered first; recordings in progress and other files are left out."""
    assert cassette_choices(settings) == []
    record(settings, "b.yaml", "a.yaml", "a.part.yaml", "notes.txt")
    assert cassette_choices(settings) == [("a", "a"), ("b", "b")]
    assert cassette_choices(settings, ["b"], new=True) == [("a", "a"), ("b", "b"), ("new …", NEW_CASSETTE)]
    assert cassette_choices(settings, ["later"], listed=False) == [("later", "later")]
    elsewhere = settings.project / "other" / "c.yaml"
    assert cassette_choices(settings, [elsewhere])[0] == ("c.yaml", elsewhere)


def test_credentials_of_the_environment_are_offered_and_no_others():
    """Credentials of the notebook are offered first, then saved ones, then new ones of each accepted kind."""
    typed = [ClientSecret("id", secrets.token_hex(20), environment="broker-sandbox", name="typed")]
    choices = credential_choices(Environment.BROKER_SANDBOX, PROFILES, typed)
    assert choices == [
        ("typed · this notebook · client secret", typed[0]),
        ("desk · .env · client key", SavedChoice("desk")),
        ("test · keyring · client secret", SavedChoice("test")),
        ("new client secret …", NewChoice(CredentialKind.CLIENT_SECRET)),
        ("new client key …", NewChoice(CredentialKind.CLIENT_KEY)),
    ]
    assert credential_choices(Environment.PAPER, PROFILES, typed) == [
        ("new key pair …", NewChoice(CredentialKind.KEY_PAIR))
    ]
    assert first_credentials(choices, "test") == SavedChoice("test")
    assert first_credentials(choices, None) is typed[0]
    assert first_credentials(choices, "gone") is typed[0]
    assert first_credentials(choices[1:], None) == SavedChoice("desk")
    assert first_credentials([*choices[1:3], ("default", SavedChoice("default"))], None) == SavedChoice("default")
    assert first_credentials(choices[1:], "gone") == NewChoice(CredentialKind.CLIENT_SECRET)


@pytest.mark.parametrize("kind", list(CredentialKind))
def test_each_kind_has_fields_named_like_its_arguments(kind):
    """Each kind of credentials needs two texts, and all but the client ID are masked; options are never masked."""
    masked = {field.name: field.masked for field in FIELDS[kind] if not field.is_option}
    assert len(masked) == 2
    assert [name for name, is_masked in masked.items() if not is_masked] == ["client_id"] * ("client_id" in masked)


def test_typed_texts_become_credentials_without_the_space_around_them():
    """White space around a typed text is removed, because a copied secret often ends with a line break."""
    texts = {"key_id": Secret(" key-id-1\n"), "secret_key": Secret("\tsecret-key-1 ")}
    made = make_credentials(CredentialKind.KEY_PAIR, Environment.PAPER, texts, name="desk")
    assert isinstance(made, KeyPair)
    assert (made.key_id, made.secret_key, made.name) == (Secret("key-id-1"), Secret("secret-key-1"), "desk")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"VOILA_REQUEST_URL": "https://notes.example.com/voila/render/a.ipynb"}, True),
        ({"SERVER_SOFTWARE": "voila/0.5.8"}, True),
        ({"VOILA_PREHEAT": "True", "VOILA_BASE_URL": "/", "VOILA_APP_PORT": "8866"}, True),
        ({"SERVER_SOFTWARE": "jupyter_server/2.15"}, False),
        ({}, False),
    ],
)
def test_a_kernel_of_voila_is_for_visitors(environ, expected):
    """Voila starts a kernel for each visitor, and says so in its environment; other kernels are the owner's."""
    assert is_for_visitors(environ) is expected
