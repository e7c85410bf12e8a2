"""A cassette: recorded interactions in a file, replayed and recorded in vcrpy's record modes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, Parsed
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.paths import MODES, Mode, as_mode, find_cassette, of_that_name
from toolkit.cassettes.recording import finishing, writer_lock
from toolkit.cassettes.recording.recorder import Recorder, part_of
from toolkit.cassettes.replay import misses
from toolkit.cassettes.replay.matching import ANYONE, Identity
from toolkit.cassettes.replay.player import Player
from toolkit.core.errors import CassetteError, ConfigurationError
from toolkit.core.escaping import as_html
from toolkit.core.html import badge, card
from toolkit.core.ledger import EPOCH, TRAFFIC, Authorization
from toolkit.core.secret import Secret
from toolkit.core.warn import warn
from toolkit.core.words import count_text, date_text, instant_words
from toolkit.local.settings import Settings, as_settings, is_offline
from toolkit.scrubbing.messages import RecordedRequest
from toolkit.scrubbing.rules.model import Rules, project_rules
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from toolkit.cassettes.transport import CassetteTransport

__all__ = ["MODES", "Cassette", "Mode", "as_mode", "find_cassette"]


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
        secrets: further texts that must not be recorded, in any form: one or several.
        rules: what is taken out of it besides credentials.
        strict: for tests: each recording plays once instead of the last one of several repeating, and
            close(), or the end of a `with`, raises CassetteError when some were not played.

    A test that fails when the code under it asks something else, more, or less than was recorded:

        def test_report():
            with tk.Cassette("report", "none", strict=True) as cassette:
                make_report(httpx.Client(transport=cassette.transport()))

    Raises:
        CassetteMiss: mode `none` and no such file.
        CassetteCorrupt: the file is no cassette; it is left as it is.
        ConfigurationError: mode or match_on is unknown, or the mode would record to a JSON file.
    """

    # What repr() shows while it is being opened, in a traceback.
    records = replays = False
    _contents: Contents = Parsed((), is_foreign=False)
    _recorder: Recorder | None = None

    def __init__(
        self,
        path: str | Path,
        mode: str | None = "once",
        *,
        match_on: Sequence[str] | None = None,
        secrets: str | Secret | Iterable[str | Secret] = (),
        strict: bool = False,
        rules: Rules | None = None,
        settings: Settings | None = None,
        scrubber: Scrubber | None = None,
    ) -> None:
        self.path, self.mode, self.strict = find_cassette(path, settings), as_mode(mode), strict
        if scrubber is None:
            scrubber = Scrubber(KnownSecrets(), rules=project_rules(as_settings(settings)))
        self.scrubber = scrubber
        self.scrubber.known.add_texts(secrets)
        self.scrubber.add_rules(_checked(rules))
        self._settings = settings
        self._part = part_of(self.path)
        self._is_awaited = False
        finishing.finish_now(self._part)
        data = self._read()
        self.scrubber.recall(data)
        self._contents = contents.read(data, source=str(self.path))
        self.is_foreign = self._contents.is_foreign
        if self._contents.is_torn and Recorder(self.path, self.scrubber).cut_torn_tail():
            whole = f"the {self._loaded} before it are whole"
            warn(f"{self.path} ends in an interaction that was not written to its end; {whole}.")
        self._player = Player(self._contents, self.scrubber, file_name=self.path.name, match_on=match_on, strict=strict)
        self._open_for_recording()

    def _read(self) -> bytes:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise misses.unreadable(self.path, error) from None
        if not data.strip() and self.mode == "none":
            elsewhere = of_that_name(self.path, self._settings)
            raise misses.missing(self.path, elsewhere=elsewhere, is_offline=is_offline())
        return data

    def _open_for_recording(self) -> None:
        self.records = self.mode in ("new_episodes", "all") or (self.mode == "once" and not self._loaded)
        self.replays = self._loaded > 0 and self.mode != "all"
        real = Path(os.path.realpath(self.path))
        if self._part.exists() and not writer_lock.is_held_elsewhere(real):
            warn(
                f"{self._part} is left of a recording with mode all that was interrupted. "
                f"To use it, rename it to {real.name}; the next such recording replaces it."
            )
        if not self.records:
            return
        if self.path.suffix == ".json":
            raise ConfigurationError(
                f"Cannot record to {self.path}: recordings are YAML, which can be appended to.",
                'Give the cassette the suffix .yaml, or replay this one with mode="none".',
            )
        self._recorder = Recorder(self.path, self.scrubber, anew=self.mode == "all")

    @property
    def _loaded(self) -> int:
        """How many interactions the file held when it was opened."""
        return len(self._contents)

    def __len__(self) -> int:
        """Interactions in the file, those recorded since included."""
        return self.recorded_count if self.mode == "all" else self._loaded + self.recorded_count

    def __bool__(self) -> bool:
        return True  # an empty one, too

    def __repr__(self) -> str:
        return f"<Cassette {self.path.name}: {self.describe()}>"

    def _repr_html_(self) -> str:
        return _card(self)

    def describe(self) -> str:
        """Whether calls are recorded or replayed, and of when, in words."""
        count = f"{len(self)} interaction{'' if len(self) == 1 else 's'}"
        if self.records and not self.replays:
            return f"recording, {count}"
        at = self.recorded_at
        when = f", recorded {at.day} {at:%B %Y}" if at and at != EPOCH else ""
        return f"{'replaying and adding to' if self.records else 'replaying'} {count}{when}"

    @property
    def recorded_at(self) -> datetime | None:
        """When its first interaction was recorded; None while it has none."""
        return self._contents.recorded_at

    @property
    def environments(self) -> list[str]:
        """Names of the environments whose calls it holds, in order of appearance."""
        return self._contents.environments

    @property
    def last_token_number(self) -> int:
        """The highest token number in it, 0 without any."""
        return self._contents.last_token_number

    @property
    def recorded_count(self) -> int:
        """How many interactions were recorded since it was opened."""
        return self._recorder.count if self._recorder else 0

    @property
    def play_count(self) -> int:
        """How many times an interaction was played, repeats included."""
        return self._player.play_count

    @property
    def unplayed(self) -> list[str]:
        """Method and URI of the interactions in the file that were not played yet, in their order."""
        return self._player.unplayed

    def find(self, request: RecordedRequest, identity: Identity = ANYONE) -> Interaction | None:
        """The recorded interaction that answers a scrubbed request, or None when it is to be sent and recorded.

        Raises:
            CassetteMiss: nothing answers it and this mode records nothing; shows the nearest.
            CassetteBusy: it would be recorded, and another process is recording to this cassette.
            CassetteError: it would be recorded, and the file cannot be written.
            CassetteCorrupt: the recorded item cannot be read.
        """
        if self.replays:
            found = self._player.play(request, identity)
            if found is not None:
                TRAFFIC.played += 1
                return found
        if self._recorder is None:
            raise self._player.miss(request, identity)
        self._recorder.get_ready()  # before it is sent: what cannot be recorded is not to happen
        return None

    def token_request_of(self, authorization: Authorization) -> Interaction | None:
        """The recorded token request whose token authorized a call; once, with the first such call."""
        return self._player.token_request_of(authorization)

    def record(self, interaction: Interaction) -> None:
        """Scrub an interaction and append it to the file.

        Raises:
            SecretLeak: it cannot be checked, or a secret would be left in it; nothing was written.
            CassetteBusy: another process is recording to this cassette.
            CassetteError: the file cannot be written.
        """
        if self._recorder is None:
            raise CassetteError(f"{self.path.name} is not being recorded.", f"It was opened with mode {self.mode}.")
        self._recorder.append(interaction)
        if self._recorder.needs_finishing or (self.mode == "all" and not self._is_awaited):
            self._is_awaited = True
            finishing.finish_later(self._part, self.finish)

    def transport(self, inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None) -> CassetteTransport:
        """A transport for an httpx.Client or an httpx.AsyncClient that replays from and records to this cassette.

        Args:
            inner: what sends requests that are not replayed; by default httpx's own transport.
        """
        from toolkit.cassettes.transport import CassetteTransport  # it builds on this module

        return CassetteTransport(self, inner)

    def table(self) -> pd.DataFrame:
        """The interactions in the file when it was opened, one row each, none of them played by this.

        Columns: `recorded` (datetime64[us, UTC]), `method`, `uri`, `status`, `elapsed` (seconds),
        `size` (bytes of the response body), `profile`.
        """
        return self._contents.table()

    def finish(self) -> None:
        """End the recording for now: with mode `all`, put the new one in place of the old one.

        Further calls are added to it. Other processes may record to the file only after close(), or when nobody
        has this cassette any more.

        Raises:
            CassetteError: it cannot be put there; it stays where it was recorded.
        """
        if self._recorder is not None:
            self._recorder.finish()
        finishing.cancel(self.finish)

    def close(self) -> None:
        """End the recording well. Optional: every interaction is on disk as soon as it is complete.

        Other processes may record to the file from here on; a further call takes it again.

        Raises:
            CassetteError: the recording cannot be put in place; or `strict`, and `unplayed` is not empty.
        """
        try:
            self.finish()
        finally:
            if self._recorder is not None:
                self._recorder.release()
        if self.strict and self.replays and self.unplayed:
            raise misses.left_over(self.path.name, self._loaded, self.unplayed)

    def abandon(self) -> None:
        """End the recording after a failure: with mode `all` the old one stays, and the new one beside it."""
        self._is_awaited = True  # not from here on either
        finishing.cancel(self.finish)
        if self._recorder is not None:
            self._recorder.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


