from __future__ import annotations

import copy
import functools
import gc
import json
import logging
import os
import pickle
import pprint
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.lib.pretty import pretty
from jwt.algorithms import ECAlgorithm

import toolkit
from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair, as_environment
from toolkit.core.document import CredentialKind, Environment, Placeholder
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, ToolkitError
from toolkit.core.secret import Secret

ROOT = str(Path(toolkit.__file__).parent)

# Text that no message, name or address holds by chance.
CANARIES = st.text("QXZ0123456789", min_size=12)
CANARY = "QXZ0123456789QXZ"


@functools.cache
def key(number=0):
    return ec.generate_private_key(ec.SECP256R1())


@functools.cache
def rsa_key():
    return rsa.generate_private_key(65537, 2048)


def pem(private_key):
    return private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


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
    """A Signer whose key is elsewhere."""

    algorithm, key_id = "ES256", None
    __hash__ = None  # as a dataclass that is not frozen

    def sign(self, data):
        return b"signature"


def everything_shown(value):
    """All that Python would print of a value, and of an error that refuses to give it."""
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


@given(CANARIES)
def test_client_secret_shows_nothing(secret):
    """Nothing that Python prints of a client secret holds it."""
    assert secret not in everything_shown(client_secret(client_secret=secret))


@pytest.mark.parametrize("form", [key, lambda: pem(key()), lambda: ECAlgorithm.to_jwk(key())])
def test_client_key_shows_nothing(form):
    """Nothing that Python prints of a client key holds a line of its PEM, or the private part of its JWK."""
    shown = everything_shown(client_key(private_key=form()))
    private = [line for line in pem(key()).splitlines() if "-----" not in line]
    private.append(ECAlgorithm.to_jwk(key(), as_dict=True)["d"])
    assert [text for text in private if text in shown] == []


