"""One exchange of a file as a reader returns it: an interaction, or the reason why it cannot be imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.core.patterns import compiled
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, header_bytes, header_text

_HEADER_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110 section 5.6.2
_CONTROLS: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_VERSION: Final = r"(?i)(?:https?/?)?([0-3](?:\.[0-9])?)|h([23])(?:-[0-9]+)?"
_MISSHAPEN: Final = "it does not have the fields of an exchange"
_MISSHAPEN_ERRORS: Final = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError)
_LONGEST: Final = timedelta(days=365)  # of a call; a longer time is a mistake of the other program


class Unimportable(ValueError):
    """The exchange cannot be imported; the text completes the sentence `it was left out, because ...`."""


class Entry(NamedTuple):
    """One exchange of a file.

    Attributes:
        number: its number in the file, from 1.
        method, uri: of the request, as written in the file; empty if the file does not say.
        interaction: the exchange as it was, with its secrets; None if it cannot be imported.
        reason: why it cannot be imported; empty if it can.
        hints: messages with what the file says about the exchange beside it, such as a list of cookies. They are
            searched for secrets and not imported.
    """

    number: int
    method: str
    uri: str
    interaction: Interaction | None
    reason: str = ""
    hints: tuple[RecordedRequest, ...] = ()


class EntryCall(NamedTuple):
    """The fields of one exchange in a file.

    Attributes:
        fields: the fields, of any type.
        method: HTTP method in capitals.
        uri: the URI as written.
    """

    fields: Any
    method: str
    uri: str


def read_entries(
    items: Iterable[Any],
    read: Callable[[EntryCall], Interaction],
    *,
    uri_name: str = "uri",
    hints: Callable[[EntryCall], Iterator[RecordedRequest]] | None = None,
) -> Iterator[Entry]:
    """Yield an entry for each item of a file.

    Args:
        items: the items, of any type.
        read: returns the interaction of an item. It may raise Unimportable, or whatever error a field of the wrong type
            leads to.
        uri_name: name of the field with the URI.
        hints: yields the hints of an entry, also if it cannot be imported; may raise as `read` does.
    """
    for number, fields in enumerate(items, start=1):
        request = fields.get("request") if isinstance(fields, Mapping) else None
        request = request if isinstance(request, Mapping) else {}
        method = str(request.get("method") or "").lstrip(":").upper()  # Ruby writes a symbol as :get
        call = EntryCall(fields, method, str(request.get(uri_name) or ""))
        reason = _MISSHAPEN
        interaction: Interaction | None = None
        gathered: list[RecordedRequest] = []
        if method and is_uri(call.uri):
            try:
                interaction = read(call)
            except Unimportable as error:
                reason = str(error)
            except _MISSHAPEN_ERRORS:  # texts about Python code would not help
                pass
            if hints is not None:
                with suppress(*_MISSHAPEN_ERRORS):
                    gathered.extend(hints(call))
        yield Entry(number, method, call.uri, interaction, "" if interaction else reason, tuple(gathered))


def header_list(pairs: Iterable[tuple[Any, Any]]) -> HeaderList:
    """Return headers as a recording holds them.

    Pseudo headers of HTTP/2 and names that no header can have are left out. A value of several lines, with which some
    programs write a repeated header, becomes several headers.
    """
    name_pattern, controls = compiled(_HEADER_NAME), compiled(_CONTROLS)
    headers = []
    for name, value in pairs:
        if not isinstance(name, str) or not name_pattern.fullmatch(name):
            continue
        text = "" if value is None else header_text(value)
        headers += [(name, _sendable(controls.sub("", line).strip())) for line in text.splitlines() or [""]]
    return tuple(headers)


def _sendable(value: str) -> str:
    """Return the value of a header without halves of characters, which cannot be written."""
    try:
        header_bytes(value)
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def http_version(text: Any) -> str:
    """Return a version such as `http/2.0` or `h3` as a response has it (`HTTP/2`), or "" if it is not one."""
    match = compiled(_VERSION).fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        return ""
    version = match[1] or match[2]
    return f"HTTP/{version if version.startswith(('0', '1')) else version[0]}"


def duration(seconds: Any) -> timedelta | None:
    """Return a duration, or None if the number is missing, negative or absurd."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return timedelta(seconds=seconds) if 0 <= seconds < _LONGEST.total_seconds() else None


def with_time(interaction: Interaction, at: datetime | None, elapsed: timedelta | None = None) -> Interaction:
    """Return an interaction with the time of its call, or with the one that it has if there is none."""
    if at is None or at.year > 9000:
        return interaction._replace(elapsed=elapsed)
    return interaction._replace(recorded_at=at, elapsed=elapsed)
