from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading

import httpx
import pytest
from practice_requests import ALLOWED

from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError
from toolkit.practice_service import practice


def start_on_consecutive_ports(clock):
    """Start a service on eight consecutive ports; return the first port and the service."""
    for _ in range(100):  # other processes use ports too
        base = 20_000 + secrets.randbelow(10_000)
        try:
            return base, practice(port=base, clock=clock).start()
        except ConfigurationError:
            continue
    raise AssertionError("no eight consecutive ports are free")


def test_first_port(clock):
    """The ports follow the order of the address table, and the error names a port that is taken."""
    base, service = start_on_consecutive_ports(clock)
    with service:
        assert list(service.settings.addresses.values()) == [f"http://127.0.0.1:{base + n}" for n in range(8)]
        with pytest.raises(ConfigurationError, match=f"port {base}"):
            practice(port=base).start()
        with pytest.raises(ConfigurationError, match=f"port ({base - 1}|{base})"):
            practice(port=base - 1).start()


def server_threads():
    return [thread for thread in threading.enumerate() if thread.name == "practice-service"]


def test_close(http):
    """After `close()` nothing listens; closing twice or before starting does nothing."""
    earlier_threads = server_threads()
    service = practice()
    service.close()
    with pytest.raises(ConfigurationError, match="not running"):
        _ = service.settings
    assert service.start() is service.start()
    assert len(server_threads()) == len(earlier_threads) + 1
    url = service.settings.addresses["broker"]
    assert http.get(url + "/v1/accounts").status_code == 401
    service.close()
    service.close()
    assert server_threads() == earlier_threads
    with pytest.raises(httpx.ConnectError):
        http.get(url)


@pytest.mark.parametrize("name", ["accounts", "token_validity", "delay", "token_delay", "rate_limit", "port"])
def test_options_beyond_limits(name):
    """The error names the option."""
    with pytest.raises(ConfigurationError) as caught:
        practice(**{name: -1}).start()
    assert caught.value.about == name


def test_silent_end():
    """However a service ends, there are no warnings, log lines or tracebacks."""
    code = """if True:
        import gc, httpx
        from toolkit.practice_service import practice
        for ending in ("close", "garbage collection", "exit"):
            service = practice().start()
            with httpx.Client(trust_env=False) as client:
                client.get(service.settings.addresses["broker"] + "/v1/accounts")
                service.faults.inject("interfaces", dropped=True)
                try:
                    client.get(service.settings.addresses["broker"] + "/v1/accounts")
                except httpx.TransportError:
                    pass
                client.get(service.settings.addresses["auth"])
                if ending == "close":
                    service.close()
                if ending == "garbage collection":
                    del service
                    gc.collect()
            gc.collect()
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("missing", ["starlette.applications", "uvicorn"])
def test_missing_extra(monkeypatch, missing):
    """Without the extra, the error names what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "toolkit.practice_service.app", raising=False)
    with pytest.raises(ConfigurationError, match=missing) as caught:
        practice().start()
    assert "[practice]" in caught.value.next_step
    assert caught.value.about == "practice"


def test_offline(monkeypatch):
    """Offline there are symbolic addresses, credentials and zero counts, but no server."""
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    earlier_threads = server_threads()
    with practice() as service:
        assert server_threads() == earlier_threads
        assert service.settings.addresses["broker_sandbox"] == "https://broker-sandbox.svc.invalid"
        assert tuple(service.settings.addresses) == ADDRESS_NAMES
        assert list(service.credentials) == list(ALLOWED)
        assert (service.stats.token_requests, service.stats.calls, service.stats.by_status) == (0, 0, {})