@pytest.mark.parametrize("make", MAKERS)
def test_not_pickled(make):
    """Credentials refuse to be pickled for their own sake, whatever they hold."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="credentials are not pickled"):
            pickle.dumps(make(), protocol)


@pytest.mark.parametrize("make", MAKERS)
def test_repr(make):
    """Credentials show their class, profile and environment."""
    made = make(name="my-desk")
    assert repr(made) == str(made) == f"<{type(made).__name__} 'my-desk' for {made.environment}>"


def test_attributes():
    """Attributes are named as the constructors name them; secrets are Secrets, a client ID is none."""
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
    assert [made.kind for made in (pair, secret, private)] == list(CredentialKind)
    assert key_pair().scheme == "headers"
    assert (private.assertion_typ, private.assertion_lifetime) == ("JWT", 60)
    assert secret.form_fields == private.form_fields == {}


@pytest.mark.parametrize("make", [client_secret, client_key])
def test_form_fields(make):
    """Further form fields are kept as they were given, and do not change."""
    given_fields = {"scope": "accounts.read accounts.write"}
    made = make(form_fields=given_fields)
    given_fields["scope"] = "other"
    assert made.form_fields == {"scope": "accounts.read accounts.write"}
    with pytest.raises(TypeError):
        made.form_fields["scope"] = "other"
    for wrong in ({"client_secret": CANARY}, {"scope": "a\nb"}, "scope=a"):
        with pytest.raises(ConfigurationError, match="form field"):
            make(form_fields=wrong)


def test_assertion_options():
    """Type and lifetime of assertions are kept; wrong ones are refused."""
    made = client_key(assertion_typ="client-authentication+jwt", assertion_lifetime=300)
    assert (made.assertion_typ, made.assertion_lifetime) == ("client-authentication+jwt", 300)
    assert client_key(assertion_typ=None).assertion_typ is None
    for wrong in ({"assertion_typ": ""}, {"assertion_typ": 5}, {"assertion_lifetime": 0}, {"assertion_lifetime": True}):
        with pytest.raises(ConfigurationError, match="assertion"):
            client_key(**wrong)


def test_secret_arguments():
    """A Secret is taken wherever its text is."""
    assert KeyPair(Secret("QXZ-key-id-0"), Secret("QXZ-secret-0"), environment="paper").fingerprint() == (
        key_pair().fingerprint()
    )
    assert client_secret(client_secret=Secret("QXZ-secret-0")).fingerprint() == client_secret().fingerprint()
    assert client_key(private_key=Secret(pem(key()))).fingerprint() == client_key().fingerprint()


def test_secrets():
    """Each secret comes with the name that its placeholder has in a recording."""
    assert key_pair().secrets() == (
        ("API_KEY_ID", Secret("QXZ-key-id-0")),
        ("API_SECRET_KEY", Secret("QXZ-secret-0")),
    )
    assert client_secret().secrets() == (("CLIENT_SECRET", Secret("QXZ-secret-0")),)
    assert {name for name, _ in client_key(private_key=pem(key())).secrets()} == {"PRIVATE_KEY"}
    assert client_key(private_key=Remote()).secrets() == ()
    placeholders = {value for name, value in vars(Placeholder).items() if not name.startswith("_")}
    assert {f"<{name}>" for make in MAKERS for name, _ in make().secrets()} <= placeholders


@pytest.mark.parametrize("environment", Environment)
@pytest.mark.parametrize("make", MAKERS)
def test_environments(make, environment):
    """Credentials belong to an environment that takes their kind; another one refuses and says what it takes."""
    taken = environment.rules.credentials
    kind = make().kind
    if kind in taken:
        assert make(environment=environment).environment is environment
        assert make(environment=str(environment)).environment is environment
    else:
        with pytest.raises(CredentialsMismatch) as caught:
            make(environment=environment)
        assert caught.value.what == f"The environment {environment} takes no {kind}."
        assert all(other in caught.value.next_step for other in taken)
        assert environment.rules.holder in caught.value.next_step


@pytest.mark.parametrize("environment", ["", "Live", "broker", "broker_live", "production", None, 1])
def test_no_environment(environment):
    """A name that is no environment is refused with those there are."""
    with pytest.raises(ConfigurationError) as caught:
        key_pair(environment=environment)
    assert all(name in caught.value.next_step for name in Environment)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("papper", "paper"), ("Paper", "paper"), ("broker_sandbox", "broker-sandbox"), ("BROKER LIVE", "broker-live")],
)
def test_an_environment_that_is_nearly_called_so(given, meant):
    """A slip of the pen is told what was meant, beside all that there are."""
    with pytest.raises(ConfigurationError, match=f"There is no environment '{given}'") as caught:
        as_environment(given)
    assert caught.value.next_step.startswith(f"Did you mean {meant}? Choose one of live, paper, ")


@pytest.mark.parametrize("given", ["production", "", "x" * 5000, "\u202egnitset"])
def test_an_environment_that_is_like_none(given):
    """Nothing is guessed from what resembles nothing, and what was given is shown short and safe to print."""
    with pytest.raises(ConfigurationError) as caught:
        as_environment(given)
    assert caught.value.next_step.startswith("Choose one of live, ")
    assert caught.value.what.isprintable()
    assert len(caught.value.what) < 80


@pytest.mark.parametrize(
    "given", [5, None, b"paper", ["paper"], Secret(CANARY)], ids=lambda given: type(given).__name__
)
def test_what_is_no_name_of_an_environment(given):
    """What is no text is named by its type."""
    with pytest.raises(ConfigurationError, match=f"is a name, not {type(given).__name__}") as caught:
        as_environment(given)
    assert all(name in caught.value.next_step for name in Environment)


@pytest.mark.parametrize("make", MAKERS)
def test_credentials_are_no_environment(make):
    """Credentials in the place of an environment are told how a session is given them."""
    with pytest.raises(ConfigurationError, match="not credentials") as caught:
        as_environment(make())
    assert "tk.Session(credentials=...)" in caught.value.next_step


def test_as_environment():
    """An environment is taken by name or as it is."""
    assert as_environment("broker-live") is as_environment(Environment.BROKER_LIVE) is Environment.BROKER_LIVE


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
    """Credentials that are what the specification says; the rest makes no difference to a token."""
    kind, environment, *values = specification
    name, scheme, form = incidental
    if kind is KeyPair:
        return KeyPair(*values, environment=environment, name=name, scheme=scheme)
    if kind is ClientSecret:
        return ClientSecret(*values, environment=environment, name=name)
    client_id, number, audience, key_id = values
    given_key = [key(number), pem(key(number)), ECAlgorithm.to_jwk(key(number))][form]
    return ClientKey(client_id, given_key, environment=environment, name=name, audience=audience, key_id=key_id)


@st.composite
def pairs(draw):
    """Two specifications: unrelated ones, or such as differ in one field at most."""
    one, other = draw(SPECIFICATIONS), draw(SPECIFICATIONS)
    if one[0] is other[0] and draw(st.booleans()):
        changed = draw(st.integers(1, len(one) - 1))
        other = (*one[:changed], other[changed], *one[changed + 1 :])
    return one, other


@given(pairs(), INCIDENTAL, INCIDENTAL)
@example(((KeyPair, "live", "ab", "a"), (KeyPair, "live", "a", "ba")), *SAME)
@example(((ClientKey, "broker-live", "ab", 0, "a", "b"), (ClientKey, "broker-live", "a", 0, "ba", "b")), *SAME)
@example(((ClientKey, "broker-live", "a", 0, "a", "b"), (ClientKey, "broker-live", "a", 0, "b", "b")), *SAME)
@example(((ClientSecret, "broker-live", "a", "b"), (ClientSecret, "broker-sandbox", "a", "b")), *SAME)
def test_fingerprint(pair, incidental, other_incidental):
    """Fingerprints are equal if and only if the credentials are, whatever the profile name and the form of the key."""
    one, other = pair
    fingerprints = make(one, incidental).fingerprint(), make(other, other_incidental).fingerprint()
    assert (fingerprints[0] == fingerprints[1]) == (one == other)
    assert make(one, incidental).fingerprint() == make(one, other_incidental).fingerprint()


@given(SPECIFICATIONS, INCIDENTAL)
def test_fingerprint_is_a_digest(specification, incidental):
    """A fingerprint is a digest of fixed length."""
    assert len(bytes.fromhex(make(specification, incidental).fingerprint())) == 32


@pytest.mark.parametrize("make", [client_secret, client_key])
def test_fingerprint_of_form_fields(make):
    """Another scope is another token; the order of fields, and how assertions look, make no difference."""
    both = {"scope": "a", "resource": "b"}
    prints = [make(form_fields=fields).fingerprint() for fields in ({}, both, {"scope": "a"}, {"scope": "ab"})]
    assert len(set(prints)) == 4
    assert make(form_fields=dict(reversed(both.items()))).fingerprint() == prints[1]
    assert make().fingerprint() == prints[0]
    if make is client_key:
        assert make(assertion_typ=None, assertion_lifetime=5).fingerprint() == prints[0]


@given(pairs(), INCIDENTAL, INCIDENTAL)
def test_token_identity(pair, incidental, other_incidental):
    """The bytes that a token depends on are equal if and only if the credentials are, and hold the secret itself."""
    one, other = make(pair[0], incidental), make(pair[1], other_incidental)
    assert (one.token_identity() == other.token_identity()) == (pair[0] == pair[1])
    assert (one.token_identity() == other.token_identity()) == (one.fingerprint() == other.fingerprint())
    assert next(iter(one.secrets()))[1].reveal().encode() in one.token_identity()


def test_token_identity_of_a_signer():
    """Nobody here knows what tells a key that is kept elsewhere from another."""
    assert client_key(private_key=Remote()).token_identity() is None


def test_fingerprint_of_algorithms():
    """Another algorithm of the same key is another client to the service."""
    prints = {client_key(private_key=rsa_key(), algorithm=name).fingerprint() for name in ("RS256", "PS256")}
    assert len(prints) == 2


def test_fingerprint_of_a_signer():
    """Keys kept elsewhere share a token through the same Signer only, also after another one is gone."""
    signer = Remote()
    assert client_key(private_key=signer).fingerprint() == client_key(private_key=signer).fingerprint()
    prints = set()
    gc.freeze()  # what other tests left behind is not looked through fifty times
    try:
        for _ in range(50):
            prints.add(client_key(private_key=Remote()).fingerprint())
            gc.collect()
    finally:
        gc.unfreeze()
    assert len(prints) == 50


def frames_of(error):
    """The local variables of every frame of ours that an error went through, as a verbose traceback shows them."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame for frame in frames if frame.f_code.co_filename.startswith(ROOT)]
    assert ours
    return [f"{name}={value!r}" for frame in ours for name, value in frame.f_locals.items() if name != "self"]


