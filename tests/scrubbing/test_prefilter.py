"""The sieve lets nothing through that holds a secret, and looks no longer for thousands of secrets than for one."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.scrubbing.encoded_forms import Forms
from toolkit.scrubbing.prefilter import Sieve

# Not st.text, which likes words that stand in the code: those are no secrets.
PRINTABLE = st.lists(
    st.sampled_from(string.ascii_letters + string.digits + string.punctuation), min_size=8, max_size=50
)
WAYS = {
    "as it is": str.encode,
    "URL": lambda text: quote(text, safe="").encode(),
    "URL in a URL, every character": lambda text: "".join(f"%25{byte:02x}" for byte in text.encode()).encode(),
    "JSON": lambda text: json.dumps(json.dumps(text)).encode(),
    "JSON, every character": lambda text: "".join(f"\\u{ord(one):04x}" for one in text).encode(),
    "that in a URL": lambda text: quote("".join(f"\\u{ord(one):04x}" for one in text), safe="").encode(),
    "that in JSON": lambda text: json.dumps("".join(f"\\u{ord(one):04x}" for one in text)).encode(),
    "HTML": lambda text: html.escape(text).encode(),
    "HTML, every character": lambda text: "".join(f"&#{ord(one)};" for one in text).encode(),
    "base64": lambda text: base64.b64encode(text.encode()),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"a" + text.encode() + b"??"),
    "base64 of JSON in a URL": lambda text: quote(
        base64.b64encode(json.dumps(text).encode()).decode(), safe=""
    ).encode(),
    "hex": lambda text: text.encode().hex().encode(),
    "capital hex": lambda text: text.encode().hex().upper().encode(),
}

FILLER = b"<td>1234</td>" * 2600  # makes a text a large one


@pytest.mark.parametrize("way", WAYS)
@given(PRINTABLE.map("".join), st.binary(max_size=9), st.binary(max_size=5))
def test_nothing_passes(way, secret, before, after):
    """Whatever holds a secret, in whatever way, at whatever offset and however large, has it as a candidate."""
    sieve, forms = Sieve(), Forms(secret)
    sieve.add(7, forms)
    data = before + b"." + WAYS[way](secret) + b"." + after
    if forms.found_in(data):
        assert 7 in sieve.candidates(data)
        assert 7 in sieve.candidates(FILLER + data + FILLER)


def test_what_passes():
    """Of thousands of secrets, those in a text are candidates and hardly any other; of none, none."""
    secrets = [hashlib.sha256(b"obviously fake %d" % number).hexdigest()[:40] for number in range(3000)]
    sieve = Sieve()
    for number, secret in enumerate(secrets):
        sieve.add(number, Forms(secret))
    text = json.dumps({"rows": [{"id": number, "name": f"Account {number}"} for number in range(200)]})
    assert sieve.candidates(text.encode()) == set()
    found = sieve.candidates(f"{text} {secrets[41]} {secrets[2999]}".encode())
    assert found == {41, 2999}
    assert sieve.candidates(b"") == set()


def test_what_has_no_anchor():
    """A secret without a run of letters, or which undoing escapes would change, is always a candidate."""
    for secret in ("!!!!!!!!!!!!", "пароль-и-ещё", "a%41b%42c%43defghijk", "abc-def-ghi"):
        sieve = Sieve()
        sieve.add(1, Forms(secret))
        assert sieve.candidates(b"x") == {1}
