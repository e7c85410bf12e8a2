"""Where the page shows no fields, texts are asked for below the cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.notebook.panel.choices import FIELDS, PASSPHRASE
from toolkit.notebook.panel.connecting import ask

KEY = FIELDS[CredentialKind.CLIENT_KEY]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (" keys/broker.pem ", Path("keys/broker.pem")),
        ("-----BEGIN PRIVATE KEY-----", Secret("-----BEGIN PRIVATE KEY-----")),
        ("", Secret("")),
    ],
    ids=["a path", "a key", "nothing"],
)
def test_a_private_key_is_asked_for_by_its_path(given, taken):
    """A pasted key is taken as well; an empty answer is left to the credentials to refuse."""
    answers = iter(["the-client", given])
    assert ask(KEY, Environment.BROKER_LIVE, lambda _: next(answers)) == {
        "client_id": Secret("the-client"),
        "private_key": taken,
    }


def test_the_question_names_field_and_environment():
    """So that nobody types a secret for the wrong environment."""
    asked = []
    ask([PASSPHRASE], Environment.BROKER_SANDBOX, lambda question: asked.append(question) or "x")
    assert asked == ["Passphrase of broker-sandbox: "]


def test_without_anybody_to_ask_an_error_says_so(monkeypatch):
    """As when nbclient executes the notebook."""
    monkeypatch.setattr("toolkit.notebook.panel.connecting.can_ask", lambda: False)
    with pytest.raises(ConfigurationError, match="Nobody can type credentials"):
        ask(KEY, Environment.BROKER_LIVE)
