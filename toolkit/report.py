"""What a session tells of itself: the instant it lives at, its token and its tables, live and replayed alike."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import httpx

from toolkit.calling import Caller
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format import EPOCH
from toolkit.cassettes.scrub import KnownSecrets
from toolkit.clock import Clock
from toolkit.secret import Secret
from toolkit.service import Environment, Placeholder
from toolkit.tokens.token import Token

if TYPE_CHECKING:
    import pandas as pd


class Report:
    """Reads what a session did; changes nothing.

    Args:
        environment: which environment is called.
        cassette: what is replayed and recorded, or None when live.
        caller: what makes the calls.
        known: secrets that no table shows.
        clock: where time comes from when live.

    Attributes:
        replays_only: whether nothing can leave this machine.
        ledger: the calls so far.
    """

    def __init__(
        self, environment: Environment, cassette: Cassette | None, caller: Caller, *, known: KnownSecrets, clock: Clock
    ) -> None:
        self.replays_only = cassette is not None and not cassette.records
        self.ledger = caller.ledger
        self._environment = environment
        self._cassette = cassette
        self._caller = caller
        self._known = known
        self._clock = clock

    def token(self) -> Token | None:
        """The current token, None without one; in replay the recorded one, its text a placeholder."""
        if not self.replays_only:
            return self._caller.token
        for call in reversed(self.ledger.calls()):
            by = call.authorized_by
            if by is not None and by.issued_at is not None and by.expires_at is not None:
                token = Token(Secret(Placeholder.ACCESS_TOKEN), by.issued_at, by.expires_at)
                return token if self.now() < token.renew_at else None
        return None

    def now(self) -> datetime:
        """The present, or where the replay stands in its recording, in UTC."""
        if not self.replays_only:
            return self._clock.now()
        return self.ledger.last_ended_at() or (self._cassette and self._cassette.recorded_at) or EPOCH

    def tokens(self) -> pd.DataFrame:
        """One row an access token that authorized a call."""
        from toolkit.tables import tokens_table  # noqa: PLC0415 - keeps pandas out of `import toolkit`

        return self._said(tokens_table(self.ledger.calls(), self.ledger.last_ended_at() or self.now()))

    def calls(self, *, last: int | None) -> pd.DataFrame:
        """One row a call, or only so many of the last ones."""
        from toolkit.tables import calls_table  # noqa: PLC0415 - keeps pandas out of `import toolkit`

        calls = self.ledger.calls()
        skipped = 0 if last is None else max(0, len(calls) - last)
        table = calls_table(calls[skipped:], first=skipped + 1)
        table["path"] = table["path"].map(self._known.scrub_text).astype(table["path"].dtype)
        return self._said(table)

    def tabulated(self, response: httpx.Response) -> pd.DataFrame:
        """The table of an answer; raises as `toolkit.answers.tabulated` does."""
        from toolkit.answers import tabulated  # noqa: PLC0415 - keeps pandas out of `import toolkit`

        replayed_from = self._cassette.path.name if self._cassette is not None and self.replays_only else None
        return self._said(tabulated(response, known=self._known, replayed_from=replayed_from))

    def _said(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table that says where it comes from, for pictures that are drawn from it."""
        from toolkit.rich_display.words import session_source  # noqa: PLC0415 - for tables only

        table.attrs["source"] = session_source(self._environment, self._cassette, self.ledger.last_ended_at())
        return table
