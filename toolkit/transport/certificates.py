"""TLS certificates: whose a session trusts, and what to do about one that is refused.

`verify="system"` trusts what the machine trusts: the stores of Windows and macOS, through truststore, and elsewhere
OpenSSL's default places, which SSL_CERT_FILE and SSL_CERT_DIR change.

truststore changes its context at each handshake, which is not safe while another thread uses it
(github.com/sethmlarson/truststore, issues 209 and 221). So each connection gets a truststore context of its own. That
is cheap where the system keeps the certificates; elsewhere it would read a file with all of them for each connection.
"""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt

SYSTEM: Final = "system"
AUTHORITY_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # of OpenSSL and httpx; a path in code overrides them
KEY_LOG_VARIABLE: Final = "SSLKEYLOGFILE"  # of Python's ssl: a file for the keys of all connections
Verify = bool | str | Path | ssl.SSLContext
_OWN_STORES: Final = ("win32", "darwin")  # platforms whose certificates OpenSSL cannot read
_DEEPEST_CAUSE: Final = 20
# Of refused certificates: OpenSSL's X509_V_ERR_* (x509_vfy.h), Windows' HRESULT (winerror.h) and macOS's OSStatus
# (SecBase.h); what the server shows; and what to do about it.
_REFUSALS: Final = (
    (
        (10, 0x800B0101, -67818),
        "a certificate that has expired",
        "Its operator has to renew it. If other sites fail too, check this machine's clock.",
    ),
    ((9, -67819), "a certificate that is not valid yet", "Check this machine's clock and its time zone."),
    (
        (62, 64, 0x800B010F, -67602),
        "a certificate for another host",
        "Check the address. Something in between may answer in its place, such as the sign-in page of a network.",
    ),
    (
        (23, 0x800B010C, 0x80092010, -67820),
        "a certificate that was revoked",
        "Do not use it; ask the operator of the service.",
    ),
    ((66, 67, 68), "a certificate that is too weak", "Ask its operator for a stronger one."),
    (
        tuple(range(79, 95)),  # checks that Python 3.13 and later ask OpenSSL for
        "a certificate that does not keep to RFC 5280",
        'Have the certificates renewed, or pass verify="system", which is less strict.',
    ),
)


class Refusal(NamedTuple):
    """A certificate that was refused: what the server shows, as the end of a sentence, and what to do about it."""

    what: str
    advice: str


def as_verify(verify: Any) -> Verify:
    """Return `verify` as it is, if it is of a type that a session takes. Files are read only when they are needed.

    Raises:
        ConfigurationError: if it is something else.
    """
    if isinstance(verify, Verify):
        return verify
    raise ConfigurationError(
        f"verify is {type(verify).__name__}, which says nothing about certificates.",
        'Pass verify="system", the path of a file with certificate authorities, or an ssl.SSLContext.',
        about="verify",
    )


def verifies_nothing(verify: Verify) -> bool:
    """Check whether every certificate would be accepted."""
    return verify is False or (isinstance(verify, ssl.SSLContext) and verify.verify_mode is ssl.CERT_NONE)


def make_context(verify: Verify, *, platform: str = sys.platform) -> ssl.SSLContext:
    """Return the TLS context for `verify`.

    Raises:
        ConfigurationError: if the certificates cannot be read.
    """
    if isinstance(verify, ssl.SSLContext):
        return verify
    if isinstance(verify, bool) or verify == SYSTEM:
        try:
            return _system_context(platform) if verify == SYSTEM else httpx.create_ssl_context(verify)
        except OSError:
            raise ConfigurationError(
                "The certificate authorities cannot be read.",
                "SSL_CERT_FILE names a file, and SSL_CERT_DIR a folder: correct or unset them.",
                about="verify",
            ) from None
    try:
        path = Path(verify).expanduser()
        file, folder = (None, path) if path.is_dir() else (path, None)
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ValueError, RuntimeError):  # a null character; no such home folder
        raise ConfigurationError(
            f"The certificate authorities at {excerpt(str(verify))} cannot be read.",
            'Pass the path of a PEM file or of a folder, or verify="system" for the certificates of this machine.',
            about="verify",
        ) from None


def refusal(error: BaseException, verify: Verify | None = None) -> Refusal | None:
    """Return what an error says about a certificate, or None if it is about something else.

    Args:
        error: an error of httpx; the reason is deeper in the chain of its causes.
        verify: what is trusted, which the advice depends on; None if unknown.
    """
    cause: BaseException | None = error
    for _ in range(_DEEPEST_CAUSE):
        if cause is None or isinstance(cause, ssl.SSLCertVerificationError):
            break
        cause = cause.__cause__ or cause.__context__
    if not isinstance(cause, ssl.SSLCertVerificationError):
        return None
    reason = excerpt(getattr(cause, "verify_message", None) or "")
    why = f": {reason}" if reason else ""
    for codes, what, advice in _REFUSALS:
        if getattr(cause, "verify_code", 0) in codes:
            return Refusal(what, advice)
    return Refusal(f"a certificate that is not trusted here{why}", _how_to_trust(verify))


def _system_context(platform: str) -> ssl.SSLContext:
    if platform in _OWN_STORES:
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()  # those of SSL_CERT_FILE and SSL_CERT_DIR first
    if not (paths.cafile or paths.capath):
        raise ConfigurationError(
            "This Python does not find the certificate authorities of this machine.",
            "Install the system's package ca-certificates, or name a PEM file in SSL_CERT_FILE or as verify.",
            about="verify",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(paths.cafile, paths.capath)
    return context


def _how_to_trust(verify: Verify | None) -> str:
    file = 'verify="/path/to/ca.pem" with a file that has its authority'
    system = 'verify="system" to trust what this machine trusts'
    variable = "For commands and all sessions, set the variable TOOLKIT_VERIFY to system or to that path."
    if verify == SYSTEM:
        return f"The certificates of this machine do not have its authority: have it installed there, or pass {file}."
    if isinstance(verify, str | Path):
        where = excerpt(str(verify))
        return f"Its authority is not in {where}: add it there, or pass {system}. {variable}"
    if isinstance(verify, ssl.SSLContext):
        return f"Load its authority into the SSLContext, or pass {system}, or {file}."
    return (
        "Check the address. Where a proxy inspects TLS, or the service has an authority of its own, pass "
        f"{system}, or {file}. {variable}"
    )
