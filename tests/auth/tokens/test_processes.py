"""One token for several real processes, through the store in the user's cache folder."""

from __future__ import annotations

import stat
import subprocess
import sys

import pytest

import toolkit as tk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is moved by XDG_CACHE_HOME")

CHILD = """
import sys
import toolkit as tk

address, auth, secret = sys.argv[1:]
settings = tk.Settings({"broker_sandbox": address, "auth_sandbox": auth})
credentials = tk.ClientSecret("practice-sandbox", secret, environment="broker-sandbox")
with tk.Session(credentials=credentials, settings=settings, token_store="shared") as session:
    print("ready", flush=True)
    sys.stdin.readline()
    print(session.broker.get("/v1/accounts").status_code, flush=True)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "service-access-toolkit" / "tokens"


@pytest.fixture
def served():
    with tk.practice(accounts=1, token_delay=0.05) as service:
        yield service


def shared(served, name="sandbox-secret", **more):
    return tk.Session(credentials=served.credentials[name], settings=served.settings, token_store="shared", **more)


def in_processes(served, count, secret=None):
    """The statuses that so many processes get for a call that they all make at once."""
    credentials, addresses = served.credentials["sandbox-secret"], served.settings.addresses
    code = CHILD.replace("practice-sandbox", credentials.client_id)
    given = [addresses["broker_sandbox"], addresses["auth_sandbox"], secret or credentials.client_secret.reveal()]
    command = [sys.executable, "-c", code, *given]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    return [int(child.communicate(timeout=60)[0]) for child in children]


def test_processes(cache, served):
    """Four processes that call at once make one token request; one that comes later, and this one, make none."""
    assert in_processes(served, 4) == [200] * 4
    assert in_processes(served, 1) == [200]
    with shared(served) as session:
        assert session.broker.get("/v1/accounts").status_code == 200
        token = session.token.access_token.reveal().encode()
    assert served.stats.token_requests == 1
    written = [file for file in cache.iterdir() if file.is_file()]
    assert written
    for file in written:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert token not in file.read_bytes()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_wrong_secret(cache, served):
    """Who has another secret finds nothing of theirs, and is refused by the service itself."""
    assert in_processes(served, 1) == [200]
    wrong = tk.ClientSecret(
        served.credentials["sandbox-secret"].client_id, "another-secret-0123456789", environment="broker-sandbox"
    )
    with (
        tk.Session(credentials=wrong, settings=served.settings, token_store="shared") as session,
        pytest.raises(tk.TokenRefused),
    ):
        session.accounts()


def test_revoked(cache, served):
    """A token that the service has forgotten is replaced for every process by the first that finds out."""
    assert in_processes(served, 1) == [200]
    served.revoke_tokens()
    assert in_processes(served, 1) == [200]
    assert in_processes(served, 2) == [200, 200]
    assert served.stats.token_requests == 2


class Elsewhere:
    """A signer whose key nobody sees."""

    def __init__(self, key):
        self._key = key
        self.algorithm, self.key_id = key.algorithm, key.key_id

    def sign(self, data):
        return self._key.sign(data)


def test_signer(cache, served):
    """The token of a key that is kept elsewhere stays in memory: there is nothing here to seal it with."""
    ours = served.credentials["sandbox-key"]
    credentials = tk.ClientKey(ours.client_id, Elsewhere(ours.private_key), environment="broker-sandbox")
    with tk.Session(credentials=credentials, settings=served.settings, token_store="shared") as session:
        assert len(session.accounts()) == 1
    assert not cache.exists() or not list(cache.glob("*.token"))


def test_no_cache_folder(cache, served):
    """Where the folder cannot be used, a warning says so once, and the session goes on in memory."""
    cache.parent.write_text("a file in the folder's place")
    with shared(served) as session:
        with pytest.warns(UserWarning, match="token store is not available.*in memory"):
            session.accounts()
        session.accounts()
    assert served.stats.token_requests == 1


def test_neither_shared_nor_a_store(served):
    """A token store of another kind is refused, and says what there is."""
    with pytest.raises(tk.ConfigurationError, match="neither"):
        tk.Session(credentials=served.credentials["sandbox-secret"], settings=served.settings, token_store="disk")


def test_default_is_memory(cache, served):
    """Without being asked nothing is written."""
    with tk.Session(credentials=served.credentials["sandbox-secret"], settings=served.settings) as session:
        session.accounts()
    assert not cache.exists()
