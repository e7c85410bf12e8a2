"""Rewrite a cassette in one step, and never while somebody records to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolkit.cassettes.catalog.reading import read_bytes
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.core.errors import CassetteBusy, CassetteError, ConfigurationError
from toolkit.local.files import write_atomically
from toolkit.scrubbing.scrubber import Scrubber


def check_rewritable(path: Path) -> None:
    """Refuse a file that cannot be rewritten in the recorder's layout.

    Raises:
        ConfigurationError: if it is JSON.
    """
    if path.suffix == ".json":
        raise ConfigurationError(
            f"Cannot rewrite {path}: recordings are YAML, and this is JSON.",
            f"Make a clean copy in YAML: toolkit cassettes import {path} {path.stem}",
            about="cassette",
        )


def rewrite(path: Path, scrubber: Scrubber, change: Callable[[bytes], bytes]) -> None:
    """Replace the content of a cassette by what `change` makes of it. If that is the same, nothing is written.

    Raises:
        CassetteBusy: if a process, perhaps this one, is recording to the file; nothing was changed.
        CassetteError: if the file cannot be read or written; the old content stays.
    """
    check_rewritable(path)
    with _claimed(path, scrubber):
        before = read_bytes(path)
        after = change(before)
        if after == before:
            return
        try:
            write_atomically(path, after, durable=True)
        except OSError as error:
            raise CassetteError(
                f"Cannot write {path}: {error.strerror}.", "Nothing was changed. Fix its folder.", about="cassette"
            ) from None


@contextmanager
def _claimed(path: Path, scrubber: Scrubber) -> Iterator[None]:
    recorder = Recorder(path, scrubber)
    try:
        claim = recorder.claim()
    except CassetteBusy as error:
        raise error.reworded(
            f"Another process is recording to {path}; nothing was changed.",
            "Close that session or shut down that kernel, and run this again.",
        ) from None
    try:
        with claim.lock:
            if claim.prepared:
                raise CassetteBusy(
                    f"This process is recording to {path}; nothing was changed.",
                    "Close the session or cassette first, and run this again.",
                    about="cassette",
                )
            yield
    finally:
        recorder.release()
