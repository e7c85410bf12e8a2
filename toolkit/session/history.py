"""The history of a session, live or replayed: its current token, its present and its tables."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from toolkit.auth.tokens.token import Token
from toolkit.core.arguments import as_count
from toolkit.core.document import Environment, Interface, Placeholder
from toolkit.core.ledger import EPOCH, Authorization
from toolkit.core.secret import Secret
from toolkit.session.sending import Sender

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.auth.credentials import Credentials
    from toolkit.cassettes.cassette import Cassette
    from toolkit.session.answers import AnswerPages


class History:
    """The history of a session, read from its sender.

    Args:
        cassette: the session's cassette, or None when live.
        sender: sends the calls.
        credentials: the session's credentials, or None.

    Attributes:
        replays_only: True if the cassette answers all calls, so that nothing is sent.
        ledger: the calls so far.
    """

    def __init__(self, cassette: Cassette | None, sender: Sender, credentials: Credentials | None) -> None:
        self.replays_only = cassette is not None and not cassette.records
        self.ledger = sender.ledger
        self._cassette = cassette
        self._sender = sender
        self._credentials = credentials

    def token(self) -> Token | None:
        """Return the current token or None; in replay the recorded token, with a placeholder for its text."""
        if not self.replays_only:
            return self._sender.token
        by = self._last_authorization()
        if by is None or by.issued_at is None or by.expires_at is None:
            return None
        token = Token(Secret(Placeholder.ACCESS_TOKEN), by.issued_at, by.expires_at)
        return token if self.now() < token.renew_at else None

    def token_number(self) -> int | None:
        """Return the number of the current token, from 1; None without a token."""
        if not self.replays_only:
            grant = self._sender.grant
            return grant.authorization.token if grant else None
        by = self._last_authorization()
        return by.token if by is not None and self.token() is not None else None

    def _last_authorization(self) -> Authorization | None:
        """Return how the last call with a token was authorized."""
        by = (call.authorized_by for call in reversed(self.ledger.calls()))
        return next((one for one in by if one is not None and one.issued_at is not None), None)

    def now(self) -> datetime:
        """Return the current time in UTC; in a replay, the end of the last call that was replayed."""
        if not self.replays_only:
            return self._sender.clock.now()
        return self.ledger.last_ended_at() or (self._cassette and self._cassette.recorded_at) or EPOCH

    def tokens(self) -> pd.DataFrame:
        """Return one row for each access token that authorized a call."""
        from toolkit.tables import tokens_table

        return self._with_source(tokens_table(self.ledger.calls(), self.ledger.last_ended_at() or self.now()))

    def calls(self, *, last: int | None) -> pd.DataFrame:
        """Return one row for each call, or for the last ones only."""
        from toolkit.tables import calls_table

        calls = self.ledger.calls()
        skipped = 0 if last is None else max(0, len(calls) - as_count(last, about="last"))
        table = calls_table(calls[skipped:], first=skipped + 1)
        table["path"] = table["path"].map(self._sender.known.scrub_text).astype(table["path"].dtype)
        return self._with_source(table)

    def reading(self) -> AbstractContextManager[AnswerPages]:
        """Collect the pages of an answer; see `toolkit.session.answers.reading`."""
        from toolkit.session.answers import reading

        return reading(self._sender.known, self._credentials)

    def tabulated(self, read: AnswerPages, *, advice: str) -> pd.DataFrame:
        """Return the table of the pages of an answer, readable when shown; see `toolkit.session.answers.tabulated`."""
        from toolkit.session.answers import tabulated
        from toolkit.tables.display import readable

        is_one = Environment(str(self._sender.identity.environment)).rules.accounts[0] is Interface.TRADING
        table = tabulated(read, known=self._sender.known, is_one_account=is_one, advice=advice)
        return readable(self._with_source(table))

    def _with_source(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with a note of where it comes from, for the charts that are drawn from it."""
        table.attrs["source"] = self._sender.source()
        return table
