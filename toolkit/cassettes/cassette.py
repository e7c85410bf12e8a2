"""A cassette: a file of recorded interactions, opened in one of vcrpy's record modes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.recording import writer_lock
from toolkit.cassettes.recording.recorder import Recorder, finish_now, part_of, todays_scrubber
from toolkit.cassettes.replay import differences
from toolkit.cassettes.replay.player import Player
from toolkit.cassettes.selection import as_mode, find_cassette
from toolkit.core.errors import ConfigurationError, as_instance, as_several
from toolkit.core.ledger import EPOCH, SystemClock
from toolkit.core.secret import Secret
from toolkit.core.text import as_html, badge, card, count_text, date_text
from toolkit.core.tracebacks import frameless, shell, warn
from toolkit.local.settings import Settings, as_settings, is_offline
from toolkit.scrubbing.rules.model import Rules, as_rules
from toolkit.scrubbing.scrubber import Scrubber

if TYPE_CHECKING:
    import httpx
    import pandas as pd


class Cassette:
    """Recorded interactions in a file of vcrpy's format.

    Use `transport()` to connect it to any httpx or httpx2 client; a session does this automatically.

    Args:
        path: a name (a `.yaml` file in the project's cassettes folder) or a path.
        mode: vcrpy's record mode. `none` replays only; `once` records a file that does not exist and replays one that
            does; `new_episodes` replays what is recorded and adds the rest; `all` records everything again and replaces
            the file if the recording ends without an error.
        match_on: vcrpy's names for the parts of a request that must match. Defaults to the environment, profile,
            method, URI and body for our own recordings, and to vcrpy's defaults for recordings by other tools.
        secrets: one or more additional strings that must not be recorded in any form.
        strict: for tests. Each recording is played only once, even the last of several that match; close(), or the end
            of a `with` block, raises CassetteError if any recording was not played.
        rules: what to keep out of the file in addition to credentials.
        settings: defaults to the project's settings.
        scrubber: the scrubber to use; a session passes its own.

    Attributes:
        path: the file.
        contents: the interactions in the file when it was opened.
        mode: the effective record mode; `none` while offline.
        strict, scrubber: as in the arguments.
        records: whether requests that do not match are sent and recorded.
        replays: whether recorded interactions are played.
        is_foreign: whether another tool wrote the file.
        recorded_at: when the first interaction was recorded; None if there is none.
        source: a description of where responses come from, such as `replayed, recorded 12 May 2026`.
        player, recorder: objects that play interactions and record new ones; `recorder` is None if none are recorded.

    This test fails if the code under test sends a request that was not recorded, or omits one that was:

        def test_report():
            with tk.Cassette("report", "none", strict=True) as cassette:
                make_report(httpx.Client(transport=cassette.transport()))

    Raises:
        CassetteMiss: if the mode is `none` and there is no such file.
        CassetteCorrupt: if the file is not a cassette; the file is not changed.
        ConfigurationError: if mode or match_on is unknown, or if the mode would record to a JSON file.
    """

    recorder: Recorder | None = None

    @frameless
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
        self.path, self.mode = find_cassette(path, settings), as_mode(mode)
        self.strict = as_instance(strict, bool, about="strict", example="True")
        if match_on is not None:
            match_on = as_several(match_on, str, about="match_on", example='["method", "uri"]')
        if scrubber is None:
            settings = as_settings(settings)
            scrubber = todays_scrubber(settings)
        self.scrubber = scrubber
        scrubber.known.add_texts(secrets)
        scrubber.add_rules(as_rules(rules))
        self.contents = opened = self._read(settings)
        self._loaded = len(opened)
        self.is_foreign = opened.is_foreign
        self.recorded_at = opened.recorded_at
        self.player = Player(opened, scrubber, file=self.path, match_on=match_on, strict=strict)
        self.records = self.mode in ("new_episodes", "all") or (self.mode == "once" and not self._loaded)
        self.replays = self._loaded > 0 and self.mode != "all"
        self.source = self._source()
        if self.records and self.path.suffix == ".json":
            raise ConfigurationError(
                f"Cannot record to {self.path}: recordings are YAML, because calls cannot be appended to a JSON file.",
                'Use the suffix .yaml for the cassette, or replay this one with mode="none".',
                about="cassette",
            )
        if self.records:
            self.recorder = Recorder(self.path, scrubber, anew=self.mode == "all")
        self._warn(settings)

    def _read(self, settings: Settings | None) -> Contents:
        """Read the file, after finishing or repairing unfinished recordings, and pass its content to the scrubber."""
        finish_now(part_of(Path(os.path.realpath(self.path))))
        data = contents.read_bytes(self.path)
        if not data.strip() and self.mode == "none":
            raise differences.missing(self.path, settings, is_offline=is_offline())
        self.scrubber.recall(data)
        opened = contents.read(data, source=str(self.path))
        if opened.is_torn and Recorder(self.path, self.scrubber).repair():
            warn(f"{self.path} ends in an incomplete interaction; the {len(opened)} before it are complete.")
        return opened

    def _warn(self, settings: Settings | None) -> None:
        """Warn about the remains of an interrupted recording and, when run from a script, about an old recording."""
        real = Path(os.path.realpath(self.path))
        part = part_of(real)
        if part.exists() and not writer_lock.is_held_elsewhere(real):
            warn(
                f"{part} was left by an interrupted recording with mode all. "
                f"To use it, rename it to {real.name}; the next such recording replaces it."
            )
        if settings is not None and self.replays and not is_offline() and shell() is None:
            from toolkit.cassettes.catalog.facts import staleness_text

            now = SystemClock().now()
            stale = staleness_text(self.path, self.recorded_at, settings.stale_after_days, now)
            if stale:
                warn(f'{stale} To record it again, open it with mode="all".')

    def __len__(self) -> int:
        """Return the number of interactions in the file, including those recorded since it was opened."""
        return self.recorded_count if self.mode == "all" else self._loaded + self.recorded_count

    def __bool__(self) -> bool:
        return True  # even without interactions

    def __repr__(self) -> str:
        return f"<Cassette {self.path.name}: {self.describe()}>"

    def _repr_html_(self) -> str:
        rows = [("Mode", as_html(self.mode)), ("Interactions", f"{len(self):,}")]
        if self.contents.environments:
            rows.append(("Environments", as_html(", ".join(self.contents.environments))))
        if self.replays:
            times = count_text(self.play_count, "time")
            rows.append(("Played", f"{times}; {count_text(len(self.unplayed), 'interaction')} not played yet"))
        return card(f"Cassette {self.path.name}", [badge(self.source)], rows)

    def describe(self) -> str:
        """Describe whether calls are recorded or replayed, and when they were recorded."""
        count, when = count_text(len(self), "interaction"), self._when()
        if self.records and not self.replays:
            return f"recording, {count}"
        return f"{'replaying and adding to' if self.records else 'replaying'} {count}{f', {when}' if when else ''}"

    def _source(self) -> str:
        if not self.replays:
            return "live calls, recorded" if self.records else "replayed, nothing recorded"
        return f"replayed{' and added to' if self.records else ''}, {self._when() or 'recording date unknown'}"

    def _when(self) -> str:
        return f"recorded {date_text(self.recorded_at)}" if self.recorded_at not in (None, EPOCH) else ""

    @property
    def recorded_count(self) -> int:
        """Number of interactions recorded since the file was opened."""
        return self.recorder.count if self.recorder else 0

    @property
    def play_count(self) -> int:
        """Number of times that an interaction was played, repeats included."""
        return self.player.play_count

    @property
    def unplayed(self) -> list[str]:
        """Method and URI of the interactions in the file that have not been played yet, in file order."""
        return self.player.unplayed

    def transport(self, inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None) -> Any:
        """Return a transport for a Client or AsyncClient that replays from and records to this cassette.

        The client may come from httpx or httpx2; responses and errors have the types of its library.

        Args:
            inner: the httpx or httpx2 transport for requests that are not replayed; defaults to an httpx transport with
                at most 100 concurrent calls, which uses the proxy from the environment variables, if any. A client does
                not apply its limits, certificates and proxies to a transport that it is given, so pass them to `inner`,
                as in `cassette.transport(httpx.HTTPTransport(limits=limits))`.
        """
        from toolkit.cassettes.through import CassetteTransport

        return CassetteTransport(self, inner)

    def table(self) -> pd.DataFrame:
        """Return the interactions in the file, including those recorded since it was opened, one row each.

        They do not count as played.

        Columns: `recorded` (datetime64[us, UTC]), `method`, `uri`, `status`, `elapsed` (seconds),
        `size` (bytes of the response body), `profile`.
        """
        from toolkit.cassettes.catalog.facts import table_of

        opened = self.contents
        if self.recorder is not None and (self.mode == "all" or self.recorder.count):
            file = self.recorder.file
            opened = contents.read(contents.read_bytes(file) if self.recorder.count else b"", source=str(file))
        return table_of(opened, opened.readable(), self.scrubber if opened.is_foreign else None).drop(columns="number")

    def close(self) -> None:
        """Finish the recording and let other processes record to the file. Recording another call locks it again.

        With mode `all`, the new recording replaces the old file. Calling this is optional, since every interaction is
        on disk as soon as it is complete.

        Raises:
            CassetteError: if the old file cannot be replaced, or if the cassette is strict and `unplayed` is not empty.
        """
        if self.recorder is not None:
            try:
                self.recorder.finish()
            finally:
                self.recorder.release()
        if self.strict and self.replays and self.unplayed:
            raise differences.left_over(self.path.name, self._loaded, self.unplayed)

    def abandon(self) -> None:
        """End the recording after a failure. With mode `all`, the old file is kept, with the new one beside it."""
        if self.recorder is not None:
            self.recorder.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()
