from __future__ import annotations

import httpx
import pytest
from manual_clock import ManualClock

from toolkit.practice_service import practice


@pytest.fixture(autouse=True)
def _online(monkeypatch):
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)


@pytest.fixture(scope="module")
def clock():
    return ManualClock()


@pytest.fixture(scope="module")
def running(clock):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOOLKIT_OFFLINE", raising=False)
        service = practice(clock=clock).start()
    with service:
        yield service


@pytest.fixture
def service(running):
    """Return the same service for all tests, without faults, counts and tokens of earlier tests."""
    running.faults.clear()
    running.stats.reset()
    running.revoke_tokens()
    return running


@pytest.fixture(scope="module")
def http():
    with httpx.Client(trust_env=False, timeout=20) as client:
        yield client
