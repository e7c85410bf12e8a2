"""Sweeps into addresses of fsspec, such as `s3://bucket/positions`.

A store of objects replaces an object in one step, so a part is written in one. It has no locks: the object `lock`
names the process and is renewed every few seconds; one that was not renewed for a minute was left by a sweep that was
killed. Two sweeps that begin in the same instant do not notice each other. File systems that are not stores of objects
may have a half written file after a crash: the next run warns of it and leaves it.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from toolkit.core.errors import ConfigurationError, SweepError
from toolkit.core.escaping import excerpt
from toolkit.core.installation import how_to_install
from toolkit.sweeps.storage import Area, LocalPlace, SweepPlace, busy

_LOCK: Final = "lock"
_RENEWED_EVERY: Final = 10.0  # seconds
_STALE_AFTER: Final = 60.0  # seconds


def remote_place(address: str) -> SweepPlace:
    """Return the place at an address of fsspec.

    Raises:
        ConfigurationError: if fsspec or its package for this address is not installed, or the address is malformed.
    """
    try:
        import fsspec
    except ImportError:
        raise ConfigurationError(
            "To sweep into an address, fsspec is needed, which is not installed.",
            f"{how_to_install('remote')} Also fsspec's package for the address, such as s3fs. Or sweep into a folder.",
            about="into",
        ) from None
    try:
        system, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"This address cannot be opened: {excerpt(str(error))}",
            "See the list of addresses of fsspec; each needs its package.",
            about="into",
        ) from None
    path = path.rstrip("/")
    if not path.rpartition("/")[2]:
        raise ConfigurationError(
            "An address needs the name of a folder for the sweep.", "For example s3://bucket/positions.", about="into"
        )
    return LocalPlace(Path(path)) if "file" in _protocols(system) else RemotePlace(system, path)


class RemotePlace:
    """A folder of an fsspec file system and the one beside it.

    Args:
        system: the file system.
        path: path of the folder of the parts.
        now: seconds since 1970, for the age of a lock.
    """

    def __init__(self, system: Any, path: str, *, now: Callable[[], float] = time.time) -> None:
        self._system = system
        self._paths: dict[Area, str] = {"parts": path, "beside": f"{path}.sweep"}
        self._now = now

    def names(self, area: Area) -> list[str]:
        folder = self._paths[area]
        self._system.invalidate_cache(folder)
        try:
            paths = self._system.ls(folder, detail=False)
        except FileNotFoundError:
            return []
        names = (str(path).rstrip("/").rpartition("/")[2] for path in paths if str(path).rstrip("/") != folder)
        return sorted(name for name in names if name)

    def open(self, area: Area, name: str) -> BinaryIO:
        file: BinaryIO = self._system.open(self._path(area, name), "rb")
        return file

    def write(self, area: Area, name: str, data: bytes) -> None:
        try:
            self._system.makedirs(self._paths[area], exist_ok=True)
            self._system.pipe_file(self._path(area, name), data)
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            raise SweepError(
                f"Cannot write {excerpt(self._path(area, name))}: {type(error).__name__}.",
                "What is already written is kept. Run the sweep again: it goes on where it stopped.",
                about="into",
            ) from None

    def remove(self, area: Area, name: str) -> None:
        with suppress(FileNotFoundError):
            self._system.rm_file(self._path(area, name))

    def lock(self) -> Callable[[], None]:
        holder = self._holder()
        if holder is not None:
            raise busy(excerpt(f"the process {holder['process']} on {holder['host']}"))
        ended = threading.Event()
        self._renew()

        def renew() -> None:
            while not ended.wait(_RENEWED_EVERY):
                with suppress(SweepError):
                    self._renew()

        threading.Thread(target=renew, name="sweep-lock", daemon=True).start()

        def release() -> None:
            ended.set()
            self.remove("beside", _LOCK)

        return release

    def _renew(self) -> None:
        fields = {"process": os.getpid(), "host": socket.gethostname(), "at": self._now()}
        self.write("beside", _LOCK, json.dumps(fields).encode())

    def _holder(self) -> dict[str, Any] | None:
        """Return who holds the lock, or None if nobody does, or only a sweep that was killed."""
        try:
            with self.open("beside", _LOCK) as file:
                fields = json.loads(file.read(4096))
            is_stale = self._now() - float(fields["at"]) > _STALE_AFTER
            return None if is_stale else {name: str(fields[name]) for name in ("process", "host")}
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _path(self, area: Area, name: str) -> str:
        return f"{self._paths[area]}/{name}"


def _protocols(system: Any) -> tuple[str, ...]:
    protocol = system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)
