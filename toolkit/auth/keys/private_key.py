"""Read a private key: PEM, a JWK or a JWK set, as text or in a file, or a key object.

`cryptography` reads PEM (PKCS#8, PKCS#1 and SEC 1, encrypted too), and PyJWT reads a JWK (RFC 7517). Text is always key
text, and a file is always a Path. Text that was changed on its way is refused, not repaired.

All errors are ConfigurationErrors. The frames below `as_signer` hold the key, so its errors show none of them
(`frameless`), and errors of other libraries, which may quote the key, are replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from toolkit.auth import checks
from toolkit.auth.keys.signer import (
    KEYS_THAT_SIGN,
    LoadedKey,
    Signer,
    check_signer,
    key_error,
    key_type_error,
    local_key,
)
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import attempt, frameless
from toolkit.local.files import expanded, read_text

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(?:(?!-----)[\s\S])*-----END \1-----")
_PRIVATE_MEMBERS: Final = ("d", "p", "q", "dp", "dq", "qi", "k")  # RFC 7518 sections 6.2.2, 6.3.2 and 6.4
_SHORTEST_TEXT: Final = 16  # characters; no part of a key that signs is shorter
_KIDS_SHOWN: Final = 20
_KID_SHOWN: Final = 60  # characters
_PRIVATE_HALF: Final = "Give the private half of the key pair."
_COPY_ALL: Final = "Copy all of it with its line breaks, or name its file: a pathlib.Path, or --key-file at a terminal."


@frameless
def as_signer(
    private_key: Any,
    *,
    algorithm: str | None = None,
    key_id: str | None = None,
    passphrase: str | Secret | None = None,
) -> Signer:
    """Return a Signer for a private key.

    Args:
        private_key: PEM, JWK or JWK set as text or UTF-8 bytes, a JWK as a mapping, a Path to a file with any of them,
            a private key object of `cryptography`, or a Signer, which is returned as it is.
        algorithm: JWS algorithm; by default the JWK's own, else the usual one for the key.
        key_id: the `kid`; names the key of a JWK set.
        passphrase: decrypts an encrypted key.

    Raises:
        ConfigurationError: if it is not a private key, is too weak, cannot be decrypted, or does not fit `algorithm`
            or `key_id`.
    """
    secret_phrase = checks.passphrase(passphrase)
    algorithm, key_id = checks.algorithm(algorithm), checks.optional_text(key_id, "key_id")
    if isinstance(private_key, Signer):
        if secret_phrase is not None:
            raise _passphrase_error("A passphrase was given with a Signer.", "Leave it out: the Signer has the key.")
        check_signer(private_key, algorithm=algorithm, key_id=key_id)
        return private_key
    text = _text_of(private_key)
    if text is None:
        loaded = _from_object(private_key)
    elif text.startswith("{"):
        loaded = _from_jwk(text, key_id)
    else:
        loaded = _from_pem(text, secret_phrase)
    if secret_phrase != loaded.passphrase:
        raise _not_encrypted()
    return local_key(loaded, algorithm=algorithm, key_id=key_id)


def _text_of(private_key: Any) -> str | None:
    """Return the text of a key, or None for an object."""
    if isinstance(private_key, Path):
        try:
            return read_text(
                expanded(private_key), "the file of the private key", "Give the full path of a PEM or JWK file."
            ).strip()
        except ConfigurationError as error:
            raise key_error(error.what, error.next_step) from None
    if isinstance(private_key, Secret):
        return private_key.reveal().strip()
    if isinstance(private_key, bytes | bytearray):
        return attempt(lambda: private_key.decode("utf-8"), otherwise=_unknown_form).strip()
    if isinstance(private_key, Mapping):
        return attempt(lambda: json.dumps(dict(private_key)), otherwise=_unreadable_jwk)
    return private_key.strip() if isinstance(private_key, str) else None


def _from_object(key: Any) -> LoadedKey:
    if hasattr(key, "private_bytes"):
        return LoadedKey(key)
    if hasattr(key, "public_bytes"):
        raise key_error("This is a public key or a certificate, not a private key.", _PRIVATE_HALF)
    raise key_type_error(key)


def _from_pem(text: str, passphrase: Secret | None) -> LoadedKey:
    """Return the only private key among the blocks of a PEM text."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    blocks = list(_BLOCK.finditer(text))
    if not blocks:
        raise _no_private_key(text)
    if len(blocks) > 1:
        raise key_error("This PEM holds several private keys.", "Give only the key to sign with.")
    block, label = blocks[0].group(0, 1)
    if label == "OPENSSH PRIVATE KEY":
        raise key_error(
            "This private key is in the format of OpenSSH.", "Convert a copy: ssh-keygen -p -m PKCS8 -f COPY."
        )
    try:
        password = None if passphrase is None else passphrase.reveal().encode("utf-8", "surrogatepass")
        key = load_pem_private_key(block.encode("ascii"), password)
    except Exception as error:  # noqa: BLE001 - whatever it is, it may hold the key
        problem = _pem_error(is_about_passphrase=isinstance(error, TypeError), has_passphrase=passphrase is not None)
    else:
        return LoadedKey(key, texts=(Secret(block),), passphrase=passphrase)
    raise problem


