"""The service's answers as tables, and as errors that repeat no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from toolkit.cassettes.scrub import KnownSecrets
from toolkit.errors import ServiceError, TabulationError
from toolkit.tables import tabulate

if TYPE_CHECKING:
    import pandas as pd


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
        failure = error
        if replayed_from is not None:
            replayed = f'{error.next_step} It was replayed from {replayed_from}; mode="all" records anew.'
            failure = error.reworded(error.what, replayed)
    if isinstance(failure, TabulationError):
        failure = _without_secrets(failure, response, known)
    # Raised here, it has no context, and no frames: those hold the body, which may repeat a secret.
    raise failure.with_traceback(None)


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
