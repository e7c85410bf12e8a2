"""Record the shipped cassettes anew, against the practice service.

Run it as `python cassettes/record.py` with the practice extra installed. Nothing but this machine is
called. Times are those of the recording; between two steps of the tour both sides' clocks leap 20
minutes, so that a token expires and is renewed.
"""

from datetime import datetime, timedelta
from pathlib import Path

import toolkit as tk
from toolkit import tour
from toolkit.clock import SystemClock

FOLDER = Path(__file__).resolve().parent


class LeapingClock(SystemClock):
    """The machine's clock half an hour ago, moved ahead on demand."""

    def __init__(self) -> None:
        self._ahead = -30.0 * 60  # seconds; so that no recording is of the future

    def leap(self, minutes: float) -> None:
        self._ahead += minutes * 60

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead


def record_tour(path: Path) -> None:
    """A sandbox broker partner with a client secret reads accounts and quotes, and does so again later."""
    clock = LeapingClock()
    with (
        tk.practice(accounts=12, clock=clock) as service,
        tk.Session(
            credentials=service.credentials["sandbox-secret"],
            settings=service.settings,
            cassette=path,
            mode="all",
            clock=clock,
        ) as session,
    ):
        for step, table in tour.take(session, before_later=lambda: clock.leap(20)):
            print(f"{step.title}: {len(table)} rows")


if __name__ == "__main__":
    record_tour(FOLDER / f"{tour.CASSETTE}.yaml")
    findings = tk.scan(FOLDER)
    if findings:
        raise SystemExit("\n".join(map(str, findings)))
