"""One token for several processes, through the store in the user's cache folder and the practice service."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import pytest

import toolkit as tk
from toolkit.auth.tokens.token import FileTokenStore

CHILD = """
import sys
import toolkit as tk

address, auth, client_id, secret = sys.argv[1:]
settings = tk.Settings({"broker_sandbox": address, "auth_sandbox": auth})
credentials = tk.ClientSecret(client_id, secret, environment="broker-sandbox")
with tk.Session(credentials=credentials, settings=settings, token_store="shared") as session:
    print("ready", flush=True)
    sys.stdin.readline()
    print(session.broker.get("/v1/accounts").status_code, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is moved by XDG_CACHE_HOME")
def test_real_processes(caches):
    """A process that calls at the same time as this one, and one that calls later, use the same token."""
    with tk.practice(accounts=1) as service:
        credentials, addresses = service.credentials["sandbox-secret"], service.settings.addresses

        def call(store):
            session = tk.Session(credentials=credentials, settings=service.settings, token_store=store)
            session.broker.get("/v1/accounts").raise_for_status()
            return session.token.access_token

        arguments = [addresses["broker_sandbox"], addresses["auth_sandbox"], credentials.client_id]
        command = [sys.executable, "-c", CHILD, *arguments, credentials.client_secret.reveal()]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "ready\n"
            child.stdin.write("go\n")
            child.stdin.flush()
            token = call("shared")
            assert child.stdout.readline() == "200\n"
        assert call(FileTokenStore()) == token  # a store of its own, as another process has
        assert service.stats.token_requests == 1
    written = [file for file in (caches / "tokens").iterdir() if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in written} == {0o600}
    assert not any(token.reveal().encode() in file.read_bytes() for file in written)
    assert stat.S_IMODE((caches / "tokens").stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["folder", "parent"])
def test_folder_is_a_link(monkeypatch, tmp_path, place):
    """Neither the folder nor, in the user's cache, its parent may be a link; nothing is written through one."""
    caches, elsewhere = tmp_path / "caches", tmp_path / "elsewhere"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, **_: str(caches / name))
    store = FileTokenStore()
    linked = store.folder if place == "folder" else store.folder.parent
    linked.parent.mkdir(parents=True)
    elsewhere.mkdir(mode=0o755)
    linked.symlink_to(elsewhere, target_is_directory=True)
    name = "0123456789abcdef" * 4
    for call in (lambda: store.read(name), lambda: store.write(name, b"new"), lambda: store.try_lock(name)):
        with pytest.raises(OSError, match="it is a link, which is not followed"):
            call()
    assert list(elsewhere.iterdir()) == []
    assert os.name != "posix" or stat.S_IMODE(elsewhere.stat().st_mode) == 0o755
