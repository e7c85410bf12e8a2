from __future__ import annotations

import json

import pytest
from jwt.algorithms import ECAlgorithm, HMACAlgorithm
from key_forms import DEFAULTS, assert_refused, assert_shows_nothing_of, identity, jwk, key, refusal

from toolkit.auth.keys import as_signer

CANARY = "QXZ0123456789QXZ0123456789QXZ"
PUBLIC = {"kty", "crv", "x", "y", "n", "e", "kid", "alg", "use", "key_ops"}


def jwks(*members, **more):
    return json.dumps(
        {"keys": [json.loads(member) if isinstance(member, str) else member for member in members], **more}
    )


def public(private_key, **more):
    return {name: value for name, value in json.loads(jwk(private_key, **more)).items() if name in PUBLIC - {"key_ops"}}


def private_parts(text):
    """Return the members of the private half, one on each line."""
    return "\n".join(str(value) for name, value in json.loads(text).items() if name not in PUBLIC)


@pytest.mark.parametrize("kind", DEFAULTS)
def test_jwk(kind):
    """A JWK is taken as text, as bytes, with space around it, and as a mapping."""
    text = jwk(key(kind))
    for private_key in (text, text.encode(), f"\n {text}\n", json.loads(text)):
        assert as_signer(private_key).identity() == identity(kind)


@pytest.mark.parametrize("kind", DEFAULTS)
def test_set_with_one_private_key(kind):
    """The private key of a set is taken; public, symmetric and unknown members are passed over."""
    others = [public(key("P-384", 1), kid="p"), {"kty": "new"}, 5, json.loads(HMACAlgorithm.to_jwk(b"0" * 32))]
    text = jwks(*others, jwk(key(kind), kid="one"))
    signer = as_signer(text)
    assert (signer.identity(), signer.key_id) == (identity(kind), "one")
    assert as_signer(text, key_id="one").identity() == identity(kind)


def test_set_with_several_private_keys():
    """`key_id` chooses a key; without it, or with an unknown one, the error lists the key IDs in the set."""
    both = jwks(jwk(key("P-256"), kid="spring"), jwk(key("RSA"), kid="autumn\x1b[2J", alg="PS256"), jwk(key("P-384")))
    assert as_signer(both, key_id="spring").identity() == identity("P-256")
    for error in (refusal(both), refusal(both, key_id="winter")):
        assert "'spring', 'autumn[2J', a key without an ID" in error.what
        assert "\x1b" not in str(error)
        assert_shows_nothing_of(error, "\n".join(private_parts(jwk(key(kind))) for kind in ("P-256", "RSA", "P-384")))


def test_set_with_the_same_key_id_twice():
    """A key ID that two private keys have is refused."""
    text = jwks(jwk(key("P-256"), kid="a"), jwk(key("RSA"), kid="a"))
    assert "several private keys with this key ID" in refusal(text, key_id="a").what


def test_set_with_a_key_without_id():
    """The only private key of a set gets the `key_id` that is given if it has none of its own."""
    assert as_signer(jwks(jwk(key("P-256"))), key_id="mine").key_id == "mine"
    assert "It holds 'a'." in refusal(jwks(jwk(key("P-256"), kid="a")), key_id="mine").what


def test_long_sets_and_key_ids():
    """The error is short, however many private keys there are and however long their IDs."""
    many = jwks(*({"kty": "EC", "d": CANARY, "kid": f"{number}{'k' * 500}"} for number in range(500)))
    assert len(str(refusal(many))) < 2000


def test_key_id_of_a_jwk():
    """The key ID is the argument, else the `kid` of the JWK if that is text, else None."""
    named = jwk(key("P-256"), kid="from-jwk")
    assert as_signer(named).key_id == "from-jwk"
    assert as_signer(named, key_id="given").key_id == "given"
    assert as_signer(jwk(key("P-256"))).key_id is None
    assert as_signer(jwk(key("P-256"), kid=5)).key_id is None


