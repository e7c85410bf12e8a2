"""The accounts of a session: their pages as a table, or an error that repeats no secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import httpx

from toolkit.auth.correcting import where_to_correct
from toolkit.core.document import Environment, Interface
from toolkit.core.errors import CassetteMiss, ConfigurationError, ServiceError, TabulationError
from toolkit.core.escaping import excerpt, printable
from toolkit.core.ledger import source_of
from toolkit.core.user_code import warn
from toolkit.scrubbing.known import KnownSecrets
from toolkit.session.pages import Pages
from toolkit.transport.next_page import next_page

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.auth.credentials import Credentials

# Parameters with which a caller asks for one page; compared in lower case and without signs between the words.
_ONE_PAGE: Final = frozenset({"limit", "page", "pagesize", "perpage", "offset", "cursor", "pagetoken"})
_TABULATE_ARGUMENTS: Final = frozenset({"numbers", "dtypes", "records", "key", "schema"})
_MESSAGE_FIELDS: Final = ("message", "detail", "error_description", "title", "error")
_LONGEST_MESSAGE: Final = 200  # characters


class AccountPages(Pages):
    """The pages of the accounts of a session.

    Args:
        client: the client of the interface.
        environment: says where the accounts are. An account holder's account is one row, whatever it holds.
        params: the caller's query parameters.
        all_pages: False for the first page only.
        known: secrets that no error may repeat.
        credentials: those of the calls; the error of a 401 says where to correct them.

    Attributes:
        responses: the pages so far.

    Raises:
        ConfigurationError: if a parameter is an argument of `tabulate`; it would be sent to the service.
    """

    def __init__(
        self,
        client: Any,
        environment: Environment,
        params: Mapping[str, Any],
        *,
        all_pages: bool,
        known: KnownSecrets,
        credentials: Credentials | None,
    ) -> None:
        interface, path = environment.rules.accounts
        code = f"tk.pages(session.{interface}, {path!r})"
        for name in sorted(params.keys() & _TABULATE_ARGUMENTS):
            raise ConfigurationError(
                f"The arguments of accounts() go to the service, and {name} is an argument for the table.",
                f"Make the table yourself: tk.tabulate({code}, {name}=...).",
                about=name,
            )
        own = next((name for name in params if "".join(filter(str.isalnum, name)).lower() in _ONE_PAGE), "")
        self._advice = f"Leave out {own} to get all of them." if own else ""
        self._is_one_account = interface is Interface.TRADING
        if self._is_one_account and all_pages:
            self._advice = f"An account is one row; {code} reads the next page."
        super().__init__(client, path, params=params, only_first=bool(self._advice) or not all_pages)
        self.responses: list[httpx.Response] = []
        self._known = known
        self._credentials = credentials
        self._failure: ServiceError | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep a ServiceError for `table` to raise: there it has one short traceback and leads to no other error.

        If a recording ends after a page that names a next one, a warning says so.

        Raises:
            CassetteMiss: if the first page is not recorded.
        """
        try:
            yield
        except ServiceError as error:
            self._failure = self._with_message(error)
        except CassetteMiss:
            if not self.responses:
                raise
            ending = f"page {len(self.responses)}" if len(self.responses) > 1 else "the first page"
            warn(
                f"The recording ends with {ending} of the accounts, which names a next page: the table is not "
                'complete. Record all pages with mode="all".'
            )

    def table(self) -> pd.DataFrame:
        """Return the table of the pages, readable when shown.

        Raises:
            ServiceError: if a page has an error status, with the service's own message and the response; or if it
                cannot be read.
            TabulationError: if a page is not JSON, or cannot be part of a table.
        """
        if self._failure is not None:
            error, self._failure = self._failure, None  # in both places, it would be in a cycle with its traceback
            raise error.with_traceback(None)
        from toolkit.tables.display import readable
        from toolkit.tables.tabulation import account_table

        try:
            table = account_table(self.responses, is_one_account=self._is_one_account)
        except TabulationError:
            pass
        else:
            more = next_page(self.responses[0]) if self._advice else None
            if more is not None:
                warn(f"This is one page of the accounts: {more.words}. {self._advice}")
            return readable(table)
        # Raised here, it has no context and no frames: those hold the body, which may repeat a secret.
        raise self._without_secrets().with_traceback(None)

    def _with_message(self, error: ServiceError) -> ServiceError:
        """Return the error with the service's own message and, after a refusal, the profile."""
        response = error.response
        message = message_of(response, self._known) if error.status and response is not None else ""
        is_refusal = error.status == httpx.codes.UNAUTHORIZED and not source_of(response).replayed_from
        profile = where_to_correct(self._credentials) if is_refusal else ""
        what = f"{error.what} It says: {message}" if message else error.what
        return error.reworded(what, f"{error.next_step} {profile}".rstrip())

    def _without_secrets(self) -> TabulationError:
        """Return the error about the scrubbed bodies: the original quotes a body, and may cut a secret in two."""
        from toolkit.tables.tabulation import account_table

        scrubbed = []
        for response in self.responses:
            content_type = self._known.scrub(response.headers.get("content-type", "").encode())
            headers = [(b"Content-Type", content_type)]
            scrubbed.append(httpx.Response(200, headers=headers, content=self._known.scrub(response.content)))
        try:
            account_table(scrubbed, is_one_account=self._is_one_account)
        except TabulationError as error:
            return error
        return TabulationError("The answer cannot be read as a table.", "Read it with a client of the session.")


def message_of(response: httpx.Response, known: KnownSecrets) -> str:
    """Return the message of an error answer from one of the usual fields, such as RFC 9457's `detail`, or "".

    It is shortened, safe to print, and without known secrets.
    """
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return ""
    texts = [body.get(name) for name in _MESSAGE_FIELDS] if isinstance(body, dict) else []
    message = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return excerpt(known.scrub_text(printable(message)), _LONGEST_MESSAGE)
