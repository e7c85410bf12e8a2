"""Rewrite recordings: scrub them again with the current rules and checks, and drop interactions.

A file is rewritten atomically, and only while nothing else is recording to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from toolkit.cassettes.catalog.facts import as_numbers, frame_of, read_cassette, scrubber_to_show, table_of
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, read_bytes
from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.cassettes.recording.recorder import Recorder, scrub, todays_scrubber
from toolkit.cassettes.replay.player import read_play_log
from toolkit.core.document import SYMBOLIC_ENDING
from toolkit.core.errors import CassetteBusy, CassetteError, ConfigurationError, SecretLeak, as_instance, as_text
from toolkit.core.text import count_text
from toolkit.local.files import write_atomically
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.rules.model import Rules, as_rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.scrubbing.strength import is_dummy

if TYPE_CHECKING:
    import pandas as pd

ADDRESS, PERSONAL, OTHER = "address", "personal data", "other"
# A placeholder, plain or as it is escaped in URLs and JSON.
_PLACEHOLDER: Final = re.compile(r"(?:<|%3[Cc]|\\u003c)([A-Z][A-Z0-9_]{0,60})(?:-[0-9]{1,9})?(?:>|%3[Ee]|\\u003e)")
_OF_BODY: Final = ("content-length", "content-encoding")  # they change when something in the body is replaced
# Whole values that tools and services write instead of a secret.
_STAND_IN: Final = re.compile(r"(?i)<[\w -]+>|\[[\w -]+\]|suppress|test_set_cookie|(?:dummy|fake|test)[\w-]*")


def scrub_cassette(
    cassette: str | Path, *, rules: Rules | None = None, dry_run: bool = False, settings: Settings | None = None
) -> pd.DataFrame:
    """Scrub a recording again, as if it had been recorded today.

    Interactions in which nothing is replaced keep their bytes; a stock vcrpy file is rewritten in our layout.

    Args:
        cassette: name or path.
        rules: rules to apply in addition to the project's rules.
        dry_run: True to leave the file unchanged.
        settings: defaults to the project's settings.

    Returns:
        The replacements, with one row for each interaction and kind: `number` (int64, from 1), `kind` (str, such as
        ACCESS_TOKEN, "address", "personal data" or "other") and `count` (int64).

    Raises:
        ConfigurationError: if the file is JSON.
        CassetteBusy: if the file is being recorded to.
        SecretLeak: if the file contains a secret that cannot be removed; nothing was changed.
        CassetteMiss, CassetteCorrupt: if the cassette does not exist, or cannot be read.
    """
    settings = as_settings(settings)
    recording = read_cassette(cassette, settings)
    check_rewritable(recording.path)
    scrubber = todays_scrubber(settings, as_rules(rules))
    rows: list[tuple[Any, ...]] = []

    def scrubbed(opened: Contents) -> bytes:
        clean, replacements = rescrubbed(opened, scrubber)
        rows[:] = [(at + 1, *count) for at, counts in replacements for count in sorted(counts.items())]
        return clean

    if as_instance(dry_run, bool, about="dry_run", example="True"):
        scrubbed(recording)
    else:
        rewrite(recording.path, scrubber, scrubbed)
    return frame_of("number kind count", rows)


def prune_cassette(
    cassette: str | Path,
    numbers: int | Iterable[int] = (),
    *,
    method: str | None = None,
    uri: str | None = None,
    play_log: str | Path | None = None,
    dry_run: bool = True,
    settings: Settings | None = None,
) -> pd.DataFrame:
    """Show which interactions would be dropped from a recording or, with `dry_run=False`, drop them.

    The remaining interactions are scrubbed again, as by `scrub_cassette`, and keep their bytes if nothing in them is
    replaced. Their numbers change, so by default nothing is written: a cell that drops by number must not run twice.

    This drops the interactions with the given numbers and, in addition, the calls that match all the other filters. A
    token request is dropped with the last of its calls.

    Args:
        cassette: name or path.
        numbers: one or more interaction numbers, from 1.
        method: drop calls with this method.
        uri: drop calls whose URI, or path with or without its query, matches this pattern (`*` is any text).
        play_log: drop calls that were not played according to this log (see `check_cassettes`).
        dry_run: False to write the file; by default nothing is changed.
        settings: defaults to the project's settings.

    Returns:
        The interactions that are dropped, one row each: `number` (int64, from 1) and the columns of `Cassette.table()`.

    Raises:
        ConfigurationError: if an interaction does not exist, nothing would be left, or the file is JSON.
        CassetteBusy: if the file is being recorded to.
        SecretLeak: if a remaining interaction contains a secret that cannot be removed; nothing was changed.
        CassetteMiss, CassetteCorrupt: if the cassette does not exist, or cannot be read before or after the change.
    """
    settings = as_settings(settings)
    opened = read_cassette(cassette, settings)
    check_rewritable(opened.path)
    scrubber = scrubber_to_show(settings, opened)
    played = None if play_log is None else read_play_log(play_log).get(opened.path.resolve(), set())
    method = None if method is None else as_text(method, about="method", example='"POST"')
    uri = None if uri is None else as_text(uri, about="uri", example='"*/orders*"')
    as_instance(dry_run, bool, about="dry_run", example="True")
    dropped = as_numbers(numbers, len(opened))
    if method is not None or uri is not None or played is not None:
        dropped |= _calls(opened, method, uri, played)
    dropped |= _token_requests(opened, dropped)
    if dropped and len(dropped) == len(opened):
        raise ConfigurationError(
            f"This would drop all {count_text(len(dropped), 'interaction')} from {opened.path}.",
            "To remove the whole recording, delete the file.",
            about="numbers",
        )

    def pruned(now: Contents) -> bytes:
        kept = {number: now.interaction(number) for number in range(len(now)) if number not in dropped}
        return rescrubbed(now, scrubber, kept)[0]

    if dropped:
        pruned(opened)  # also in a dry run, so that errors are raised before anything is dropped
        if not dry_run:
            rewrite(opened.path, scrubber, pruned)
    return table_of(opened, sorted(dropped), scrubber)


def _calls(opened: Contents, method: str | None, uri: str | None, played: Container[int] | None) -> set[int]:
    """Return the zero-based numbers of the calls that meet all given conditions."""
    fitting = set()
    for number, interaction in opened.readable().items():
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
    """Return the numbers of the token requests whose calls are all dropped."""
    left = opened.readable()
    used = {each.authorized_by for each in left.values()}
    still_used = {each.authorized_by for number, each in left.items() if number not in dropped}
    return {at for at in opened.token_requests if left[at].token_obtained in used - still_used}


def check_rewritable(path: Path) -> None:
    """Raise ConfigurationError for a JSON file, which cannot be rewritten in the recorder's layout."""
    if path.suffix == ".json":
        raise ConfigurationError(
            f"Cannot rewrite {path}: recordings are YAML, and this is JSON.",
            f"Make a clean copy in YAML: toolkit cassettes import {path} {path.stem}",
            about="cassette",
        )


