"""The service's answers as tables, and as errors that repeat no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx

from toolkit.cassettes.scrub import KnownSecrets
from toolkit.errors import ServiceError, TabulationError
from toolkit.escaping import excerpt, printable
from toolkit.tables import tabulate

if TYPE_CHECKING:
    import pandas as pd

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
    try:
        tabulate(httpx.Response(200, headers=[(b"Content-Type", kind.encode("utf-8", "replace"))], content=content))
    except TabulationError as error:
        return error
    return TabulationError("The answer cannot be read as a table.", "Read it with a client of the session.")
