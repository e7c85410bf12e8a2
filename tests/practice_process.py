"""A practice service in a process of its own, so that its work does not slow the callers that a test measures or kills.

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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import toolkit as tk

_STATS = ("token_requests", "calls", "refused", "rate_limited", "faulted", "by_status")


class PracticeProcess:
    """A practice service in another process.

    Attributes:
        settings: settings with its addresses.
        credentials: the credentials that it accepts, by name.
        pid: number of its process.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid
        start = self._answer()
        self.settings = tk.Settings(start["addresses"])
        self.credentials: Mapping[str, Any] = {
            name: _credentials(fields) for name, fields in start["credentials"].items()
        }

    def stats(self) -> dict[str, Any]:
        """Return the counts of the service by their names in `service.stats`."""
        counts: dict[str, Any] = self._ask("stats")
        by_status = counts["by_status"].items()
        counts["by_status"] = {path: {int(status): count for status, count in of.items()} for path, of in by_status}
        return counts

    def reset_stats(self) -> None:
        """Set every count to zero."""
        self._ask("reset_stats")

    def inject(self, place: str, status: int = 503, **options: Any) -> None:
        """Let the next requests to a place fail, as `service.faults.inject` does."""
        self._ask("inject", place, status, **options)

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._ask("clear_faults")

    def revoke_tokens(self) -> None:
        """Revoke all tokens issued so far."""
        self._ask("revoke_tokens")

    def _ask(self, name: str, *arguments: Any, **options: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, arguments, options]) + "\n")
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
    if isinstance(credentials, tk.KeyPair):
        return fields | {"key_id": credentials.key_id.reveal(), "secret_key": credentials.secret_key.reveal()}
    fields["client_id"] = credentials.client_id
    if isinstance(credentials, tk.ClientSecret):
        return fields | {"client_secret": credentials.client_secret.reveal()}
    der = credentials.private_key.identity()  # base64 of PKCS#8
    pem = f"-----BEGIN PRIVATE KEY-----\n{der}\n-----END PRIVATE KEY-----\n"
    return fields | {"private_key": pem, "key_id": credentials.key_id}


def _credentials(fields: Mapping[str, str]) -> Any:
    kind = tk.ClientKey if "private_key" in fields else tk.ClientSecret if "client_secret" in fields else tk.KeyPair
    return kind(**fields)


def _serve(options: dict[str, Any]) -> None:
    """Run a service, and do what the lines of the standard input ask for until they end."""
    with tk.practice(**options) as service:
        actions = {
            "stats": lambda: {name: getattr(service.stats, name) for name in _STATS},
            "reset_stats": service.stats.reset,
            "inject": service.faults.inject,
            "clear_faults": service.faults.clear,
            "revoke_tokens": service.revoke_tokens,
        }
        known = {name: _fields(credentials) for name, credentials in service.credentials.items()}
        print(json.dumps({"addresses": dict(service.settings.addresses), "credentials": known}), flush=True)
        for line in sys.stdin:
            name, arguments, keywords = json.loads(line)
            print(json.dumps(actions[name](*arguments, **keywords)), flush=True)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
