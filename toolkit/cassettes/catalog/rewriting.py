"""Rewrite recordings: scrub them again with the rules of today and the same gate, and drop interactions.

A file is rewritten in one step, while nobody records to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from toolkit.cassettes.catalog.facts import parse_numbers, read_cassette
from toolkit.cassettes.catalog.showing import frame_of, scrubber_to_show, table_of
from toolkit.cassettes.replay.player import read_play_log
from toolkit.core.errors import as_flag, as_text, wrong_type
from toolkit.local.settings import as_settings
from toolkit.scrubbing.rules.model import Rules, as_rules

if TYPE_CHECKING:
    import pandas as pd

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, read_bytes
from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.cassettes.recording.recorder import Recorder, scrub, todays_scrubber
from toolkit.core.document import SYMBOLIC_ENDING
from toolkit.core.errors import CassetteBusy, CassetteError, ConfigurationError, SecretLeak
from toolkit.core.ledger import Authorization
from toolkit.core.text import count_text
from toolkit.local.files import write_atomically
from toolkit.local.settings import Settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import header_bytes
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.scrubbing.strength import is_dummy


def check_rewritable(path: Path) -> None:
    """Refuse a file that cannot be rewritten in the recorder's layout.

    Raises:
        ConfigurationError: if it is JSON.
    """
    if path.suffix == ".json":
        raise ConfigurationError(
            f"Cannot rewrite {path}: recordings are YAML, and this is JSON.",
            f"Make a clean copy in YAML: toolkit cassettes import {path} {path.stem}",
            about="cassette",
        )


def rewrite(path: Path, scrubber: Scrubber, change: Callable[[bytes], bytes]) -> None:
    """Replace the content of a cassette by what `change` makes of it. If that is the same, nothing is written.

    Raises:
        CassetteBusy: if a process, perhaps this one, is recording to the file; nothing was changed.
        CassetteError: if the file cannot be read or written; the old content stays.
    """
    check_rewritable(path)
    recorder = Recorder(path, scrubber)
    try:
        claim = recorder.claim()
        with claim.lock:
            if claim.prepared:
                raise CassetteBusy(
                    f"This process is recording to {path}; nothing was changed.",
                    "Close the session or cassette first, and run this again.",
                    about="cassette",
                )
            before = read_bytes(path)
            after = change(before)
            if after != before:
                write_atomically(path, after)
    except OSError as error:
        what = f"Cannot write {path}: {error.strerror}."
        raise CassetteError(what, "Nothing was changed. Fix its folder.", about="cassette") from None
    finally:
        recorder.release()


ADDRESS, PERSONAL, OTHER = "address", "personal data", "other"
SHOWN_IN_SHARED_FILES: Final = frozenset({ADDRESS, PERSONAL, OTHER})  # kinds that are not secrets
# A placeholder as it is, and as URLs and JSON write it.
_PLACEHOLDER: Final = re.compile(rb"(?:<|%3[Cc]|\\u003c)([A-Z][A-Z0-9_]{0,60})(?:-[0-9]{1,9})?(?:>|%3[Ee]|\\u003e)")
# What tools and services write where there is nothing to hide, as a whole value.
_STAND_IN: Final = re.compile(r"(?i)<[\w -]+>|\[[\w -]+\]|suppress|test_set_cookie|(?:dummy|fake|test)[\w-]*")
_SYMBOLIC: Final = SYMBOLIC_ENDING.encode()


def rescrubbed(
    data: bytes,
    opened: Contents,
    scrubber: Scrubber,
    *,
    source: Path | str,
    recorded: Mapping[int, Interaction] | None = None,
) -> tuple[bytes, list[tuple[int, dict[str, int]]]]:
    """Scrub all interactions of a file, and let the gate check the result.

    Args:
        data: the bytes of the file.
        opened: its interactions.
        scrubber: see `todays_scrubber`.
        source: the file, for messages.
        recorded: some of the interactions by their numbers; the result then holds only these. By default all.

    Returns:
        The bytes of the file, in which interactions keep theirs if nothing is replaced in them; and for the others the
        number, from 0, with the count of each kind that is replaced, such as ACCESS_TOKEN.

    Raises:
        SecretLeak: if an interaction cannot be checked, or holds a secret that cannot be removed.
        CassetteCorrupt: if an interaction cannot be read.
    """
    scrubber.recall(data)
    if recorded is None:
        recorded = {number: opened.interaction(number) for number in range(len(opened))}
    known_count = -1
    safe: dict[int, Interaction] = {}
    while len(scrubber.known) != known_count:  # earlier ones may hold what a later one named
        known_count = len(scrubber.known)
        safe = {number: scrub(interaction, scrubber) for number, interaction in recorded.items()}
    # A difference in the noted rules alone is not a change.
    unruled = {number: after._replace(pseudonyms=recorded[number].pseudonyms) for number, after in safe.items()}
    changed = [number for number, before in recorded.items() if before != unruled[number]]
    if changed or opened.is_torn or opened.is_foreign or len(safe) < len(opened):
        items = [
            encode(after) if number in changed or opened.data is None else opened.item(number)
            for number, after in safe.items()
        ]
        data = b"".join((HEADER, *items)) if items else b""
    scrubber.known.check(data, where=f"{source}, scrubbed again,")
    # What a user's rule names counts, whatever it is.
    telling = [each for each in changed if scrubber.has_rules or not _are_dummies(recorded[each], safe[each])]
    return data, [(each, _counts(recorded[each], safe[each], scrubber)) for each in telling]


def _are_dummies(before: Interaction, after: Interaction) -> bool:
    """Check whether only stand-ins such as `REDACTED` were replaced, about which there is nothing to say."""
    for old, new in zip(_parts(before), _parts(after), strict=False):
        if old != new:
            around = _PLACEHOLDER.split(new)[::2]
            match = re.fullmatch(b"(.{0,200}?)".join(map(re.escape, around)), old, re.DOTALL)
            values = [value.decode("utf-8", "replace") for value in match.groups()] if match else []
            if not values or not all(is_dummy(value) or _STAND_IN.fullmatch(value) for value in values):
                return False
    return True


def _counts(before: Interaction, after: Interaction, scrubber: Scrubber) -> dict[str, int]:
    """Return how often scrubbing replaced something in an interaction, by the kind of what stood there."""
    old, new = (b"\n".join(_parts(each)) for each in (before, after))
    kinds = placeholders_in(new)
    kinds.subtract(placeholders_in(old))
    kinds[ADDRESS] = new.count(_SYMBOLIC) - old.count(_SYMBOLIC)
    personal = [{text for message in each[:2] for text in scrubber.stand_ins_in(message)} for each in (before, after)]
    kinds[PERSONAL] = len(personal[0] - personal[1])
    return {kind: count for kind, count in kinds.items() if count > 0} or {OTHER: 1}


def placeholders_in(text: bytes) -> Counter[str]:
    """Count the placeholders in a text by their kind."""
    return Counter(kind.decode("ascii") for kind in _PLACEHOLDER.findall(text))


def _parts(interaction: Interaction) -> Iterator[bytes]:
    request, response = interaction.request, interaction.response
    yield request.uri.encode("utf-8", "surrogatepass")
    for message in (request, response):
        yield from (header_bytes(value) for name, value in message.headers if name.lower() != "content-length")
        try:
            yield decompress_body(message.headers, message.body)
        except SecretLeak:
            yield message.body
    yield response.reason.encode("utf-8", "surrogatepass")
    if interaction.failure is not None:
        yield interaction.failure.message.encode("utf-8", "surrogatepass")


def _calls(opened: Contents, method: str | None, uri: str | None, played: Container[int] | None) -> set[int]:
    """Return the calls, by their numbers from 0, that fit all conditions that are given; none without a condition."""
    fitting = set()
    has_condition = method is not None or uri is not None or played is not None
    for number, interaction in opened.readable().items() if has_condition else ():
        head, parts = interaction.request, urlsplit(interaction.request.uri)
        written = (head.uri, parts.path, f"{parts.path}?{parts.query}")
        if (
            interaction.token_obtained is None
            and (played is None or number not in played)
            and (method is None or head.method.upper() == method.upper())
            and (uri is None or any(fnmatchcase(text, uri) for text in written))
        ):
            fitting.add(number)
    return fitting


def _token_requests(opened: Contents, dropped: Container[int]) -> set[int]:
    """Return the token requests that authorized calls of which all are dropped, by their numbers."""
    left = opened.readable()
    calls: dict[Authorization | None, list[int]] = {}
    for number, interaction in left.items():
        calls.setdefault(interaction.authorized_by, []).append(number)
    numbers = {at: calls.get(left[at].token_obtained, ()) for at in opened.token_requests}
    return {at for at, its_calls in numbers.items() if its_calls and all(call in dropped for call in its_calls)}


def prune_cassette(
    cassette: str | Path,
    numbers: int | str | Iterable[int | str] = (),
    *,
    method: str | None = None,
    uri: str | None = None,
    play_log: str | Path | None = None,
    dry_run: bool = True,
    settings: Settings | None = None,
) -> pd.DataFrame:
    """Show which interactions would be dropped from a recording, or with `dry_run=False` drop them.

    The others are scrubbed again, as by `scrub_cassette`, and keep their bytes if nothing is replaced in them. Their
    numbers change, so a cell that drops by number must not run twice: by default nothing is written.

    Dropped are the interactions with these numbers, and the calls that fit all other conditions. A token request goes
    with the last of its calls.

    Args:
        cassette: name or path.
        numbers: numbers from 1, and ranges such as "5-7".
        method: drop calls of this method,
        uri: whose URI, or path with or without its query, fits this pattern (`*` stands for any text),
        play_log: and that are not played according to this log (see `check_cassettes`).
        dry_run: False to write the file; by default nothing is changed.
        settings: by default those of the project.

    Returns:
        The interactions that are dropped, one row each: `number` (int64, from 1) and the columns of `Cassette.table()`.

    Raises:
        ConfigurationError: if an interaction does not exist, nothing would be left, or the file is JSON.
        CassetteBusy: if somebody is recording to the file.
        SecretLeak: if what is left holds a secret that cannot be removed; nothing was changed.
        CassetteMiss, CassetteCorrupt: if the cassette does not exist, or it or what is left cannot be read.
    """
    settings = as_settings(settings)
    opened = read_cassette(cassette, settings)
    check_rewritable(opened.path)
    scrubber = scrubber_to_show(settings, opened.contents)
    played = None if play_log is None else read_play_log(play_log).get(opened.path.resolve(), set())
    if not isinstance(numbers, Iterable | int):
        raise wrong_type("numbers", "a number, a range or a list of them", numbers, 'For example numbers=[3, "5-7"].')
    several = [numbers] if isinstance(numbers, int | str) else numbers
    method = None if method is None else as_text(method, about="method", example='"POST"')
    uri = None if uri is None else as_text(uri, about="uri", example='"*/orders*"')
    as_flag(dry_run, about="dry_run")
    dropped = parse_numbers(several, len(opened.contents)) | _calls(opened.contents, method, uri, played)
    dropped |= _token_requests(opened.contents, dropped)
    if dropped and len(dropped) == len(opened.contents):
        raise ConfigurationError(
            f"This would drop all {count_text(len(dropped), 'interaction')} of {opened.path}.",
            "To remove the whole recording, delete the file.",
            about="numbers",
        )

    def pruned(data: bytes) -> bytes:
        left = contents.read(data, source=str(opened.path))
        kept = {number: left.interaction(number) for number in range(len(left)) if number not in dropped}
        return rescrubbed(data, left, scrubber, source=opened.path, recorded=kept)[0]

    if dropped:
        pruned(opened.data)  # also on trial, so that its errors come before anything is dropped
        if not dry_run:
            rewrite(opened.path, scrubber, pruned)
    return table_of(opened.contents, sorted(dropped), scrubber)


def scrub_cassette(
    cassette: str | Path, *, rules: Rules | None = None, dry_run: bool = False, settings: Settings | None = None
) -> pd.DataFrame:
    """Scrub a recording again, as if it were recorded today.

    Interactions in which nothing is replaced keep their bytes; a file of stock vcrpy is rewritten as ours.

    Args:
        cassette: name or path.
        rules: rules besides those of the project.
        dry_run: change nothing.
        settings: by default those of the project.

    Returns:
        What is replaced, one row for each interaction and kind: `number` (int64, from 1), `kind` (str; a placeholder
        such as ACCESS_TOKEN, "address", "personal data" or "other") and `count` (int64).

    Raises:
        ConfigurationError: if the file is JSON.
        CassetteBusy: if somebody is recording to the file.
        SecretLeak: if it holds a secret that cannot be removed; nothing was changed.
        CassetteMiss, CassetteCorrupt: if the cassette does not exist, or it cannot be read.
    """
    settings = as_settings(settings)
    path, data, _ = read_cassette(cassette, settings)
    check_rewritable(path)
    scrubber = todays_scrubber(settings, as_rules(rules))
    rows: list[tuple[Any, ...]] = []

    def scrubbed(data: bytes) -> bytes:
        clean, replacements = rescrubbed(data, contents.read(data, source=str(path)), scrubber, source=path)
        rows[:] = [(at + 1, *count) for at, counts in replacements for count in sorted(counts.items())]
        return clean

    if as_flag(dry_run, about="dry_run"):
        scrubbed(data)
    else:
        rewrite(path, scrubber, scrubbed)
    return frame_of("number kind count", rows)
