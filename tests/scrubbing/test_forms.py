"""A secret is replaced in the notations of text, exactly: what is around it stays as it was."""

from __future__ import annotations

import html
import json
import string
from itertools import product
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets

# Notations that leave letters as they are.
LAYERS = {
    "as it is": str,
    "JSON": lambda text: json.dumps({"a": text}),
    "JSON as PHP writes it": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON safe in HTML": lambda text: json.dumps(text).replace("<", "\\u003c").replace("&", "\\u0026"),
    "HTML": html.escape,
    "percent": lambda text: quote(text, safe=""),
}
ENDINGS = ["\\", "%", "&", '"', "'", "/", "<", "+", " ", "\\\\", "%2", "&am", "\\u", "%5c"]
# Credentials have no white space around them, and characters besides those that quoting and escaping add.
TEXTS = (
    st.lists(st.sampled_from(" " + string.ascii_letters + string.digits + string.punctuation), min_size=8, max_size=40)
    .map("".join)
    .filter(lambda text: text == text.strip() and len({*text} - {*"\\'\"+ "}) >= 7)
)


def replaced(secret, text):
    """Return a text without a secret that nobody else knows."""
    known = KnownSecrets()
    known.add_stand_ins([(Secret(secret), "<SECRET>")])
    return known.scrub_text(text)


@given(TEXTS, st.sampled_from(["JSON", "JSON as PHP writes it", "JSON safe in HTML"]), st.booleans())
@example('"starts with a quote', "JSON", True)
@example("ends with a backslash\\", "JSON", True)
def test_json_stays_json(secret, layer, nested):
    """JSON with a secret, also within JSON, stays JSON with the placeholder as the value."""
    written = LAYERS[layer](json.dumps({"b": [secret]}) if nested else secret)
    value = json.loads(replaced(secret, written))
    value = value["a"] if layer == "JSON" else value
    assert (json.loads(value) if nested else value) == ({"b": ["<SECRET>"]} if nested else "<SECRET>")


@pytest.mark.parametrize(("outer", "inner"), [*product(LAYERS, LAYERS)])
def test_replaced_to_its_ends(outer, inner):
    """No part of an escape at the start or the end of a secret is left over."""

    def written(text):
        return LAYERS[outer](LAYERS[inner](f"a{text}b"))

    for ending in ENDINGS:
        for secret in (f"{ending}obviously-fake", f"obviously-fake{ending}", f"{ending}fake-key{ending}"):
            assert replaced(secret, written(secret)) == written("S").replace("S", "<SECRET>")
