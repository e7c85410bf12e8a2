"""Record the bundled cassettes again, against the practice service.

`python cassettes/record.py` records all of them, `python cassettes/record.py tour sharing` only these two. It needs the
extra `practice` and calls only this machine. The service and the session share a clock that is set to an instant of a
made-up day and moved between calls, so that a new recording is the same as before; only the durations of calls are
real. Afterwards `toolkit verify notebooks --update` stores the new outputs of the notebooks.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import httpx

import toolkit as tk
from toolkit.cli import demo
from toolkit.core.ledger import SystemClock
from toolkit.practice_service.service import PracticeService

FOLDER = Path(__file__).resolve().parent
SYMBOLS = {"symbols": "ALFA,BRVO"}
CALLS_AT = (0, 6, 12, 14, 18, 24, 29, 32, 36, 40)  # minutes after the first call
DEPOSITS = {1: "2500.00", 4: "-18000.00", 6: "0.75"}  # row of an account to amount

CLIENTS = ("0ccd8f1c-e1b3-5586-a082-5918a10f133b", "e103d1be-baa1-5b8b-a3d7-cb2ae15e7393")  # rows 1 and 3
BUSY_ACCOUNT = 55  # row of an account that cannot be read for an hour


class SetClock(SystemClock):
    """A clock that stops until it is moved, so that prices and tokens have the same dates in each recording.

    Only the monotonic clock, for durations, continues.
    """

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._ahead = 0.0  # seconds

    def leap(self, minutes: float) -> None:
        self._now += timedelta(minutes=minutes)
        self._ahead += minutes * 60

    def sleep(self, seconds: float) -> None:
        """Skip a pause before another try; its length is random, so the instant does not change."""
        self._ahead += seconds

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return super().monotonic() + self._ahead


class FourDaysLater(httpx.HTTPTransport):
    """A network in which accounts have a few deposits, which the practice service does not make."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if not request.url.path.endswith("/accounts"):
            return response
        accounts = json.loads(response.read())
        for row, deposit in DEPOSITS.items():
            account = accounts[row]
            for field in ("cash", "equity"):
                account[field] = str(Decimal(account[field]) + Decimal(deposit))
            account["buying_power"] = str(Decimal(account["equity"]) * 2) if account["margin"] else account["cash"]
        accounts[2]["status"] = "restricted"
        return httpx.Response(200, json=accounts, headers={"Date": response.headers["Date"]})


def clock_at(day: int, hour: int, minute: int = 0) -> SetClock:
    """Return a clock that starts at this hour of a day in November 2026."""
    return SetClock(datetime(2026, 11, day, hour, minute, tzinfo=UTC))


@contextmanager
def recording_session(
    path: Path,
    *,
    clock: SetClock,
    profile: str = "sandbox-secret",
    accounts: int = 12,
    delays: tuple[float, float] = (0.0, 0.0),
    transport: httpx.BaseTransport | None = None,
) -> Iterator[tk.Session]:
    """Open a session that records its calls to a practice service; delays of responses and of tokens are in seconds."""
    with (
        tk.practice(accounts=accounts, clock=clock, delay=delays[0], token_delay=delays[1]) as service,
        tk.Cassette(path, settings=service.settings) as cassette,
        open_session(service, profile, cassette, clock, transport) as session,
    ):
        yield session


def open_session(
    service: PracticeService,
    profile: str,
    cassette: tk.Cassette,
    clock: SetClock,
    transport: httpx.BaseTransport | None = None,
) -> tk.Session:
    """Open a session with credentials of the practice service."""
    return tk.Session(
        credentials=service.credentials[profile],
        settings=service.settings,
        cassette=cassette,
        clock=clock,
        transport=transport,
    )


def record_tour(path: Path) -> None:
    """Record the tour: a sandbox broker partner reads accounts and quotes, and reads accounts again later."""
    clock = clock_at(20, 16, 30)
    with recording_session(path, clock=clock) as session:
        for _ in demo.take_tour(session, pause=lambda: clock.leap(20)):
            pass


def record_authentication(path: Path) -> None:
    """Record accounts and quotes of each environment, with each kind of credentials."""
    clock = clock_at(9, 9, 30)
    with (
        tk.practice(accounts=3, clock=clock) as service,
        tk.Cassette(path, settings=service.settings) as cassette,
    ):
        for profile in ("live", "paper", "broker-key", "sandbox-secret"):
            with open_session(service, profile, cassette, clock) as session:
                session.accounts()
                session.market_data.get(demo.QUOTES_PATH, params=SYMBOLS).raise_for_status()
            clock.leap(1)