def assert_hidden(make, canary, **arguments):
    """An error of ours is raised, and neither it, nor what it hangs on to, nor a frame of ours shows the canary."""
    with pytest.raises(ToolkitError) as caught:
        make(**arguments)
    error = caught.value
    assert error.__context__ is error.__cause__ is None
    shown = [*traceback.format_exception(error), repr(error), repr(vars(error)), *frames_of(error)]
    assert [line for line in shown if canary in line] == []


# What makes each kind of value a bad one.
SPOILERS = st.sampled_from(["\n", "\0", " ", "é", "\u202e", "\ud800"])
ARGUMENTS = {
    key_pair: ["key_id", "secret_key", "name", "scheme"],
    client_secret: ["client_id", "client_secret", "name"],
    client_key: ["client_id", "private_key", "name", "key_id", "algorithm", "audience", "assertion_typ"],
}
WRAPPERS = st.sampled_from([str, Secret, lambda text: text.encode("utf-8", "replace"), lambda text: [text]])
CASES = [(make, argument) for make, arguments in ARGUMENTS.items() for argument in arguments]


@given(st.sampled_from(CASES), CANARIES, SPOILERS, WRAPPERS)
def test_a_bad_value_is_in_no_frame(case, canary, spoiler, wrap):
    """A value that is refused is not in the local variables of our frames, wherever it was given."""
    make, argument = case
    assert_hidden(make, canary, **{argument: wrap(canary + spoiler)})


