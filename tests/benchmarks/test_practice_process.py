"""A practice service in another process serves, counts and fails like the one in this process."""

import httpx
from practice_process import practice_process

import toolkit as tk


def test_practice_process() -> None:
    """Every kind of credentials is accepted, and counts and faults can be reached."""
    with practice_process(accounts=3, rate_limit=1000) as service:
        for name in ("live", "paper-2", "broker-secret", "broker-key", "sandbox-key"):
            with tk.Session(credentials=service.credentials[name], settings=service.settings) as session:
                assert len(session.accounts()) in (1, 3)
        assert service.stats()["by_status"]["broker GET /v1/accounts"] == {200: 2}
        service.reset_stats()
        service.inject("interfaces", 502, times=2)
        assert httpx.get(service.settings.addresses["broker"]).status_code == 502
        service.clear_faults()
        assert httpx.get(service.settings.addresses["broker"]).status_code == 401
        assert (service.stats()["calls"], service.stats()["faulted"]) == (2, 1)
