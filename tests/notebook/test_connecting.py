"""Where the page shows no fields, the panel asks for texts below the cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.secret import Secret
from toolkit.notebook.panel.asking import ask
from toolkit.notebook.panel.fields import FIELDS

KEY = FIELDS[CredentialKind.CLIENT_KEY][:2]


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
    """A private key is asked for by its path; a pasted key and an empty answer are passed on as typed."""
    answers = iter(["the-client", given])
    assert ask(KEY, Environment.BROKER_LIVE, lambda _: next(answers)) == {
        "client_id": Secret("the-client"),
        "private_key": taken,
    }
