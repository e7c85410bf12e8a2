from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.checks import Checks
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

CANARY = "QXZ0123456789QXZ"
ANYTHING = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.lists(st.text())
METHODS = {
    "text": lambda checks, value: checks.text(value, "client ID"),
    "secret": lambda checks, value: checks.secret(value, "client secret"),
    "optional_text": lambda checks, value: checks.optional_text(value, "key ID"),
    "passphrase": Checks.passphrase,
    "profile_name": Checks.profile_name,
    "algorithm": Checks.algorithm,
    "lifetime": Checks.lifetime,
    "form_fields": Checks.form_fields,
}


def problem_of(method, value):
    checks = Checks()
    METHODS[method](checks, value)
    with pytest.raises(ConfigurationError) as caught:
        checks.done()
    assert caught.value.next_step
    return caught.value.what


@pytest.mark.parametrize("method", METHODS)
@given(ANYTHING | st.dictionaries(st.text(), ANYTHING))
def test_anything(method, value):
    """Whatever is given, a check returns it or a harmless value in its place, and raises nothing itself."""
    checks = Checks()
    found = METHODS[method](checks, value)
    plain = found.reveal() if isinstance(found, Secret) else found
    try:
        checks.done()
    except ConfigurationError:
        assert not plain
    else:
        assert plain == ({} if method == "form_fields" and value is None else value)


def test_the_first_problem_is_raised():
    """Several problems are raised one at a time, the first first; without one nothing is."""
    checks = Checks()
    assert checks.text("fine", "client ID") == "fine"
    checks.done()
    checks.text("", "client ID")
    checks.text(5, "audience")
    with pytest.raises(ConfigurationError, match="client ID is empty"):
        checks.done()


def test_passphrase():
    """A passphrase may hold any characters, and be a Secret; it is kept as one."""
    checks = Checks()
    for text in ("a", " with space ", "ä\n\t", "é" * 300):
        assert checks.passphrase(text) == checks.passphrase(Secret(text)) == Secret(text)
    assert checks.passphrase(None) is None
    checks.done()


@pytest.mark.parametrize("value", [0, -1, 3601, 60.0, "60", True, False, None, float("nan")])
def test_lifetime(value):
    """A lifetime is a whole number of seconds from 1 to 3600; True is none."""
    assert "whole number of seconds from 1 to 3600" in problem_of("lifetime", value)
    assert Checks().lifetime(1) == 1
    assert Checks().lifetime(3600) == 3600


@given(
    st.dictionaries(
        st.from_regex(r"x_[A-Za-z0-9._-]{1,20}", fullmatch=True), st.text(min_size=1).filter(str.isprintable)
    )
)
def test_form_fields(fields):
    """Fields of printable text are taken as they are, and what was given may change without changing them."""
    checks = Checks()
    taken = checks.form_fields(fields)
    checks.done()
    before = dict(fields)
    fields["later"] = "x"
    assert taken == before
    with pytest.raises(TypeError):
        taken["scope"] = "other"


@pytest.mark.parametrize(
    "name",
    "grant_type client_id client_secret client_assertion client_assertion_type assertion username password code "
    "code_verifier refresh_token device_code Client_Secret GRANT_TYPE subject_token actor_token auth_req_id".split(),
)
def test_one_authentication_method(name):
    """No further field names or carries another method or grant, in any case of letters."""
    assert name.lower() in problem_of("form_fields", {"scope": "a", name: CANARY})
    assert CANARY not in problem_of("form_fields", {name: CANARY})


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a&b", "a\n", "é", 5, None, "x" * 65])
def test_field_name(name):
    """Names are those of RFC 6749 section 8.2."""
    assert "name of a form field" in problem_of("form_fields", {name: "value"})


@pytest.mark.parametrize("value", ["", "a\nb", "\x00", "\u202e", 5, None, ["a"], b"a"])
def test_field_value(value):
    """Values are one line of printable text."""
    assert problem_of("form_fields", {"scope": value}) == ("The form field scope is not text of printable characters.")


@pytest.mark.parametrize("value", ["scope=a", [("scope", "a")], 5, b"", json.dumps({"scope": "a"})])
def test_no_mapping(value):
    """What is no mapping is refused by its type."""
    assert "not a mapping" in problem_of("form_fields", value)
