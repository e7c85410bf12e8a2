from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth import checks
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

CANARY = "QXZ0123456789QXZ"
ANYTHING = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.lists(st.text())
CHECKS = {
    "client_id": lambda value: checks.text(value, "client_id"),
    "client_secret": lambda value: checks.secret(value, "client_secret"),
    "key_id": lambda value: checks.optional_text(value, "key_id"),
    "passphrase": checks.passphrase,
    "name": checks.profile_name,
    "form_fields": checks.form_fields,
}


def refusal(about, value):
    """Return the message for a value that is refused; the error is about the argument."""
    with pytest.raises(ConfigurationError) as caught:
        CHECKS[about](value)
    assert caught.value.next_step
    assert caught.value.about == about
    return caught.value.what


@given(st.sampled_from(list(CHECKS)), ANYTHING | st.dictionaries(st.text(), ANYTHING))
def test_any_value(about, value):
    """A check returns the value or raises an error about the argument; no other error escapes."""
    try:
        result = CHECKS[about](value)
    except ConfigurationError as error:
        assert error.about == about  # noqa: PT017
    else:
        plain = result.reveal() if isinstance(result, Secret) else result
        assert plain == ({} if about == "form_fields" and value is None else value)


def test_profile_name():
    """A profile name has letters, digits, dots, hyphens and underscores; another is refused and not shown."""
    for name in ("default", "a", "Desk-1.eu_2", "0", "x" * 64):
        assert checks.profile_name(name) == name
    for name in ("", ".hidden", "-x", "a b", "a/b", "..", "a\n", "é", "x" * 65, CANARY + "@", None, 5):
        assert CANARY not in refusal("name", name)


@given(
    st.dictionaries(
        st.text("abz_.-09AZ", min_size=1, max_size=64).map("x_{:.62}".format),
        st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1),
    )
)
def test_form_fields(fields):
    """Fields of printable text are kept, and a later change of the argument does not change them."""
    kept = checks.form_fields(fields)
    before = dict(fields)
    fields["later"] = "x"
    assert kept == before
    with pytest.raises(TypeError):
        kept["scope"] = "other"


def test_form_fields_keep_to_one_authentication_method():
    """Fields of other methods or grants are refused, in upper or lower case."""
    names = (
        "grant_type client_id client_secret client_assertion client_assertion_type assertion username password code "
        "code_verifier refresh_token device_code Client_Secret GRANT_TYPE subject_token actor_token auth_req_id"
    )
    for name in names.split():
        assert CANARY not in refusal("form_fields", {"scope": "a", name: CANARY})


def test_names_and_values_of_form_fields():
    """Names are those of RFC 6749 section 8.2, values are one line of printable text, and both come as a mapping."""
    for name in ("", "a b", "a=b", "a&b", "a\n", "é", 5, None, "x" * 65):
        assert "a name that no field can have" in refusal("form_fields", {name: "value"})
    for value in ("", "a\nb", "\x00", "\u202e", 5, None, ["a"], b"a"):
        assert "form field scope is not text" in refusal("form_fields", {"scope": value})
    for value in ("scope=a", [("scope", "a")], 5, b"", json.dumps({"scope": "a"})):
        assert "must be a dict" in refusal("form_fields", value)