def _checked(rules: object) -> Rules | None:
    if rules is None or isinstance(rules, Rules):
        return rules
    raise ConfigurationError(
        f"The rules of a cassette are Rules, not {type(rules).__name__}.",
        'For example rules=tk.Rules(names=["nickname"]).',
    )


_MODES: Final = {
    "none": "none: replays only",
    "once": "once: records a file that does not exist, replays one that does",
    "new_episodes": "new_episodes: replays what is recorded, and records the rest",
    "all": "all: records everything anew",
}


def _card(cassette: Cassette) -> str:
    """What is recorded, of when, and how much of it was played."""
    count = len(cassette)
    rows = [("Mode", as_html(_MODES[cassette.mode])), ("Interactions", f"{count:,}")]
    if cassette.environments:
        rows.append(("Calls of", as_html(", ".join(cassette.environments))))
    if cassette.replays:
        unplayed = len(cassette.unplayed)
        rows.append(("Played", f"{count_text(cassette.play_count, 'time')}; {unplayed:,} not played yet"))
    source = source_text(cassette, None) if cassette.replays or not cassette.records else "recording"
    return card(f"Cassette {cassette.path.name}", [badge(source)], rows)


def source_text(cassette: Cassette | None, ended: datetime | None) -> str:
    """Where answers come from, and of when.

    Args:
        cassette: what is replayed or recorded; None when live.
        ended: when the last call ended; None before the first. It dates what comes from the service
            itself, since a display that is saved must not depend on when it is looked at.
    """
    as_of = f", as of {instant_words(ended)}" if ended else ", no call yet"
    if cassette is None:
        return f"live calls{as_of}"
    if not cassette.replays:
        return f"live calls, recorded{as_of}" if cassette.records else "replayed, nothing recorded"
    at = cassette.recorded_at
    recorded = f"recorded {date_text(at)}" if at is not None and at != EPOCH else "recorded on an unknown day"
    return f"replayed and added to, {recorded}" if cassette.records else f"replayed, {recorded}"
