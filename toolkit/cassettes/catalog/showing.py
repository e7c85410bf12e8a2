"""Show what is in a recording: a row for each interaction, and one interaction in full."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.recording.recorder import scrub, todays_scrubber
from toolkit.core.errors import CassetteCorrupt, SecretLeak
from toolkit.core.ledger import EPOCH
from toolkit.core.text import excerpt, masked, printable
from toolkit.local.settings import Settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, header_value
from toolkit.scrubbing.scrubber import Scrubber

if TYPE_CHECKING:
    import pandas as pd

EXCERPT: Final = 2_000  # characters of a body
_LONGEST_URI, _LONGEST_VALUE, _LONGEST_METHOD = 2_000, 500, 40  # characters
_LARGEST_JSON: Final = 1 << 20  # bytes of a body that is laid out for reading

# Types of the columns that are not text.
_TYPES: Final = {
    **dict.fromkeys(("interactions", "size", "number", "status", "count"), "int64"),
    **dict.fromkeys(("recorded", "last"), "datetime64[us, UTC]"),
    "elapsed": "float64",
    **dict.fromkeys(("stale", "fails"), "bool"),
    **dict.fromkeys(("line", "interaction", "old", "new"), "Int64"),
}


@dataclass(frozen=True, slots=True)
class InteractionRow:
    """One interaction in a row. All texts are safe to show, and without the secrets of a file that was not scrubbed.

    Attributes:
        number: from 1.
        recorded: when it was recorded, or None.
        method, uri: the request.
        status: status of the response; 599 if none came.
        failure: why no answer came; "" if one did.
        elapsed: seconds to the end of the body, or None.
        size: bytes of the body of the response.
        environment, profile: who called; "" if that is not known.
        token: number of the token that authorized the call, or None.
        is_token_request: whether it requests a token.
        tries: how often it was sent.
        ended_early: whether the caller closed the body before its end.
        line: its first line in the file, from 1, or None.
        problem: why it cannot be read; "" if it can. Then all that is known besides is the request, perhaps.
    """

    number: int
    recorded: datetime | None
    method: str
    uri: str
    status: int = 0
    failure: str = ""
    elapsed: float | None = None
    size: int = 0
    environment: str = ""
    profile: str = ""
    token: int | None = None
    is_token_request: bool = False
    tries: int = 1
    ended_early: bool = False
    line: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A request or a response for the eye.

    Attributes:
        headers: names and values.
        body: the beginning of the body as text, decompressed; JSON with one member a line.
        size: bytes of the body as recorded.
        is_cut: whether the body goes on.
    """

    headers: tuple[tuple[str, str], ...]
    body: str
    size: int
    is_cut: bool


def row_of(opened: Contents, number: int, scrubber: Scrubber | None) -> InteractionRow:
    """Return the row of an interaction, by its number from 0: as it would be recorded today, or without a scrubber."""
    interaction = opened.interaction_or_error(number)
    line = opened.line(number)
    if isinstance(interaction, CassetteCorrupt):
        try:
            head = opened.head(number)._replace(headers=(), body=b"")
            head = scrubber.lookup_request(head) if scrubber else head
        except CassetteCorrupt:
            head = RecordedRequest("", "")
        method, uri = excerpt(head.method, _LONGEST_METHOD), excerpt(head.uri, _LONGEST_URI)
        return InteractionRow(number + 1, None, method, uri, line=line, problem=interaction.what)
    caller = interaction.authorized_by or interaction.token_obtained
    uri = safe_to_show(interaction, scrubber).request.uri if scrubber else interaction.request.uri
    return InteractionRow(
        number + 1,
        None if interaction.recorded_at == EPOCH else interaction.recorded_at,
        excerpt(interaction.request.method, _LONGEST_METHOD),
        excerpt(uri, _LONGEST_URI),
        interaction.response.status,
        interaction.failure.type if interaction.failure else "",
        None if interaction.elapsed is None else interaction.elapsed.total_seconds(),
        len(interaction.response.body),
        str(caller.environment) if caller else "",
        excerpt(caller.profile, _LONGEST_VALUE) if caller else "",
        caller.token if caller else None,
        interaction.token_obtained is not None,
        interaction.tries,
        interaction.ended_early,
        line,
    )


def frame_of(names: str, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Return rows as a table with these columns, separated by spaces, each of its type in all tables of the catalog."""
    import pandas as pd

    columns = {
        name: pd.Series([row[at] for row in rows], dtype=_TYPES.get(name, "str"))
        for at, name in enumerate(names.split())
    }
    return pd.DataFrame(columns)


def table_of(opened: Contents, numbers: Iterable[int], scrubber: Scrubber | None) -> pd.DataFrame:
    """Return interactions, by their numbers from 0, as rows with `number` and the columns of `Cassette.table()`."""
    rows = [asdict(row_of(opened, number, scrubber)) for number in numbers]
    rows = [{**row, "profile": "" if row["is_token_request"] else row["profile"]} for row in rows]
    names = "number recorded method uri status elapsed size profile"
    return frame_of(names, [[None if row[name] == "" else row[name] for name in names.split()] for row in rows])


def scrubber_to_show(settings: Settings, *recordings: Contents) -> Scrubber:
    """Return a scrubber that knows the secrets in recordings that nobody scrubbed, so that none of them is shown."""
    scrubber = todays_scrubber(settings)
    for interaction in (each for opened in recordings if opened.is_foreign for each in opened.readable().values()):
        with suppress(SecretLeak):
            scrub(interaction, scrubber)
    return scrubber


def safe_to_show(interaction: Interaction, scrubber: Scrubber) -> Interaction:
    """Return an interaction as it would be recorded today. A body that cannot be checked is left out."""
    try:
        return scrub(interaction, scrubber)
    except SecretLeak:
        request, response = interaction.request._replace(body=b""), interaction.response._replace(body=b"")
        return scrub(interaction._replace(request=request, response=response), scrubber)


def messages_of(interaction: Interaction, scrubber: Scrubber, characters: int = EXCERPT) -> tuple[Message, Message]:
    """Return request and response of an interaction as they would be recorded today."""
    safe = safe_to_show(interaction, scrubber)
    sizes = len(interaction.request.body), len(interaction.response.body)
    return (
        _message(safe.request.headers, safe.request.body, sizes[0], characters),
        _message(safe.response.headers, safe.response.body, sizes[1], characters),
    )


def _message(headers: HeaderList, body: bytes, size: int, characters: int) -> Message:
    shown = tuple((excerpt(name, _LONGEST_VALUE), excerpt(value, _LONGEST_VALUE)) for name, value in headers)
    text = _text_of(headers, body) if body else ("" if not size else f"{size:,} bytes that cannot be shown safely")
    text = masked(printable(text))
    return Message(shown, text[:characters], size, len(text) > characters)


def _text_of(headers: HeaderList, body: bytes) -> str:
    try:
        plain = decompress_body(headers, body)
        text = plain.decode("utf-8")
    except (SecretLeak, UnicodeDecodeError):
        kind = header_value(headers, "content-type")
        return f"{len(body):,} bytes{f' of {excerpt(kind, 80)}' if kind else ''}"
    if text.lstrip()[:1] not in ("{", "[") or len(plain) > _LARGEST_JSON:
        return text
    try:
        # Numbers stay as they are written: 1.10, not 1.1.
        laid_out = json.dumps(json.loads(text, parse_float="\ue000{}\ue001".format), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
    return laid_out.replace('"\ue000', "").replace('\ue001"', "")
