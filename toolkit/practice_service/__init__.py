"""A local service to practise against: it implements the service document from the other side.

Everything it serves is made up. starlette and uvicorn, which carry it, are an extra of the toolkit and
are imported when a service starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkit.practice_service.faults import Fault, Faults
from toolkit.practice_service.service import PracticeService
from toolkit.practice_service.world import Options, Stats

if TYPE_CHECKING:
    from toolkit.core.clock import Clock


def practice(
    *,
    accounts: int = 25,
    token_validity: float = 900,
    delay: float = 0.0,
    token_delay: float = 0.0,
    port: int = 0,
    clock: Clock | None = None,
) -> PracticeService:
    """A practice service, to be used in a `with` statement or started with `start()`.

    Args:
        accounts: how many accounts each broker partner has.
        token_validity: how long a token is accepted, in seconds; the document's 15 minutes by default.
        delay: seconds by which every answer is late.
        token_delay: seconds by which answers of the token endpoints are late, on top of `delay`.
        port: first of eight consecutive ports; 0 takes any free ones.
        clock: where the service gets its time from; by default the machine's clock.

    Raises:
        ConfigurationError: a value is out of its range.
    """
    options = Options(accounts=accounts, token_validity=token_validity, delay=delay, token_delay=token_delay)
    return PracticeService(options, port=port, clock=clock)


__all__ = ["Fault", "Faults", "Options", "PracticeService", "Stats", "practice"]
