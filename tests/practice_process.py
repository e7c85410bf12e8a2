"""A practice service in a process of its own, so that its work does not slow the callers that a benchmark measures.

    with practice_process(accounts=100_000, token_validity=4) as service:
        with tk.Session(credentials=service.credentials["broker-secret"], settings=service.settings) as session:
            ...
        assert service.stats()["token_requests"] == 1

The two processes talk over a pipe. The service ends with the block, and also when the process that started it is
killed.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

import toolkit as tk
from toolkit.auth.profiles.fields import decompose


class PracticeProcess:
    """A practice service in another process.

    Attributes:
        settings: settings with its addresses.
        credentials: the key pairs and client secrets that it accepts, by name.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        addresses, credentials = pipe.recv()
        self.settings = tk.Settings(addresses)
        self.credentials: dict[str, Any] = {
            name: (tk.ClientSecret if "client_id" in fields else tk.KeyPair)(**fields)
            for name, fields in credentials.items()
        }

    def stats(self) -> dict[str, int]:
        """Return how many calls and token requests the service got."""
        self._pipe.send("stats")
        counts: dict[str, int] = self._pipe.recv()
        return counts

    def reset_stats(self) -> None:
        """Set every count to zero."""
        self._pipe.send("reset")
        self._pipe.recv()


@contextmanager
def practice_process(**options: Any) -> Iterator[PracticeProcess]:
    """Run a practice service with these options of `tk.practice` in a new process.

    Raises:
        EOFError: if it does not start; the process prints why.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, options))
    process.start()
    theirs.close()
    try:
        yield PracticeProcess(ours)
    finally:
        ours.close()
        process.join()


def _fields(credentials: Any) -> dict[str, str]:
    """Return what credentials are made of, since they are not pickled; the pipe is all that it goes through."""
    fields = {"environment": str(credentials.environment), "name": credentials.name}
    return fields | {name: secret.reveal() for name, secret in decompose(credentials).items()}


def _serve(pipe: Connection, options: dict[str, Any]) -> None:
    """Run a service, and answer what comes through the pipe until it is closed."""
    with tk.practice(**options) as service, suppress(EOFError):
        known = {
            name: _fields(credentials)
            for name, credentials in service.credentials.items()
            if not isinstance(credentials, tk.ClientKey)
        }
        pipe.send((dict(service.settings.addresses), known))
        while True:
            if pipe.recv() == "reset":
                service.stats.reset()
            pipe.send({"calls": service.stats.calls, "token_requests": service.stats.token_requests})
