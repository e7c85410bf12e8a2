"""Play the recordings of a file, and remember which were played.

If the variable TOOLKIT_PLAY_LOG names a folder, each process appends lines of JSON to a file of its own there: one when
a cassette is opened, and one when an interaction is played for the first time since. Programs that run notebooks or
tests in other processes ask it what they used. Each line is a single write, so the log of a killed process is complete
up to its last line.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.decompression import NotEncoded, TooLarge, check_decompression
from toolkit.cassettes.format.interactions import NO_ANSWER, Interaction
from toolkit.cassettes.replay import differences
from toolkit.cassettes.replay.matching import OURS, VCRPY_DEFAULT, Identity, Index, Matcher, Takes
from toolkit.core.errors import CassetteCorrupt, CassetteMiss, ConfigurationError
from toolkit.core.ledger import Authorization
from toolkit.core.secret import REGISTER
from toolkit.local.dotenv import own_variable
from toolkit.local.files import append_to, expanded
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.scrubber import Scrubber

VARIABLE: Final = "TOOLKIT_PLAY_LOG"
_SUFFIX: Final = ".plays"
_UNREADABLE: Final = RecordedRequest("", "")  # the head of an interaction whose head cannot be read; nothing matches it


class Player:
    """Plays the interactions that a file held when it was opened. Thread-safe.

    Args:
        contents: the interactions.
        scrubber: scrubs the requests of foreign recordings as if they were recorded now.
        file_name: name of the cassette's file, for errors.
        match_on: vcrpy's names of the parts that must be equal, or None for the default of the kind of file.
        strict: play each recording once, instead of repeating the last one.
        log: notes which interactions are played.

    Raises:
        ConfigurationError: if a name in match_on is unknown.
    """

    def __init__(
        self,
        contents: Contents,
        scrubber: Scrubber,
        *,
        file_name: str,
        match_on: Sequence[str] | None = None,
        strict: bool = False,
        log: PlayLog | None = None,
    ) -> None:
        self._contents = contents
        self._scrubber = scrubber
        self._file_name = file_name
        self._strict = strict
        self._log = log
        self._matcher = Matcher(match_on or (VCRPY_DEFAULT if contents.is_foreign else OURS))
        self._lock = threading.Lock()
        self._play_counts: dict[int, int] = {}
        self._checked: set[int] = set()  # numbers of interactions whose bodies are known to be small enough
        self._index: Index | None = None  # as the file has them, or as they would be recorded now if it is foreign
        self._scrubbed_index: Index | None = None
        self._indexed_with = -1  # number of secrets in the register when the requests were last parsed to index them
        self._token_requests: dict[Authorization, int] | None = None

    @property
    def play_count(self) -> int:
        """Number of times that interactions were played, repeats included."""
        return sum(self._play_counts.values())

    @property
    def unplayed(self) -> list[str]:
        """Method and URI of each interaction that was not played yet, in their order."""
        heads = (self._head(number) for number in range(len(self._contents)) if number not in self._play_counts)
        return [f"{head.method} {head.uri}" for head in heads]

    def play(self, request: RecordedRequest, identity: Identity, *, as_written: bool = False) -> Interaction | None:
        """Return the interaction that answers a request, or None.

        Args:
            request: the request, scrubbed unless `as_written`.
            identity: the caller.
            as_written: True to look only for a recording that is written like the request.

        Raises:
            CassetteCorrupt: if the recorded item cannot be read, or its body is too large when decompressed.
        """
        with self._lock:
            takes = self._find(request, identity, as_written=as_written)
            number = None if takes is None else takes.next(self._play_counts)
            if takes is None or (number is None and self._strict):
                return None
            number = takes.numbers[-1] if number is None else number
            interaction = self._contents.interaction(number)
            self._count(number)
        self._check_size(number, interaction.response)
        return interaction

    def token_request_of(self, authorization: Authorization) -> Interaction | None:
        """Return the token request whose token authorized a call: once, for the first such call; then None."""
        with self._lock:
            if self._token_requests is None:
                numbers = self._contents.token_requests
                obtained = ((self._contents.interaction(number).token_obtained, number) for number in numbers)
                self._token_requests = {by: number for by, number in obtained if by is not None}
            number = self._token_requests.get(authorization)
            if number is None or number in self._play_counts:
                return None
            self._count(number)
            return self._contents.interaction(number)

    def _count(self, number: int) -> None:
        played = self._play_counts.get(number, 0)
        if self._log is not None and not played:
            self._log.note(number)
        self._play_counts[number] = played + 1

    def miss(self, request: RecordedRequest, identity: Identity) -> CassetteMiss:
        """Return the error for a request without a recording, or with recordings that were all played.

        Raises:
            CassetteCorrupt: if none of the recordings can be read.
        """
        with self._lock:
            takes = self._find(request, identity)
        if takes is not None and self._strict:
            return differences.all_played(self._file_name, request, len(takes.numbers))
        token_requests = set(self._contents.token_requests)
        calls = [number for number in range(len(self._contents)) if number not in token_requests]
        heads = [(number, head) for number in calls if (head := self._head(number)) is not _UNREADABLE]
        if calls and not heads:
            self._contents.head(calls[0])  # raises the error that says why
        return differences.no_match(
            self._file_name,
            self._matcher,
            identity,
            request,
            heads,
            self._comparable,
            environments=self._contents.environments,
            is_empty=not len(self._contents),
        )

    def _check_size(self, number: int, response: RecordedResponse) -> None:
        """Refuse a body that would fill the memory when the client decompresses it. Each is checked once."""
        if number in self._checked:
            return
        try:
            check_decompression(response.headers, response.body)
        except TooLarge as error:
            raise self._undecodable(number, f"has {error}") from None
        except NotEncoded as error:
            if error.is_nested:
                raise self._undecodable(number, "does not have the content encodings that its headers name") from None
        self._checked.add(number)

    def _undecodable(self, number: int, why: str) -> CassetteCorrupt:
        line = self._contents.line(number)
        where = f"interaction {number + 1}" + (f" (line {line})" if line else "")
        return CassetteCorrupt(
            f"In {self._file_name}, the body of the response in {where} {why}.",
            "It is not replayed, because it could fill the memory. The file was left as it was.",
            about="cassette",
        )

    def _find(self, request: RecordedRequest, identity: Identity, *, as_written: bool = False) -> Takes | None:
        numbers, is_foreign = range(len(self._contents)), self._contents.is_foreign
        if self._index is None:
            parse = self._as_recorded_now if is_foreign else self._contents.interaction
            self._index = Index(self._matcher, map(self._head, numbers), parse)
        takes = self._index.find(identity, request)
        if as_written:
            return takes
        if takes is None and is_foreign and self._indexed_with != len(REGISTER):
            # A foreign request may contain a secret that also stands in the URI of another, so parsing all requests can
            # change the URIs under which they are found.
            self._indexed_with = len(REGISTER)
            heads = [self._comparable(number).request for number in numbers]
            self._index = Index(self._matcher, heads, self._as_recorded_now)
            takes = self._index.find(identity, request)
        if takes is None and not is_foreign:
            # An earlier version, or other rules, may have recorded in clear what is scrubbed today.
            if self._scrubbed_index is None:
                self._scrubbed_index = Index(self._matcher, map(self._scrubbed_head, numbers), self._as_recorded_now)
            takes = self._scrubbed_index.find(identity, request)
        return takes

    def _head(self, number: int) -> RecordedRequest:
        try:
            return self._scrubbed_head(number) if self._contents.is_foreign else self._contents.head(number)
        except CassetteCorrupt:
            return _UNREADABLE

    def _comparable(self, number: int) -> Interaction:
        """Return an interaction to compare with requests, with the head alone if it cannot be read."""
        try:
            return self._as_recorded_now(number) if self._contents.is_foreign else self._contents.interaction(number)
        except CassetteCorrupt:
            return Interaction(self._head(number), NO_ANSWER)

    def _scrubbed_head(self, number: int) -> RecordedRequest:
        head = self._contents.head(number)
        return self._scrubber.lookup_request(RecordedRequest(head.method, head.uri))

    def _as_recorded_now(self, number: int) -> Interaction:
        interaction = self._contents.interaction(number)
        return interaction._replace(request=self._scrubber.lookup_request(interaction.request))


class PlayLog:
    """Notes in a folder what is played from one cassette."""

    __slots__ = ("_cassette", "_folder")

    def __init__(self, folder: Path, cassette: Path) -> None:
        self._folder = folder
        self._cassette = os.path.realpath(cassette)

    def note(self, number: int | None) -> None:
        """Note that an interaction (numbered from 0) is played; None notes that the cassette is opened.

        Raises:
            ConfigurationError: if the log cannot be written. An incomplete log would name too few interactions.
        """
        line = json.dumps([self._cassette, number]).encode("ascii") + b"\n"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # The name is made for each line, because a forked process has another id than its parent.
            append_to(self._folder / f"{os.getpid()}{_SUFFIX}", line)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot write the log of what is played to {self._folder}: {error.strerror}.",
                f"Set {VARIABLE} to a folder that can be written, or unset it.",
                about=VARIABLE,
            ) from None


def play_log_of(cassette: Path) -> PlayLog | None:
    """Return the log for a cassette that is opened, with a note of that, or None if nothing is logged.

    A project does not choose the folder: what its `.env` sets does not count.

    Raises:
        ConfigurationError: if the log cannot be written.
    """
    folder = own_variable(VARIABLE)
    if not folder:
        return None
    log = PlayLog(Path(folder), cassette)
    log.note(None)
    return log


def read_play_log(folder: str | Path) -> dict[Path, set[int]]:
    """Return the interactions that were played, by their numbers from 0, for each cassette that was opened.

    Args:
        folder: the folder that TOOLKIT_PLAY_LOG named.

    Returns:
        The numbers by the real path of the cassette (absolute, links resolved). The set of a cassette that was opened
        and not played is empty.

    Raises:
        ConfigurationError: if the folder cannot be read.
    """
    played: dict[Path, set[int]] = {}
    path = expanded(folder, about="play_log")
    try:
        for file in sorted(path.iterdir()):
            for line in file.read_bytes().splitlines() if file.suffix == _SUFFIX else ():
                with suppress(ValueError, TypeError):  # a line that was not written completely
                    cassette, number = json.loads(line)
                    played.setdefault(Path(cassette), set()).update(() if number is None else (number,))
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read the log of what was played in {folder}: {error.strerror}.",
            f"Name the folder that {VARIABLE} named in the run.",
            about=VARIABLE,
        ) from None
    return played
