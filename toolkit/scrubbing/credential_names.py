"""The names of credentials in headers, fields and URLs, and the kind that a placeholder names for each.

The names come from RFC 6749 and 6750 (tokens, client secret, password, code), 7009 (token), 7521 and 7523
(assertions), 7592 (registration token), 7636 (code verifier), 8628 (device code), 8693 (subject and actor token),
9449 (DPoP proof), OpenID Connect (ID token, and auth_req_id of CIBA), and common usage for keys, sessions and
signed URLs.

Deliberately absent: `client_id`, `state`, `nonce`, `user_code` and `request_uri`, which do not give access by
themselves; and, as fields of JSON, `session_id`, `token` and `code`, which are just as often a trading session, a
currency or a country. `code`, `token` and `sig` count in URLs and forms only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from toolkit.core.document import Placeholder

_HEADER_KINDS: Final = {
    "authorization": "AUTHORIZATION",
    "proxy-authorization": "PROXY_AUTHORIZATION",
    "x-authorization": "AUTHORIZATION",
    "dpop": "DPOP_PROOF",
    "x-api-key": "API_KEY",
    "api-key": "API_KEY",
    "apikey": "API_KEY",
    "x-goog-api-key": "API_KEY",
    "ocp-apim-subscription-key": "API_KEY",
    "x-api-secret": "API_SECRET_KEY",
    "x-client-secret": "CLIENT_SECRET",
    "x-auth-token": "ACCESS_TOKEN",
    "x-subject-token": "ACCESS_TOKEN",
    "x-access-token": "ACCESS_TOKEN",
    "private-token": "ACCESS_TOKEN",
    "x-vault-token": "ACCESS_TOKEN",
    "x-refresh-token": "REFRESH_TOKEN",
    "x-id-token": "ID_TOKEN",
    "x-session-token": "SESSION_TOKEN",
    "x-session-id": "SESSION_TOKEN",
    "x-amz-security-token": "SECURITY_TOKEN",
    "x-csrf-token": "CSRF_TOKEN",
    "x-csrftoken": "CSRF_TOKEN",
    "x-xsrf-token": "CSRF_TOKEN",
    "csrf-token": "CSRF_TOKEN",
}
_KEY_HEADERS: Final = (("-api-key-id", "API_KEY_ID"), ("-api-secret-key", "API_SECRET_KEY"))
COOKIE_HEADERS: Final = frozenset({"cookie", "set-cookie", "cookie2", "set-cookie2"})
COOKIE: Final = "COOKIE"
# Also written with hyphens, as one word or in camel case.
_FIELD_KINDS: Final = {
    "access_token": "ACCESS_TOKEN",
    "auth_token": "ACCESS_TOKEN",
    "bearer_token": "ACCESS_TOKEN",
    "subject_token": "ACCESS_TOKEN",
    "actor_token": "ACCESS_TOKEN",
    "registration_access_token": "ACCESS_TOKEN",
    "refresh_token": "REFRESH_TOKEN",
    "id_token": "ID_TOKEN",
    "id_token_hint": "ID_TOKEN",
    "session_token": "SESSION_TOKEN",
    "security_token": "SECURITY_TOKEN",
    "x_amz_security_token": "SECURITY_TOKEN",
    "x_amz_signature": "SIGNATURE",
    "x_goog_signature": "SIGNATURE",
    "csrf_token": "CSRF_TOKEN",
    "xsrf_token": "CSRF_TOKEN",
    "csrfmiddlewaretoken": "CSRF_TOKEN",
    "device_code": "DEVICE_CODE",
    "code_verifier": "CODE_VERIFIER",
    "auth_req_id": "AUTH_REQ_ID",
    "client_secret": "CLIENT_SECRET",
    "client_assertion": "CLIENT_ASSERTION",
    "assertion": "ASSERTION",
    "password": "PASSWORD",
    "passwd": "PASSWORD",
    "passphrase": "PASSWORD",
    "api_key": "API_KEY",
    "api_secret": "API_SECRET_KEY",
    "secret_key": "API_SECRET_KEY",
    "api_secret_key": "API_SECRET_KEY",
    "secret_access_key": "API_SECRET_KEY",
    "aws_secret_access_key": "API_SECRET_KEY",
    "private_key": "PRIVATE_KEY",
}
# In URLs and forms, for values as long as a secret; a shorter value may be the code of a currency.
_URL_KINDS: Final = {"code": "CODE", "token": "ACCESS_TOKEN", "sig": "SIGNATURE"}
_JOINED: Final = {name.replace("_", ""): kind for name, kind in _FIELD_KINDS.items()}
_SEPARATORS: Final = re.compile(r"[-_]")
_LAST_NAME: Final = re.compile(r"([^.\[\]]+)\]?\Z")  # user[password], spring.security.password


def _pattern_of(names: list[str]) -> bytes:
    longest_first = sorted(names, key=len, reverse=True)
    return b"(?:" + "|".join(longest_first).replace("_", "[-_]?").encode("ascii") + b")"


def _pattern_at_word_start(names: list[str]) -> bytes:
    """Return a pattern for lower-case text that is some thirty times faster, since it jumps to first letters."""
    by_letter: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        by_letter.setdefault(name[0], []).append(name[1:])
    branches = (f"{letter}(?<![a-z].)(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return f"(?:{'|'.join(branches)})".replace("_", "[-_]?").encode("ascii")


# Patterns for bytes, to be compiled with IGNORECASE.
FIELD_NAMES: Final = _pattern_of(list(_FIELD_KINDS))
URL_NAMES: Final = _pattern_of([*_FIELD_KINDS, *_URL_KINDS])
# A pattern of these names and some headers at the beginning of a word, for lower-case bytes.
LOWER_CASE_NAMES: Final = _pattern_at_word_start([*_FIELD_KINDS, "api-secret-key", "api-key-id", "x-auth-token"])
# Placeholders have one of these names; other text in angle brackets may be a secret.
_KINDS: Final = {
    *_HEADER_KINDS.values(),
    *dict(_KEY_HEADERS).values(),
    *_FIELD_KINDS.values(),
    *_URL_KINDS.values(),
    COOKIE,
    "CLIENT_ID",
    "SIGNED_TOKEN",
    "SECRET",
}
_PLACEHOLDER: Final = re.compile(r"<([A-Z_]+)(?:-[0-9]+)?>\Z")
_SCHEME: Final = re.compile(r"\A(?:basic|bearer|token|dpop) +", re.IGNORECASE)


def normal_name(name: str) -> str:
    """Return a name in the form in which names are compared: lower case, without hyphens and underscores."""
    return _SEPARATORS.sub("", name.lower())


def last_name(name: str) -> str:
    """Return the last part of a form field's name, in which some frameworks write paths."""
    match = _LAST_NAME.search(name)
    return match[1] if match else name


def field_kind(name: str) -> str | None:
    """Return the kind of credential that a field of this name holds, or None."""
    return _JOINED.get(normal_name(name)) or _JOINED.get(normal_name(last_name(name)))


def url_kind(name: str) -> str | None:
    """Return the kind of credential that a field of a URL's query or of a form holds, or None."""
    return field_kind(name) or _URL_KINDS.get(name.lower())


def is_url_name_only(name: str) -> bool:
    """Check whether a name means a credential only in URLs and forms, and only with a value as long as a secret."""
    return name.lower() in _URL_KINDS


@lru_cache(maxsize=512)
def header_kind(name: str) -> str | None:
    """Return the kind of credential that a header of this name has as its whole value, or None."""
    lower = name.lower()
    for ending, kind in _KEY_HEADERS:
        if lower.endswith(ending):
            return kind
    return _HEADER_KINDS.get(lower)


def is_placeholder(value: str) -> bool:
    """Check whether a value, apart from a scheme such as Bearer, is already a placeholder."""
    value = _SCHEME.sub("", value)
    match = _PLACEHOLDER.match(value)
    return match[1] in _KINDS if match else value == Placeholder.BASIC
