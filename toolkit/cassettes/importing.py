"""`tk.import_cassette`: make a clean cassette from a HAR file, or from a vcrpy cassette that was not scrubbed.

The source file is never changed. A toolkit recording notes how each call was authorized. An imported cassette gets the
same note for calls to the environment that the caller names, so that a session can replay it.

HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/) is read in the variants that browsers and proxies write. An
entry without a stored body is left out: replaying it would return a response that was never received.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

import httpx

from toolkit.cassettes.catalog.rewriting import ADDRESS, OTHER, check_rewritable, rescrubbed, rewrite
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction, is_uri
from toolkit.cassettes.recording.recorder import scrub, todays_scrubber
from toolkit.cassettes.selection import find_cassette
from toolkit.core.document import TOKEN_PATH, CredentialKind, Environment
from toolkit.core.errors import CassetteError, ConfigurationError, SecretLeak, as_instance, as_several
from toolkit.core.ledger import Authorization, parse_http_date
from toolkit.core.secret import Secret
from toolkit.core.text import count_text
from toolkit.local.files import expanded
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_text, header_value
from toolkit.scrubbing.rules.model import Rules, as_rules

_FORM: Final = "application/x-www-form-urlencoded"
_FRAMING: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 section 5.6.2
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_NOT_STORED: Final = "a body is not stored in the file"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import. Its strings are safe to print and contain no secret.

    Attributes:
        source: the file that was imported; it is unchanged and still contains its secrets.
        path: the new cassette; None if nothing could be imported and no file was written.
        imported: number of interactions in the new cassette.
        left_out: number of exchanges that could not be imported, by reason; a reason completes the sentence `it was
            left out, because ...`.
        not_chosen: number of exchanges that did not match `only`.
        replaced: number of places where a secret was replaced, by kind, such as ACCESS_TOKEN.
    """

    source: Path
    path: Path | None
    imported: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    not_chosen: int = 0
    replaced: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values, for programs."""
        path = None if self.path is None else str(self.path)
        return {**asdict(self), "source": str(self.source), "path": path}

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        target = f" into {self.path}" if self.path is not None else "; no file was written"
        lines = [f"{count_text(self.imported, 'interaction')} imported{target}."]
        lines += [f"{count:,} left out because {reason}." for reason, count in self.left_out.items()]
        if self.not_chosen:
            lines.append(f"{self.not_chosen:,} not chosen.")
        kinds = ", ".join(f"{kind} in {count_text(count, 'place')}" for kind, count in self.replaced.items())
        lines.append(f"Secrets replaced: {kinds or 'none'}.")
        if self.replaced:
            lines.append(f"{self.source} still contains its secrets: keep it out of git, and delete it soon.")
        return lines

    def __repr__(self) -> str:
        return "\n".join(self.lines())


class _Unimportable(ValueError):
    """The exchange cannot be imported; the text completes the sentence `it was left out, because ...`."""


class _Entry(NamedTuple):
    """One exchange of a file."""

    uri: str  # of the request, as written in the file; empty if the file does not say
    result: Interaction | str  # the exchange, not yet scrubbed, or the reason why it cannot be imported
    hint: RecordedRequest = RecordedRequest("GET", "")  # everything that the file says, only to search it for secrets


def import_cassette(
    source: str | Path,
    name: str | Path,
    *,
    environment: Environment | str | None = None,
    only: str | Sequence[str] = (),
    secrets: str | Secret | Iterable[str | Secret] = (),
    rules: Rules | None = None,
    replace: bool = False,
    settings: Settings | None = None,
) -> ImportReport:
    """Make a clean cassette from a HAR file, or from a vcrpy cassette that was recorded without scrubbing.

    HAR 1.2 files from browsers, and cassettes from vcrpy and pytest-recording, are supported. Secrets are removed as in
    a recording, and addresses in the settings become symbolic; other hosts are kept unchanged. Anything that cannot be
    replayed, such as an entry without a stored body, is left out and reported. The source is not changed.

    Args:
        source: path of the file.
        name: name of the new cassette in the project's cassettes folder, or its path.
        environment: the environment that was called. A session that replays the cassette need not name it again.
        only: patterns for the hosts (or hosts and paths) to import: "api.example.com", "*.example.com/v1/*".
        secrets: one or more additional strings that must not be in the cassette in any form.
        rules: what to keep out of the cassette, in addition to credentials and what the project's rules cover.
        replace: True to replace an existing cassette.
        settings: defaults to the project's settings.

    Raises:
        ConfigurationError: if the source cannot be read, or an argument is invalid.
        CassetteCorrupt: if the source is neither a HAR file nor a vcrpy cassette. The error names the program that
            wrote it, if known, such as Ruby's VCR, betamax or go-vcr.
        CassetteBusy: if another process is recording to the cassette.
        CassetteError: if the cassette already exists, or cannot be written.
        SecretLeak: if a secret would have reached the cassette; nothing was written.
    """
    settings = as_settings(settings)
    called = None if environment is None else Environment(environment)
    patterns = as_several(only, str, about="only", example='"api.example.com"')
    file = expanded(source, about="source")
    entries = _read(file)
    path = _target(name, file, replace=as_instance(replace, bool, about="replace", example="True"), settings=settings)
    names = called.rules.addresses.values() if called else ()
    own = {name: settings.addresses[name] for name in names if name in settings.addresses}
    if called is not None and not any(_is_at(entry.uri, own.values()) for entry in entries):
        what = f"No request in the file goes to an address of {called}."
        advice = f"Set the addresses {', '.join(names)} in toolkit.toml, or leave the environment out."
        raise ConfigurationError(what, advice, about="environment")
    scrubber = todays_scrubber(settings, as_rules(rules))
    # If two names share an address, the environment's own name takes precedence.
    scrubber.use_addresses({**own, **settings.addresses}, settings.header_prefix)
    scrubber.known.add_texts(secrets)
    left_out = Counter[str]()
    items: list[Interaction] = []
    # Entries that are not imported are searched too: they may reveal a secret that occurs in others.
    for entry in entries:
        result = entry.result
        with suppress(SecretLeak):
            scrubber.lookup_request(entry.hint)
        try:
            if isinstance(result, Interaction):
                scrub(result, scrubber)
        except SecretLeak:
            result = "it contains data that cannot be checked for secrets"
        if patterns and not _fits(entry.uri, patterns):
            continue
        if isinstance(result, Interaction):
            items.append(_noted(result, called, own.values()))
        else:
            left_out[result] += 1
    made = Contents(is_foreign=True, source=str(path))
    data, replacements = rescrubbed(made, scrubber, dict(enumerate(items)))
    if items:
        rewrite(path, scrubber, lambda _: data)
    replaced = sum((Counter(counts) for _, counts in replacements), Counter())
    return ImportReport(
        source=file,
        path=path if items else None,
        imported=len(items),
        left_out=dict(left_out.most_common()),
        not_chosen=len(entries) - len(items) - left_out.total(),
        replaced={kind: replaced[kind] for kind in sorted(replaced.keys() - {ADDRESS, OTHER})},
    )


def _read(path: Path) -> list[_Entry]:
    """Return the exchanges of a file, in their order."""
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"Cannot read {path}: {error.strerror}."
        raise ConfigurationError(what, "Pass a HAR file or a cassette.", about="source") from None
    with suppress(ValueError, RecursionError):  # `contents.read` says what is wrong
        entries = _mapping(json.loads(data.decode("utf-8-sig")), "log").get("entries")
        if isinstance(entries, list):
            return [_har_entry(each) for each in entries]
    opened = contents.read(data, source=str(path))
    found = [opened.interaction_or_error(number) for number in range(len(opened))]
    return [
        _Entry(each.request.uri, each)
        if isinstance(each, Interaction)
        else _Entry("", "it does not have the fields of an interaction")
        for each in found
    ]


def _target(name: str | Path, source: Path, *, replace: bool, settings: Settings) -> Path:
    path = find_cassette(name, settings)
    check_rewritable(path)
    if path.exists() and (not replace or path.samefile(source)):
        advice = "Choose another name." if replace else "Choose another name, or add --replace (replace=True)."
        raise CassetteError(f"{path} already exists.", advice, about="name")
    return path


def _noted(interaction: Interaction, called: Environment | None, addresses: Iterable[str]) -> Interaction:
    """Return an interaction, with a note of how its call was authorized if it called the environment."""
    uri = interaction.request.uri
    if called is None or not _is_at(uri, addresses) or urlsplit(uri).path.endswith(TOKEN_PATH):
        return interaction
    keys = CredentialKind.KEY_PAIR
    kind = keys if keys in called.rules.credentials else CredentialKind.CLIENT_SECRET
    return interaction._replace(authorized_by=Authorization(kind, called, "default"))


def _fits(uri: str, patterns: Iterable[str]) -> bool:
    """Return True if a URI matches a host pattern, with or without a path, such as `*.example.com/v1/*`."""
    parts = urlsplit(uri if is_uri(uri) else "")
    place = f"{parts.hostname}{parts.path or '/'}"
    return any(fnmatchcase(place, pattern if "/" in pattern else f"{pattern}/*") for pattern in patterns)


def _is_at(uri: str, addresses: Iterable[str]) -> bool:
    return any(f"{uri}/".startswith((f"{address}/", f"{address}?")) for address in addresses)


def _har_entry(fields: Any) -> _Entry:
    """Convert an entry of a HAR file, whose fields may have any type."""
    request = _mapping(fields, "request")
    method, uri = str(request.get("method") or "").upper(), str(request.get("url") or "")
    result: Interaction | str
    try:
        result = _interaction(fields, method, uri)
    except _Unimportable as error:
        result = str(error)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):  # a field has an unexpected type
        result = "it does not have the fields of a HAR entry"
    messages = [request, _mapping(fields, "response")]
    cookies = "; ".join(f"{name}={value}" for message in messages for name, value in _pairs(message, "cookies"))
    headers = (("Cookie", _CONTROLS.sub("", header_text(cookies))), ("Content-Type", "application/json"))
    hint = RecordedRequest(method, uri if is_uri(uri) else "", headers, json.dumps(fields).encode("ascii"))
    return _Entry(uri, result, hint)


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    member = value.get(name) if isinstance(value, Mapping) else None
    return member if isinstance(member, Mapping) else {}


def _interaction(fields: Mapping[str, Any], method: str, uri: str) -> Interaction:
    request, response = fields["request"], fields["response"]
    parts, status = urlsplit(uri), int(response.get("status") or 0)
    if fields.get("_webSocketMessages") is not None or parts.scheme.lower() not in ("http", "https") or status == 101:
        raise _Unimportable("it is not an HTTP call")
    if not 100 <= status <= 999:
        raise _Unimportable("it has no response: the browser blocked or cancelled it, or it failed")
    if not method or not parts.netloc or not is_uri(uri):
        raise ValueError
    sent, received = _headers(request), _headers(response)
    body = b"" if method == "HEAD" else _received_body(response, status, header_value(received, "content-type"))
    recorded_at = parse_http_date(header_value(received, "date"))
    with suppress(KeyError, TypeError, ValueError, OverflowError):  # no offset means this machine's time zone
        recorded_at = datetime.fromisoformat(fields["startedDateTime"]).astimezone(UTC)
    if method != "HEAD" and any(name.lower() in _FRAMING for name, _ in received):  # the stored body is decoded
        kept = tuple(pair for pair in received if pair[0].lower() not in _FRAMING)
        received = (*kept, ("Content-Length", str(len(body))))
    took = fields.get("time")
    return Interaction(
        RecordedRequest(method, urlunsplit(parts._replace(fragment="")), sent, _sent_body(request, method, sent)),
        RecordedResponse(status, str(response.get("statusText") or ""), received, body),
        recorded_at=recorded_at,
        elapsed=timedelta(milliseconds=took) if isinstance(took, int | float) and took >= 0 else None,
    )


def _pairs(message: Mapping[str, Any], name: str) -> list[tuple[Any, Any]]:
    """Return the names and values in a HAR list of headers, cookies or parameters."""
    fields = message.get(name)
    pairs = fields if isinstance(fields, list) else []
    return [(pair.get("name"), pair.get("value")) for pair in pairs if isinstance(pair, Mapping)]


def _headers(message: Mapping[str, Any]) -> HeaderList:
    """Return headers as a recording stores them, without HTTP/2 pseudo-headers.

    Some browsers write repeated headers as one multi-line value, which is split into several headers.
    """
    headers = []
    for name, value in _pairs(message, "headers"):
        if isinstance(name, str) and _HEADER_NAME.fullmatch(name):
            text = "" if value is None else header_text(value)
            lines = [_CONTROLS.sub("", line).strip() for line in text.splitlines() or [""]]
            headers += [(name, line.encode("utf-8", "replace").decode()) for line in lines]  # no lone surrogates
    return tuple(headers)


def _sent_body(request: Mapping[str, Any], method: str, headers: HeaderList) -> bytes:
    data = _mapping(request, "postData")
    text, params = data.get("text"), _pairs(data, "params")
    if isinstance(text, str) and (text or not params):
        return _body(text, str(data.get("encoding") or data.get("_encoding") or ""))
    content_type = str(data.get("mimeType") or header_value(headers, "content-type"))
    is_lost = request.get("bodySize", 0) > 0 and method not in ("GET", "HEAD") and not data
    if is_lost or (params and not content_type.lower().startswith(_FORM)):
        raise _Unimportable(_NOT_STORED)
    return urlencode([(str(name), "" if value is None else str(value)) for name, value in params]).encode("ascii")


def _received_body(response: Mapping[str, Any], status: int, content_type: str) -> bytes:
    content = _mapping(response, "content")
    if status in (204, 304):  # a browser may store the cached body
        return b""
    text = content.get("text")
    if isinstance(text, str):
        media_type = content_type or str(content.get("mimeType") or "")
        charset = httpx.Response(200, headers={"Content-Type": media_type}).charset_encoding
        return _body(text, str(content.get("encoding") or ""), charset or "utf-8")
    if content.get("size") == 0 or status == 205 or status // 100 in (1, 3):  # no body: RFC 9110 section 15
        return b""
    raise _Unimportable(_NOT_STORED)


def _body(text: str, encoding: str, charset: str = "utf-8") -> bytes:
    """Return the bytes of a stored body, which is text or base64."""
    if encoding.lower() == "base64":
        return base64.b64decode(text, validate=True)  # ValueError if it is not base64
    if encoding.lower() not in ("", "utf-8", "utf8"):
        raise _Unimportable(_NOT_STORED)
    try:
        return text.encode(charset)
    except (LookupError, ValueError):  # no such character set, or the text has characters that it lacks
        return text.encode("utf-8", "replace")
