"""JWK and JWK sets of private keys (RFC 7517, RFC 7518 section 6, RFC 8037)."""

from __future__ import annotations

import json
from typing import Any, Final

from toolkit.auth.keys.local_key import HOW_TO_GIVE_A_KEY, KEYS_THAT_SIGN, PRIVATE_HALF, Loaded
from toolkit.core.escaping import excerpt
from toolkit.core.problem import Problem, attempt
from toolkit.core.secret import Secret

_LOADERS: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
_PRIVATE_MEMBERS: Final = ("d", "p", "q", "dp", "dq", "qi", "k")  # RFC 7518 sections 6.2.2, 6.3.2 and 6.4
_SHORTEST_TEXT: Final = 16  # characters; no part of a key that signs is shorter
_KIDS_SHOWN: Final = 20
_KID_SHOWN: Final = 60  # characters
_UNREADABLE: Final = Problem("The JWK of the private key cannot be read.", HOW_TO_GIVE_A_KEY)


def load_jwk(text: str, key_id: str | None) -> Loaded | Problem:
    """The private key of a JWK, or that of a JWK set which `key_id` names."""
    fields = attempt(lambda: json.loads(text))
    if not isinstance(fields, dict):
        return _UNREADABLE
    members = fields.get("keys")
    if "keys" not in fields:
        members = [fields]
    elif not isinstance(members, list):
        return _UNREADABLE
    one = fields if "keys" not in fields else _chosen(members, key_id)
    if isinstance(one, Problem):
        return one
    found = _load(one)
    if isinstance(found, Problem):
        return found
    named = {name: value for name in ("kid", "alg") if isinstance(value := one.get(name), str) and value}
    return Loaded(found, named.get("kid"), named.get("alg"), (Secret(text), *_private_texts(members)))


def _chosen(members: list[Any], key_id: str | None) -> dict[str, Any] | Problem:
    """The private key to take. Members that are none are passed over (RFC 7517 section 5)."""
    private = [each for each in members if isinstance(each, dict) and "d" in each]
    if not private:
        return Problem("This is a set of JWKs. None of them is a private key.", PRIVATE_HALF)
    kids = ", ".join(_shown(each.get("kid")) for each in private[:_KIDS_SHOWN])
    kids += ", ..." if len(private) > _KIDS_SHOWN else ""
    if key_id is None:
        if len(private) == 1:
            return private[0]
        return Problem(f"This set of JWKs holds several private keys: {kids}.", "Choose one of them with key_id.")
    named = [each for each in private if each.get("kid") == key_id]
    if len(named) == 1:
        return named[0]
    if named:
        return Problem("This set of JWKs holds several private keys of that key ID.", "Give one key of the set.")
    if len(private) == 1 and private[0].get("kid") is None:
        return private[0]
    return Problem(f"This set of JWKs holds no private key of that key ID. It holds {kids}.", "Choose one of them.")


def _shown(kid: Any) -> str:
    return repr(excerpt(kid, _KID_SHOWN)) if isinstance(kid, str) else "one without a key ID"


def _load(fields: dict[str, Any]) -> Any:
    """The key object, or what is wrong with it."""
    import jwt  # keeps jwt out of `import toolkit`

    kind, curve = fields.get("kty"), fields.get("crv")
    if kind == "oct":
        return Problem("This JWK is a symmetric key.", "A client assertion is signed with a private key.")
    if "d" not in fields:
        held = ": it is a public key" if "n" in fields or "x" in fields else ""
        return Problem(f"This JWK holds no private key{held}.", PRIVATE_HALF)
    if problem := _use_problem(fields):
        return problem
    loader = "RS256" if kind == "RSA" else _LOADERS.get(str(curve))
    if loader is None:
        if curve is None:
            return _UNREADABLE
        return Problem("This JWK is on a curve that signs no assertion.", f"{KEYS_THAT_SIGN}.")
    key = attempt(lambda: jwt.PyJWK.from_dict(fields, algorithm=loader).key)
    return _UNREADABLE if key is None else key


def _use_problem(fields: dict[str, Any]) -> Problem | None:
    """What forbids the key to sign (RFC 7517 sections 4.2 and 4.3)."""
    if fields.get("use") not in (None, "sig"):
        return Problem('This JWK is not for signing: its "use" is another than "sig".', "Give a key that may sign.")
    operations = fields.get("key_ops")
    if operations is not None and not (isinstance(operations, list) and "sign" in operations):
        return Problem('This JWK is not for signing: its "key_ops" lack "sign".', "Give a key that may sign.")
    return None


def _private_texts(members: list[Any]) -> list[Secret]:
    """The private parts of every key there is, the others of a set included."""
    values = (each.get(name) for each in members if isinstance(each, dict) for name in _PRIVATE_MEMBERS)
    return [Secret(value) for value in values if isinstance(value, str) and len(value) >= _SHORTEST_TEXT]
