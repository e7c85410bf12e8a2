"""TLS certificates: which ones a session trusts, and what to do about one that is refused.

`verify="system"` trusts what the machine trusts: the stores of Windows and macOS, through truststore, and elsewhere
OpenSSL's default locations, which SSL_CERT_FILE and SSL_CERT_DIR override.

A truststore context makes one connection at a time, so each host gets its own context. That is cheap where the system
stores the certificates; elsewhere, a file with all of them would be read for each host, so hosts share a context.
"""

from __future__ import annotations

import ssl
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx

from toolkit.core.errors import ConfigurationError, wrong_type
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import causes

SYSTEM: Final = "system"
Verify = bool | str | Path | ssl.SSLContext
_OWN_STORES: Final = ("win32", "darwin")  # platforms whose certificates OpenSSL cannot read
# For refused certificates: error codes of OpenSSL (X509_V_ERR_*, x509_vfy.h), Windows (HRESULT, winerror.h) and macOS
# (OSStatus, SecBase.h); a description of the certificate; and what to do about it.
_REFUSALS: Final = (
    (
        (10, 0x800B0101, -67818),
        "a certificate that has expired",
        "The operator of the service has to renew it. If other sites fail too, check this machine's clock.",
    ),
    ((9, -67819), "a certificate that is not valid yet", "Check this machine's clock and its time zone."),
    (
        (62, 64, 0x800B010F, -67602),
        "a certificate for another host",
        "Check the address. Another server may answer at it, such as a network's sign-in page.",
    ),
)


class Refusal(NamedTuple):
    """A refused certificate: what the server presented (as the end of a sentence), and what to do about it."""

    what: str
    advice: str


def as_verify(verify: Any) -> Verify:
    """Return `verify` unchanged if it is of a type that a session accepts. Files are read only when they are needed.

    Raises:
        ConfigurationError: if it is of any other type.
    """
    if isinstance(verify, Verify):
        return verify
    expected = '"system", the path of a CA certificate file, or an ssl.SSLContext'
    raise wrong_type("verify", expected, verify, 'For example verify="system".')


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
    try:
        if isinstance(verify, bool):
            return httpx.create_ssl_context(verify)
        if verify == SYSTEM:
            return _system_context(platform)
        path = Path(verify).expanduser()
        file, folder = (None, path) if path.is_dir() else (path, None)
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ValueError, RuntimeError, TypeError):  # a null character; no such home folder; no authorities
        if isinstance(verify, bool) or verify == SYSTEM:
            what = "The certificate authorities of this machine cannot be read."
            how = "SSL_CERT_FILE must name a file, and SSL_CERT_DIR must name a folder: correct or unset them. "
            how += "If neither is set, install the system's ca-certificates package."
        else:
            what = f"The certificate authorities at {excerpt(str(verify))} cannot be read."
            how = 'Pass the path of a PEM file or of a folder, or verify="system" for the certificates of this machine.'
        raise ConfigurationError(what, how, about="verify") from None


def refusal(error: BaseException, verify: Verify | None = None) -> Refusal | None:
    """Return what an error says about a certificate, or None. `verify` is the session's setting, if known."""
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            for codes, what, advice in _REFUSALS:
                if getattr(cause, "verify_code", 0) in codes:
                    return Refusal(what, advice)
            reason = excerpt(getattr(cause, "verify_message", None) or "")
            return Refusal(f"a certificate that is not trusted here{reason and f': {reason}'}", _how_to_trust(verify))
    return None


def _system_context(platform: str) -> ssl.SSLContext:
    if platform in _OWN_STORES:
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()  # SSL_CERT_FILE and SSL_CERT_DIR take precedence
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(paths.cafile, paths.capath)
    return context


def _how_to_trust(verify: Verify | None) -> str:
    file = 'verify="/path/to/ca.pem" with a file that contains its CA certificate'
    if verify == SYSTEM:
        return f"This machine does not trust the certificate's CA: have it installed on this machine, or pass {file}."
    given = f"Its CA is not in {excerpt(str(verify))}. " if isinstance(verify, str | Path) else ""
    return (
        f"{given}Check the address. If a proxy inspects TLS, or the service uses a private CA, pass "
        f'verify="system" to trust what this machine trusts, or {file}. '
        "For commands and all sessions, set the variable TOOLKIT_VERIFY to system or to that path."
    )
