"""The names that credentials go by, in headers, fields and URLs, and what stands for each in a recording.

Taken from RFC 6749 and 6750 (tokens, client secret, password, code), 7009 (token), 7521 and 7523
(assertions), 7592 (registration token), 7636 (code verifier), 8628 (device code), 8693 (subject and
actor token), 9449 (DPoP proof), OpenID Connect (identity token, CIBA's auth_req_id), and from what is in
common use for keys, sessions and signed URLs.

Deliberately absent: `client_id`, `state`, `nonce`, `user_code` and `request_uri`, which give access to nothing by
themselves; `session_id` and `token` as fields, which in JSON are as often a trading session and a currency; `code`
as a field, which is a country or a currency. `code`, `token` and `sig` count in URLs and forms.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from toolkit.core.document import Placeholder

_HEADER_PLACES: Final = {
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
# Written apart, together or as twoWords.
_FIELD_PLACES: Final = {
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
# In URLs and forms; a shorter value than a secret has is something else, such as a currency's code.
_URL_PLACES: Final = {"code": "CODE", "token": "ACCESS_TOKEN", "sig": "SIGNATURE"}
_JOINED: Final = {name.replace("_", ""): kind for name, kind in _FIELD_PLACES.items()}
_SEPARATORS: Final = re.compile(r"[-_]")
_LAST_NAME: Final = re.compile(r"([^.\[\]]+)\]?\Z")  # user[password], spring.security.password


def _pattern_of(names: list[str]) -> bytes:
    longest_first = sorted(names, key=len, reverse=True)
    return b"(?:" + "|".join(longest_first).replace("_", "[-_]?").encode("ascii") + b")"


def _pattern_at_word_start(names: list[str]) -> bytes:
    """For text in small letters: a search skips to letters that begin a name, some thirty times as fast."""
    by_letter: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        by_letter.setdefault(name[0], []).append(name[1:])
    branches = (f"{letter}(?<![a-z].)(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return f"(?:{'|'.join(branches)})".replace("_", "[-_]?").encode("ascii")


# Patterns of these names, for bytes and ignoring case.
FIELD_NAMES: Final = _pattern_of(list(_FIELD_PLACES))
URL_NAMES: Final = _pattern_of([*_FIELD_PLACES, *_URL_PLACES])
# Of these and some headers, at the beginning of a word, for bytes in small letters.
NAMES_IN_SMALL_LETTERS: Final = _pattern_at_word_start([*_FIELD_PLACES, "api-secret-key", "api-key-id", "x-auth-token"])
_KINDS: Final = (
    *_HEADER_PLACES.values(),
    *dict(_KEY_HEADERS).values(),
    *_FIELD_PLACES.values(),
    *_URL_PLACES.values(),
    COOKIE,
    "CLIENT_ID",
    "SIGNED_TOKEN",
    "SECRET",
)
# Other text in angle brackets may be a secret.
_PLACEHOLDER: Final = re.compile(rf"\A(?:<(?:{'|'.join(set(_KINDS))})(?:-[0-9]+)?>|{re.escape(Placeholder.BASIC)})\Z")
_SCHEME: Final = re.compile(r"\A(?:basic|bearer|token|dpop) +", re.IGNORECASE)


def normal_name(name: str) -> str:
    """A name as it is compared: in small letters, without hyphens and underscores."""
    return _SEPARATORS.sub("", name.lower())


def last_name(name: str) -> str:
    """The last part of a form field's name, of which frameworks make paths."""
    match = _LAST_NAME.search(name)
    return match[1] if match else name


def field_place(name: str) -> str | None:
    """The kind of credential that a field of this name holds, or None."""
    return _JOINED.get(normal_name(name)) or _JOINED.get(normal_name(last_name(name)))


def url_place(name: str) -> str | None:
    """The same for a field of a URL's query, or of a form."""
    return field_place(name) or _URL_PLACES.get(name.lower())


def is_url_name_only(name: str) -> bool:
    """Whether a name means a credential in URLs and forms alone, and there only with a value as long as one."""
    return name.lower() in _URL_PLACES


@lru_cache(maxsize=512)
def header_place(name: str) -> str | None:
    """The kind of credential that a header of this name carries as its whole value, or None."""
    lower = name.lower()
    for ending, kind in _KEY_HEADERS:
        if lower.endswith(ending):
            return kind
    return _HEADER_PLACES.get(lower)


def is_placeholder(value: str) -> bool:
    """Whether a header's value, after a scheme such as Bearer, is a placeholder already."""
    return bool(_PLACEHOLDER.match(_SCHEME.sub("", value)))