def _no_private_key(text: str) -> ConfigurationError:
    if "PRIVATE KEY-----" in text:
        return key_error("The PEM of the private key is cut off: its BEGIN or its END line is missing.", _COPY_ALL)
    if "PUBLIC KEY-----" in text or "CERTIFICATE-----" in text:
        return key_error("This is a public key or a certificate, not a private key.", _PRIVATE_HALF)
    return _unknown_form()


def _pem_error(*, is_about_passphrase: bool, has_passphrase: bool) -> ConfigurationError:
    """Return what an error of `cryptography` means: a TypeError says that a passphrase is missing or superfluous."""
    if is_about_passphrase:
        missing = "This private key is encrypted with a passphrase."
        return _not_encrypted() if has_passphrase else _passphrase_error(missing, 'Add passphrase="...".')
    if has_passphrase:
        return _passphrase_error(
            "The private key cannot be decrypted with this passphrase.",
            "Check the passphrase. If it is right, the key is damaged, or its cipher is not supported: encrypt it "
            "again with openssl pkcs8 -topk8 -in OLD.pem -out NEW.pem.",
        )
    return key_error(
        "The PEM of the private key cannot be read: it is damaged, or of a kind that does not sign assertions.",
        f"{_COPY_ALL} {KEYS_THAT_SIGN}.",
    )


def _from_jwk(text: str, key_id: str | None) -> LoadedKey:
    """Return the private key of a JWK, or the one of a JWK set that `key_id` names."""
    import jwt

    jwk = attempt(lambda: json.loads(text), otherwise=_unreadable_jwk)
    members = [jwk]
    if "keys" in jwk:
        members = jwk["keys"] if isinstance(jwk["keys"], list) else []
        jwk = _named(members, key_id)
    if "d" not in jwk:
        raise key_error("This JWK is a public or a symmetric key, not a private key.", _PRIVATE_HALF)
    if not _may_sign(jwk):
        raise key_error('This JWK is not for signing: its "use" or "key_ops" say so.', "Give a key that may sign.")
    kid, algorithm = (jwk[name] if isinstance(jwk.get(name), str) else None for name in ("kid", "alg"))
    if kid and key_id not in (None, kid):
        raise _key_id_error(
            f"The kid of this JWK is {_shown(jwk)}, not the key_id that was given.",
            "Leave key_id out, or correct the JWK.",
        )
    # Without its algorithm, PyJWT takes the one that fits the key, and `local_key` compares the two.
    keyed = {name: value for name, value in jwk.items() if name != "alg"}
    key = attempt(lambda: jwt.PyJWK(keyed).key, otherwise=_unreadable_jwk)
    values = (member.get(name) for member in members if isinstance(member, dict) for name in _PRIVATE_MEMBERS)
    private = [Secret(value) for value in values if isinstance(value, str) and len(value) >= _SHORTEST_TEXT]
    return LoadedKey(key, kid or None, algorithm or None, (Secret(text), *private))


def _named(members: list[Any], key_id: str | None) -> dict[str, Any]:
    """Return the only private key of a set that may sign; if there are several, the one with this `kid`."""
    private = [jwk for jwk in members if isinstance(jwk, dict) and "d" in jwk and _may_sign(jwk)]
    if not private:
        raise key_error("This JWK set does not hold a private key that may sign.", _PRIVATE_HALF)
    is_choice = key_id is not None and len(private) > 1
    chosen = [jwk for jwk in private if jwk.get("kid") == key_id] if is_choice else private
    if len(chosen) == 1:
        return chosen[0]
    kids = ", ".join(map(_shown, private[:_KIDS_SHOWN])) + (", ..." if len(private) > _KIDS_SHOWN else "")
    number = "several private keys" if chosen else "no private key"
    raise _key_id_error(
        f"This JWK set holds {number}{' with this key ID' if is_choice else ''}: it has {kids}.",
        "Name one of them with key_id, or give that JWK alone.",
    )


def _may_sign(jwk: dict[str, Any]) -> bool:
    """Check that a key may sign (RFC 7517 sections 4.2 and 4.3)."""
    operations = jwk.get("key_ops", ["sign"])
    return jwk.get("use") in (None, "sig") and isinstance(operations, list) and "sign" in operations


def _shown(jwk: dict[str, Any]) -> str:
    kid = jwk.get("kid")
    return repr(excerpt(kid, _KID_SHOWN)) if isinstance(kid, str) else "a key without an ID"


def _unknown_form() -> ConfigurationError:
    return key_error("This is not a private key in PEM or JWK.")


def _unreadable_jwk() -> ConfigurationError:
    return key_error(
        "The JWK of the private key cannot be read: it is damaged, or of a kind that does not sign assertions.",
        f"Copy all of it. {KEYS_THAT_SIGN}.",
    )


def _not_encrypted() -> ConfigurationError:
    """Return the error for a passphrase without an encrypted key, most likely because of a wrong file."""
    return _passphrase_error(
        "A passphrase was given, but the private key is not encrypted.",
        "Leave passphrase out, or give the key that it opens.",
    )


def _passphrase_error(what: str, next_step: str) -> ConfigurationError:
    return ConfigurationError(what, next_step, about="passphrase")


def _key_id_error(what: str, next_step: str) -> ConfigurationError:
    return ConfigurationError(what, next_step, about="key_id")
