"""A secret is found and replaced in every form, and nothing else is replaced."""

from __future__ import annotations

import base64
import html
import json
import re
import string
from urllib.parse import quote, quote_plus

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets


class Forms:
    """All spellings of one secret, which nobody else knows."""

    def __init__(self, secret):
        self.known = KnownSecrets()
        self.known.add_stand_ins([(Secret(secret), "<SECRET>")])

    def found_in(self, data):
        hit = self.known.find(data)
        return hit and hit[1]

    def replace_in(self, data):
        return self.known.scrub(data)


def has_content(text):
    """Check whether a text has something that quoting, escaping and wrapping neither add nor take away."""
    left = text.translate(dict.fromkeys(map(ord, "\\'\"+ ")))
    return len(left) >= 7 and len(set(left)) >= 4


def texts(alphabet):
    # Lists of characters rather than st.text, which likes constants from the code; those are not secret.
    return st.lists(st.sampled_from(alphabet), min_size=8, max_size=40).map("".join).filter(has_content)


# Credentials have no white space around them.
PRINTABLE = texts(" " + string.ascii_letters + string.digits + string.punctuation).filter(
    lambda text: text == text.strip()
)


def percent_encoded(text):
    return quote(text, safe="")


def percent_all(text):
    return "".join(f"%{byte:02X}" for byte in text.encode())


def unicode_all(text):
    return "".join(f"\\u{ord(character):04x}" for character in text)


LAYERS = {
    "as it is": str,
    "percent-encoded": percent_encoded,
    "percent-encoded in small letters": lambda text: re.sub("%..", lambda m: m[0].lower(), quote(text, safe="")),
    "a path": quote,
    "a form field": quote_plus,
    "every character percent-encoded": percent_all,
    "JSON": lambda text: json.dumps({"a": text}),
    "JSON as PHP writes it": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON safe in HTML": lambda text: re.sub("[<>&']", lambda m: f"\\u{ord(m[0]):04X}", json.dumps(text)),
    "every character escaped": unicode_all,
    "hexadecimal escapes": lambda text: "".join(f"\\x{ord(letter):02x}" for letter in text),
    "HTML": html.escape,
    "HTML by number": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "HTML by hexadecimal number": lambda text: "".join(f"&#x{ord(letter):X};" for letter in text),
    "YAML in single quotes": lambda text: "'" + text.replace("'", "''") + "'",
    "YAML": lambda text: yaml.safe_dump([text], width=1 << 20),
    "Python": repr,
}


# Outer layer to inner layers: a JSON text in a JSON string or a form, a URL in a URL, and the like.
NESTED = {
    "JSON": ("JSON", "JSON as PHP writes it", "JSON safe in HTML", "percent-encoded", "a form field", "HTML", "Python"),
    "JSON as PHP writes it": ("JSON", "percent-encoded"),
    "JSON safe in HTML": ("JSON", "HTML"),
    "percent-encoded": (
        "percent-encoded",
        "a form field",
        "JSON",
        "JSON safe in HTML",
        "HTML",
        "every character escaped",
    ),
    "percent-encoded in small letters": ("percent-encoded in small letters", "JSON"),
    "a path": ("percent-encoded", "JSON"),
    "a form field": ("a form field", "JSON", "JSON as PHP writes it", "percent-encoded"),
    "HTML": ("HTML", "HTML by number", "HTML by hexadecimal number", "JSON", "percent-encoded", "a form field"),
    "YAML": ("JSON", "percent-encoded", "a form field"),
    "YAML in single quotes": ("JSON", "a form field"),
}
WRITTEN = [(outer, "as it is") for outer in LAYERS] + [(outer, inner) for outer in NESTED for inner in NESTED[outer]]


@given(PRINTABLE)
@example("ab\"cd\\ef/gh'i&j<k>l m+n%2Bo")
@example("aaaaabc'!")
def test_text_layers(secret):
    """A secret is found and replaced in every notation of text, and in each notation within another."""
    assume(sum(map(str.isalnum, secret)) >= 7)  # fewer are looked for literally
    forms = Forms(secret)  # compiled once for all layers
    for outer, inner in WRITTEN:
        written = LAYERS[outer](LAYERS[inner](secret)).encode()
        assert forms.found_in(b"before " + written + b" after"), written
        replaced = forms.replace_in(b"before " + written + b" after")
        assert b"<SECRET>" in replaced
        assert forms.found_in(replaced) is None, written
        assert replaced.startswith(b"before")
        assert replaced.endswith(b"after")


@given(PRINTABLE, st.sampled_from(["JSON", "JSON as PHP writes it", "JSON safe in HTML"]), st.booleans())
@example('"starts with a quote', "JSON", True)
@example("ends with a backslash\\", "JSON", True)
def test_json_stays_json(secret, layer, nested):
    """JSON with a secret, also within JSON, stays JSON with the placeholder as the value."""
    written = LAYERS[layer](json.dumps({"b": [secret]}) if nested else secret)
    value = json.loads(Forms(secret).replace_in(written.encode()))
    value = value["a"] if layer == "JSON" else value
    assert (json.loads(value) if nested else value) == ({"b": ["<SECRET>"]} if nested else "<SECRET>")


ENDINGS = ["\\", "%", "&", '"', "'", "/", "<", "+", " ", "\\\\", "%2", "&am", "\\u", "%5c"]


# Layers that leave letters as they are, and whose own characters do not depend on their content.
STEADY = [
    pair for pair in WRITTEN if not any(name.startswith(("every", "hexa", "HTML by", "YAML", "Py")) for name in pair)
]


@pytest.mark.parametrize(("outer", "inner"), STEADY)
def test_replaced_to_its_ends(outer, inner):
    """No part of an escape at the start or the end of a secret is left over."""

    def written(text):
        return LAYERS[outer](LAYERS[inner](f"a{text}b"))

    for ending in ENDINGS:
        for secret in (f"{ending}obviously-fake", f"obviously-fake{ending}", f"{ending}fake-key{ending}"):
            assert Forms(secret).replace_in(written(secret).encode()).decode() == written("S").replace("S", "<SECRET>")


def test_neighbours_in_a_url_stay():
    """Path, field names and other fields around base64 stay, so that requests remain distinct."""
    secret = "hunter-2-and-more"
    encoded = base64.urlsafe_b64encode(secret.encode()).decode().rstrip("=")
    for url in (f"https://h.example/v1/{encoded}/items?a=1", f"https://h.example/v1?sig={encoded}&b=2"):
        assert Forms(secret).replace_in(url.encode()).decode() == url.replace(encoded, "<SECRET>")
