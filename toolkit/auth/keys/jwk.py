"""JWK and JWK sets of private keys (RFC 7517, RFC 7518 section 6, RFC 8037)."""

from __future__ import annotations

import json
from typing import Any, Final

from toolkit.auth.keys.signer import KEYS_THAT_SIGN, PRIVATE_HALF, LoadedKey, key_error
from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import attempt

_ALGORITHM_OF_CURVE: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
_PRIVATE_MEMBERS: Final = ("d", "p", "q", "dp", "dq", "qi", "k")  # RFC 7518 sections 6.2.2, 6.3.2 and 6.4
_SHORTEST_TEXT: Final = 16  # characters; no part of a key that signs is shorter
_KIDS_SHOWN: Final = 20
_KID_SHOWN: Final = 60  # characters


def load_jwk(text: str, key_id: str | None) -> LoadedKey:
    """Return the private key of a JWK, or the key of a JWK set that `key_id` chooses."""
    fields = attempt(lambda: json.loads(text), otherwise=_unreadable)
    if not isinstance(fields, dict):
        raise _unreadable()
    is_set = "keys" in fields
    members = fields["keys"] if is_set else [fields]
    if not isinstance(members, list):
        raise _unreadable()
    jwk = _choose(members, key_id) if is_set else fields
    key = _load(jwk)
    named = {name: value for name in ("kid", "alg") if isinstance(value := jwk.get(name), str) and value}
    return LoadedKey(key, named.get("kid"), named.get("alg"), (Secret(text), *_private_texts(members)))


def _choose(members: list[Any], key_id: str | None) -> dict[str, Any]:
    """Return the private key to use; other members are skipped (RFC 7517 section 5)."""
    private = [member for member in members if isinstance(member, dict) and "d" in member]
    if not private:
        raise key_error("This set of JWKs does not hold a private key.", PRIVATE_HALF)
    kids = ", ".join(_shown(jwk.get("kid")) for jwk in private[:_KIDS_SHOWN])
    kids += ", ..." if len(private) > _KIDS_SHOWN else ""
    if key_id is None:
        if len(private) == 1:
            return private[0]
        raise _key_id_error(f"This set of JWKs holds several private keys: {kids}.", "Choose one of them with key_id.")
    matches = [jwk for jwk in private if jwk.get("kid") == key_id]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise _key_id_error("This set of JWKs holds several private keys with this key ID.", "Give one key of the set.")
    if len(private) == 1 and private[0].get("kid") is None:
        return private[0]
    raise _key_id_error(
        f"This set of JWKs does not hold a private key with this key ID. It holds {kids}.", "Choose one of them."
    )


def _shown(kid: Any) -> str:
    return repr(excerpt(kid, _KID_SHOWN)) if isinstance(kid, str) else "a key without an ID"


def _load(jwk: dict[str, Any]) -> Any:
    """Return the key object of a JWK."""
    import jwt

    kind, curve = jwk.get("kty"), jwk.get("crv")
    if kind == "oct":
        raise key_error("This JWK is a symmetric key.", "A client assertion is signed with a private key.")
    if "d" not in jwk:
        is_public = "n" in jwk or "x" in jwk
        what = "This JWK holds a public key only." if is_public else "This JWK does not hold a private key."
        raise key_error(what, PRIVATE_HALF)
    _check_use(jwk)
    algorithm = "RS256" if kind == "RSA" else _ALGORITHM_OF_CURVE.get(str(curve))
    if algorithm is None:
        if curve is None:
            raise _unreadable()
        raise key_error("This JWK is on a curve that does not sign assertions.", f"{KEYS_THAT_SIGN}.")
    return attempt(lambda: jwt.PyJWK.from_dict(jwk, algorithm=algorithm).key, otherwise=_unreadable)


def _check_use(jwk: dict[str, Any]) -> None:
    """Check that the key may sign (RFC 7517 sections 4.2 and 4.3)."""
    operations = jwk.get("key_ops")
    if jwk.get("use") not in (None, "sig"):
        reason = 'its "use" is not "sig"'
    elif operations is not None and not (isinstance(operations, list) and "sign" in operations):
        reason = 'its "key_ops" lack "sign"'
    else:
        return
    raise key_error(f"This JWK is not for signing: {reason}.", "Give a key that may sign.")


def _private_texts(members: list[Any]) -> list[Secret]:
    """Return the private members of all keys of a set, whether chosen or not."""
    values = (member.get(name) for member in members if isinstance(member, dict) for name in _PRIVATE_MEMBERS)
    return [Secret(value) for value in values if isinstance(value, str) and len(value) >= _SHORTEST_TEXT]


def _unreadable() -> ConfigurationError:
    return key_error("The JWK of the private key cannot be read.")


def _key_id_error(what: str, next_step: str) -> ConfigurationError:
    return ConfigurationError(what, next_step, about="key_id")
