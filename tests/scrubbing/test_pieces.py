"""Pieces of a secret that a display cut short are masked like the whole secret."""

from __future__ import annotations

import html
import io
import json
import pprint
import reprlib
import secrets
import string
import textwrap

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console
from rich.panel import Panel
from rich.pretty import Pretty
from rich.table import Table

from toolkit.core.secret import REGISTER, Secret
from toolkit.notebook.masking import masked
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.pieces import SHORTEST_PIECE, Pieces

MARK = "<ACCESS_TOKEN>"
RANDOM = st.text("abcdefABCDEF0123456789-_", min_size=24, max_size=60)
WORDS = st.text("xyz XYZ.,", max_size=30)


def drawn(characters):
    return "".join(secrets.choice(characters) for _ in range(60))


# Secrets longer than a cell of pandas; the first begins like a signed token and needs escapes.
SECRETS = {
    "token": f"eyJ{secrets.token_urlsafe(60)}.&\\<'{secrets.token_urlsafe(60)}",
    "passphrase": "-".join(secrets.choice(["correct", "horse", "battery", "staple"]) for _ in range(10)),
    "lower case": drawn(string.ascii_lowercase),
    "digits": drawn(string.digits),
    "base32": drawn(string.ascii_uppercase + "234567"),
}


@pytest.fixture(params=SECRETS)
def secret(request):
    """Return a secret of some alphabet."""
    return SECRETS[request.param]


@pytest.fixture
def known(secret):
    """Return the secrets of a live session."""
    return KnownSecrets([("ACCESS_TOKEN", Secret(secret))])


def in_rich(what, width=60):
    console = Console(file=io.StringIO(), width=width)
    console.print(what)
    return console.file.getvalue()


def table_of(secret):
    table = Table("token")
    table.columns[0].no_wrap, table.columns[0].overflow = True, "ellipsis"
    table.add_row(secret)
    return table


WAYS = {
    "pandas, text": lambda secret: repr(pd.DataFrame({"token": [secret]})),
    "pandas, page": lambda secret: pd.DataFrame({"token": [secret]})._repr_html_(),
    "pandas, list in a cell": lambda secret: repr(pd.DataFrame({"token": [[secret, secret]]})),
    "pandas, index and columns": lambda secret: pd.DataFrame({secret: [1]}, index=[secret])._repr_html_(),
    "reprlib": lambda secret: reprlib.repr([secret]),
    "pprint": lambda secret: pprint.pformat([secret] * 50, width=20),
    "numpy": lambda secret: repr(np.array([secret] * 2000)),
    "rich table": lambda secret: in_rich(table_of(secret)),
    "rich pretty": lambda secret: in_rich(Pretty([secret], max_string=20), width=200),
    "rich box": lambda secret: in_rich(Panel(secret), width=40),
    "slice": lambda secret: secret[3:30],
    "wrapped": lambda secret: "\n| ".join(textwrap.wrap(secret, 30)),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_piece_is_left_where_a_display_cuts(known, secret, way):
    """Nowhere are twelve characters of a secret shown in a row, whatever its alphabet and wherever it is cut."""
    shown = WAYS[way](secret)
    seen = masked(shown)
    for form in (secret, html.escape(secret), json.dumps(secret), repr(secret)):
        for at in range(len(form) - SHORTEST_PIECE):
            assert form[at : at + SHORTEST_PIECE] not in seen
    assert MARK in seen or html.escape(MARK) in seen


@given(RANDOM, WORDS, WORDS, st.data())
def test_any_piece_at_any_place(secret, before, after, data):
    """Twelve characters or more from anywhere in a secret are found anywhere in a text; the rest stays."""
    start = data.draw(st.integers(0, len(secret) - SHORTEST_PIECE))
    end = data.draw(st.integers(start + SHORTEST_PIECE, len(secret)))
    piece = secret[start:end]
    pieces = Pieces()
    pieces.add(secret, MARK)
    # In a secret that repeats itself, a piece may match as two, with a rest between them that is too short.
    assume(len({secret[at : at + 4] for at in range(len(secret) - 3)}) == len(secret) - 3)
    assert pieces.replace_in(f"{before}{piece}{after}") == f"{before}{MARK}{after}"
    cut = [pieces.unfinished(f"{before}{text}") for text in (piece[:8], piece[:3], secret)]
    assert cut == [8, 0, 0]  # of a text that may go on


@pytest.mark.parametrize("kind", ["EC", "RSA"])
def test_the_public_half_of_a_key_is_shown(kind):
    """A public key is shown; the lines of the private key are masked one by one."""
    key = rsa.generate_private_key(65537, 1024) if kind == "RSA" else ec.generate_private_key(ec.SECP256R1())  # noqa: S505 - quick
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    REGISTER.add("PRIVATE_KEY", Secret(pem))
    assert masked(public) == public
    lines = [line for line in pem.splitlines() if len(line) >= 32 and not line.startswith("---")]
    for shown in (pprint.pformat({"key": pem}), json.dumps(pem.splitlines()), lines[0], lines[-1]):
        seen = masked(shown)
        assert [line for line in lines if line in seen] == []


def test_the_header_of_a_signed_token_is_public():
    """The header of a signed token, which many tokens share, is shown."""
    header = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9"
    pieces = Pieces()
    pieces.add(f"{header}.{secrets.token_urlsafe(40)}.{secrets.token_urlsafe(40)}", MARK)
    assert pieces.replace_in(header) == header
