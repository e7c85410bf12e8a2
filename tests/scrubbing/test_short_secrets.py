"""A secret of a few characters is replaced as the value of a credential's field, and nowhere else."""

from __future__ import annotations

import pytest

from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.scrubber import Scrubber

pytestmark = pytest.mark.filterwarnings("ignore:A secret of kind")


@pytest.mark.parametrize("secret", ["a", "pw1", "p w"])
def test_in_their_place(secret):
    """It is replaced where a message names it: in a form, a header, JSON and XML."""
    scrubber = Scrubber(KnownSecrets([("PASSWORD", Secret(secret))]))
    request = RecordedRequest(
        "POST",
        f"https://a.example/{secret}?api_key={secret.replace(' ', '+')}",
        (("Content-Type", "application/x-www-form-urlencoded"), ("X-Api-Key", secret)),
        f"name={secret.replace(' ', '+')}&password={secret.replace(' ', '+')}".encode(),
    )
    body = f'{{"name": "{secret} b", "password": "{secret}", "xml": "<password>{secret}</password>"}}'
    scrubbed = scrubber.exchange(request, RecordedResponse(200, body=body.encode()))
    assert scrubbed.request.uri.endswith("?api_key=%3CPASSWORD%3E")
    assert dict(scrubbed.request.headers)["X-Api-Key"] == "<API_KEY>"
    assert scrubbed.request.body.endswith(b"&password=%3CPASSWORD%3E")
    assert (
        scrubbed.response.body
        == body.replace(f'd": "{secret}"', 'd": "<PASSWORD>"').replace(f">{secret}<", ">&lt;PASSWORD&gt;<").encode()
    )


@pytest.mark.parametrize("data", [b"a", b'{"name": "a"}', b"password=ab", b"compass=a", b"max_tokens: a", b""])
def test_elsewhere(data):
    """The text of a short secret is ordinary text elsewhere."""
    known = KnownSecrets([("PASSWORD", Secret("a"))])
    assert known.scrub(data) == data
    assert known.find(data) is None
