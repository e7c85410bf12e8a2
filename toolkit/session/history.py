"""The service's answers as tables, and as errors that repeat no secret."""
# MERGE: What a session tells of itself: the instant it lives at, its token and its tables, live and replayed alike.

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

import httpx

from toolkit.auth.tokens.token import Token
from toolkit.cassettes.cassette import Cassette
from toolkit.core.clock import Clock
from toolkit.core.document import Environment, Placeholder
from toolkit.core.errors import ServiceError, TabulationError
from toolkit.core.escaping import excerpt, printable
from toolkit.core.ledger import EPOCH
from toolkit.core.secret import Secret
from toolkit.scrubbing.scrubber import KnownSecrets
from toolkit.session.sending import Caller

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
        from toolkit.tables.tabulation import tokens_table  # keeps pandas out of `import toolkit`

        return self._said(tokens_table(self.ledger.calls(), self.ledger.last_ended_at() or self.now()))

    def calls(self, *, last: int | None) -> pd.DataFrame:
        """One row a call, or only so many of the last ones."""
        from toolkit.tables.tabulation import calls_table  # keeps pandas out of `import toolkit`

        calls = self.ledger.calls()
        skipped = 0 if last is None else max(0, len(calls) - last)
        table = calls_table(calls[skipped:], first=skipped + 1)
        table["path"] = table["path"].map(self._known.scrub_text).astype(table["path"].dtype)
        return self._said(table)

    def tabulated(self, response: httpx.Response) -> pd.DataFrame:
        """The table of an answer; raises as `toolkit.session.history.tabulated` does."""
        replayed_from = self._cassette.path.name if self._cassette is not None and self.replays_only else None
        return self._said(tabulated(response, known=self._known, replayed_from=replayed_from))

    def _said(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table that says where it comes from, for pictures that are drawn from it."""
        from toolkit.session.words import session_source  # for tables only

        table.attrs["source"] = session_source(self._environment, self._cassette, self.ledger.last_ended_at())
        return table


_MESSAGES: Final = ("message", "detail", "error_description", "title", "error")
_LONGEST: Final = 200  # characters of what the service says


def tabulated(response: httpx.Response, *, known: KnownSecrets, replayed_from: str | None = None) -> pd.DataFrame:
    """The table of an answer.

    Args:
        known: the secrets that no error may repeat.
        replayed_from: name of the cassette that it came from, so that an error says that it is an old one.

    Raises:
        ServiceError: it has an error status.
        TabulationError: it is no JSON, or cannot be a table.
    """
    from toolkit.tables.tabulation import tabulate  # keeps pandas out of `import toolkit`

    failure: ServiceError | TabulationError
    try:
        return tabulate(response)
    except TabulationError as error:
        failure = error
    except ServiceError as error:
        failure = _in_words_of_the_service(error, response, known, replayed_from)
    if isinstance(failure, TabulationError):
        failure = _without_secrets(failure, response, known)
    # Raised here, it has no context, and no frames: those hold the body, which may repeat a secret.
    raise failure.with_traceback(None)


def _in_words_of_the_service(
    error: ServiceError, response: httpx.Response, known: KnownSecrets, replayed_from: str | None
) -> ServiceError:
    """The same error with what the answer says about it, and with the answer."""
    said, next_step = _message(response), error.next_step
    if said:
        said = f" It says: {excerpt(known.scrub_text(printable(said)), _LONGEST)}"
    if replayed_from is not None:
        next_step += f' It was replayed from {replayed_from}; mode="all" records anew.'
    failure = error.reworded(f"{error.what}{said}", next_step)
    failure.response = response
    return failure


def _message(response: httpx.Response) -> str:
    """What an error answer says in one of the usual places, such as RFC 9457's `detail`; empty without any."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    texts = [body.get(name) for name in _MESSAGES] if isinstance(body, dict) else []
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _without_secrets(failure: TabulationError, response: httpx.Response, known: KnownSecrets) -> TabulationError:
    """The same error about a body without secrets: it quotes some of it, and an excerpt may end within one."""
    said = response.headers.get("content-type", "")
    content, kind = known.scrub(response.content), known.scrub_text(said)
    if content == response.content and kind == said:
        return failure
    from toolkit.tables.tabulation import tabulate  # keeps pandas out of `import toolkit`

    try:
        tabulate(httpx.Response(200, headers=[(b"Content-Type", kind.encode("utf-8", "replace"))], content=content))
    except TabulationError as error:
        return error
    return TabulationError("The answer cannot be read as a table.", "Read it with a client of the session.")
