"""Remove secrets from the log records of the toolkit and of the libraries that it uses.

At DEBUG, httpcore logs the headers of responses, and hpack logs each header of a request. `log_filter` passes the
records of these and other loggers to `clean`, which replaces every secret that the process knows, and masks the values
of credential headers and fields. A record in which nothing is replaced is left unchanged.
"""

from __future__ import annotations

import logging
import re
from typing import Final
from urllib.parse import unquote, unquote_plus

from toolkit.scrubbing.known import PROCESS_SECRETS
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import COOKIE, COOKIE_HEADERS, Place, credential_kind, needs_strong_value

_OWN_ATTRIBUTES: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime"})

_REPR: Final = r"""b?(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
# A pair in a list of headers, and how hpack writes one.
_HEADER: Final = rf"(?s)(\(|Adding |Evicting )({_REPR})(, |=|: )({_REPR})"
_BEFORE_HEADERS: Final = ("('", '("', "(b'", '(b"', "Adding ", "Evicting ")
# A block of Huffman-coded headers (RFC 7541 section 5.2), in which a search by value cannot find a secret.
_HEADER_BLOCK: Final = r"(?s)\A(Encoded header block to|Decoding) .*"
_SOCKS_LOGIN: Final = rf"(?s)\bauth=\({_REPR}, {_REPR}\)"
_USERINFO: Final = re.compile(r"(?<=://)[^\s/?#@:'\"]*+:[^\s/?#@'\"]*+(?=@)")
_URL_FIELD: Final = r"([?&]([^=&?#\s'\"]{1,200}+)=)([^&#\s'\"]++)"
_NOT_SHOWN: Final = "<not shown>"


def clean(record: logging.LogRecord) -> None:
    """Remove secrets from a record."""
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - a placeholder or a repr may raise anything
        # Otherwise logging would print format and arguments to stderr, including secrets.
        message = f"{record.msg} {record.args!r}"
        record.msg, record.args = message, None
    shown = PROCESS_SECRETS.scrub_text(_masked(record.name, message))
    # The arguments too: a handler may use them separately, and a format may have cut one short.
    if shown != message or (record.args and _scrubbed(repr(record.args)) is not None):
        record.msg, record.args = shown, None
    text = record.exc_text
    if record.exc_info and not text:
        text = logging.Formatter().formatException(record.exc_info)
    scrubbed = _scrubbed(text)
    if scrubbed is not None:
        record.exc_text = scrubbed
        record.exc_info = None  # a formatter of another style would format the error again
    for name, value in vars(record).items():
        if name == "stack_info" or name not in _OWN_ATTRIBUTES:
            scrubbed = _scrubbed(value if isinstance(value, str) or value is None else repr(value))
            if scrubbed is not None:
                setattr(record, name, scrubbed)


def _scrubbed(text: str | None) -> str | None:
    scrubbed = PROCESS_SECRETS.scrub_text(text or "")
    return None if scrubbed == (text or "") else scrubbed


def _masked(logger: str, message: str) -> str:
    """Return a message with the values of credential headers and fields masked, even if they are not known secrets."""
    if logger.startswith("hpack"):
        message = re.compile(_HEADER_BLOCK).sub(rf"\1 {_NOT_SHOWN}", message)
    elif logger in ("httpcore.socks", "httpcore2.socks"):
        message = re.compile(_SOCKS_LOGIN).sub(f"auth={_NOT_SHOWN}", message)
    if "://" in message:
        message = _USERINFO.sub(_NOT_SHOWN, message)
        message = re.compile(_URL_FIELD).sub(_masked_field, message)
    if any(map(message.__contains__, _BEFORE_HEADERS)):
        message = re.compile(_HEADER).sub(_masked_header, message)
    return message


def _masked_field(match: re.Match[str]) -> str:
    before, name, value = match.groups()
    name, value = unquote(name), unquote_plus(value)
    if credential_kind(name, Place.QUERY) is None:
        return match[0]
    if needs_strong_value(name, Place.QUERY) and grade(value) is Strength.WEAK:
        return match[0]
    return f"{before}{_NOT_SHOWN}"


def _masked_header(match: re.Match[str]) -> str:
    before, name, separator, value = match.groups()
    plain = name.removeprefix("b")[1:-1].lower()
    kind = COOKIE if plain in COOKIE_HEADERS else credential_kind(plain, Place.HEADER)
    if kind is None:
        return match[0]
    mark = "b" if value.startswith("b") else ""
    return f"{before}{name}{separator}{mark}'<{kind}>'"
