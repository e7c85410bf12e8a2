"""Log records without secrets, for the toolkit's loggers and those of the libraries below it.

At DEBUG, httpcore logs the headers of responses, and hpack logs each header of a request. A filter on their loggers
replaces every secret that a live session knows, and masks the values of credentials' headers and fields. Other
records stay as they are.
"""

from __future__ import annotations

import logging
import re
from typing import Any, Final

from toolkit.core.patterns import compiled
from toolkit.scrubbing.credential_names import COOKIE, COOKIE_HEADERS, FIELD_NAMES, header_kind
from toolkit.scrubbing.known import SESSION_SECRETS, KnownSecrets

# A filter on a logger does not see the records of its children, so each child is named. Getting a logger creates it,
# so a library that is imported later finds the filter in place.
LOGGERS: Final = (
    "httpx",
    "httpcore",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
    "httpcore.socks",
    "hpack",
    "hpack.hpack",
    "hpack.huffman",
    "hpack.table",
    "h2",
    "h11",
    "hyperframe",
    "socksio",
    "anyio",
    "anyio.streams.tls",
    "asyncio",  # logs the errors of failed tasks
    "py.warnings",  # warnings, once logging.captureWarnings is on
    "toolkit",
)
_FAMILIES: Final = ("httpx", "httpcore", "hpack", "h2", "h11", "hyperframe", "socksio", "toolkit")
_OWN_ATTRIBUTES: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime"})

_REPR: Final = r"""b?(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
# A pair in a list of headers, and how hpack writes one.
_HEADER: Final = rf"(?s)(\(|Adding |Evicting )({_REPR})(, |=|: )({_REPR})"
_HEADER_NAMES: Final = re.compile("auth|cookie|-key", re.IGNORECASE)
# A block of Huffman-coded headers (RFC 7541 section 5.2), in which a search by value cannot find a secret.
_HEADER_BLOCK: Final = r"(?s)\A(Encoded header block to|Decoding) .*"
_SOCKS_LOGIN: Final = rf"(?s)\bauth=\({_REPR}, {_REPR}\)"
_USERINFO: Final = re.compile(r"(?<=://)[^\s/?#@'\"]*:[^\s/?#@'\"]*(?=@)")
_URL_FIELD: Final = rf"(?i)([?&]{FIELD_NAMES.decode('ascii')}=)[^&#\s'\"]+"
_NOT_SHOWN: Final = "<not shown>"


def protect(known: KnownSecrets) -> None:
    """Keep these secrets, and those that `known` learns later, out of log records for as long as `known` exists.

    May be called from any thread, and repeatedly.
    """
    SESSION_SECRETS.add(known)
    _install()


class SecretFilter(logging.Filter):
    """A logging filter that removes secrets from records and lets every record pass. It never raises.

    A logger that is off for a level creates no record, so that costs nothing.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            self._clean(record)
        except Exception:  # noqa: BLE001 - logging must not break a call
            _replace(record, f"A record of {record.name} that cannot be checked for secrets.")
            record.exc_info = record.exc_text = record.stack_info = None
        return True

    def _clean(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - a placeholder or a repr may raise anything
            # Otherwise logging would print format and arguments to stderr, secrets included.
            message = f"{record.msg} {record.args!r}"
            _replace(record, message)
        shown = SESSION_SECRETS.scrub_text(_masked(record.name, message))
        # The arguments too: a handler may use them separately, and a format may have cut one short.
        if shown != message or (record.args and _holds_secret(repr(record.args))):
            _replace(record, shown)
        self._clean_error(record)
        if record.stack_info:
            record.stack_info = SESSION_SECRETS.scrub_text(record.stack_info)
        for name, value in vars(record).items():
            if name not in _OWN_ATTRIBUTES:
                text = value if isinstance(value, str) else repr(value)
                scrubbed = SESSION_SECRETS.scrub_text(text)
                if scrubbed != text:
                    setattr(record, name, scrubbed)

    def _clean_error(self, record: logging.LogRecord) -> None:
        text = record.exc_text
        if record.exc_info and not text:
            text = logging.Formatter().formatException(record.exc_info)
        if text and _holds_secret(text):
            record.exc_text = SESSION_SECRETS.scrub_text(text)
            record.exc_info = None  # a formatter of another style would format the error again


def _holds_secret(text: str) -> bool:
    return SESSION_SECRETS.scrub_text(text) != text


def _replace(record: logging.LogRecord, message: str) -> None:
    record.msg, record.args = message, None


def _masked(logger: str, message: str) -> str:
    """Return a message with the values of credential headers and fields masked, whether known or not."""
    if logger.startswith("hpack"):
        message = compiled(_HEADER_BLOCK).sub(rf"\1 {_NOT_SHOWN}", message)
    elif logger == "httpcore.socks":
        message = compiled(_SOCKS_LOGIN).sub(f"auth={_NOT_SHOWN}", message)
    if "://" in message:
        message = _USERINFO.sub(_NOT_SHOWN, message)
        message = compiled(_URL_FIELD).sub(rf"\1{_NOT_SHOWN}", message)
    if _HEADER_NAMES.search(message):
        message = compiled(_HEADER).sub(_masked_header, message)
    return message


def _masked_header(match: re.Match[str]) -> str:
    before, name, separator, value = match.groups()
    plain = name.removeprefix("b")[1:-1].lower()
    kind = COOKIE if plain in COOKIE_HEADERS else header_kind(plain)
    if kind is None:
        return match[0]
    mark = "b" if value.startswith("b") else ""
    return f"{before}{name}{separator}{mark}'<{kind}>'"


def _install() -> None:
    manager = logging.Logger.manager
    children = [name for name in list(manager.loggerDict) if name.partition(".")[0] in _FAMILIES]
    for name in (*LOGGERS, *children):
        filters: list[Any] = logging.getLogger(name).filters
        if _FILTER not in filters:
            filters.insert(0, _FILTER)  # before other filters, which then see no secret


_FILTER: Final = SecretFilter()
