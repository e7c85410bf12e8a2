"""The names of credentials, and the kind that a placeholder names for each.

A name is split into words, whatever its casing and separators (`X-Api-Key`, `apiKey`, `user[api_key]`, `apikey`). It
means a credential if `vendor_names` lists it, or if one of its words does and no exception applies. The tables are
shared by the recorder, the log filter and `tk.scan`.

Deliberately absent: `client_id`, `state`, `nonce`, `user_code` and `request_uri`, which do not give access by
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache, wraps
from typing import Final, TypeVar

from toolkit.core.document import Placeholder
from toolkit.scrubbing import vendor_names


class Place(Enum):
    """Where a name stands: a header, the query of a URL, a form, a field of JSON, XML or settings, or a cookie."""

    HEADER = "header"
    QUERY = "query"
    FORM = "form"
    JSON = "json"
    COOKIE = "cookie"


_Answer = TypeVar("_Answer")
COOKIE_HEADERS: Final = frozenset({"cookie", "set-cookie", "cookie2", "set-cookie2"})
COOKIE: Final = "COOKIE"
_LONGEST_NAME: Final = 200  # characters; the end of a longer name is looked at
_KEY_HEADERS: Final = (("apikeyid", "API_KEY_ID"), ("apisecretkey", "API_SECRET_KEY"))  # of the document, any prefix

# Words that mean a credential by themselves, with the kind of a name whose other words do not say more.
_WORDS: Final = {
    "token": "TOKEN",
    "secret": "SECRET",
    "password": "PASSWORD",
    "passwd": "PASSWORD",
    "passphrase": "PASSWORD",
    "passcode": "PASSWORD",
    "passwort": "PASSWORD",
    "kennwort": "PASSWORD",
    **dict.fromkeys(("contrasena", "senha", "motdepasse", "mdp", "wachtwoord", "salasana", "heslo"), "PASSWORD"),
    "pass": "PASSWORD",
    "pwd": "PASSWORD",
    "pw": "PASSWORD",
    "pin": "PIN",
    "otp": "OTP",
    "totp": "OTP",
    "jwt": "TOKEN",
    "bearer": "TOKEN",
    "auth": "TOKEN",
    "oauth": "TOKEN",
    "authorization": "AUTHORIZATION",
    "authentication": "AUTHORIZATION",
    "sid": "SESSION_TOKEN",
    "sessid": "SESSION_TOKEN",
    "session": "SESSION_TOKEN",
    "cookie": COOKIE,
    "credential": "CREDENTIAL",
    "assertion": "ASSERTION",
    "csrf": "CSRF_TOKEN",
    "xsrf": "CSRF_TOKEN",
    "crumb": "CSRF_TOKEN",
    "sig": "SIGNATURE",
    "sign": "SIGNATURE",
    "signature": "SIGNATURE",
    "hmac": "SIGNATURE",
    "key": "API_KEY",
    "apikey": "API_KEY",
    "sas": "SIGNATURE",
}
# Words that also mean something else: a name in which they are the only hint counts with a strong value only.
_DOUBTFUL: Final = frozenset(
    "key code appid xapplication ticket authentication sign sig signature session sid auth oauth cookie hmac"
    " crumb sas pw bearer st sk ak tk sess".split()
)
_CERTAIN: Final = _WORDS.keys() - _DOUBTFUL
# Names that end like this under any prefix are as good as exact names.
_EXACT_ENDINGS: Final = tuple(
    (
        "apikey apisecret apitoken accesstoken authtoken refreshtoken clientsecret secretkey secretaccesskey"
        " privatekey sessiontoken password passwd passphrase bearertoken subscriptionkey apisecretkey oauthtoken"
        " privatetoken accesskeyid webhooksecret signingsecret appsecret apikeyid consumersecret masterkey secret"
    ).split()
)
_ENDINGS: Final = tuple(
    (ending, kind)
    for ending, kind in {
        "accesstoken": "ACCESS_TOKEN",
        "authtoken": "ACCESS_TOKEN",
        "bearertoken": "ACCESS_TOKEN",
        "refreshtoken": "REFRESH_TOKEN",
        "idtoken": "ID_TOKEN",
        "sessiontoken": "SESSION_TOKEN",
        "sessionid": "SESSION_TOKEN",
        "sessionkey": "SESSION_TOKEN",
        "securitytoken": "SECURITY_TOKEN",
        "csrftoken": "CSRF_TOKEN",
        "xsrftoken": "CSRF_TOKEN",
        "verificationtoken": "CSRF_TOKEN",
        "secretkey": "API_SECRET_KEY",
        "secretaccesskey": "API_SECRET_KEY",
        "apisecret": "API_SECRET_KEY",
        "clientsecret": "CLIENT_SECRET",
        "consumersecret": "CLIENT_SECRET",
        "privatekey": "PRIVATE_KEY",
        "apikeyid": "API_KEY_ID",
        "accesskeyid": "API_KEY_ID",
        "apikey": "API_KEY",
        "clientassertion": "CLIENT_ASSERTION",
    }.items()
)
# One-word compounds: a word that ends like this is several words.
_COMPOUNDS: Final = {
    "sessionid": ("session", "id"),
    "sessionkey": ("session", "key"),
    "secretkey": ("secret", "key"),
    "privatekey": ("private", "key"),
    "accesskey": ("access", "key"),
    "authkey": ("auth", "key"),
    "appkey": ("app", "key"),
    "licensekey": ("license", "key"),
    "masterkey": ("master", "key"),
    "publickey": ("public", "key"),
    "passkey": ("pass", "key"),
    "privkey": ("private", "key"),
    "apikey": ("apikey",),
    "apisecret": ("api", "secret"),
    **{word: (word,) for word in "token secret password passwd passphrase passcode signature sessid pwd".split()},
    **{word: (word,) for word in "credential assertion jwt csrf".split()},
}
_COMPOUND: Final = re.compile(f"(?:{'|'.join(_COMPOUNDS)})\\Z")
# The last word of names of things around a credential: its type, its lifetime, where to get it.
_AROUND: Final = frozenset(
    "type types strategy count counts total totals limit limits max min url uri urls uris href link links endpoint"
    " endpoints path name names label title description desc text message messages error errors hint help"
    " status state states expires expiry expiration expired expire exp in at ttl lifetime duration age time"
    " timestamp date created updated issued seconds minutes hours days length size bytes policy policies rule"
    " rules method methods mode scheme schemes style format encoding algorithm alg version versions required"
    " enabled disabled allowed valid validity set changed reset strength score field fields param params"
    " parameter header headers prefix suffix column columns index usage use uses used cost price prices rate"
    " ratio budget per symbol symbols address addresses decimals supply balance balances amount amounts owner"
    " holder holders arn arns scope scopes audience issuer provider providers info information metadata meta"
    " details detail config configuration settings options option source target email mail user users"
    " username client server domain host region service vendor id ids uuid md5 sha1 sha256 fingerprint"
    " thumbprint checksum open close start end begin window level group category kind class role roles"
    " permission permissions flow grant manager store storage factory handler middleware filter ring board"
    " word words pair pairs frame frames number num bits bit curve ops trip through over port ports banner"
    " consent notice flag flags present exists missing needed supported attempts retries failures success"
    " failed available verified page pages view schema template event events log logs request response"
    " location cost".split()
)
# Before `id`, these do not make an ordinary identifier.
_SECRET_IDS: Final = frozenset("session sid sess".split())
# Names that begin like this ask a question, and names with these words are about an allowance.
_CONDITIONS: Final = frozenset(
    "has have is are can should require requires needs use uses allow enable disable".split()
)
_LIMITS: Final = frozenset("ratelimit limit remaining quota".split())
_CURSORS: Final = frozenset(
    "next page prev previous continuation continue cursor sync delta skip paging pagination resume resumption"
    " marker offset iterator scroll start stop max min prompt completion input output total reasoning cached"
    " num top eos bos pad sep cls mask unk image audio thinking special".split()
)
_NOT_KEYS: Final = frozenset(
    "public publishable pub foreign sort partition cache object map dict hash range row group issue project"
    " event message idempotency deduplication dedup translation i18n locale surrogate routing exchange redis"
    " storage item parent entity field param resource config setting feature category composite natural"
    " unique unic join lookup metric shard bucket file template work edition index primarykey site arrow"
    " enter function escape tab hot short shortcut musical music signature camelot house car room keyboard"
    " major minor data json xml header query form attribute property label tag dimension i18 lang language"
    " string msg answer question option filter facet agg sorting ordering order by registry instance season"
    " team league player trace span correlation".split()
)
_CONSTANT_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_KEYS_IN_WORDS: Final = frozenset(
    "monkey turkey donkey hockey jockey whiskey lackey hotkey latchkey turnkey mickey".split()
)
_PLURALS: Final = {
    **{f"{word}s": word for word in ("token", "secret", "password", "key", "cookie", "credential", "signature")},
    "apikeys": "apikey",
    "creds": "credential",
    "cred": "credential",
}
_NOT_JOINED: Final = re.compile(r"[^a-z0-9]+")


def normal_name(name: str) -> str:
    """Return a name in the form in which names are compared: its letters and digits, in lower case."""
    return _NOT_JOINED.sub("", name.lower())


_LAST_NAME: Final = re.compile(r"([^.\[\]]+)\]?\Z")  # user[password], spring.security.password


def last_name(name: str) -> str:
    """Return the last part of a form field's name, in which some frameworks write paths."""
    match = _LAST_NAME.search(name)
    return match[1] if match else name


