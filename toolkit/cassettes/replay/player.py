"""Which recording answers a request, and which were played."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay import misses
from toolkit.cassettes.replay.matching import OURS, VCRPY_DEFAULT, Identity, Index, Matcher, Takes
from toolkit.core.errors import CassetteMiss
from toolkit.core.ledger import Authorization
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.scrubber import Scrubber


class Player:
    """Plays what a file held when it was opened. Safe with threads.

    Args:
        contents: the interactions.
        scrubber: makes of foreign requests what would be recorded of them.
        file_name: of the cassette, for errors.
        match_on: vcrpy's names of the parts that must be equal, or None for what suits the file.
        strict: each recording plays once, instead of the last one of several repeating.

    Raises:
        ConfigurationError: match_on is unknown.
    """

    def __init__(
        self,
        contents: Contents,
        scrubber: Scrubber,
        *,
        file_name: str,
        match_on: Sequence[str] | None = None,
        strict: bool = False,
    ) -> None:
        self._contents = contents
        self._scrubber = scrubber
        self._file_name = file_name
        self._strict = strict
        self._matcher = Matcher(match_on or (VCRPY_DEFAULT if contents.is_foreign else OURS))
        self._lock = threading.Lock()
        self._played: dict[int, int] = {}
        self._index: Index | None = None
        self._refiled_knowing = -1
        self._token_requests: dict[Authorization, int] | None = None

    @property
    def play_count(self) -> int:
        """How many times an interaction was played, repeats included."""
        return sum(self._played.values())

    @property
    def unplayed(self) -> list[str]:
        """Method and URI of the interactions that were not played yet, in their order."""
        heads = (self._head(number) for number in range(len(self._contents)) if number not in self._played)
        return [f"{head.method} {head.uri}" for head in heads]

    def play(self, request: RecordedRequest, identity: Identity) -> Interaction | None:
        """The interaction that answers a scrubbed request, or None.

        Raises:
            CassetteCorrupt: the recorded item cannot be read.
        """
        with self._lock:
            track = self._track(request, identity)
            number = None if track is None else self._next(track)
            if number is None:
                return None
            self._played[number] = self._played.get(number, 0) + 1
            return self._contents.interaction(number)

    def token_request_of(self, authorization: Authorization) -> Interaction | None:
        """The recorded token request whose token authorized a call; once, with the first such call."""
        with self._lock:
            if self._token_requests is None:
                numbers = self._contents.token_requests
                obtained = ((self._contents.interaction(number).token_obtained, number) for number in numbers)
                self._token_requests = {by: number for by, number in obtained if by is not None}
            found = self._token_requests.get(authorization)
            if found is None or found in self._played:
                return None
            self._played[found] = 1
            return self._contents.interaction(found)

    def miss(self, request: RecordedRequest, identity: Identity) -> CassetteMiss:
        """The error for a request that nothing answers: the nearest recordings, or that all were played."""
        with self._lock:
            track = self._track(request, identity)
        if track is not None and self._strict:
            return misses.spent(self._file_name, request, len(track.numbers))
        token_requests = set(self._contents.token_requests)
        calls = [number for number in range(len(self._contents)) if number not in token_requests]
        heads = [(number, self._head(number)) for number in calls]
        return misses.no_match(
            self._file_name,
            self._matcher,
            identity,
            request,
            heads,
            self._as_matched,
            environments=self._contents.environments,
            is_empty=not len(self._contents),
        )

    def _track(self, request: RecordedRequest, identity: Identity) -> Takes | None:
        track = self._filed().find(identity, request)
        return self._filed().find(identity, request) if track is None and self._refiled() else track

    def _next(self, track: Takes) -> int | None:
        """The number of the recording to play, None when strict and all were played."""
        number = track.play()
        while self._strict and number in self._played:
            if number == track.numbers[-1]:
                return None
            number = track.play()
        return number

    def _filed(self) -> Index:
        """The index, filled when the first request is looked up."""
        if self._index is None:
            index = Index(self._matcher, self._as_matched)
            for number in range(len(self._contents)):
                index.file(number, self._head(number))
            self._index = index
        return self._index

    def _head(self, number: int) -> RecordedRequest:
        head = self._contents.head(number)
        is_foreign = self._contents.is_foreign
        return self._scrubber.request(RecordedRequest(head.method, head.uri)) if is_foreign else head

    def _refiled(self) -> bool:
        """Whether a foreign recording was filed anew: its requests may show secrets that are in others of its URIs."""
        known = self._scrubber.known
        if not self._contents.is_foreign or self._index is None or self._refiled_knowing == len(known):
            return False
        requests: list[RecordedRequest] = []
        while self._refiled_knowing != len(known):
            self._refiled_knowing = len(known)
            requests = [self._as_matched(number).request for number in range(len(self._contents))]
        self._index.refile(requests, self._played)
        return True

    def _as_matched(self, number: int) -> Interaction:
        """Foreign recordings hold real addresses and secrets; requests are looked up as they would be recorded."""
        interaction = self._contents.interaction(number)
        if not self._contents.is_foreign:
            return interaction
        return replace(interaction, request=self._scrubber.lookup_request(interaction.request))
