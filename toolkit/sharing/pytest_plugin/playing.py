"""The cassette of one test: opened before it, checked and finished, or kept aside, after it."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolkit.cassettes import cell_cassette
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.recording.recorder import part_of
from toolkit.cassettes.replay import differences
from toolkit.core.errors import CassetteMiss, NetworkBlocked, SecretLeak
from toolkit.local.files import write_atomically
from toolkit.local.settings import Settings
from toolkit.local.variables import is_offline
from toolkit.scrubbing.scanning import Finding, scan_files
from toolkit.scrubbing.scanning.allow import AllowList
from toolkit.sharing.pytest_plugin.blocking import network_blocked
from toolkit.sharing.pytest_plugin.marks import MARKER, CassetteChoice
from toolkit.sharing.pytest_plugin.places import failed_file

OPTION: Final = "--toolkit-record"
_MOST_FINDINGS: Final = 10  # shown


class Playing:
    """The cassette of a test that runs.

    While the test replays, connections are refused. Sessions without a cassette of their own use this one.

    Args:
        path: the file.
        choice: what the markers of the test choose.
        settings: the settings of the project.
        option: the mode that `--toolkit-record` names, or None.
        allowed_hosts: hosts that every replaying test may connect to.
        is_needed: False if a test without a recording may run, as long as it does not connect.

    Attributes:
        path: the file.
        cassette: the open cassette; None if it does not exist and is not needed.
        kept: the file that the recording of the failed test was moved to, or None.

    Raises:
        CassetteMiss: if the recording does not exist, and none is to be made.
        CassetteError: if the file cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        choice: CassetteChoice,
        settings: Settings,
        *,
        option: str | None = None,
        allowed_hosts: tuple[str, ...] = (),
        is_needed: bool = True,
    ) -> None:
        self.cassette: Cassette | None = None
        self.kept: Path | None = None
        self.path, self._settings = path, settings
        self._before: bytes | None = None  # the old file, if the recording is added to it
        has_recording = _has_content(path)
        mode = mode_in_force(option, choice.mode, has_recording=has_recording)
        self._guard = ExitStack()
        if has_recording or mode != "none" or is_needed or is_offline():
            self.cassette = self._open(mode, choice)
            cell_cassette.put_in_place(self.cassette)
        if self.cassette is None or not self.cassette.records:
            self._guard.enter_context(network_blocked((*allowed_hosts, *choice.allowed_hosts), self._refusal))

    def _open(self, mode: str, choice: CassetteChoice) -> Cassette:
        if mode == "new_episodes" and _has_content(self.path):
            self._before = self.path.read_bytes()
        try:
            return Cassette(
                self.path,
                mode,
                match_on=choice.match_on,
                secrets=choice.secrets,
                strict=choice.strict,
                rules=choice.rules,
                settings=self._settings,
            )
        except CassetteMiss as error:
            if is_offline():
                raise
            raise error.reworded(error.what, f"Record it while online: pytest {OPTION}.") from None

    @property
    def has_recorded(self) -> bool:
        """True if the test recorded something."""
        return self.cassette is not None and self.cassette.recorded_count > 0

    def check(self) -> None:
        """Check, after the test passed, that everything was played and that no secret was recorded.

        Raises:
            CassetteError: if recorded interactions of a strict cassette were not played.
            SecretLeak: if something in the new recording looks like a secret.
        """
        cassette = self.cassette
        if cassette is None:
            return
        if self.has_recorded and (findings := self._findings()):
            raise leak(self.path, findings)
        if cassette.strict and cassette.replays and cassette.unplayed:
            error = differences.left_over(cassette.path.name, len(cassette), cassette.unplayed)
            advice = f"Make the missing calls; or, if they are no longer needed, record again: pytest {OPTION}=all."
            raise error.reworded(error.what, advice)

    def end(self, *, well: bool) -> None:
        """Finish the recording; if the test failed, keep it aside and the old one in place.

        Raises:
            CassetteError: if a file cannot be written.
        """
        self._guard.close()
        if self.cassette is None:
            return
        cell_cassette.remove(self.cassette)
        has_recorded, aside = self.has_recorded, failed_file(self.path)
        if well:
            self.cassette.strict = False  # `check` has looked for unplayed interactions
            self.cassette.close()
            if has_recorded:
                aside.unlink(missing_ok=True)
            return
        self.cassette.abandon()
        if has_recorded:
            self._recorded_file().replace(aside)
            self.kept = aside
            if self._before is not None:
                write_atomically(self.path, self._before, like=aside)

    def _recorded_file(self) -> Path:
        part = part_of(self.path)
        return part if self.cassette is not None and self.cassette.mode == "all" and part.exists() else self.path

    def _findings(self) -> list[Finding]:
        """Return what looks like a secret in the recording, except what the project allows."""
        found = scan_files(self._recorded_file(), settings=replace(self._settings, scan={}))
        allowed = AllowList(self._settings.scan, self._settings.project)
        findings = [replace(finding, path=self.path) for finding in found]
        return [finding for finding in findings if not allowed.allows(finding)]

    def _refusal(self, host: str) -> NetworkBlocked:
        if self.cassette is None:
            what = f"This test has no recording yet ({self.path.name}), so it may not connect to {host}."
            return NetworkBlocked(what, f"Record it: pytest {OPTION}.", about="network")
        return NetworkBlocked(
            f"This test replays {self.path.name}, so it may not connect to {host}.",
            "Call through toolkit_session or toolkit_cassette.transport(); or allow the host: "
            f'@pytest.mark.{MARKER}(allowed_hosts=["..."]).',
            about="network",
        )


def mode_in_force(option: str | None, marked: str | None, *, has_recording: bool) -> str:
    """Return the mode to open a cassette with.

    A new recording has the mode `all`, which records beside the old file and replaces it at the end. So `once` is
    `all` without a recording, and `none` with one.

    Args:
        option: the mode that the command line names; None for replay.
        marked: the mode of the marker; `none` holds against the command line.
        has_recording: True if the file has recordings.
    """
    mode = marked if option is None or marked == "none" else option
    if mode == "once" or (mode == "new_episodes" and not has_recording):
        return "none" if has_recording else "all"
    return mode or "none"


def leak(path: Path, findings: list[Finding]) -> SecretLeak:
    """Return the error for a recording in which something looks like a secret."""
    lines = [f"\n  line {finding.line}: {finding.kind}" for finding in findings[:_MOST_FINDINGS]]
    more = f"\n  and {len(findings) - _MOST_FINDINGS} more" if len(findings) > _MOST_FINDINGS else ""
    return SecretLeak(
        f"The new recording of {path.name} has what looks like a secret:{''.join(lines)}{more}",
        "It is kept aside. Name what to remove in [scrubbing] of toolkit.toml and record again; what is not a secret, "
        "allow in [scan].",
        about="cassette",
    )


def _has_content(path: Path) -> bool:
    with suppress(OSError):
        return bool(path.read_bytes().strip())
    return path.exists()