def _table(*groups: Mapping[str, str]) -> dict[str, str]:
    return {
        normal_name(name): kind.strip() for group in groups for kind, names in group.items() for name in names.split()
    }


_HEADERS: Final = _table(vendor_names.HEADERS)
# In documents these mean something else, or count with a strong value only.
_HEADERS_ONLY: Final = frozenset(
    {"sessionid", "signature", "sign", "cst", "authentication", "xapplication", "accesskey", "dpop"}
)
_URL_FIELDS: Final = _table(vendor_names.URL_FIELDS)
_FIELDS: Final = _table(vendor_names.FIELDS)
_DOUBTFUL_FIELDS: Final = _table(vendor_names.DOUBTFUL_FIELDS)
_ORDINARY: Final = frozenset(map(normal_name, vendor_names.ORDINARY))
_EXACT: Final[Mapping[Place, Mapping[str, str]]] = {
    Place.HEADER: {**_FIELDS, **_HEADERS},
    Place.QUERY: {**_HEADERS, **_FIELDS, **_URL_FIELDS},
    Place.FORM: {**_HEADERS, **_URL_FIELDS, **_FIELDS},
    Place.JSON: {**{name: kind for name, kind in _HEADERS.items() if name not in _HEADERS_ONLY}, **_FIELDS},
    Place.COOKIE: {**_FIELDS, **_URL_FIELDS},
}
# Placeholders have one of these names; other text in angle brackets may be a secret.
_KINDS: Final = {
    *(kind for table in (_HEADERS, _URL_FIELDS, _FIELDS, _DOUBTFUL_FIELDS, _WORDS) for kind in table.values()),
    *(kind for _, kind in (*_ENDINGS, *_KEY_HEADERS)),
    COOKIE,
    "CLIENT_ID",
    "HEADER",  # of an unknown name, whose value looks random
    "SIGNED_TOKEN",
    "SECRET",
}
_PLACEHOLDER: Final = re.compile(r"<([A-Z_]+)(?:-[0-9]+)?>\Z")
_SCHEME: Final = re.compile(r"\A(?:basic|bearer|token|dpop) +", re.IGNORECASE)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `X-APIKey`, `x_api_key` and `xApiKey` have the same."""
    words: list[str] = []
    for word in _CONSTANT_PARTS.findall(name):
        lower = word.lower()
        lower = _PLURALS.get(lower, lower)
        ending = None if lower in _WORDS else _COMPOUND.search(lower)
        if ending is None and lower.endswith("key") and len(lower) > len("key") and lower not in _KEYS_IN_WORDS:
            words += [lower[: -len("key")], "key"]
        elif ending is None:
            words.append(lower)
        else:
            words += [lower[: ending.start()], *_COMPOUNDS[ending[0]]]
    return tuple(filter(None, words))


def _cached(function: Callable[[str, Place], _Answer]) -> Callable[[str, Place], _Answer]:
    """Remember the answers for names; of a long name only the end is looked at and remembered."""
    remembered = lru_cache(maxsize=8192)(function)

    @wraps(function)
    def answer(name: str, place: Place) -> _Answer:
        return remembered(name if len(name) <= _LONGEST_NAME else name[-_LONGEST_NAME:], place)

    return answer


@_cached
def credential_kind(name: str, place: Place) -> str | None:
    """Return the kind of credential that a value of this name holds, such as "API_KEY", or None.

    Headers with cookies have no kind, since the values in them are credentials, and each cookie is one.
    """
    if place is Place.COOKIE:
        return COOKIE
    joined, last = normal_name(name), normal_name(last_name(name))
    if not joined or (place is Place.HEADER and name.lower() in COOKIE_HEADERS):
        return None
    if place is Place.HEADER:
        for ending, kind in _KEY_HEADERS:
            if joined.endswith(ending):
                return kind
    exact = _EXACT[place]
    if joined in exact:
        return exact[joined]
    if joined in _ORDINARY or last in _ORDINARY:
        return None
    listed = exact.get(last) or (None if place is Place.HEADER else _DOUBTFUL_FIELDS.get(last))
    return _kind_of_ending(joined) or listed or _kind_by_words(words_of(name), joined)


def _kind_by_words(words: tuple[str, ...], joined: str) -> str | None:
    hints = [at for at, word in enumerate(words) if word in _WORDS]
    if not hints:
        return None
    at, head = hints[-1], _head_of(words)
    before = words[at - 1] if at else ""
    if head != words[at] and head in _AROUND and not (head == "id" and words[-2] in _SECRET_IDS):
        return _kind_of_ending(joined) if joined.endswith(("apikeyid", "accesskeyid")) else None
    if words[0] in _CONDITIONS or not _LIMITS.isdisjoint(words):
        return None
    word = words[at]
    if word == "token" and before in _CURSORS:
        return None
    if word == "key" and before in _NOT_KEYS:
        return None
    return _kind_of_ending("".join(words[: at + 1])) or _WORDS[word]


def _head_of(words: tuple[str, ...]) -> str:
    """Return the last word that is not a number, which says what a compound is."""
    return next((word for word in reversed(words) if not word.isdigit()), "")


def _kind_of_ending(joined: str) -> str | None:
    return next((kind for ending, kind in _ENDINGS if joined.endswith(ending)), None)


@_cached
def is_core_name(name: str, place: Place) -> bool:
    """Check whether a name is one under which UUIDs and digests count too.

    That is the exact name of a standard, of the document or of a vendor's documentation, or ends like one. In headers,
    queries and forms, which are no documents, it is any name whose last word means a credential.
    """
    if credential_kind(name, place) is None:
        return False
    if place is Place.COOKIE:
        return credential_kind(name, Place.JSON) is not None
    if place is not Place.JSON and _head_of(words_of(name)) in _WORDS:
        return True
    return _is_exact(name, place)


@_cached
def needs_strong_value(name: str, place: Place) -> bool:
    """Check whether a weak value under the name of a credential stays as it is, also in a request.

    So it is with `key`, `session` or `code`. Under names such as `password` or `api_key` people type weak values,
    which are replaced in place.
    """
    last = normal_name(last_name(name))
    if last in _DOUBTFUL_FIELDS or last in _DOUBTFUL or (last == "token" and place is Place.JSON):
        return True
    return place is not Place.COOKIE and not _is_exact(name, place) and _CERTAIN.isdisjoint(words_of(name))


def _is_exact(name: str, place: Place) -> bool:
    joined, exact = normal_name(name), _EXACT[place]
    return joined in exact or normal_name(last_name(name)) in exact or joined.endswith(_EXACT_ENDINGS)


def is_placeholder(value: str) -> bool:
    """Check whether a value, apart from a scheme such as Bearer, is already a placeholder."""
    value = _SCHEME.sub("", value)
    match = _PLACEHOLDER.match(value)
    return match[1] in _KINDS if match else value == Placeholder.BASIC
