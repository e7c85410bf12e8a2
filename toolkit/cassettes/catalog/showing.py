"""Show what is in a recording: a row for each interaction, and one interaction in full."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.recording.recorder import scrub, todays_scrubber
from toolkit.core.errors import CassetteCorrupt, SecretLeak
from toolkit.core.ledger import EPOCH
from toolkit.core.text import excerpt, masked, printable
from toolkit.local.settings import Settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_value
from toolkit.scrubbing.scrubber import Scrubber

if TYPE_CHECKING:
    import pandas as pd

EXCERPT: Final = 2_000  # characters of a body
_LONGEST_URI, _LONGEST_VALUE = 2_000, 500  # characters
_LARGEST_JSON: Final = 1 << 20  # bytes of a body that is laid out for reading

# Types of the columns that are not text.
_TYPES: Final = {
    **dict.fromkeys(("interactions", "size", "number", "status", "count"), "int64"),
    **dict.fromkeys(("recorded", "last"), "datetime64[us, UTC]"),
    "elapsed": "float64",
    **dict.fromkeys(("stale", "fails"), "bool"),
    **dict.fromkeys(("line", "interaction", "old", "new"), "Int64"),
}


def row_of(opened: Contents, number: int, scrubber: Scrubber | None) -> dict[str, Any]:
    """Return one interaction, by its number from 0, as a row: as it would be recorded today, or without a scrubber.

    All texts are safe to show. The members are: `number` (from 1), `recorded`, `method`, `uri`, `status` (599 if no
    answer came), `failure` (why none came, or ""), `elapsed` (seconds), `size` (bytes of the answer's body),
    `environment` and `profile` (who called, or ""), `token` (its number), `is_token_request`, `tries`, `ended_early`,
    `line` (in the file, from 1), and `problem`: why the interaction cannot be read, or "". Then no more than the
    request is known.
    """
    interaction, line = opened.interaction_or_error(number), opened.line(number)
    problem, head = "", RecordedRequest("", "")
    if isinstance(interaction, CassetteCorrupt):
        problem = interaction.what
        with suppress(CassetteCorrupt):
            head = RecordedRequest(*opened.head(number)[:2])
            head = scrubber.lookup_request(head) if scrubber else head
        interaction = Interaction(head, RecordedResponse(0, ""))
    else:
        head = safe_to_show(interaction, scrubber).request if scrubber else interaction.request
    caller = interaction.authorized_by or interaction.token_obtained
    return {
        "number": number + 1,
        "recorded": None if interaction.recorded_at == EPOCH else interaction.recorded_at,
        "method": excerpt(head.method, 40),
        "uri": excerpt(head.uri, _LONGEST_URI),
        "status": interaction.response.status,
        "failure": interaction.failure.type if interaction.failure else "",
        "elapsed": None if interaction.elapsed is None else interaction.elapsed.total_seconds(),
        "size": len(interaction.response.body),
        "environment": str(caller.environment) if caller else "",
        "profile": excerpt(caller.profile, _LONGEST_VALUE) if caller else "",
        "token": caller.token if caller else None,
        "is_token_request": interaction.token_obtained is not None,
        "tries": interaction.tries,
        "ended_early": interaction.ended_early,
        "line": line,
        "problem": problem,
    }


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
    rows = [row_of(opened, number, scrubber) for number in numbers]
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


def messages_of(interaction: Interaction, scrubber: Scrubber, characters: int = EXCERPT) -> dict[str, dict[str, Any]]:
    """Return `request` and `response` of an interaction as they would be recorded today.

    Each has `headers` (pairs), `body` (the beginning of it as text, decompressed; JSON with one member a line), `size`
    (bytes of the body as recorded), and `is_cut`: whether the body goes on.
    """
    safe, shown = safe_to_show(interaction, scrubber), {}
    for name in ("request", "response"):
        (headers, body), size = getattr(safe, name)[2:4], len(getattr(interaction, name).body)
        text = _text_of(headers, body) if body else ("" if not size else f"{size:,} bytes that cannot be shown safely")
        text = masked(printable(text))
        pairs = [(excerpt(key, _LONGEST_VALUE), excerpt(value, _LONGEST_VALUE)) for key, value in headers]
        shown[name] = {"headers": pairs, "body": text[:characters], "size": size, "is_cut": len(text) > characters}
    return shown


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
