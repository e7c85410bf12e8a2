"""A secret of a few characters is replaced as the value of a credential's field, in any notation, and nowhere else."""

from __future__ import annotations

import json

import pytest

from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets

pytestmark = pytest.mark.filterwarnings("ignore:A secret of kind")


def known(secret):
    return KnownSecrets([("PASSWORD", Secret(secret))])


@pytest.mark.parametrize(
    "template",
    [
        '{"password": "%s"}',
        '{"a": "{\\"password\\": \\"%s\\"}"}',
        "password=%s&a=b",
        "a=b&api_key=%s",
        "%%22password%%22%%3A%%22%s%%22",
        'name="password"\r\n\r\n%s\r\n--x',
        'name="password"\r\nContent-Type: text/plain\r\n\r\n%s\r\n--x',
        "api-key: %s",
        "PASSWORD='%s'",
        "<password>%s</password>",
        "<password type='text'> %s</password>",
    ],
)
@pytest.mark.parametrize("secret", ["a", "pw1", 'p"w', "p w"])
def test_in_their_place(template, secret):
    """A short secret is replaced as the value of a credential's field, in any notation."""
    written = (template % json.dumps(secret)[1:-1]).encode() if "{" in template else (template % secret).encode()
    assert known(secret).may_hold(written)
    assert known(secret).find(written) == ("<PASSWORD>", "where a credential stands")
    replaced = known(secret).scrub(written)
    assert replaced == (template % "<PASSWORD>").encode()
    assert known(secret).find(replaced) is None


@pytest.mark.parametrize("data", [b"a", b'{"name": "a"}', b"password=ab", b"compass=a", b"max_tokens: a", b""])
def test_elsewhere(data):
    """The text of a short secret is ordinary text elsewhere."""
    assert known("a").scrub(data) == data
    assert known("a").find(data) is None
