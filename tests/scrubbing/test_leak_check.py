"""The leak check refuses bytes that hold a secret."""

from __future__ import annotations

import base64
import gzip
import json
import textwrap

import pytest
import yaml

from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.archives import compressed_contents
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.leak_check import check, check_compressed, check_utf_16

TOKEN = "obviously-fake-token-1"


def wrapped(data):
    """Return base64 in lines, as in mail and keys."""
    return "\n".join(textwrap.wrap(base64.b64encode(data).decode(), 16))


@pytest.mark.parametrize(
    "data",
    [
        TOKEN.encode(),
        yaml.safe_dump({"a": b"\xff" + TOKEN.encode() + bytes(60)}).encode(),
        wrapped(b"ab" + TOKEN.encode() + b"cd").encode(),
        json.dumps(wrapped(b"ab" + TOKEN.encode() + b"cd")).encode(),
        yaml.safe_dump(json.dumps(wrapped(b"a" + TOKEN.encode())), default_style='"').encode(),
        base64.encodebytes(b"x" * 50 + TOKEN.encode()).replace(b"\n", b"%0A"),
        TOKEN.encode().hex(" ").encode(),
    ],
    ids="plain binary lines lines-in-JSON lines-in-YAML lines-in-URL hex".split(),
)
def test_check(data):
    """Bytes with a secret are refused, also in base64 with line breaks; the message has its kind and form only."""
    known = KnownSecrets([("ACCESS_TOKEN", Secret(TOKEN))])
    with pytest.raises(SecretLeak, match="nothing was written") as caught:
        check(b"a: 1\n" + data, known, where="The recording of GET in x.yaml")
    assert "<ACCESS_TOKEN>" in caught.value.what
    assert TOKEN not in str(caught.value)
    check(b"a: <ACCESS_TOKEN>\n", known, where="")


@pytest.mark.parametrize(
    "refuse",
    [
        lambda known: check(TOKEN.encode(), known, where=""),
        lambda known: check_compressed(gzip.compress(TOKEN.encode()), known),
        lambda known: check_utf_16(TOKEN.encode("utf-16"), known),
        lambda known: list(compressed_contents(b"PK\x03\x04" + bytes([0, 0, 1, 0, 0, 0]) + bytes(40))),
    ],
    ids="plain packed wide zip".split(),
)
def test_advice(refuse):
    """The call was made and may have been an order, so no message says to make it again."""
    with pytest.raises(SecretLeak) as caught:
        refuse(KnownSecrets([("ACCESS_TOKEN", Secret(TOKEN))]))
    assert "The call was made; the answer, if one came, is this error's `response`." in caught.value.next_step
    assert "this call" not in caught.value.next_step
