from __future__ import annotations

import copy
import gc
import json
import logging
import pickle
import pprint
import traceback

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.lib.pretty import pretty
from jwt.algorithms import ECAlgorithm
from key_forms import frames_of, jwk, pem
from key_forms import key as key_of_kind

from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, ToolkitError
from toolkit.core.secret import REGISTER, Secret

# Text that does not occur in a message, name or address by chance.
CANARIES = st.text("QXZ0123456789", min_size=12)
CANARY = "QXZ0123456789QXZ"


def key(number=0):
    return key_of_kind("P-256", number)


def key_pair(**changes):
    return KeyPair(**{"key_id": "QXZ-key-id-0", "secret_key": "QXZ-secret-0", "environment": "paper", **changes})


def client_secret(**changes):
    return ClientSecret(
        **{"client_id": "client-1", "client_secret": "QXZ-secret-0", "environment": "broker-sandbox", **changes}
    )


def client_key(**changes):
    return ClientKey(**{"client_id": "client-1", "private_key": key(), "environment": "broker-sandbox", **changes})


MAKERS = [key_pair, client_secret, client_key]


class Remote:
    """A Signer with a key that is kept elsewhere."""

    algorithm, key_id = "ES256", None
    __hash__ = None  # as a dataclass that is not frozen

    def sign(self, data):
        return b"signature"


def everything_shown(value):
    """Return everything that Python prints about a value, and about the errors when it is pickled."""
    shown = [str(value), repr(value), f"{value}", f"{value!r:>100}", ascii([value]), repr(vars(value))]
    shown += [pprint.pformat(vars(value)), pretty(value), pretty(vars(value)), repr(copy.deepcopy(value))]
    shown += [logging.makeLogRecord({"msg": "%s %r", "args": (value, value)}).getMessage()]
    shown += [json.dumps({"credentials": value, "fields": vars(value)}, default=str)]
    for write in (json.dumps, *(lambda value, p=p: pickle.dumps(value, p) for p in range(6))):
        with pytest.raises(TypeError) as caught:
            write(value)
        shown += traceback.format_exception(caught.value)
    return "".join(shown)


@given(CANARIES, CANARIES, st.sampled_from(["headers", "basic"]))
def test_key_pair_shows_nothing(key_id, secret_key, scheme):
    """Nothing that Python prints of a key pair holds its key ID or its secret key."""
    shown = everything_shown(KeyPair(key_id, secret_key, environment="live", scheme=scheme))
    assert key_id not in shown
    assert secret_key not in shown


@pytest.mark.parametrize("form", [key, lambda: pem(key()), lambda: jwk(key())])
def test_client_key_shows_nothing(form):
    """Nothing that Python prints of a client key holds a line of its PEM, or the private part of its JWK."""
    shown = everything_shown(client_key(private_key=form()))
    private = [line for line in pem(key()).splitlines() if "-----" not in line]
    private.append(ECAlgorithm.to_jwk(key(), as_dict=True)["d"])
    assert [text for text in private if text in shown] == []


def test_attributes():
    """Attributes are named as the arguments; key IDs of pairs and secrets are Secrets, client IDs are text."""
    pair, secret, private = key_pair(scheme="basic", name="a"), client_secret(), client_key(key_id="kid-1")
    assert (pair.key_id, pair.secret_key) == (Secret("QXZ-key-id-0"), Secret("QXZ-secret-0"))
    assert (pair.environment, pair.name, pair.scheme) == (Environment.PAPER, "a", "basic")
    assert (secret.client_id, secret.client_secret, secret.name) == ("client-1", Secret("QXZ-secret-0"), "default")
    assert (private.client_id, private.key_id, private.algorithm, private.audience) == (
        "client-1",
        "kid-1",
        "ES256",
        "token-endpoint",
    )
    assert [credentials.kind for credentials in (pair, secret, private)] == list(CredentialKind)
    assert key_pair().scheme == "headers"
    assert (private.assertion_typ, private.assertion_lifetime) == ("JWT", 60)
    assert secret.form_fields == private.form_fields == {}


