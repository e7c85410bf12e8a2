"""Decide which names indicate a credential, of what kind, and whether a value with such a name is a secret.

A name is split into words, regardless of casing and separators (`X-Api-Key`, `apiKey`, `user[api_key]`, `apikey`). It
indicates a credential if `names` lists the name or one of its words, and no exception applies. Whether a value under
such a name is a credential depends on its strength and on the message. The recorder, the log filter and `tk.scan` all
use this module, so that a scan finds what the recorder replaces.

`client_id`, `state`, `nonce`, `user_code` and `request_uri` are deliberately left out, because they do not give access
by themselves.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Mapping
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from toolkit.core.document import Placeholder
from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing import names
from toolkit.scrubbing.strength import Strength, grade, is_dummy


class Place(StrEnum):
    """Where a name occurs: a header, the query of a URL, a form, a field of JSON, XML or settings, or a cookie."""

    HEADER = "header"
    QUERY = "query"
    FORM = "form"
    JSON = "json"
    COOKIE = "cookie"


COOKIE_HEADERS: Final = frozenset({"cookie", "set-cookie", "cookie2", "set-cookie2"})
COOKIE: Final = "COOKIE"
_KEY_HEADERS: Final = (("apikeyid", "API_KEY_ID"), ("apisecretkey", "API_SECRET_KEY"))  # in the document; any prefix

_WORDS: Final = {word: kind for kind, words in names.WORDS.items() for word in words.split()}
_ENDINGS: Final = {ending: kind for kind, endings in names.ENDINGS.items() for ending in endings.split()}
_CERTAIN: Final = _WORDS.keys() - names.DOUBTFUL
_COMPOUNDS: Final = {name.replace("-", ""): name.split("-") for name in names.COMPOUNDS.split()}
_COMPOUND: Final = re.compile(f"(?:{'|'.join(_COMPOUNDS)})\\Z")
_CONSTANT_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NOT_JOINED: Final = re.compile(r"[\W_]+")
_NUMBERED: Final = re.compile(r"[-_ .]?[0-9]{1,3}\]?\Z")  # session_id_2, X-Session-Id-1


def normal_name(name: str) -> str:
    """Return a name normalized for comparison: its letters and digits, in lower case without accents."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name)
    return _NOT_JOINED.sub("", name.lower())


_LAST_NAME: Final = re.compile(r"([^.\[\]]+)\]?\Z")  # user[password], spring.security.password


def last_name(name: str) -> str:
    """Return the last part of a form field's name, which some frameworks write as a path."""
    match = _LAST_NAME.search(name)
    return match[1] if match else name


def _table(names_of_kinds: Mapping[str, str]) -> dict[str, str]:
    return {normal_name(name): kind for kind, names in names_of_kinds.items() for name in names.split()}


