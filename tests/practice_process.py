"""A practice service in a process of its own, so that its work does not slow the callers that a benchmark measures.

    with practice_process(accounts=100_000, token_validity=4) as service:
        with tk.Session(credentials=service.credentials["broker-secret"], settings=service.settings) as session:
            ...
        assert service.stats()["token_requests"] == 1

The two processes talk over a pipe, one line of JSON for each request and answer. The service ends with the block, and
also when the process that started it is killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import toolkit as tk
from toolkit.auth.profiles.fields import decompose


class PracticeProcess:
    """A practice service in another process.

    Attributes:
        settings: settings with its addresses.
        credentials: the key pairs and client secrets that it accepts, by name.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        start = self._answer()
        self.settings = tk.Settings(start["addresses"])
        self.credentials: dict[str, Any] = {
            name: (tk.ClientSecret if "client_id" in fields else tk.KeyPair)(**fields)
            for name, fields in start["credentials"].items()
        }

    def stats(self) -> dict[str, int]:
        """Return how many calls and token requests the service got."""
        counts: dict[str, int] = self._ask("stats")
        return counts

    def reset_stats(self) -> None:
        """Set every count to zero."""
        self._ask("reset")

    def _ask(self, name: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the practice service ended early")
        return json.loads(line)


@contextmanager
def practice_process(**options: Any) -> Iterator[PracticeProcess]:
    """Run a practice service with these options of `tk.practice` in a new process.

    Raises:
        RuntimeError: if it does not start; the process prints why.
    """
    command = [sys.executable, str(Path(__file__).resolve()), json.dumps(options)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield PracticeProcess(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def _fields(credentials: Any) -> dict[str, str]:
    """Return credentials as JSON can carry them; the pipe is all they go through."""
    fields = {"environment": str(credentials.environment), "name": credentials.name}
    return fields | {name: secret.reveal() for name, secret in decompose(credentials).items()}


def _serve(options: dict[str, Any]) -> None:
    """Run a service, and answer the lines of the standard input until they end."""
    with tk.practice(**options) as service:
        known = {
            name: _fields(credentials)
            for name, credentials in service.credentials.items()
            if not isinstance(credentials, tk.ClientKey)
        }
        print(json.dumps({"addresses": dict(service.settings.addresses), "credentials": known}), flush=True)
        for line in sys.stdin:
            if line.strip() == "reset":
                service.stats.reset()
            counts = {"calls": service.stats.calls, "token_requests": service.stats.token_requests}
            print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