def rewrite(path: Path, scrubber: Scrubber, change: Callable[[Contents], bytes]) -> None:
    """Replace the content of a cassette with what `change` returns. Write nothing if the content stays the same."""
    recorder = Recorder(path, scrubber)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        claim = recorder.claim()
        with claim.lock:
            if claim.prepared:
                raise CassetteBusy(
                    f"This process is recording to {path}; nothing was changed.",
                    "Close the session or cassette first, and run this again.",
                    about="cassette",
                )
            before = contents.read(read_bytes(path), source=str(path))
            after = change(before)
            if after != before.raw:
                write_atomically(path, after)
    except OSError as error:
        what = f"Cannot write {path}: {error.strerror}."
        raise CassetteError(what, "Nothing was changed. Fix the permissions of its folder.", about="cassette") from None
    finally:
        recorder.release()


def rescrubbed(
    opened: Contents, scrubber: Scrubber, recorded: Mapping[int, Interaction] | None = None
) -> tuple[bytes, list[tuple[int, dict[str, int]]]]:
    """Return the rescrubbed file, and how often each kind of secret was replaced, by zero-based interaction number.

    Interactions in which nothing is replaced keep their bytes. If `recorded` is given, the result contains only these
    interactions.
    """
    data = opened.raw
    scrubber.recall(data)
    if recorded is None:
        recorded = {number: opened.interaction(number) for number in range(len(opened))}
    known_count = -1
    safe: dict[int, Interaction] = {}
    while len(scrubber.known) != known_count:  # earlier ones may contain a secret that only a later one reveals
        known_count = len(scrubber.known)
        safe = {number: scrub(interaction, scrubber) for number, interaction in recorded.items()}
    # A difference only in the stored rules is not a change.
    changed = [at for at, each in recorded.items() if each != safe[at]._replace(pseudonyms=each.pseudonyms)]
    if changed or opened.is_torn or opened.is_foreign or len(safe) < len(opened):
        items = [
            encode(after) if number in changed or opened.data is None else opened.item(number)
            for number, after in safe.items()
        ]
        data = b"".join((HEADER, *items)) if items else b""
    scrubber.known.check(data, where=f"{opened.source}, scrubbed again,")
    # If the user has rules, every change counts, even of a dummy value.
    telling = [each for each in changed if scrubber.has_rules or not _are_dummies(recorded[each], safe[each])]
    return data, [(each, _counts(recorded[each], safe[each], scrubber)) for each in telling]


def _are_dummies(before: Interaction, after: Interaction) -> bool:
    """Return whether only stand-ins such as `REDACTED` were replaced, which need not be reported."""
    old, new = _text_of(before), _text_of(after)
    first, *others = map(re.escape, _PLACEHOLDER.split(new)[::2])
    # Atomic groups prevent slow backtracking, which would not find a better match.
    match = re.fullmatch(first + "".join(f"(?>(.{{0,200}}?){each})" for each in others), old, re.DOTALL)
    return match is not None and all(is_dummy(value) or _STAND_IN.fullmatch(value) for value in match.groups())


def _counts(before: Interaction, after: Interaction, scrubber: Scrubber) -> dict[str, int]:
    """Count what scrubbing replaced in an interaction, by kind."""
    old, new = _text_of(before), _text_of(after)
    kinds = placeholders_in(new)
    kinds.subtract(placeholders_in(old))
    kinds[ADDRESS] = new.count(SYMBOLIC_ENDING) - old.count(SYMBOLIC_ENDING)
    personal = [{text for message in each[:2] for text in scrubber.stand_ins_in(message)} for each in (before, after)]
    kinds[PERSONAL] = len(personal[0] - personal[1])
    return {kind: count for kind, count in kinds.items() if count > 0} or {OTHER: 1}


def placeholders_in(text: str) -> Counter[str]:
    """Count the placeholders in a string by kind."""
    return Counter(_PLACEHOLDER.findall(text))


def _text_of(interaction: Interaction) -> str:
    """Return everything that may be scrubbed in an interaction as one string, with bodies decompressed."""
    request, response, failure = interaction.request, interaction.response, interaction.failure
    texts = [request.uri, response.reason, failure.message if failure else ""]
    for message in (request, response):
        texts += (value for name, value in message.headers if name.lower() not in _OF_BODY)
        try:
            body = decompress_body(message.headers, message.body)
        except SecretLeak:
            body = message.body
        texts.append(body.decode("utf-8", "surrogateescape"))
    return "\n".join((*texts, ""))