@pytest.mark.parametrize("make", [client_secret, client_key])
def test_form_fields(make):
    """Further form fields are kept as an immutable copy."""
    given_fields = {"scope": "accounts.read accounts.write"}
    credentials = make(form_fields=given_fields)
    given_fields["scope"] = "other"
    assert credentials.form_fields == {"scope": "accounts.read accounts.write"}
    with pytest.raises(TypeError):
        credentials.form_fields["scope"] = "other"
    for wrong in ({"client_secret": CANARY}, {"scope": "a\nb"}, "scope=a"):
        with pytest.raises(ConfigurationError, match=r"form.field"):
            make(form_fields=wrong)


def test_assertion_options():
    """Type and lifetime of assertions are kept; wrong ones are refused."""
    credentials = client_key(assertion_typ="client-authentication+jwt", assertion_lifetime=300)
    assert (credentials.assertion_typ, credentials.assertion_lifetime) == ("client-authentication+jwt", 300)
    assert client_key(assertion_typ=None).assertion_typ is None
    for wrong in ({"assertion_typ": ""}, {"assertion_typ": 5}, {"assertion_lifetime": 0}, {"assertion_lifetime": True}):
        with pytest.raises(ConfigurationError, match="assertion"):
            client_key(**wrong)


@pytest.mark.parametrize("environment", Environment)
@pytest.mark.parametrize("make", MAKERS)
def test_environments(make, environment):
    """An environment that does not take the kind of credentials refuses them and names the kinds that it takes."""
    taken = environment.rules.credentials
    kind = make().kind
    if kind in taken:
        assert make(environment=environment).environment is environment
        assert make(environment=str(environment)).environment is environment
    else:
        with pytest.raises(CredentialsMismatch) as caught:
            make(environment=environment)
        assert caught.value.what == f"The environment {environment} does not take a {kind}."
        assert caught.value.about == "environment"
        assert all(other in caught.value.next_step for other in taken)
        assert environment.rules.holder in caught.value.next_step


# Few and short texts, so that equal values and equal concatenations of different values occur.
FEW = st.text("ab", min_size=1, max_size=3)
BROKERS = st.sampled_from(["broker-live", "broker-sandbox"])
SPECIFICATIONS = st.one_of(
    st.tuples(st.just(KeyPair), st.sampled_from(["live", "paper"]), FEW, FEW),
    st.tuples(st.just(ClientSecret), BROKERS, FEW, FEW),
    st.tuples(
        st.just(ClientKey),
        BROKERS,
        FEW,
        st.integers(0, 1),
        FEW,
        FEW | st.none(),
    ),
)
INCIDENTAL = st.tuples(st.text("ab", min_size=1, max_size=2), st.sampled_from(["headers", "basic"]), st.integers(0, 2))
SAME = [("default", "headers", 0)] * 2


def make(specification, incidental):
    """Make credentials of a specification; the incidental values make no difference to a token."""
    kind, environment, *values = specification
    name, scheme, form = incidental
    if kind is KeyPair:
        return KeyPair(*values, environment=environment, name=name, scheme=scheme)
    if kind is ClientSecret:
        return ClientSecret(*values, environment=environment, name=name)
    client_id, number, audience, key_id = values
    given_key = [key(number), pem(key(number)), jwk(key(number))][form]
    return ClientKey(client_id, given_key, environment=environment, name=name, audience=audience, key_id=key_id)


@st.composite
def pairs(draw):
    """Draw two specifications, unrelated or with at most one different field."""
    first, second = draw(SPECIFICATIONS), draw(SPECIFICATIONS)
    if first[0] is second[0] and draw(st.booleans()):
        changed = draw(st.integers(1, len(first) - 1))
        second = (*first[:changed], second[changed], *first[changed + 1 :])
    return first, second


