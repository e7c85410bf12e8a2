"""Play the recordings of a file, and remember which were played.

If the variable TOOLKIT_PLAY_LOG names a folder, each process appends JSON lines to its own file in that folder: one
when a cassette is opened, and one when an interaction is played for the first time after that. Programs that run
notebooks or tests in other processes read these files to see what was played. Each line is a single write, so the log
of a killed process is complete up to its last line.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import unquote_plus

from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import NO_ANSWER, Interaction
from toolkit.cassettes.replay import differences
from toolkit.cassettes.replay.matching import OURS, VCRPY_DEFAULT, Identity, Index, Matcher
from toolkit.core.errors import AccessError, CassetteCorrupt, CassetteMiss, ConfigurationError, SecretLeak
from toolkit.core.ledger import Authorization
from toolkit.core.secret import REGISTER, SHORTEST_SECRET
from toolkit.local.files import expanded, open_plain
from toolkit.local.folders import own_variable
from toolkit.scrubbing.compression import TooLarge, decompress_body
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.rules.model import Rules
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.scrubbing.vocabulary import is_placeholder

VARIABLE: Final = "TOOLKIT_PLAY_LOG"
_SUFFIX: Final = ".plays"
_NOTED: Final = b"pseudonyms:"  # in each interaction that was recorded with pseudonym rules
_PLACEHOLDER: Final = re.compile(r"<[A-Z][A-Z0-9_]{0,60}(?:-[0-9]{1,9})?>")
# A header name as defined in RFC 5322. Since Python 3.14, httpx's cookie jar fails on any other header name.
_NAME: Final = re.compile(r"[!-9;-~]+")
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")  # of JSON


class Player:
    """Plays the interactions that were in a file when it was opened. Thread-safe.

    `match_on` and `strict` are as in `Cassette`; `file` is the cassette's path, which errors and the play log name.
    """

    def __init__(
        self,
        contents: Contents,
        scrubber: Scrubber,
        *,
        file: Path,
        match_on: Sequence[str] | None = None,
        strict: bool = False,
    ) -> None:
        self._contents = contents
        self._scrubber = scrubber
        self._file = file
        self._strict = strict
        self._matcher = Matcher(match_on or (VCRPY_DEFAULT if contents.is_foreign else OURS))
        self._log = note_opened(file)
        self._lock = threading.Lock()
        self._play_counts: dict[int, int] = {}
        self._as_written: Index | None = None  # the requests as our files store them
        self._recorded_now: list[Interaction] = []  # with requests as they would be recorded now
        self._as_scrubbed: Index | None = None  # index of these requests
        self._known_secrets = 0  # number of secrets in the register when these were made
        self._token_requests: dict[Authorization | None, int] | None = None

    @property
    def play_count(self) -> int:
        """Number of times that interactions were played, repeats included."""
        return sum(self._play_counts.values())

    @property
    def unplayed(self) -> list[str]:
        """Method and URI of each interaction that has not been played yet, in order."""
        heads = [
            self._contents.head(number) for number in range(len(self._contents)) if number not in self._play_counts
        ]
        if self._contents.is_foreign:
            heads = [self._scrubber.lookup_request(RecordedRequest(head.method, head.uri)) for head in heads]
        return [f"{head.method} {head.uri}" for head in heads]

    def play(self, request: RecordedRequest, identity: Identity, *, as_written: bool = False) -> Interaction | None:
        """Return the interaction that answers a caller's request, or None.

        Pass the scrubbed request, or set `as_written` to find a recording that has exactly this request.
        """
        with self._lock:
            takes = self._find(request, identity, as_written=as_written)
            while len(takes) > 1 and takes[0] in self._play_counts:
                takes.pop(0)  # in order; the last one repeats, so that a cell can run again
            if not takes or (self._strict and takes[0] in self._play_counts):
                return None
            number = takes[0]
            interaction = self._contents.interaction(number)
            if number not in self._play_counts:
                self._check(number, interaction.response)
            self._count(number)
        return interaction

    def token_request_of(self, authorization: Authorization) -> Interaction | None:
        """Return the token request whose token authorized a call if this is the first such call, otherwise None."""
        with self._lock:
            if self._token_requests is None:
                numbers = self._contents.token_requests
                self._token_requests = {self._contents.interaction(each).token_obtained: each for each in numbers}
            number = self._token_requests.pop(authorization, None)
            if number is None or number in self._play_counts:
                return None
            self._count(number)
            return self._contents.interaction(number)

    def _count(self, number: int) -> None:
        played = self._play_counts.get(number, 0)
        if self._log is not None and not played:
            note_played(self._log, self._file, number)
        self._play_counts[number] = played + 1

    def miss(self, request: RecordedRequest, identity: Identity) -> CassetteMiss:
        """Return the error for a request without a recording, or with recordings that were all played."""
        with self._lock:
            takes = self._find(request, identity)
        if takes and self._strict:
            return differences.all_played(self._file.name, request)
        if len(self._contents) and not self._contents.readable():
            self._contents.interaction(0)  # raises the error that says why
        calls = [each for each in self._recorded_now if each.request.method and each.token_obtained is None]
        return differences.no_match(
            self._file.name, self._matcher, identity, request, calls, self._contents.environments
        )

    def _check(self, number: int, response: RecordedResponse) -> None:
        """Raise CassetteCorrupt if a client cannot use a response, or its decompressed body would exhaust memory."""
        what = advice = ""
        try:
            decompress_body(response.headers, response.body)
        except TooLarge:
            what = "has a body that is too large when decompressed"
            advice = "It is not replayed, because it could exhaust memory. The file was not changed."
        except SecretLeak:  # the client will report it
            pass
        if not all(_NAME.fullmatch(name) for name, _ in response.headers):
            what, advice = "has a header whose name is not valid", "Correct the name, or record the call again."
        if what:
            where = f"In {self._file.name}, the response in interaction {number + 1}"
            raise CassetteCorrupt(f"{where} {what}.", advice, about="cassette")

    def _find(self, request: RecordedRequest, identity: Identity, *, as_written: bool = False) -> list[int]:
        numbers, is_foreign = range(len(self._contents)), self._contents.is_foreign
        if not is_foreign:
            if self._as_written is None:
                self._as_written = Index(self._matcher, map(self._contents.head, numbers), self._contents.interaction)
            takes = self._as_written.find(identity, request)
            if takes or as_written:
                return takes
        # Other rules, or an earlier version, may have recorded in plain text what is scrubbed today. A request recorded
        # by another tool may contain a secret that is also in another's URI, so all are scrubbed again.
        if self._as_scrubbed is None or (is_foreign and not as_written and self._known_secrets != len(REGISTER)):
            self._recorded_now = [self._as_recorded_now(number) for number in numbers]
            self._known_secrets = len(REGISTER)
            requests = [each.request for each in self._recorded_now]
            self._as_scrubbed = Index(self._matcher, requests, self._recorded_now.__getitem__)
        return self._as_scrubbed.find(identity, request)

    def _as_recorded_now(self, number: int) -> Interaction:
        """Return an interaction with its request as it would be recorded now, or only the head if it cannot be read."""
        found = self._contents.interaction_or_error(number)
        if isinstance(found, CassetteCorrupt):
            found = Interaction(self._contents.head(number), NO_ANSWER)
        return found._replace(request=self._scrubber.lookup_request(found.request))

    @cached_property
    def _stand_ins(self) -> frozenset[str]:
        """The pseudonyms in the file, found by the scrubber's rules and the rules stored with the interactions.

        The whole file is parsed if there are such rules.
        """
        may_have = self._scrubber.has_rules or _NOTED in self._scrubber.recorded
        interactions = list(self._contents.readable().values()) if may_have else []
        noted = {rule: None for each in interactions for rule in each.pseudonyms}
        finder = self._scrubber
        with suppress(ConfigurationError):  # the stored rules are not valid
            if not noted.keys() <= set(finder.pseudonyms):
                finder = Scrubber(finder.known, rules=Rules(pseudonyms=(*finder.pseudonyms, *noted)))
        found = {text for each in interactions for message in each[:2] for text in finder.stand_ins_in(message)}
        return frozenset(text for text in found if len(text) >= SHORTEST_SECRET)

    def refuse_recorded_values(self, request: RecordedRequest) -> None:
        """Raise an error if a value in a caller's request contains a placeholder or pseudonym from this recording."""
        for place, text in _texts_of(request) if len(self._contents) else ():
            kind = self._kind_in(text)
            if kind:
                raise AccessError(
                    f"{place} contains {kind} from the recording {self._file.name}: a stand-in for a value that was "
                    "not recorded.",
                    "Nothing was sent. Get the value from the live service, or replay only recorded calls. "
                    "If the client holds a replayed cookie, remove it with client.cookies.clear().",
                    about="cassette",
                )

    def _kind_in(self, text: str) -> str:
        """Describe the placeholder or pseudonym from the recording that a string contains, or return ""."""
        if any(stand_in in text for stand_in in self._stand_ins):
            return "a pseudonym"
        for found in _PLACEHOLDER.findall(text) if "<" in text else ():
            is_value = len(found) >= SHORTEST_SECRET and is_placeholder(found)
            if is_value and found.encode() in self._scrubber.recorded:
                return f"the placeholder {found}"
        return ""