def record_first_recording(path: Path) -> None:
    """Record what the notebook about recording does if there is no recording."""
    with recording_session(path, clock=clock_at(10, 14)) as session:
        session.accounts(limit=4)
        session.market_data.get(demo.QUOTES_PATH, params=SYMBOLS).raise_for_status()


def record_accounts_monday(path: Path) -> None:
    """Record accounts on a Monday, and the daily prices of three symbols."""
    with recording_session(path, clock=clock_at(2, 10)) as session:
        session.accounts()
        bars = {"symbols": "FXTR,GOLF,HOTL", "days": "20"}
        session.market_data.get("/v2/practice/bars", params=bars).raise_for_status()


def record_accounts_friday(path: Path) -> None:
    """Record the same accounts on the following Friday, with deposits and one new account."""
    with recording_session(path, clock=clock_at(6, 10), accounts=13, transport=FourDaysLater()) as session:
        session.accounts()


def record_forty_minutes(path: Path) -> None:
    """Record quotes over 40 minutes, with the token requests they need."""
    clock = clock_at(11, 9)
    with recording_session(path, clock=clock, delays=(0.03, 0.12)) as session:
        for earlier, minute in zip((0, *CALLS_AT), CALLS_AT, strict=False):
            clock.leap(minute - earlier)
            session.market_data.get(demo.QUOTES_PATH, params=SYMBOLS).raise_for_status()


def record_reports(path: Path) -> None:
    """Record the account and the orders of two clients, and nothing about the others."""
    with recording_session(path, clock=clock_at(12, 11)) as session:
        for client in CLIENTS:
            account = f"/v1/practice/accounts/{client}"
            session.broker.get(account).raise_for_status()
            for _ in tk.pages(session.broker, f"{account}/orders"):
                pass


def record_many_calls(path: Path) -> None:
    """Record lists with pages, a call that is answered at the third try, and positions of 120 accounts."""
    clock = clock_at(16, 9, 30)
    with (
        tk.practice(accounts=120, clock=clock) as service,
        tk.Cassette(path, settings=service.settings) as cassette,
        open_session(service, "sandbox-secret", cassette, clock) as session,
        tempfile.TemporaryDirectory() as folder,
    ):
        accounts = session.accounts()["id"]
        orders = f"/v1/practice/accounts/{accounts[1]}/orders"
        session.broker.get(orders).raise_for_status()
        for _ in tk.pages(session.broker, orders):
            pass
        clock.leap(1)
        service.faults.inject("interfaces", 503)
        service.faults.inject("interfaces", 429, retry_after=1)
        session.market_data.get(demo.QUOTES_PATH, params=SYMBOLS).raise_for_status()
        clock.leap(1)
        closed = [accounts[BUSY_ACCOUNT]]

        def positions_of(account_id: str) -> str:
            if account_id in closed:
                closed.remove(account_id)
                service.faults.inject("interfaces", 503, retry_after=3600)
            return f"/v1/practice/accounts/{account_id}/positions"

        keys = [*accounts, "no-such-account"]
        result = tk.sweep(session.broker, keys, positions_of, into=Path(folder) / "positions", at_once=1)
        clock.leap(60)
        result.retry()


RECORDINGS: dict[str, Callable[[Path], None]] = {
    demo.TOUR_CASSETTE: record_tour,
    "authentication": record_authentication,
    "first-recording": record_first_recording,
    "accounts-monday": record_accounts_monday,
    "accounts-friday": record_accounts_friday,
    "forty-minutes": record_forty_minutes,
    "reports": record_reports,
    "many-calls": record_many_calls,
}


def main(names: list[str]) -> None:
    """Record the named cassettes, or all of them, and scan the folder for secrets."""
    unknown = set(names) - set(RECORDINGS)
    if unknown:
        raise SystemExit(f"Unknown: {', '.join(sorted(unknown))}. Known: {', '.join(RECORDINGS)}.")
    for name in names or RECORDINGS:
        path = FOLDER / f"{name}.yaml"
        with tempfile.TemporaryDirectory() as folder:
            new = Path(folder) / path.name
            RECORDINGS[name](new)
            path.write_bytes(new.read_bytes())
        print(f"{path.name}: {len(tk.Cassette(path, 'none'))} interactions, {path.stat().st_size:,} bytes")
    findings = tk.scan(FOLDER)
    if findings:
        raise SystemExit("\n".join(map(str, findings)))


if __name__ == "__main__":
    main(sys.argv[1:])
