"""Answers to a session's own calls: as tables, or as errors that repeat no secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.correcting import where_to_correct
from toolkit.core.errors import CassetteMiss, ConfigurationError, ServiceError, TabulationError
from toolkit.core.escaping import excerpt, printable
from toolkit.core.user_code import warn
from toolkit.scrubbing.known import KnownSecrets
from toolkit.transport.family import httpx
from toolkit.transport.next_page import next_page
from toolkit.transport.provenance import replayed_from

if TYPE_CHECKING:
    import pandas as pd

    from toolkit.auth.credentials import Credentials

_MESSAGE_FIELDS: Final = ("message", "detail", "error_description", "title", "error")
_LONGEST_MESSAGE: Final = 200  # characters
# Parameters with which a caller asks for one page; compared in lower case and without signs between the words.
PAGE_PARAMETERS: Final = frozenset(
    "limit page pageno pagenumber pagesize perpage size count top first last offset skip start cursor pagetoken "
    "nextpagetoken nexttoken continuationtoken marker after before startingafter endingbefore maxresults".split()
)
_TABULATE_ARGUMENTS: Final = frozenset({"numbers", "dtypes", "records", "key", "schema"})


def tabulated(
    read: AnswerPages, *, known: KnownSecrets, is_one_account: bool = False, advice: str = ""
) -> pd.DataFrame:
    """Return the table of the pages of an answer.

    Args:
        read: the pages.
        known: secrets that no error may repeat.
        is_one_account: True if the answer is one account: one row, whatever it holds.
        advice: how to get the next pages, for the warning if there are any; empty for no warning.

    Raises:
        ServiceError: if a page has an error status, with the service's own message and the response; or if it cannot
            be read.
        TabulationError: if a page is not JSON, or cannot be part of a table.
    """
    if read.failure is not None:
        error, read.failure = read.failure, None  # kept in both places, it would be in a cycle with its own traceback
        raise error.with_traceback(None)
    from toolkit.tables.tabulation import account_table

    responses = read.responses
    try:
        table = account_table(responses, is_one_account=is_one_account)
    except TabulationError as error:
        failure = error
    else:
        more = next_page(responses[0]) if advice else None
        if more is not None:
            warn(f"This is one page of the accounts: {more.words}. {advice}")
        return table
    failure = _without_secrets(failure, responses, known, is_one_account=is_one_account)
    # Raised here, it has no context and no frames: those hold the body, which may repeat a secret.
    raise failure.with_traceback(None)


class AnswerPages:
    """The pages of an answer, and the error that ended reading them.

    Attributes:
        responses: the pages so far.
        failure: the error of a page with an error status or an unreadable body; None if there is none.
    """

    def __init__(self) -> None:
        self.responses: list[httpx.Response] = []
        self.failure: ServiceError | None = None


@contextmanager
def reading(known: KnownSecrets, credentials: Credentials | None = None) -> Iterator[AnswerPages]:
    """Collect the pages of an answer while they are read, and keep a ServiceError for `tabulated` to raise.

    Raised there, outside of any handler, it has one short traceback and leads to no other error.
    If a recording ends after a page that names a next one, a warning says so.

    Args:
        known: secrets that no error may repeat.
        credentials: those of the calls; the error of a 401 says where to correct them.

    Raises:
        CassetteMiss: if the first page is not recorded.
    """
    result = AnswerPages()
    try:
        yield result
    except ServiceError as error:
        result.failure = _with_message(error, error.response, known, credentials)
    except CassetteMiss:
        if not (responses := result.responses):
            raise
        ending = f"page {len(responses)}" if len(responses) > 1 else "the first page"
        warn(
            f"The recording ends with {ending} of the accounts, which names a next page: the table is not complete. "
            'Record all pages with mode="all".'
        )


def refuse_arguments_of_tabulate(params: Mapping[str, Any], pages: str) -> None:
    """Refuse arguments of `tabulate` among the parameters of a call; they would be sent to the service.

    Args:
        params: the parameters.
        pages: the code that reads the same pages, for the error.

    Raises:
        ConfigurationError: if a parameter is an argument of `tabulate`.
    """
    for name in sorted(params.keys() & _TABULATE_ARGUMENTS):
        raise ConfigurationError(
            f"The arguments of accounts() go to the service, and {name} is an argument for the table.",
            f"Make the table yourself: tk.tabulate({pages}, {name}=...).",
            about=name,
        )


def one_page_only(params: Mapping[str, Any]) -> str:
    """Return the parameter with which a caller asks for one page or a page of some size, or ""."""
    return next((name for name in params if "".join(filter(str.isalnum, name)).lower() in PAGE_PARAMETERS), "")


def _with_message(
    error: ServiceError, response: httpx.Response | None, known: KnownSecrets, credentials: Credentials | None
) -> ServiceError:
    """Return the error with the service's own message and, after a refusal, the profile; without a traceback."""
    message = message_of(response, known) if error.status and response is not None else ""
    is_refusal = error.status == httpx.codes.UNAUTHORIZED and replayed_from(response) is None
    profile = where_to_correct(credentials) if is_refusal else ""
    what = f"{error.what} It says: {message}" if message else error.what
    return error.reworded(what, f"{error.next_step} {profile}".rstrip())


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


def _without_secrets(
    failure: TabulationError, responses: Sequence[httpx.Response], known: KnownSecrets, *, is_one_account: bool
) -> TabulationError:
    """Return the error about the scrubbed bodies: the original quotes a body, and may cut a secret in two."""
    scrubbed = [_scrubbed(response, known) for response in responses]
    if all(map(_is_same, scrubbed, responses)):
        return failure
    from toolkit.tables.tabulation import account_table

    try:
        account_table(scrubbed, is_one_account=is_one_account)
    except TabulationError as error:
        return error
    return TabulationError("The answer cannot be read as a table.", "Read it with a client of the session.")


def _scrubbed(response: httpx.Response, known: KnownSecrets) -> httpx.Response:
    content_type = known.scrub_text(response.headers.get("content-type", ""))
    headers = [(b"Content-Type", content_type.encode("utf-8", "replace"))]
    return httpx.Response(200, headers=headers, content=known.scrub(response.content))


def _is_same(left: httpx.Response, right: httpx.Response) -> bool:
    types = (response.headers.get("content-type", "") for response in (left, right))
    return left.content == right.content and len(set(types)) == 1
