"""Answers to a session's own calls: as tables, or as errors that repeat no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx

from toolkit.core.errors import ServiceError, TabulationError
from toolkit.core.escaping import excerpt, printable
from toolkit.scrubbing.known import KnownSecrets

if TYPE_CHECKING:
    import pandas as pd

_MESSAGE_FIELDS: Final = ("message", "detail", "error_description", "title", "error")
_LONGEST_MESSAGE: Final = 200  # characters


def tabulated(response: httpx.Response, *, known: KnownSecrets, replayed_from: str | None = None) -> pd.DataFrame:
    """Return the table of an answer.

    Args:
        known: secrets that no error may repeat.
        replayed_from: name of the cassette that the answer comes from, so that an error can say that it is old.

    Raises:
        ServiceError: if the answer has an error status.
        TabulationError: if it is not JSON, or cannot be a table.
    """
    from toolkit.tables.tabulation import tabulate

    failure: ServiceError | TabulationError
    try:
        return tabulate(response)
    except ServiceError as error:
        failure = _with_message(error, response, known, replayed_from)
    except TabulationError as error:
        failure = error
    if isinstance(failure, TabulationError):
        failure = _without_secrets(failure, response, known)
    # Raised here, it has no context and no frames: those hold the body, which may repeat a secret.
    raise failure.with_traceback(None)


def _with_message(
    error: ServiceError, response: httpx.Response, known: KnownSecrets, replayed_from: str | None
) -> ServiceError:
    """Return the error with the service's own message and with the response."""
    message, next_step = message_of(response, known), error.next_step
    if message:
        message = f" It says: {message}"
    if replayed_from is not None:
        next_step += f' It was replayed from {replayed_from}; mode="all" records it again.'
    failure = error.reworded(f"{error.what}{message}", next_step)
    failure.response = response
    return failure


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


def _without_secrets(failure: TabulationError, response: httpx.Response, known: KnownSecrets) -> TabulationError:
    """Return the error about the scrubbed body: the original quotes the body, and may cut a secret in two."""
    content_type = response.headers.get("content-type", "")
    content, scrubbed_type = known.scrub(response.content), known.scrub_text(content_type)
    if content == response.content and scrubbed_type == content_type:
        return failure
    from toolkit.tables.tabulation import tabulate

    headers = [(b"Content-Type", scrubbed_type.encode("utf-8", "replace"))]
    try:
        tabulate(httpx.Response(200, headers=headers, content=content))
    except TabulationError as error:
        return error
    return TabulationError("The answer cannot be read as a table.", "Read it with a client of the session.")