@given(pairs(), INCIDENTAL, INCIDENTAL)
@example(((KeyPair, "live", "ab", "a"), (KeyPair, "live", "a", "ba")), *SAME)
@example(((ClientKey, "broker-live", "ab", 0, "a", "b"), (ClientKey, "broker-live", "a", 0, "ba", "b")), *SAME)
@example(((ClientKey, "broker-live", "a", 0, "a", "b"), (ClientKey, "broker-live", "a", 0, "b", "b")), *SAME)
@example(((ClientSecret, "broker-live", "a", "b"), (ClientSecret, "broker-sandbox", "a", "b")), *SAME)
def test_fingerprint(pair, incidental, other_incidental):
    """Fingerprints are equal if and only if the credentials are, whatever the profile name and the form of the key."""
    first, second = pair
    fingerprints = make(first, incidental).fingerprint(), make(second, other_incidental).fingerprint()
    assert (fingerprints[0] == fingerprints[1]) == (first == second)
    assert make(first, incidental).fingerprint() == make(first, other_incidental).fingerprint()


@given(pairs(), INCIDENTAL, INCIDENTAL)
def test_token_identity(pair, incidental, other_incidental):
    """The bytes that a token depends on are equal if and only if the credentials are, and hold the secret."""
    first, second = make(pair[0], incidental), make(pair[1], other_incidental)
    assert (first.token_identity() == second.token_identity()) == (pair[0] == pair[1])
    assert (first.token_identity() == second.token_identity()) == (first.fingerprint() == second.fingerprint())
    assert next(iter(first.secrets()))[1].reveal().encode() in first.token_identity()


def test_fingerprint_of_a_signer():
    """Credentials with keys kept elsewhere share a token only through the same Signer; no other gets its identity."""
    signer = Remote()
    assert client_key(private_key=signer).fingerprint() == client_key(private_key=signer).fingerprint()
    prints = set()
    gc.freeze()  # so that the objects of other tests are not searched fifty times
    try:
        for _ in range(20):
            prints.add(client_key(private_key=Remote()).fingerprint())
            gc.collect()
    finally:
        gc.unfreeze()
    assert len(prints) == 20


def assert_hidden(make, *canaries, **arguments):
    """Check that a ToolkitError is raised, and that neither the error nor a frame of the toolkit shows a canary."""
    with pytest.raises(ToolkitError) as caught:
        make(**arguments)
    error = caught.value
    assert error.__context__ is error.__cause__ is None
    shown = [*traceback.format_exception(error), repr(error), repr(vars(error)), frames_of(error)]
    assert [line for line in shown if any(canary in line for canary in canaries)] == []


# Each makes any text a bad value.
SPOILERS = st.sampled_from(["\n", "\0", " ", "é", "\u202e", "\ud800"])
ARGUMENTS = {
    key_pair: ["key_id", "secret_key", "name", "scheme"],
    client_secret: ["client_id", "client_secret", "name"],
    client_key: ["client_id", "private_key", "name", "key_id", "algorithm", "audience", "assertion_typ"],
}
WRAPPERS = st.sampled_from([str, Secret, lambda text: text.encode("utf-8", "replace"), lambda text: [text]])
CASES = [(make, argument) for make, arguments in ARGUMENTS.items() for argument in arguments]


@given(st.sampled_from(CASES), CANARIES, SPOILERS, WRAPPERS)
def test_bad_value_is_in_no_frame(case, canary, spoiler, wrap):
    """A value that is refused is not in the local variables of the toolkit's frames, whatever the argument."""
    make, argument = case
    assert_hidden(make, canary, **{argument: wrap(canary + spoiler)})