@given(st.sampled_from(MAKERS), CANARIES, st.sampled_from([{"name": "a b"}, {"environment": "nowhere"}, "other"]))
def test_a_good_secret_beside_a_bad_value_is_in_no_frame(make, canary, bad):
    """A secret that is in order is not shown because something else is not."""
    bad = {"environment": "broker-live" if make is key_pair else "paper"} if bad == "other" else bad
    secrets = {
        key_pair: [{"key_id": canary}, {"secret_key": canary}],
        client_secret: [{"client_secret": canary}],
        client_key: [
            {"private_key": canary},
            {"passphrase": canary},
            {"private_key": json.dumps({"kty": "EC", "crv": "P-256", "d": canary})},
            {"private_key": {"kty": "EC", "d": canary}},
            {"private_key": canary.encode()},
        ],
    }
    for given_secret in secrets[make]:
        assert_hidden(make, canary, **given_secret, **bad)


@given(CANARIES, st.sampled_from(["client_secret", "password", "a b", "scope"]))
def test_a_secret_among_form_fields_is_in_no_frame(canary, name):
    """A secret that somebody puts into a form field that is refused is not shown."""
    for make in (client_secret, client_key):
        assert_hidden(make, canary, form_fields={name: canary + "\n"})
        assert_hidden(make, canary, form_fields=[canary])


