from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from toolkit.auth.profiles.fields import FIELDS
from toolkit.auth.profiles.keyring import EarlierEntry, SealedText
from toolkit.auth.profiles.profile_document import (
    ClosedDocument,
    Document,
    check_binding,
    origins_of,
    parse,
    render,
    render_closed,
)
from toolkit.core.document import ADDRESS_NAMES, CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, ToolkitError, UnsafeAddress
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings

ORIGINS = '[origins]\nauth = "https://auth.example.com"\n'
addresses = st.dictionaries(
    st.sampled_from(ADDRESS_NAMES),
    st.sampled_from(["https://a.example", "https://a.example/v1", "https://b.example", "https://a.example:444"]),
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
    st.dictionaries(
        st.sampled_from(ADDRESS_NAMES), st.sampled_from(["https://a.example", "http://localhost:8000"]), min_size=1
    ),
)
def test_rendered_is_parsed(values, origins):
    """A rendered document is parsed to an equal document, whatever characters a value has."""
    document = Document({field: Secret(text) for field, text in values.items()}, origins)
    assert parsed(render(document)) == document


@pytest.mark.parametrize("kind", CredentialKind)
def test_closed_document(kind):
    """A document that only the keyring opens is parsed without it, whether sealed or of an earlier version."""
    sealed = SealedText("gAAAAABk")
    assert parsed(render_closed(kind, sealed)) == ClosedDocument(kind, sealed)
    earlier = parsed(f'kind = "{kind}"\nkeyring = "0123456789abcdef"\npieces = 3\n')
    assert earlier == ClosedDocument(kind, EarlierEntry("0123456789abcdef", 3))


def test_address_with_path():
    """If a person writes a whole address, its origin counts."""
    document = parsed('key_id = "k"\n[origins]\nauth = "HTTPS://Auth.example.com:443/v1/"')
    assert document.origins == {"auth": "https://auth.example.com"}


@pytest.mark.parametrize("origins", ["", "[origins]", "origins = 3", '[origins]\nfoo = "https://a.example"'])
def test_without_origins(origins):
    """A file that does not say where its credentials may go is refused, and the error tells how to write it."""
    message = str(refusal(f'key_id = "k"\n{origins}'))
    assert "[origins]" in message
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


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(Environment), addresses, addresses)
def test_binding(project, environment, then, now):
    """Credentials may be used if each address that is set now has the origin that it had when they were saved."""
    then, now = Settings(then, project=project), Settings(now, project=project)
    names = set(environment.rules.addresses.values())
    if not names & then.addresses.keys():
        with pytest.raises(ConfigurationError):
            origins_of(environment, then)
        return
    origins = {
        name: {str(settings.address(name).origin) for settings in (then, now) if name in settings.addresses}
        for name in names & now.addresses.keys()
    }
    if all(len(origin) == 1 and name in then.addresses for name, origin in origins.items()):
        check_binding(origins_of(environment, then), environment, "somewhere", now)
    else:
        with pytest.raises(UnsafeAddress):
            check_binding(origins_of(environment, then), environment, "somewhere", now)


def test_refusal(project):
    """The error names the address, both origins, the source and where the new address was set."""
    settings = Settings({"auth": "https://b.example/v1"}, project=project, file=project / "toolkit.toml")
    with pytest.raises(UnsafeAddress) as caught:
        check_binding({"auth": "https://a.example"}, Environment.BROKER_LIVE, "keyring", settings)
    message = str(caught.value)
    for text in ("auth", "https://a.example", "https://b.example", "keyring", "toolkit.toml", "TOOLKIT_AUTH_URL"):
        assert text in message
