"""A cassette: recorded interactions in a file, replayed and recorded in vcrpy's record modes."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast, get_args

from toolkit.cassettes import format as cassette_format
from toolkit.cassettes.format import Interaction, Item, RecordedRequest
from toolkit.cassettes.matching import ANYONE, OURS, VCRPY_DEFAULT, Index, Lane, Matcher, nearest
from toolkit.cassettes.recorder import Recorder
from toolkit.cassettes.scrub import KnownSecrets, Scrubber
from toolkit.errors import CassetteError, CassetteMiss, ConfigurationError
from toolkit.escaping import excerpt
from toolkit.ledger import Authorization
from toolkit.secret import Secret
from toolkit.settings import Settings, is_offline

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from toolkit.cassettes.transport import CassetteTransport

Mode = Literal["none", "once", "new_episodes", "all"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)


def as_mode(mode: str | None) -> Mode:
    """A record mode; None is vcrpy's default `once`. Offline, every mode is `none`.

    Raises:
        ConfigurationError: there is no such mode.
    """
    if mode is not None and mode not in MODES:
        raise ConfigurationError(f"There is no record mode {mode!r}.", f"Choose one of {', '.join(MODES)}.")
    return "none" if is_offline() else cast("Mode", mode or "once")


def find_cassette(cassette: str | Path, settings: Settings | None = None) -> Path:
    """The file of a cassette.

    Text without a suffix and without a separator is a name in the cassettes folder of the project;
    anything else is an ordinary path.

    Raises:
        ConfigurationError: it is empty or no path.
    """
    if not isinstance(cassette, str | os.PathLike) or not str(cassette):
        raise ConfigurationError("A cassette is a name or a path.", 'Give a name such as "tour".')
    if isinstance(cassette, str) and not Path(cassette).suffix and not {os.sep, os.altsep or os.sep, "/"} & set(cassette):
        return (settings or Settings.load()).cassettes_folder / f"{cassette}.yaml"
    return Path(cassette).expanduser()


class Cassette:
    """Recorded interactions in a file of vcrpy's format.

    Works with any httpx client through `transport()`; a session does not need that call.

    Args:
        path: a name (a `.yaml` file in the project's cassettes folder) or a path.
        mode: vcrpy's record mode. `none` replays only; `once` records a file that does not exist and
            replays one that does; `new_episodes` replays what is recorded and adds what is not;
            `all` records everything anew and replaces the file when it ends well.
        match_on: vcrpy's names of the parts that must be equal. By default a recording of ours is
            matched on environment, profile, method, URI and body; a foreign one as vcrpy does.
        secrets: further texts that must not be recorded, in any form.

    Raises:
        CassetteMiss: mode `none` and no such file.
        CassetteCorrupt: the file is no cassette; it is left as it is.
        ConfigurationError: mode or match_on is unknown, or the mode would record to a JSON file.
    """

    def __init__(
        self,
        path: str | Path,
        mode: str | None = "once",
        *,
        match_on: Sequence[str] | None = None,
        secrets: Iterable[str | Secret] = (),
        settings: Settings | None = None,
        scrubber: Scrubber | None = None,
    ) -> None:
        self.path = find_cassette(path, settings)
        self.mode: Mode = as_mode(mode)
        self.scrubber = scrubber or Scrubber(KnownSecrets())
        for secret in secrets:
            self.scrubber.known.add("SECRET", secret if isinstance(secret, Secret) else Secret(secret))
        self._lock = threading.Lock()
        self._played: dict[int, int] = {}
        self._parsed: dict[int, Interaction] = {}
        self._data, exists = self._read()
        self.is_foreign = bool(self._data) and not cassette_format.is_ours(self._data)
        self._items: list[Item] = []
        complete = len(self._data)
        if self.is_foreign:
            self._load_foreign()
        else:
            self._items, complete = cassette_format.split(self._data)
            if complete < len(self._data):
                warnings.warn(
                    f"{self.path} ends in an interaction that was not written to its end; the {len(self)} before it are whole.",
                    stacklevel=2,
                )
        self._token_requests: dict[Authorization, int] | None = None
        self.matcher = Matcher(match_on or (VCRPY_DEFAULT if self.is_foreign else OURS))
        self._index: Index | None = None
        self._open_for_recording(exists=exists, complete=complete)

    def _read(self) -> tuple[bytes, bool]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise CassetteError(f"Cannot read {self.path}: {error.strerror}.", "Mend its permissions or choose another.") from None
        exists = bool(data.strip())
        if not exists and self.mode == "none":
            raise CassetteMiss(
                f"There is no cassette {self.path}.",
                'Check the name, or record it with mode="once" while online.'
                + (" TOOLKIT_OFFLINE is set, so nothing is recorded." if is_offline() else ""),
            )
        return data if exists else b"", exists

    def _load_foreign(self) -> None:
        from toolkit.cassettes import foreign  # noqa: PLC0415 - keeps yaml and vcr out of `import toolkit`

        loaded = foreign.load(self._data, source=str(self.path), is_json=self.path.suffix == ".json")
        self._parsed = dict(enumerate(loaded))

    def _open_for_recording(self, *, exists: bool, complete: int) -> None:
        self.records = self.mode in ("new_episodes", "all") or (self.mode == "once" and not exists)
        self.replays = exists and self.mode != "all"
        self._recorder: Recorder | None = None
        self._part = self.path.with_name(f"{self.path.stem}.part{self.path.suffix}")
        if self._part.exists():
            warnings.warn(
                f"{self._part} is left of a recording with mode all that was interrupted. "
                f"To use it, rename it to {self.path.name}; the next such recording replaces it.",
                stacklevel=3,
            )
        if not self.records:
            return
        if self.path.suffix == ".json":
            raise ConfigurationError(
                f"Cannot record to {self.path}: recordings are YAML, which can be appended to.",
                'Give the cassette the suffix .yaml, or replay this one with mode="none".',
            )
        known = self.scrubber.known
        if self.mode == "all":
            self._recorder = Recorder(self._part, known, keep=0)
            _finish_at_the_end(self)
        elif self.is_foreign:
            self._recorder = Recorder(self.path, known, convert=lambda: [self._interaction(n) for n in range(self._loaded)])
        else:
            self._recorder = Recorder(self.path, known, keep=complete if exists else None)

    @property
    def _loaded(self) -> int:
        """How many interactions the file held when it was opened."""
        return len(self._parsed) if self.is_foreign else len(self._items)

    def __len__(self) -> int:
        """Interactions in the file, those recorded since included."""
        recorder = getattr(self, "_recorder", None)
        recorded = recorder.count if recorder else 0
        return recorded if self.mode == "all" else self._loaded + recorded

    def __bool__(self) -> bool:
        # An empty cassette is a cassette all the same.
        return True

    def __repr__(self) -> str:
        return f"<Cassette {self.path.name}: {self.describe()}>"

    def describe(self) -> str:
        """Whether calls are recorded or replayed, and of when, in words."""
        count = f"{len(self)} interaction{'' if len(self) == 1 else 's'}"
        if not self.replays:
            return f"recording, {count}"
        at = self.recorded_at
        when = f", recorded {at.day} {at:%B %Y}" if at else ""
        return f"{'replaying and adding to' if self.records else 'replaying'} {count}{when}"

    @property
    def recorded_at(self) -> datetime | None:
        """When its first interaction was recorded; None while it has none."""
        if self.is_foreign:
            return self._interaction(0).recorded_at if self._loaded else None
        return cassette_format.first_recorded_at(self._data)

    @property
    def environments(self) -> list[str]:
        """Names of the environments whose calls it holds, in order of appearance."""
        return [] if self.is_foreign else cassette_format.environments(self._data)

    @property
    def last_token_number(self) -> int:
        """The highest token number in it, 0 without any."""
        return 0 if self.is_foreign else cassette_format.last_token_number(self._data)

    @property
    def play_count(self) -> int:
        """How many times an interaction was played, repeats included."""
        return sum(self._played.values())

    @property
    def unplayed(self) -> list[str]:
        """Method and URI of the interactions in the file that were not played yet, in their order."""
        return [
            f"{self._interaction(number).request.method} {self._interaction(number).request.uri}"
            for number in range(self._loaded)
            if number not in self._played
        ]

    def find(self, request: RecordedRequest, lane: Lane = ANYONE) -> Interaction | None:
        """The recorded interaction that answers a scrubbed request, or None when it is to be recorded.

        Raises:
            CassetteMiss: nothing answers it and this mode records nothing; shows the nearest.
            CassetteCorrupt: the recorded item cannot be read.
        """
        if self.replays:
            with self._lock:
                track = self._filed().find(lane, request)
                if track is not None:
                    number = track.play()
                    self._played[number] = self._played.get(number, 0) + 1
                    return self._interaction(number)
        if self.records:
            return None
        raise self._miss(request, lane)

    def token_request_of(self, authorization: Authorization) -> Interaction | None:
        """The recorded token request whose token authorized a call; once, with the first such call."""
        with self._lock:
            if self._token_requests is None:
                numbers = [] if self.is_foreign else cassette_format.token_requests(self._data, self._items)
                obtained = ((self._interaction(number).token_obtained, number) for number in numbers)
                self._token_requests = {by: number for by, number in obtained if by is not None}
            found = self._token_requests.get(authorization)
            if found is None or found in self._played:
                return None
            self._played[found] = 1
            return self._interaction(found)

    def record(self, interaction: Interaction) -> None:
        """Scrub an interaction and append it to the file.

        Raises:
            SecretLeak: it cannot be checked, or a secret would be left in it; nothing was written.
            CassetteError: the file cannot be written.
        """
        if self._recorder is None:
            raise CassetteError(f"{self.path.name} is not being recorded.", f"It was opened with mode {self.mode}.")
        self._recorder.append(self.scrubber.interaction(interaction))

    def transport(self, inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None) -> CassetteTransport:
        """A transport for an httpx.Client or an httpx.AsyncClient that replays from and records to this cassette.

        Args:
            inner: what sends requests that are not replayed; by default httpx's own transport.
        """
        from toolkit.cassettes.transport import CassetteTransport  # noqa: PLC0415 - it builds on this module

        return CassetteTransport(self, inner)

    def table(self) -> pd.DataFrame:
        """The interactions in the file when it was opened, one row each, none of them played by this.

        Columns: `recorded` (datetime64[us, UTC]), `method`, `uri`, `status`, `elapsed` (seconds),
        `size` (bytes of the response body), `profile`.
        """
        import pandas as pd  # noqa: PLC0415 - keeps pandas out of `import toolkit`

        rows = [self._interaction(number) for number in range(self._loaded)]
        columns: dict[str, Any] = {
            "recorded": pd.Series([row.recorded_at for row in rows], dtype="datetime64[us, UTC]"),
            "method": pd.Series([row.request.method for row in rows], dtype="str"),
            "uri": pd.Series([row.request.uri for row in rows], dtype="str"),
            "status": pd.Series([row.response.status for row in rows], dtype="int64"),
            "elapsed": pd.Series([row.elapsed and row.elapsed.total_seconds() for row in rows], dtype="float64"),
            "size": pd.Series([len(row.response.body) for row in rows], dtype="int64"),
            "profile": pd.Series([row.authorized_by and row.authorized_by.profile for row in rows], dtype="str"),
        }
        return pd.DataFrame(columns)

    def finish(self) -> None:
        """With mode `all`, put the new recording in place of the old one; else nothing is left to do."""
        if self.mode == "all" and self._recorder is not None and self._recorder.path == self._part and self._recorder.count:
            os.replace(self._part, self.path)
            count = self._recorder.count
            self._recorder = Recorder(self.path, self.scrubber.known)
            self._recorder.count = count

    def close(self) -> None:
        """End the recording well. Optional: every interaction is on disk as soon as it is complete."""
        self.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def _interaction(self, number: int) -> Interaction:
        parsed = self._parsed.get(number)
        if parsed is None:
            parsed = self._parsed[number] = cassette_format.decode(self._data, self._items[number], source=str(self.path))
        return parsed

    def _filed(self) -> Index:
        """The index, filled when the first request is looked up."""
        if self._index is None:
            self._index = Index(self.matcher, self._interaction_as_matched)
            for number in range(self._loaded):
                self._index.file(number, self._head(number))
        return self._index

    def _head(self, number: int) -> RecordedRequest:
        head = None if self.is_foreign else cassette_format.head(self._data, self._items[number])
        if head is None:
            return self._interaction_as_matched(number).request
        return RecordedRequest(*head)

    def _interaction_as_matched(self, number: int) -> Interaction:
        """Foreign recordings hold real addresses; a session's requests are looked up by symbolic ones."""
        interaction = self._interaction(number)
        if not self.is_foreign:
            return interaction
        request = interaction.request
        symbolic = RecordedRequest(request.method, self.scrubber.uri(request.uri), request.headers, request.body)
        return Interaction(symbolic, interaction.response, interaction.recorded_at)

    def _miss(self, request: RecordedRequest, lane: Lane) -> CassetteMiss:
        interactions = (self._interaction_as_matched(number) for number in range(self._loaded))
        close = nearest(self.matcher, lane, request, (one for one in interactions if one.token_obtained is None))
        shown = "".join(f"\n  {line}" for line in close)
        advice = 'To add it, open the cassette online with mode="new_episodes"; to record all anew, mode="all".'
        return CassetteMiss(
            f"Nothing recorded in {self.path.name} answers {request.method} {excerpt(request.uri, 160)}."
            + (f" The nearest:{shown}" if close else " It holds no calls."),
            advice,
            nearest=close,
        )


def _finish_at_the_end(cassette: Cassette) -> None:
    """Notebooks never call close(): finish after each cell that ran well, and when the interpreter exits."""

    def finish(result: Any) -> None:
        if result.success:
            cassette.finish()

    atexit.register(cassette.finish)
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        shell.events.register("post_run_cell", finish)
