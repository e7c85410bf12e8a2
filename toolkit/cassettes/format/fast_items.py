"""Items that are as plain as most are, read without a YAML parser, in a tenth of the time.

Read is only what can mean one thing: scalars that are plain or in single quotes, in printable ASCII, a line each or
folded as PyYAML folds, and the keys in the order in which we, or stock vcrpy, write them. For anything else the answer
is None, and the parser's word counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from toolkit.cassettes.format.interactions import Interaction, checked_uri
from toolkit.core.ledger import Authorization, parse_instant
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse

_QUOTED: Final = r"'(?:[ -&(-~]++|'')*+'"
# A colon before a space or a line's end means something, and so does a number sign after a space.
_PLAIN: Final = r"[A-Za-z](?:[!-9;-~]++|:(?=[!-~])| ++(?=[!-\"$-~]))*+"
_SCALAR: Final = rf"(?:{_QUOTED}|{_PLAIN})"
_NAME: Final = r"[A-Za-z][A-Za-z0-9_.-]*+"
_HEADERS: Final = rf"headers:(?: \{{\}}|((?:\n      {_NAME}:(?:\n      - {_SCALAR})++)++))"
_CALLER: Final = rf"\n((?:    [a-z_]++: (?:{_SCALAR}|[1-9][0-9]{{0,8}}+)\n)++)"
_ITEM: Final = re.compile(
    rf"- request:\n    method: ({_SCALAR})\n    uri: ({_SCALAR})\n    {_HEADERS}\n    body: ({_SCALAR})\n"
    rf"  response:\n    status:\n      code: ([1-9][0-9][0-9])\n      message: ({_SCALAR})\n    {_HEADERS}\n"
    rf"    body:\n      string: ({_SCALAR})\n"
    rf"(?:  http_version: ({_SCALAR})\n)?+(?:  recorded_at: '([0-9T:.Z-]++)'\n)?+"
    r"(?:  elapsed: ([0-9]{1,9}+\.[0-9]{1,9}+)\n)?+"
    rf"(?:  authorized_by:{_CALLER})?+(?:  token_obtained:{_CALLER})?+  complete: true\n"
)
# As stock vcrpy writes them: keys in alphabetical order, and long text in quotes folded where a space stands.
_FOLDED: Final = r"'(?:[ -&(-~]++|''|(?<=[!-~])\n {5,20}+(?=[!-~]))*+'"
_BODY: Final = rf"(null|{_FOLDED}|{_PLAIN})"
_FOREIGN: Final = re.compile(
    rf"- request:\n    body: {_BODY}\n    {_HEADERS}\n    method: ({_SCALAR})\n    uri: ({_SCALAR})\n"
    rf"  response:\n    body:\n      string: {_BODY}\n    {_HEADERS}\n"
    rf"    status:\n      code: ([1-9][0-9][0-9])\n      message: (null|{_SCALAR})\n"
)
_FOLD: Final = re.compile(r"\n +")
_HEADER: Final = re.compile(rf"\n      ({_NAME}):((?:\n      - {_SCALAR})++)")
_VALUE: Final = re.compile(rf"\n      - ({_SCALAR})")
_FIELD: Final = re.compile(rf"    ([a-z_]++): (?:({_SCALAR})|([0-9]++))\n")
_OTHER_TYPES: Final = frozenset({"yes", "no", "true", "false", "on", "off", "null"})  # of YAML 1.1, in any case


class _NotPlainError(ValueError):
    """Left to the parser."""


def decode(item: bytes) -> Interaction | None:
    """What `format.decode` makes of a block item of ours, or None where that needs a parser."""
    if not item.isascii():
        return None
    match = _ITEM.fullmatch(item.decode("ascii"))
    if match is None:
        return None
    method, uri, sent, sent_body, code, reason, received, body, version, at, elapsed, by, obtained = match.groups()
    try:
        recorded_at = None if at is None else parse_instant(at)
        took = None if elapsed is None else timedelta(seconds=float(elapsed))
        if recorded_at is not None and took is not None:
            _ = recorded_at + took
        return Interaction(
            RecordedRequest(_text(method), checked_uri(_text(uri)), _headers(sent), _text(sent_body).encode("ascii")),
            RecordedResponse(
                int(code),
                _text(reason),
                _headers(received),
                _text(body).encode("ascii"),
                "" if version is None else _text(version),
            ),
            recorded_at,
            took,
            None if by is None else _authorization(by),
            None if obtained is None else _authorization(obtained),
        )
    except (ValueError, KeyError, TypeError, OverflowError):  # what is wrong, the parser's way says
        return None


def foreign_fields(item: bytes) -> dict[str, Any] | None:
    """The fields of a block item of stock vcrpy's, as its loader gives them, or None where that needs a parser."""
    match = _FOREIGN.fullmatch(item.decode("ascii")) if item.isascii() else None
    if match is None:
        return None
    sent_body, sent, method, uri, body, received, code, reason = match.groups()
    try:
        request = {"body": _body(sent_body), "headers": _lists(sent), "method": _text(method), "uri": _text(uri)}
        status = {"code": int(code), "message": _body(reason)}
        return {
            "request": request,
            "response": {"body": {"string": _body(body)}, "headers": _lists(received), "status": status},
        }
    except _NotPlainError:
        return None


def _body(scalar: str) -> str | None:
    if scalar == "null":
        return None
    return _text(_FOLD.sub(" ", scalar) if scalar[0] == "'" else scalar)


def _lists(block: str | None) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in _headers(block):
        grouped.setdefault(name, []).append(value)
    return grouped


def _text(scalar: str) -> str:
    if scalar[0] == "'":
        return scalar[1:-1].replace("''", "'")
    if scalar.lower() in _OTHER_TYPES:
        raise _NotPlainError
    return scalar


def _names(names: Iterable[str]) -> list[str]:
    listed = list(names)
    if len(set(listed)) != len(listed):  # of keys that occur twice, YAML takes the last
        raise _NotPlainError
    return [_text(name) for name in listed]


# A client sends the same headers with most of its requests, and is one caller.
@lru_cache(maxsize=256)
def _headers(block: str | None) -> HeaderList:
    if block is None:
        return ()
    found = _HEADER.findall(block)
    values = [_VALUE.findall(listed) for _, listed in found]
    names = _names(name for name, _ in found)
    return tuple((name, _text(value)) for name, some in zip(names, values, strict=True) for value in some)


@lru_cache(maxsize=256)
def _authorization(block: str) -> Authorization:
    found = _FIELD.findall(block)
    names = _names(name for name, _, _ in found)
    values: list[Any] = [int(number) if number else _text(scalar) for _, scalar, number in found]
    return Authorization.from_fields(dict(zip(names, values, strict=True)))
