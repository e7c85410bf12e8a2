from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.profiles.document import Document, Marker, parse, render, render_marker
from toolkit.auth.profiles.fields import FIELDS
from toolkit.auth.profiles.keyring import Entry
from toolkit.core.document import ADDRESS_NAMES, CredentialKind
from toolkit.core.errors import ConfigurationError, ToolkitError, UnsafeAddress
from toolkit.core.secret import Secret

ORIGINS = '[origins]\nauth = "https://auth.example.com"\n'


def refusal(text, kind=ConfigurationError):
    with pytest.raises(kind) as caught:
        parse(text, "the file", "live/a")
    assert "the file" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    for frame, _ in traceback.walk_tb(caught.value.__traceback__.tb_next):
        assert "hush" not in repr(frame.f_locals)
    return str(caught.value)


@given(
    st.dictionaries(st.sampled_from(sorted(FIELDS)), st.text(st.characters(codec="utf-8"), min_size=1)),
    st.dictionaries(
        st.sampled_from(ADDRESS_NAMES), st.sampled_from(["https://a.example", "http://localhost:8000"]), min_size=1
    ),
)
def test_rendered_is_parsed(values, origins):
    """What is rendered is parsed to the same, whatever characters a value has."""
    document = Document({field: Secret(text) for field, text in values.items()}, origins)
    assert parse(render(document).reveal(), "the file", "live/a") == document


@given(st.sampled_from(CredentialKind), st.from_regex(r"[0-9a-f]{16}", fullmatch=True), st.integers(1, 100))
def test_rendered_marker_is_parsed(kind, token, pieces):
    """What is said of the keyring is read back."""
    marker = Marker(kind, Entry("live/a", token, pieces))
    assert parse(render_marker(marker), "the file", "live/a") == marker


def test_address_with_path():
    """A person may write a whole address: its origin counts."""
    document = parse('key_id = "k"\n[origins]\nauth = "HTTPS://Auth.example.com:443/v1/"', "the file", "live/a")
    assert document.origins == {"auth": "https://auth.example.com"}


@pytest.mark.parametrize("origins", ["", "[origins]", "origins = 3", '[origins]\nfoo = "https://a.example"'])
def test_without_origins(origins):
    """A file that does not say where its credentials may go is refused, and told how to say it."""
    told = refusal(f'key_id = "k"\n{origins}')
    assert "[origins]" in told
    assert 'auth = "https://' in told


@pytest.mark.parametrize("origin", ["http://auth.example.com", "https://user:hush@auth.example.com"])
def test_unsafe_origin(origin):
    """An origin is as safe as an address."""
    assert "hush" not in refusal(f'key_id = "k"\n[origins]\nauth = "{origin}"', UnsafeAddress)


@pytest.mark.parametrize(
    "text",
    [
        'hush = "x"\n' + ORIGINS,
        'client_secret_command = "hush"\n' + ORIGINS,
        "key_id = 5\n" + ORIGINS,
        'key_id = ""\n' + ORIGINS,
        'key_id = ["hush"]\n' + ORIGINS,
        'key_id = "hush\n' + ORIGINS,
        "hush",
        "[hush]\n[hush]",
        "x = " + "[" * 5000 + "hush",
        "keyring = true",
        'kind = "hush"\nkeyring = "0123456789abcdef"\npieces = 1',
        'kind = "key pair"\nkeyring = "hush"\npieces = 1',
        'kind = "key pair"\nkeyring = "0123456789abcdef"\npieces = 0',
        'kind = "key pair"\nkeyring = "0123456789abcdef"\npieces = 1000000',
        'kind = "key pair"\nkeyring = "0123456789abcdef"\npieces = "1"',
        'kind = "key pair"\nkeyring = "0123456789abcdef"\npieces = true',
        'kind = "key pair"\nkeyring = "0123456789abcdef"\npieces = 1\nkey_id = "hush"',
        'kind = ["hush"]\nkeyring = "0123456789abcdef"\npieces = 1',
    ],
)
def test_malformed(text):
    """What is no profile is refused, and nothing of it is quoted."""
    assert "hush" not in refusal(text)


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text(before, after):
    """Any text is a profile or is refused, and nothing of it is quoted."""
    told = ""
    try:
        parse(f"{before}kanari-5f1d{after}", "the file", "live/a")
    except ToolkitError as error:
        told = f"{error!r} {error} {error.__cause__} {error.__context__}"
    assert "kanari" not in told