_HEADERS: Final = _table(names.HEADERS)
_HEADERS_ONLY: Final = frozenset(map(normal_name, names.HEADERS_ONLY))
_URL_FIELDS: Final = _table(names.URL_FIELDS)
_FIELDS: Final = _table(names.FIELDS)
_DOUBTFUL_FIELDS: Final = _table(names.DOUBTFUL_FIELDS)
_ORDINARY_HEADER: Final = re.compile(names.ORDINARY_HEADER_PATTERN)
_ORDINARY: Final = frozenset(map(normal_name, names.ORDINARY))
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
    *(kind for _, kind in (*_ENDINGS.items(), *_KEY_HEADERS)),
    COOKIE,
    "CLIENT_ID",
    "HEADER",  # a header with an unknown name and a value that looks random
    "SIGNED_TOKEN",
    "SECRET",
}
_PLACEHOLDER: Final = re.compile(r"<([A-Z_]+)(?:-[0-9]+)?>\Z")
SCHEME: Final = re.compile(r"\A(?:basic|bearer|token|dpop) +", re.IGNORECASE)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case; `X-APIKey`, `x_api_key` and `xApiKey` have the same words."""
    words: list[str] = []
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    for word in _CONSTANT_PARTS.findall(name):
        lower = word.lower()
        lower = names.PLURALS.get(lower, lower)
        ending = None if lower in _WORDS else _COMPOUND.search(lower)
        if ending is None and lower.endswith("key") and len(lower) > len("key") and lower not in names.KEYS_IN_WORDS:
            words += [lower[: -len("key")], "key"]
        elif ending is None:
            words.append(lower)
        else:
            words += [lower[: ending.start()], *_COMPOUNDS[ending[0]]]
    return tuple(filter(None, words))


@lru_cache(maxsize=8192)
def credential_kind(name: str, place: Place) -> str | None:
    """Return the kind of credential that this name indicates, such as "API_KEY", or None.

    Cookie headers have no kind, since each cookie in them is a credential.
    """
    if place is Place.COOKIE:
        return COOKIE
    return _kind_of(name, place) or _kind_of(_without_number(name), place)


def _without_number(name: str) -> str:
    """Return a name without its trailing number, or "" if there is no number or the full name is listed as ordinary."""
    shorter = _NUMBERED.sub("", name)
    return "" if shorter == name or normal_name(name) in _ORDINARY else shorter


def _kind_of(name: str, place: Place) -> str | None:
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
    if head != words[at] and head in names.AROUND and not (head == "id" and words[-2] in names.SECRET_IDS):
        return _kind_of_ending(joined) if joined.endswith(("apikeyid", "accesskeyid")) else None
    if words[0] in names.CONDITIONS or not names.LIMITS.isdisjoint(words):
        return None
    word = words[at]
    if word == "token" and before in names.CURSORS:
        return None
    if word == "key" and before in names.NOT_KEYS:
        return None
    return _kind_of_ending("".join(words[: at + 1])) or _WORDS[word]


def _head_of(words: tuple[str, ...]) -> str:
    """Return the last word that is not a number, which determines the meaning of a compound name."""
    return next((word for word in reversed(words) if not word.isdigit()), "")


def _kind_of_ending(joined: str) -> str | None:
    if not joined.endswith(tuple(_ENDINGS)):
        return None
    return next(kind for ending, kind in _ENDINGS.items() if joined.endswith(ending))


@lru_cache(maxsize=1024)
def is_ordinary_header(name: str) -> bool:
    """Check whether a header may have a random-looking value that is not a credential, such as an ETag."""
    lower = name.lower()
    return lower in names.ORDINARY_HEADERS or bool(_ORDINARY_HEADER.fullmatch(lower))


@lru_cache(maxsize=8192)
def is_core_name(name: str, place: Place) -> bool:
    """Check whether UUIDs and digests count as secrets under this name.

    Such a name equals, or ends with, a name from a standard, the service document or a vendor's documentation. In
    headers, any name whose last word means a credential also counts; in queries and forms, any name whose last word has
    no other meaning.
    """
    if credential_kind(name, place) is None:
        return False
    if place is Place.COOKIE:
        return credential_kind(name, Place.JSON) is not None
    if place is Place.HEADER and _head_of(words_of(name)) in _WORDS:
        return True
    if place is not Place.JSON and _head_of(words_of(name)) in _CERTAIN:
        return True
    return _is_exact(name, place)


@lru_cache(maxsize=8192)
def needs_strong_value(name: str, place: Place) -> bool:
    """Check whether a weak value under this name is kept, even in a request.

    This applies to names such as `key`, `session` and `code`. People do choose weak values for names such as `password`
    or `api_key`; such values are replaced in place.
    """
    last = normal_name(last_name(name))
    if last in _DOUBTFUL_FIELDS or last in names.DOUBTFUL or (last == "token" and place is Place.JSON):
        return True
    return place is not Place.COOKIE and not _is_exact(name, place) and _CERTAIN.isdisjoint(words_of(name))


def may_hold_several(name: str) -> bool:
    """Check whether a list or an object under a name that needs strong values may contain credentials."""
    last = normal_name(last_name(name))
    return last in _DOUBTFUL_FIELDS or last.removesuffix("s") in _EXACT[Place.JSON]


def _is_exact(name: str, place: Place) -> bool:
    if normal_name(name) not in _EXACT[place]:
        name = _without_number(name) or name
    joined, exact = normal_name(name), _EXACT[place]
    return joined in exact or normal_name(last_name(name)) in exact or joined.endswith(names.EXACT_ENDINGS)


def is_placeholder(value: str) -> bool:
    """Check whether a value, apart from a scheme such as Bearer, is already a placeholder."""
    value = SCHEME.sub("", value)
    match = _PLACEHOLDER.match(value)
    return match[1] in _KINDS if match else value == Placeholder.BASIC


_TO_STANDARD: Final = str.maketrans("-_", "+/")  # from the base64url alphabet
_LONG_ENOUGH: Final = 16  # characters
_PRIVATE_EXPONENT: Final = re.compile(r"[A-Za-z0-9_-]{40,}={0,2}")  # of a JWK (RFC 7518); one letter may mean anything
_PATH: Final = re.compile(r"/?(?:[\w.-]+/)*[a-z][a-z_-]{3,}/.*|/.*")  # of a file or a storage object
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,20}+(?:\.[0-9]{1,20}+)?")
_DIGITS_COUNT: Final = frozenset({"PASSWORD", "PIN", "OTP"})  # kinds of secrets that people type as digits
_NO_VALUES: Final = frozenset(
    "required optional invalid missing string null none nil true false bearer basic mac undefined unknown empty n/a yes"
    " no boolean integer number object array text password hidden jwt".split()
)
_SENTENCE: Final = re.compile(r"\S+(?:\s+\S+){2}")
_LABEL: Final = re.compile(r"\D+\s\D+|[*x•.]+|(?i:redacted|masked|filtered|removed|scrubbed)")
# Words, even with numbers as in examples, and text in other scripts.
_TEXTS: Final = re.compile(r"[^0-9]*|.*[^\x00-\x7f].*|(?:password|passwd|secret|token|key|test)[0-9]{1,4}", re.DOTALL)
_STATE_OF_COOKIE: Final = re.compile(r"(?:[A-Za-z]{1,12}[_-]?){0,3}|[0-9]{1,4}|[a-z]{2}[-_][A-Z]{2}")


class MessageKind(Enum):
    """The kind of a message: a request, a response, or an error response (status 400 or higher)."""

    REQUEST = "request"
    ANSWER = "answer"
    ERROR = "error"


class Decision(NamedTuple):
    """How to treat the value of a credential.

    Attributes:
        kind: the kind of credential, as in placeholders.
        is_everywhere: True if the value is replaced throughout the recording, since it is unlikely to occur by chance.
        is_weak: True if the value is weak; it is then replaced only where it was found.
    """

    kind: str
    is_everywhere: bool
    is_weak: bool


def secret_kind(name: str, value: str, place: Place, strength: Strength) -> str | None:
    """Return the kind of secret for a value with this name and strength, or None if the value is not a secret."""
    kind = credential_kind(name, place)
    if kind is None or is_placeholder(value):
        return None
    if normal_name(name) == "d" and _PRIVATE_EXPONENT.fullmatch(value) is None:
        return None
    if kind == "AUTHORIZATION" and is_weak_pair(value.rpartition(" ")[2]):
        return None
    if strength is Strength.STRONG:
        # Short text under a doubtful name is more often an identifier.
        if needs_strong_value(name, place) and (len(value) < _LONG_ENOUGH or _PATH.fullmatch(value)):
            return None
        return kind
    if strength is Strength.LOOKALIKE:
        # A token in a document may be a blockchain token, which has an address.
        is_address = value.startswith("0x") and place is Place.JSON and normal_name(name).endswith("token")
        return kind if is_core_name(name, place) and not is_address else None
    return None


@lru_cache(maxsize=1024)  # the rows of a response repeat the same values
def decision_on(name: str, value: str, place: Place, message: MessageKind) -> Decision | None:
    """Decide how to treat a named value in a message; return None if it is not a credential."""
    kind = credential_kind(name, place)
    if kind is None or not value.strip() or is_placeholder(value):
        return None
    strength = grade(value)
    if secret_kind(name, value, place, strength) is not None:
        is_certain = place is Place.COOKIE or is_core_name(name, place)
        is_everywhere = is_certain and strength is Strength.STRONG
        return Decision(kind, is_everywhere, is_weak=False)
    if place is Place.COOKIE:
        is_state = credential_kind(name, Place.JSON) is None and _STATE_OF_COOKIE.fullmatch(value)
        return None if is_state else Decision(COOKIE, is_everywhere=False, is_weak=False)
    return Decision(kind, is_everywhere=False, is_weak=True) if _counts(name, kind, value, place, message) else None


def _counts(name: str, kind: str, value: str, place: Place, message: MessageKind) -> bool:
    """Check whether a name is so specific that even a weak value counts as a credential."""
    is_core = is_core_name(name, place)
    if needs_strong_value(name, place) or not (is_core or message is MessageKind.REQUEST):
        return False
    if value.strip().lower() in _NO_VALUES:
        return False
    if _NUMBER.fullmatch(value) and not is_core and kind not in _DIGITS_COUNT:
        return False
    if message is MessageKind.REQUEST:
        # A token may also be a currency or a word.
        return not (name.lower() == "tokens" or (name.lower() == "token" and len(value) < SHORTEST_SECRET))
    if _SENTENCE.match(value.strip()) or _LABEL.fullmatch(value.strip()):
        return False
    is_word = len(value) < SHORTEST_SECRET or is_dummy(value) or _TEXTS.fullmatch(value) is not None
    return not (message is MessageKind.ERROR and is_word)


def is_weak_pair(value: str) -> bool:
    """Check whether a value looks random only because it is the base64 of a user name and a weak password."""
    password = password_of_pair(value)
    return bool(password) and grade(password) is Strength.WEAK


def password_of_pair(written: str) -> str:
    """Return the password in a base64 pair of user name and password (RFC 7617), or "" if it is not a pair."""
    core = written.rstrip("=").translate(_TO_STANDARD)
    try:
        pair = base64.b64decode(core + "=" * (-len(core) % 4)).decode("utf-8")
    except ValueError:
        return ""
    return pair.partition(":")[2] if pair.isprintable() else ""