def test_algorithm_of_a_jwk():
    """The algorithm is the JWK's (RFC 7517 section 4.4); another one, and one that does not fit the key, is refused."""
    named = jwk(key("RSA"), alg="PS384")
    assert as_signer(named).algorithm == as_signer(named, algorithm="PS384").algorithm == "PS384"
    assert "another algorithm than 'RS512'" in refusal(named, algorithm="RS512").what
    assert "'RSA-OAEP' does not fit" in refusal(jwk(key("RSA"), alg="RSA-OAEP")).what
    assert "'HS256' does not fit" in refusal(jwk(key("RSA"), alg="HS256")).what
    assert "'none' does not fit" in refusal(jwk(key("P-256"), alg="none")).what
    assert len(refusal(jwk(key("P-256"), alg=CANARY * 9)).what) < 100


def test_use_of_a_jwk():
    """A key for another use is refused (RFC 7517 sections 4.2 and 4.3)."""
    assert as_signer(jwk(key("P-256"), use="sig", key_ops=["sign", "verify"])).algorithm == "ES256"
    for use in ("enc", 5, ""):
        assert "not for signing" in refusal(jwk(key("P-256"), use=use)).what
    for operations in (["verify"], [], "sign", ["decrypt"]):
        assert "not for signing" in refusal(jwk(key("P-256"), key_ops=operations)).what


BAD_JWKS = {
    "public": (lambda: ECAlgorithm.to_jwk(key("P-256").public_key()), "holds a public key only"),
    "symmetric": (lambda: json.dumps({"kty": "oct", "k": CANARY}), "symmetric"),
    "broken": (lambda: jwk(key("P-256"))[:-3], "JWK of the private key cannot be read"),
    "of wrong numbers": (lambda: jwk(key("P-256"), d=CANARY), "JWK of the private key cannot be read"),
    "of wrong types": (lambda: jwk(key("P-256"), d=[CANARY]), "JWK of the private key cannot be read"),
    "of no kind": (lambda: json.dumps({"d": CANARY}), "JWK of the private key cannot be read"),
    "of an unknown kind": (lambda: json.dumps({"kty": "AKP", "d": CANARY}), "JWK of the private key cannot be read"),
    "of another curve": (lambda: jwk(key("secp256k1")), "curve that does not sign"),
    "for agreement": (
        lambda: json.dumps({"kty": "OKP", "crv": "X25519", "d": CANARY}),
        "curve that does not sign",
    ),
    "of Ed448": (lambda: jwk(key("Ed448")), "curve that does not sign"),
    "of small RSA": (lambda: jwk(key("small RSA")), "1024 bits"),
    "of two halves": (
        lambda: jwk(key("P-256"), x=json.loads(jwk(key("P-256", 1)))["x"]),
        "JWK of the private key cannot be read",
    ),
    "set of nothing": (lambda: '{"keys": []}', "This set of JWKs does not hold a private key."),
    "set of public keys": (lambda: jwks(public(key("P-256"))), "does not hold a private key."),
    "set of no list": (lambda: json.dumps({"keys": {"d": CANARY}}), "JWK of the private key cannot be read"),
    "a JSON of another kind": (lambda: json.dumps({"private": CANARY}), "JWK does not hold a private key."),
    "very deep": (lambda: '{"keys": ' + "[" * 100_000, "JWK of the private key cannot be read"),
}


@pytest.mark.parametrize("bad", BAD_JWKS)
def test_bad_jwk(bad, tmp_path):
    """Each bad JWK is refused, as text and from a file; the error says what is wrong and does not show the key."""
    make, words = BAD_JWKS[bad]
    assert_refused(make(), words, tmp_path / "key")


def test_mapping_that_is_not_a_jwk():
    """A mapping that JSON cannot hold is refused, and the error does not show it."""
    error = refusal({"d": {CANARY}})
    assert "not a JWK" in error.what
    assert_shows_nothing_of(error, CANARY)


@pytest.mark.parametrize("kind", DEFAULTS)
def test_secrets_of_a_jwk(kind):
    """Every private member of the JWK counts as a secret, and so do those of its neighbours in a set."""
    text, neighbour = jwk(key(kind), kid="a"), jwk(key("RSA"), kid="b")
    secrets = {secret.reveal() for _, secret in as_signer(jwks(text, neighbour), key_id="a").secrets()}
    members = "\n".join(private_parts(jwk) for jwk in (text, neighbour)).splitlines()
    assert {value for value in members if len(value) >= 16} <= secrets
    assert identity(kind) in secrets