PRIVATE_KEYS = {
    "key that does not fit": lambda: ({"private_key": pem(key()), "algorithm": "RS256"}, pem(key())),
    "wrong passphrase": lambda: ({"private_key": encrypted_pem(), "passphrase": CANARY}, encrypted_pem()),
    "missing passphrase": lambda: ({"private_key": encrypted_pem()}, encrypted_pem()),
    "needless passphrase": lambda: ({"private_key": pem(key()), "passphrase": CANARY}, pem(key())),
    "damaged key": lambda: ({"private_key": pem(key()).replace("MI", "IM")}, pem(key())),
    "two keys": lambda: ({"private_key": pem(key()) + pem(key(1))}, pem(key())),
    "JWK for another use": lambda: (
        {"private_key": json.dumps({**ECAlgorithm.to_jwk(key(), as_dict=True), "use": "enc"})},
        ECAlgorithm.to_jwk(key(), as_dict=True)["d"],
    ),
    "JWK mapping for another use": lambda: (
        {"private_key": {**ECAlgorithm.to_jwk(key(), as_dict=True), "use": "enc"}},
        ECAlgorithm.to_jwk(key(), as_dict=True)["d"],
    ),
}


@functools.cache
def encrypted_pem():
    lock = BestAvailableEncryption(b"another passphrase")
    return key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


@pytest.mark.parametrize("bad", PRIVATE_KEYS)
def test_a_refused_key_is_in_no_frame(bad):
    """No line of a key that is refused, whatever for, is in the frames of ours; neither is its passphrase."""
    arguments, material = PRIVATE_KEYS[bad]()
    for line in material.splitlines():
        if "-----" not in line:
            assert_hidden(client_key, line[:24], **arguments)
    assert_hidden(client_key, CANARY, **arguments)


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
    (key_pair, "key_id", "key ID"),
    (key_pair, "secret_key", "secret key"),
    (client_secret, "client_id", "client ID"),
    (client_secret, "client_secret", "client secret"),
    (client_key, "client_id", "client ID"),
    (client_key, "audience", "audience"),
    (client_key, "key_id", "key ID"),
]


@pytest.mark.parametrize(
    ("make", "argument", "words", "bad"),
    # None is how a key without an ID is given.
    [(*field, bad) for field in FIELDS for bad in BAD_TEXTS if (*field[:2], bad) != (client_key, "key_id", "None")],
)
def test_bad_text(make, argument, words, bad):
    """Text that cannot be sent is refused when credentials are made, by its name and without showing it."""
    with pytest.raises(ConfigurationError, match=f"^The {words} ") as caught:
        make(**{argument: BAD_TEXTS[bad]})
    error = caught.value
    assert error.next_step
    shown = [*traceback.format_exception(error), repr(error), repr(vars(error)), repr(pickle.dumps(error))]
    assert CANARY not in "".join(shown)
    if isinstance(BAD_TEXTS[bad], str):
        with pytest.raises(ConfigurationError):
            make(**{argument: Secret(BAD_TEXTS[bad])})


@given(st.text())
def test_any_text(text):
    """Any text makes credentials that can be sent, or an error of ours."""
    try:
        made = key_pair(key_id=text, secret_key=text)
    except ToolkitError:
        return
    assert made.key_id.reveal() == text
    text.encode("ascii")
    assert text == text.strip() != ""


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1))
def test_any_printable_text(text):
    """Every run of printable ASCII characters is taken, short ones too."""
    assert client_secret(client_id=text, client_secret=text).client_secret.reveal() == text


def test_colon_in_basic():
    """A key ID with a colon is refused for HTTP Basic, which would take it for the separator."""
    assert key_pair(key_id="a:b").key_id == Secret("a:b")
    with pytest.raises(ConfigurationError, match="colon"):
        key_pair(key_id="a:b", scheme="basic")
    assert key_pair(secret_key="a:b", scheme="basic")


def test_scheme():
    """A scheme is one of two."""
    with pytest.raises(ConfigurationError, match="one of two schemes"):
        key_pair(scheme="bearer")