PRIVATE_KEYS = {
    "key that does not fit": lambda: ({"private_key": pem(key()), "algorithm": "RS256"}, pem(key())),
    "wrong passphrase": lambda: ({"private_key": encrypted_pem(), "passphrase": CANARY}, encrypted_pem()),
    "missing passphrase": lambda: ({"private_key": encrypted_pem()}, encrypted_pem()),
    "needless passphrase": lambda: ({"private_key": pem(key()), "passphrase": CANARY}, pem(key())),
    "damaged key": lambda: ({"private_key": pem(key()).replace("MI", "IM")}, pem(key())),
    "two keys": lambda: ({"private_key": pem(key()) + pem(key(1))}, pem(key())),
    "JWK for another algorithm": lambda: (
        {"private_key": json.dumps({**ECAlgorithm.to_jwk(key(), as_dict=True), "alg": "ES384"})},
        ECAlgorithm.to_jwk(key(), as_dict=True)["d"],
    ),
    "JWK mapping for another use": lambda: (
        {"private_key": {**ECAlgorithm.to_jwk(key(), as_dict=True), "use": "enc"}},
        ECAlgorithm.to_jwk(key(), as_dict=True)["d"],
    ),
}


def encrypted_pem():
    return pem(key(), encryption=BestAvailableEncryption(b"another passphrase"))


@pytest.mark.parametrize("bad", PRIVATE_KEYS)
def test_refused_key_is_in_no_frame(bad):
    """No line of a key that is refused, for whatever reason, is in frames of the toolkit; nor is its passphrase."""
    arguments, material = PRIVATE_KEYS[bad]()
    lines = [line[:24] for line in material.splitlines() if "-----" not in line]
    assert_hidden(client_key, CANARY, *lines, **arguments)


BAD_TEXTS = {
    "line break": CANARY + "\n",
    "header injection": CANARY + "\r\nX: y",
    "null": CANARY + "\0",
    "escape": "\x1b" + CANARY,
    "space before": " " + CANARY,
    "space after": CANARY + " ",
    "accent": CANARY + "é",
    "no-break space": CANARY + "\u00a0",
    "zero-width": CANARY + "\u200b",
    "surrogate": CANARY + "\ud800",
    "bytes": CANARY.encode(),
    "list": [CANARY],
    "empty": "",
    "None": None,
}
FIELDS = [
    (key_pair, "key_id"),
    (key_pair, "secret_key"),
    (client_secret, "client_id"),
    (client_secret, "client_secret"),
    (client_key, "client_id"),
    (client_key, "audience"),
    (client_key, "key_id"),
]


@pytest.mark.parametrize(("make", "argument"), FIELDS)
def test_bad_text(make, argument):
    """Text that cannot be sent is refused by the constructor; the error names the argument, not the text."""
    for bad in BAD_TEXTS.values():
        if bad is None and (make, argument) == (client_key, "key_id"):
            continue  # a key without an ID
        with pytest.raises(ConfigurationError, match=argument.replace("_", ".").replace("id", "(id|ID)")) as caught:
            make(**{argument: bad})
        error = caught.value
        assert error.next_step
        assert error.about == argument
        shown = [*traceback.format_exception(error), repr(error), repr(vars(error)), repr(pickle.dumps(error))]
        assert CANARY not in "".join(shown)
        if isinstance(bad, str):
            with pytest.raises(ConfigurationError):
                make(**{argument: Secret(bad)})


@pytest.mark.parametrize("make", MAKERS)
def test_immutable(make):
    """No attribute of credentials can be changed or removed, including their kind."""
    credentials = make()
    for attribute in (*vars(credentials), "kind", "secrets"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(credentials, attribute, "x")
        with pytest.raises(AttributeError, match="immutable"):
            delattr(credentials, attribute)


def test_a_passphrase_is_in_the_register():
    """The passphrase of an encrypted key and the key's own text are secrets too."""
    passphrase = "QXZ-passphrase-0"
    text = pem(key(), encryption=BestAvailableEncryption(passphrase.encode()))
    credentials = client_key(private_key=text, passphrase=passphrase)
    assert Secret(passphrase) in REGISTER
    assert Secret(text.strip()) in REGISTER or Secret(text) in REGISTER
    assert [secret for _, secret in credentials.secrets()] == [secret for _, secret in REGISTER.since(0)]
