"""TLS certificates: whose a session trusts, and what to do about one that is refused.

`verify="system"` trusts what the machine trusts: the stores of Windows and macOS, through truststore, and elsewhere
OpenSSL's default places, which SSL_CERT_FILE and SSL_CERT_DIR change.

truststore changes its context at each handshake, which is not safe while another thread uses it
(github.com/sethmlarson/truststore, issues 209 and 221). So each connection gets a truststore context of its own; that
is cheap, because the system keeps the certificates. Elsewhere truststore would read a file with all certificates for
each connection; a context that has read them once does the same.
"""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.transport.family import httpx

SYSTEM: Final = "system"
AUTHORITY_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # of OpenSSL and httpx; a path in code overrides them
KEY_LOG_VARIABLE: Final = "SSLKEYLOGFILE"  # of Python's ssl: a file for the keys of all connections
Verify = bool | str | Path | ssl.SSLContext
_OWN_STORES: Final = ("win32", "darwin")  # platforms whose certificates OpenSSL cannot read
_BUNDLES: Final = (  # where systems have their certificates if OpenSSL was built for other places
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, Red Hat
    "/etc/pki/tls/cert.pem",  # their older versions
    "/etc/ssl/cert.pem",  # Alpine, Arch, BSD
    "/etc/ssl/ca-bundle.pem",  # SUSE
)
# OpenSSL's X509_V_ERR_* (x509_vfy.h), Windows' HRESULT (winerror.h) and macOS's OSStatus (SecBase.h).
_EXPIRED: Final = frozenset({10, 0x800B0101, -67818})
_NOT_YET: Final = frozenset({9, -67819})
_OTHER_HOST: Final = frozenset({62, 64, 0x800B010F, -67602})
_REVOKED: Final = frozenset({23, 0x800B010C, 0x80092010, -67820})
_WEAK: Final = frozenset({66, 67, 68})
_NOT_STRICT: Final = frozenset(range(79, 95))  # checks of RFC 5280 that Python 3.13 and later ask OpenSSL for


class Refusal(NamedTuple):
    """A certificate that was refused.

    Attributes:
        what: what the server shows, as the end of a sentence.
        next_step: what to do about it.
    """

    what: str
    next_step: str


class CertificateAdvice(str):
    """A note on an error of httpx: what to do about the certificate that was refused."""

    __slots__ = ()


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
    if verify == SYSTEM:
        return _system_context(platform)
    if isinstance(verify, bool):
        try:
            return httpx.create_ssl_context(verify)
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


def can_be_shared(context: ssl.SSLContext) -> bool:
    """Check whether several connections may use a context at once."""
    return not type(context).__module__.startswith("truststore")


def refusal(error: BaseException, verify: Verify | None = None) -> Refusal | None:
    """Return what an error says about a certificate, or None if it is about something else.

    Args:
        error: an error of httpx; the reason is deeper in the chain of its causes.
        verify: what is trusted, which the next step depends on; None if unknown.
    """
    cause = _verification_error(error)
    if cause is None:
        return None
    code, reason = getattr(cause, "verify_code", 0), excerpt(getattr(cause, "verify_message", None) or "")
    if code in _EXPIRED:
        return Refusal(
            "a certificate that has expired",
            "Its operator has to renew it; no setting makes up for that. If other sites fail too, check this machine's "
            "clock.",
        )
    if code in _NOT_YET:
        return Refusal("a certificate that is not valid yet", "Check this machine's clock and its time zone.")
    if code in _OTHER_HOST:
        return Refusal(
            "a certificate for another host",
            "Check the address. Something in between may answer in its place, such as the sign-in page of a network.",
        )
    if code in _REVOKED:
        return Refusal("a certificate that was revoked", "Do not use it; ask the operator of the service.")
    if code in _WEAK:
        return Refusal(f"a certificate that is too weak ({reason})", "Ask its operator for a stronger one.")
    why = f": {reason}" if reason else ""
    if code in _NOT_STRICT:
        return Refusal(
            f"a certificate that does not keep to RFC 5280{why}",
            'Old authorities of companies often do not. Pass verify="system", which is less strict, or have the '
            "certificates renewed.",
        )
    return Refusal(f"a certificate that is not trusted here{why}", _how_to_trust(verify))


def add_advice(error: BaseException, verify: Verify) -> None:
    """Add to an error about a certificate a note that says what to do, for callers who see only this error."""
    refused = refusal(error, verify)
    if refused is not None:
        error.add_note(CertificateAdvice(refused.next_step))


def advice_of(error: BaseException) -> str:
    """Return the advice in the notes of an error, or ""."""
    return next((note for note in getattr(error, "__notes__", ()) if isinstance(note, CertificateAdvice)), "")


def _system_context(platform: str) -> ssl.SSLContext:
    if platform in _OWN_STORES:
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()  # those of SSL_CERT_FILE and SSL_CERT_DIR first
    file = paths.cafile or next((place for place in _BUNDLES if Path(place).is_file()), None)
    if file is None and paths.capath is None:
        raise ConfigurationError(
            "This machine has no certificate authorities where systems keep them.",
            "Install the system's package ca-certificates, or pass the path of a PEM file as verify.",
            about="verify",
        )
    try:
        context.load_verify_locations(file, paths.capath)
    except OSError:
        raise ConfigurationError(
            f"The certificate authorities at {file} cannot be read.",
            "Correct the file, or name another one in SSL_CERT_FILE.",
            about="verify",
        ) from None
    return context


def _how_to_trust(verify: Verify | None) -> str:
    file = 'verify="/path/to/ca.pem" with a file that has its authority'
    system = 'verify="system" to trust what this machine trusts'
    variable = "For commands and all sessions, set the variable TOOLKIT_VERIFY to system or to that path."
    if verify == SYSTEM or (verify is True and httpx.__name__ == "httpx2"):  # which trusts the machine by default
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


def _verification_error(error: BaseException) -> ssl.SSLCertVerificationError | None:
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    return None
