"""Rewrite recordings: scrub them again with the rules of today and the same gate, and drop interactions.

A file is rewritten in one step, while nobody records to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, Unparsed
from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.cassettes.opening import read_bytes, todays_scrubber
from toolkit.cassettes.recording.appending import repaired, scrub
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.core.document import SYMBOLIC_ENDING
from toolkit.core.errors import CassetteBusy, CassetteError, ConfigurationError, SecretLeak
from toolkit.core.text import count_text
from toolkit.local.files import write_atomically
from toolkit.local.settings import Settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import HeaderList, header_bytes
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
    except CassetteBusy as error:
        raise error.reworded(
            f"Another process is recording to {path}; nothing was changed.",
            "Close that session or shut down that kernel, and run this again.",
        ) from None
    try:
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
                write_atomically(path, after, durable=True)
    except OSError as error:
        what = f"Cannot write {path}: {error.strerror}."
        raise CassetteError(what, "Nothing was changed. Fix its folder.", about="cassette") from None
    finally:
        recorder.release()


ADDRESS, PERSONAL, OTHER = "address", "personal data", "other"
# A placeholder as it is, and as URLs and JSON write it.
_PLACEHOLDER: Final = re.compile(rb"(?:<|%3[Cc]|\\u003c)([A-Z][A-Z0-9_]{0,60})(?:-[0-9]{1,9})?(?:>|%3[Ee]|\\u003e)")
# What tools and services write where there is nothing to hide, as a whole value.
_STAND_IN: Final = re.compile(r"(?i)<[\w -]+>|\[[\w -]+\]|suppress|test_set_cookie|(?:dummy|fake|test)[\w-]*")
_SYMBOLIC: Final = SYMBOLIC_ENDING.encode()


class Replacement(NamedTuple):
    """The secrets and values of one interaction that scrubbing again replaces.

    Attributes:
        number: number of the interaction, from 0.
        counts: how often each kind is replaced, such as ACCESS_TOKEN, ADDRESS or PERSONAL.
    """

    number: int
    counts: dict[str, int]


class Rescrubbed(NamedTuple):
    """A recording under today's rules.

    Attributes:
        data: the bytes of the file. Interactions in which nothing is replaced keep theirs.
        replacements: what is replaced, by interaction.
    """

    data: bytes
    replacements: list[Replacement]

    @property
    def counts(self) -> Counter[str]:
        """How often each kind is replaced in the whole file."""
        return sum((Counter(replacement.counts) for replacement in self.replacements), Counter())


def scrubber_to_show(settings: Settings, *recordings: Contents) -> Scrubber:
    """Return a scrubber that knows the secrets in recordings that nobody scrubbed, so that none of them is shown."""
    scrubber = todays_scrubber(settings)
    for interaction in (each for opened in recordings if opened.is_foreign for each in opened.readable().values()):
        with suppress(SecretLeak):
            scrub(interaction, scrubber)
    return scrubber


def rescrubbed(
    data: bytes,
    opened: Contents,
    scrubber: Scrubber,
    *,
    source: Path | str,
    recorded: Mapping[int, Interaction] | None = None,
) -> Rescrubbed:
    """Scrub all interactions of a file, and let the gate check the result.

    Args:
        data: the bytes of the file.
        opened: its interactions.
        scrubber: see `todays_scrubber`.
        source: the file, for messages.
        recorded: some of the interactions by their numbers; the result then holds only these. By default all.

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
    changed = {number for number in recorded if _differ(recorded[number], safe[number])}
    telling = changed
    if not scrubber.has_rules:  # what a user's rule names counts, whatever it is
        telling = {number for number in changed if not _are_dummies(recorded[number], safe[number])}
    result = _written(data, opened, safe, changed)
    scrubber.known.check(result, where=f"{source}, scrubbed again,")
    replacements = [
        Replacement(number, replacement_counts(recorded[number], safe[number], scrubber)) for number in sorted(telling)
    ]
    return Rescrubbed(result, replacements)


def rescrub(path: Path, scrubber: Scrubber) -> Rescrubbed:
    """Scrub a file again, in one step.

    Raises:
        ConfigurationError: if it is JSON.
        CassetteBusy: if somebody is recording to it.
        SecretLeak: if it holds a secret that cannot be removed; nothing was changed.
        CassetteError: if it cannot be read or written.
    """
    results: list[Rescrubbed] = []

    def change(data: bytes) -> bytes:
        results.append(rescrubbed(data, contents.read(data, source=str(path)), scrubber, source=path))
        return results[-1].data

    rewrite(path, scrubber, change)
    return results[-1]


def safe_to_show(interaction: Interaction, scrubber: Scrubber) -> Interaction:
    """Return an interaction as it would be recorded today. A body that cannot be checked is left out."""
    try:
        return scrub(interaction, scrubber)
    except SecretLeak:
        request, response = interaction.request._replace(body=b""), interaction.response._replace(body=b"")
        return scrub(interaction._replace(request=request, response=response), scrubber)