def _texts_of(request: RecordedRequest) -> Iterator[tuple[str, str]]:
    """Yield each string that the caller put into a request, with a description of its place."""
    yield "The URL", unquote_plus(request.uri)
    for name, value in request.headers:
        yield f"The header {name}", value
    body = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), request.body.decode("utf-8", "replace"))
    yield "The body", unquote_plus(body)


def note_played(folder: Path, cassette: Path, number: int | None) -> None:
    """Log that an interaction (`number`, from 0) is played or, if `number` is None, that the cassette is opened."""
    line = json.dumps([os.path.realpath(cassette), number]).encode("ascii") + b"\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The name is built for every line, because a forked process has its own ID.
        file = open_plain(folder / f"{os.getpid()}{_SUFFIX}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(file, "ab", buffering=0) as stream:
            stream.write(line)
    except OSError as error:  # an incomplete log would have too few interactions
        raise _unusable(f"Cannot write the play log to {folder}", error) from None


def note_opened(cassette: Path) -> Path | None:
    """Log that a cassette is opened, and return the log folder; None if nothing is logged.

    A project cannot choose the folder: the variable is ignored if the project's `.env` file sets it.
    """
    folder = own_variable(VARIABLE)
    if not folder:
        return None
    note_played(Path(folder), cassette, None)
    return Path(folder)


def read_play_log(folder: str | Path) -> dict[Path, set[int]]:
    """Return the numbers (from 0) of the interactions that were played, for each cassette that was opened.

    Keys are the real paths of cassettes. The set is empty for a cassette that was opened but not played.
    """
    played: dict[Path, set[int]] = {}
    try:
        for file in sorted(expanded(folder, about="play_log").iterdir()):
            for line in file.read_bytes().splitlines() if file.suffix == _SUFFIX else ():
                with suppress(ValueError, TypeError):  # an incompletely written line
                    cassette, number = json.loads(line)
                    played.setdefault(Path(cassette), set()).update(() if number is None else (number,))
    except OSError as error:
        raise _unusable(f"Cannot read the play log in {folder}", error) from None
    return played


def _unusable(what: str, error: OSError) -> ConfigurationError:
    next_step = f"Set {VARIABLE} to a folder that you can read and write."
    return ConfigurationError(f"{what}: {error.strerror}.", next_step, about=VARIABLE)
