from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.destinations import Binding
from toolkit.auth.profiles.fields import FIELDS
from toolkit.auth.profiles.keyring import EarlierEntry, SealedText
from toolkit.auth.profiles.profile_document import (
    ClosedDocument,
    Document,
    parse,
    render,
    render_closed,
)
from toolkit.core.document import ADDRESS_NAMES, CredentialKind
from toolkit.core.errors import ConfigurationError, ToolkitError, UnsafeAddress
from toolkit.core.secret import Secret

ORIGINS = '[origins]\nauth = "https://auth.example.com"\n'
bindings = st.builds(
    lambda texts, prefix: Binding({**texts, **prefix}),
    st.dictionaries(
        st.sampled_from(ADDRESS_NAMES), st.sampled_from(["https://a.example/v1", "http://localhost:8000"]), min_size=1
    ),
    st.just({}) | st.builds(lambda prefix: {"header_prefix": prefix}, st.sampled_from(["SVC", "ACME-1"])),
) | st.builds(
    lambda names: Binding(dict.fromkeys(names, "https://a.example"), by_origin=True),
    st.sets(st.sampled_from(ADDRESS_NAMES), min_size=1),
)


def parsed(text):
    return parse(text if isinstance(text, Secret) else Secret(text), "the file", "Fix it.")


def refusal(text, kind=ConfigurationError):
    with pytest.raises(kind) as caught:
        parsed(text)
    assert "the file" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


@given(
    st.dictionaries(st.sampled_from(sorted(FIELDS)), st.text(st.characters(codec="utf-8"), min_size=1)),
    bindings,
)
def test_rendered_is_parsed(values, binding):
    """A rendered document is parsed to an equal document, whatever characters a value has."""
    document = Document({field: Secret(text) for field, text in values.items()}, binding)
    assert parsed(render(document)) == document


@pytest.mark.parametrize("kind", CredentialKind)
def test_closed_document(kind):
    """A document that only the keyring opens is parsed without it, whether sealed or of an earlier version."""
    sealed = SealedText("gAAAAABk")
    assert parsed(render_closed(kind, sealed)) == ClosedDocument(kind, sealed)
    earlier = parsed(f'kind = "{kind}"\nkeyring = "0123456789abcdef"\npieces = 3\n')
    assert earlier == ClosedDocument(kind, EarlierEntry("0123456789abcdef", 3))


def test_whole_addresses():
    """A profile is bound to whole addresses; in a table of an earlier version, their origins count."""
    text = 'auth = "HTTPS://Auth.example.com:443/v1/"'
    document = parsed(f'key_id = "k"\n[destinations]\n{text}\nheader_prefix = "ACME"')
    assert document.binding == Binding({"auth": "https://auth.example.com/v1", "header_prefix": "ACME"})
    document = parsed(f'key_id = "k"\n[origins]\n{text}')
    assert document.binding == Binding({"auth": "https://auth.example.com"}, by_origin=True)


@pytest.mark.parametrize(
    "table",
    [
        "",
        "[origins]",
        "[destinations]",
        "origins = 3",
        "destinations = 3",
        '[origins]\nfoo = "https://a.example"',
        '[origins]\nauth = "https://a.example"\nheader_prefix = "SVC"',
        '[destinations]\nheader_prefix = "SVC"',
        '[origins]\nauth = "https://a.example"\n[destinations]\nauth = "https://b.example"',
    ],
)
def test_without_destinations(table):
    """A file that does not say where its credentials may go is refused, and the error tells how to write it."""
    message = str(refusal(f'key_id = "k"\n{table}'))
    assert "[destinations]" in message
    assert 'auth = "https://' in message


@pytest.mark.parametrize("origin", ["http://auth.example.com", "https://user:hush@auth.example.com"])
def test_unsafe_origin(origin, locals_of):
    """An origin must be as safe as an address."""
    error = refusal(f'key_id = "k"\n[origins]\nauth = "{origin}"', UnsafeAddress)
    assert "hush" not in f"{error} {locals_of(error)}"


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
        'sealed = "hush"',
        'kind = "hush"\nsealed = "x"',
        'kind = ["hush"]\nsealed = "x"',
        'kind = "key pair"\nsealed = 5',
        'kind = "key pair"\nsealed = "x"\nkey_id = "hush"',
        'kind = "key pair"\nkeyring = "hush"\npieces = 1',
        'kind = "key pair"\nkeyring = "0123456789abcdef"\npieces = 0',
    ],
)
def test_malformed(text, locals_of):
    """A text that is not a profile is refused and not quoted."""
    error = refusal(text)
    assert "hush" not in f"{error} {locals_of(error)}"


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text(before, after):
    """Any text is a profile or is refused, and is not quoted."""
    message = ""
    try:
        parsed(f"{before}kanari-5f1d{after}")
    except ToolkitError as error:
        message = f"{error!r} {error} {error.__cause__} {error.__context__}"
    assert "kanari" not in message