def _written(data: bytes, opened: Contents, safe: Mapping[int, Interaction], changed: Collection[int]) -> bytes:
    is_ours = not opened.is_foreign or not safe
    if not changed and not opened.is_torn and is_ours and len(safe) == len(opened):
        return data
    pieces = [encode(safe[number]) if number in changed else _piece(opened, number, safe[number]) for number in safe]
    return b"".join((HEADER, *pieces)) if pieces else b""


def _piece(opened: Contents, number: int, interaction: Interaction) -> bytes:
    """Return an interaction as it stands in a file of ours, or else in its recorded form."""
    if not isinstance(opened, Unparsed):
        return encode(interaction)
    piece = opened.layout.item(number)
    return piece if piece.endswith(b"\n") else piece + b"\n"


def _differ(before: Interaction, after: Interaction) -> bool:
    """Check whether something was replaced. The rules alone, which a new recording notes, do not count."""
    return before != after._replace(pseudonyms=before.pseudonyms)


def _are_dummies(before: Interaction, after: Interaction) -> bool:
    """Check whether only stand-ins such as `REDACTED` were replaced, about which there is nothing to say."""
    for old, new in zip(_parts(_without_lengths(before)), _parts(_without_lengths(after)), strict=False):
        if old != new:
            around = _PLACEHOLDER.split(new)[::2]
            match = re.fullmatch(b"(.{0,200}?)".join(map(re.escape, around)), old, re.DOTALL)
            values = [value.decode("utf-8", "replace") for value in match.groups()] if match else []
            if not values or not all(is_dummy(value) or _STAND_IN.fullmatch(value) for value in values):
                return False
    return True


def _without_lengths(interaction: Interaction) -> Interaction:
    """Return an interaction without the headers that change with a body."""
    request, response = interaction.request, interaction.response
    return interaction._replace(
        request=request._replace(headers=_without_length(request.headers)),
        response=response._replace(headers=_without_length(response.headers)),
    )


def _without_length(headers: HeaderList) -> HeaderList:
    return tuple((name, value) for name, value in headers if name.lower() != "content-length")


def replacement_counts(before: Interaction, after: Interaction, scrubber: Scrubber) -> dict[str, int]:
    """Return how often scrubbing replaced something in an interaction, by the kind of what stood there."""
    old, new = (b"\n".join(_parts(each)) for each in (before, after))
    kinds = placeholders_in(new)
    kinds.subtract(placeholders_in(old))
    kinds[ADDRESS] = new.count(_SYMBOLIC) - old.count(_SYMBOLIC)
    kinds[PERSONAL] = len(_personal(before, scrubber) - _personal(after, scrubber))
    counts = {kind: count for kind, count in kinds.items() if count > 0}
    return counts or {OTHER: 1}


def _personal(interaction: Interaction, scrubber: Scrubber) -> set[str]:
    messages = (interaction.request, interaction.response)
    return {value for message in messages for value in scrubber.stand_ins_in(message)}


def placeholders_in(text: bytes) -> Counter[str]:
    """Count the placeholders in a text by their kind."""
    return Counter(kind.decode("ascii") for kind in _PLACEHOLDER.findall(text))


def _parts(interaction: Interaction) -> Iterator[bytes]:
    request, response = interaction.request, interaction.response
    yield request.uri.encode("utf-8", "surrogatepass")
    for message in (request, response):
        yield from (header_bytes(value) for _, value in message.headers)
        try:
            yield decompress_body(message.headers, message.body)
        except SecretLeak:
            yield message.body
    yield response.reason.encode("utf-8", "surrogatepass")
    if interaction.failure is not None:
        yield interaction.failure.message.encode("utf-8", "surrogatepass")


def prune(path: Path, dropped: Collection[int], scrubber: Scrubber) -> None:
    """Drop interactions, by their numbers from 0. The others keep their bytes; a recording of vcrpy becomes ours.

    Raises:
        ConfigurationError: if nothing would be left, or the file is JSON.
        CassetteBusy: if somebody is recording to the file.
        SecretLeak: if what is left holds a secret that cannot be removed; nothing was changed.
        CassetteError: if the file cannot be written.
    """
    rewrite(path, scrubber, lambda data: without(data, dropped, scrubber, source=str(path)))


def without(data: bytes, dropped: Collection[int], scrubber: Scrubber, *, source: str) -> bytes:
    """Return the bytes of a cassette without some interactions, checked as if they were recorded now.

    Raises:
        ConfigurationError: if nothing would be left.
        SecretLeak: if what is left holds a secret that cannot be removed.
    """
    if not dropped:
        return data
    opened = contents.read(data, source=source)
    kept = [number for number in range(len(opened)) if number not in dropped]
    if not kept:
        raise ConfigurationError(
            f"This would drop all {count_text(len(opened), 'interaction')} of {source}.",
            "To remove the whole recording, delete the file.",
            about="numbers",
        )
    if not isinstance(opened, Unparsed):
        left = {number: opened.interaction(number) for number in kept}
        return rescrubbed(data, opened, scrubber, source=source, recorded=left).data
    scrubber.recall(data)
    pieces = [opened.layout.item(number) for number in kept]
    pieces = [piece if piece.endswith(b"\n") else piece + b"\n" for piece in pieces]
    return repaired(b"".join((HEADER, *pieces)), scrubber, source=source)