@pytest.mark.parametrize("name", ["default", "a", "Desk-1.eu_2", "0", "x" * 64])
@pytest.mark.parametrize("make", MAKERS)
def test_profile_name(make, name):
    """Letters, digits, dots, hyphens and underscores make a profile name."""
    assert make(name=name).name == name


@pytest.mark.parametrize("name", ["", ".hidden", "-x", "a b", "a/b", "..", "a\n", "é", "x" * 65, CANARY + "@", None, 5])
@pytest.mark.parametrize("make", MAKERS)
def test_no_profile_name(make, name):
    """What could be a path, a markup or a secret is no profile name, and is not shown."""
    with pytest.raises(ConfigurationError, match="profile name") as caught:
        make(name=name)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("make", MAKERS)
def test_immutable(make):
    """No attribute of credentials is changed or removed, their kind included."""
    made = make()
    for attribute in (*vars(made), "kind", "secrets"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(made, attribute, "x")
        with pytest.raises(AttributeError, match="immutable"):
            delattr(made, attribute)


@pytest.mark.parametrize("make", MAKERS)
def test_copies_are_the_credentials_themselves(make):
    """A copy is the same object: there is no second place that holds the secrets."""
    made = make()
    assert copy.copy(made) is copy.deepcopy([made])[0] is made


def test_private_key_forms(tmp_path):
    """A private key is taken as text, file, object or Signer; a wrong one is refused."""
    file, signer = tmp_path / "key.pem", Remote()
    file.write_text(pem(key()))
    assert client_key(private_key=file).fingerprint() == client_key(private_key=pem(key())).fingerprint()
    assert client_key(private_key=signer).private_key is signer
    with pytest.raises(ConfigurationError, match="neither PEM nor JWK"):
        client_key(private_key=CANARY)


def test_algorithm_and_key_id_of_the_key():
    """Algorithm and key ID are those that assertions will have."""
    made = client_key(private_key=ECAlgorithm.to_jwk(key(), as_dict=False)[:-1] + ', "kid": "from-jwk"}')
    assert (
        (made.key_id, made.algorithm) == ("from-jwk", "ES256") == (made.private_key.key_id, made.private_key.algorithm)
    )
    assert client_key(private_key=rsa_key(), algorithm="PS512").algorithm == "PS512"
    with pytest.raises(ConfigurationError, match="does not fit"):
        client_key(algorithm="HS256")


def test_abstract():
    """There are no credentials of no kind."""
    with pytest.raises(TypeError, match="abstract"):
        Credentials(environment="live", name="default")


def loaded(program):
    """Names of the modules that a fresh interpreter has loaded after a program."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = f"import sys; {program}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environ, check=True)
    return set(ran.stdout.split())


def test_import_cost():
    """Importing credentials loads neither pandas nor widgets nor the packages that sign and record."""
    heavy = {"pandas", "ipywidgets", "IPython", "vcr", "jwt", "cryptography"}
    assert heavy & loaded("import toolkit.auth.credentials") == set()


def test_ground_floor_imports():
    """The ground floor by itself needs the standard library only, and no module of the floors above."""
    floor = ["errors", "escaping", "secret", "clock", "service", "addresses", "problem", "credential_text"]
    floor += ["cell_source", "assertion", "credentials", "ledger"]
    # A bare package stands in for ours, whose __init__ loads the floors above.
    bare = f"import types; sys.modules['toolkit'] = p = types.ModuleType('toolkit'); p.__path__ = {toolkit.__path__!r}"
    modules = loaded("; ".join([bare, *(f"import toolkit.{name}" for name in floor)]))
    ours = {name.removeprefix("toolkit.").partition(".")[0] for name in modules if name.startswith("toolkit.")}
    assert ours == {*floor, "keys"}
    assert modules & {"httpx", "yaml", "jwt", "cryptography", "pandas", "platformdirs"} == set()
