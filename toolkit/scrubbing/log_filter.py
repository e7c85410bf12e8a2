"""A logging filter that keeps secrets out of log records. It is installed as soon as the process knows a secret.

This module is small and imports `logs` only for the first record, so that a session that logs nothing stays fast.
"""

from __future__ import annotations

import logging
from typing import Any, Final

# A filter on a logger does not see the records of its children, so each child is named. Getting a logger creates it,
# so a library that is imported later finds the filter in place.
LOGGERS: Final = (
    "httpx",
    "httpx2",
    *(
        f"{core}{child}"
        for core in ("httpcore", "httpcore2")
        for child in ("", ".connection", ".http11", ".http2", ".proxy", ".socks")
    ),
    "hpack",
    "hpack.hpack",
    "hpack.huffman",
    "hpack.table",
    "h2",
    "h11",
    "hyperframe",
    "socksio",
    "anyio",
    "anyio.streams.tls",
    "asyncio",  # logs the errors of failed tasks
    # Dask logs what a loan publishes, and the arguments and errors of tasks.
    *(f"distributed.{child}" for child in ("core", "comm.tcp", "client", "scheduler", "worker")),
    "py.warnings",  # warnings, once logging.captureWarnings is on
    "toolkit",
)
_FAMILIES: Final = {name.partition(".")[0] for name in LOGGERS} - {"anyio", "asyncio", "py"}


class SecretFilter(logging.Filter):
    """A logging filter that removes secrets from records and lets every record pass. It never raises an error.

    Disabled log levels cost nothing, because loggers do not create records for them.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            from toolkit.scrubbing.logs import clean

            clean(record)
        except Exception:  # noqa: BLE001 - logging must not break a call
            record.msg = f"A log record from {record.name} is not shown, because it cannot be checked for secrets."
            record.args = record.exc_info = record.exc_text = record.stack_info = None
        return True


_FILTER: Final = SecretFilter()


def install() -> None:
    """Add the filter to every logger that may log a secret. May be called from any thread, and repeatedly."""
    manager = logging.Logger.manager
    children = [name for name in list(manager.loggerDict) if name.partition(".")[0] in _FAMILIES]
    for name in (*LOGGERS, *children):
        filters: list[Any] = logging.getLogger(name).filters
        if _FILTER not in filters:
            filters.insert(0, _FILTER)  # before other filters, which then see no secret
