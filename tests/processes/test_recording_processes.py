"""One process at a time records to a file; others are refused before or after their call."""

from __future__ import annotations

import gc
import os
import secrets
import select
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from recordings import paths_in

import toolkit as tk
from toolkit.core.errors import CassetteBusy, CassetteMiss

URL = "https://h.example"
OTHER = """
import gc
import os
import sys
import httpx
import toolkit as tk

sent = []

def answer(request):
    sent.append(request)
    return httpx.Response(200, text="other")

for line in sys.stdin:
    command, *words = line.rstrip("\\n").split("\\t")
    try:
        if command == "open":
            path, mode, os.environ["XDG_CACHE_HOME"] = words
            cassette = client = None
            gc.collect()
            sent.clear()
            cassette = tk.Cassette(path, mode)
            transport = cassette.transport(httpx.MockTransport(answer))
            client = httpx.Client(transport=transport, base_url="https://h.example")
            reply = "opened"
        elif command == "close":
            cassette.close()
            reply = "closed"
        else:
            reply = client.get(command).text
    except tk.CassetteError as error:
        reply = f"{type(error).__name__} {len(sent)}"
    print(reply, flush=True)
"""


def get(cassette, *paths, answer=lambda request: httpx.Response(200, text="ours")):
    with httpx.Client(transport=cassette.transport(httpx.MockTransport(answer)), base_url=URL) as client:
        return [client.get(path).text for path in paths]


def new_path():
    return f"/{secrets.token_hex(4)}"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tour.yaml"


class Other:
    """Another process that records to a file."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(tk.__file__).parents[1]), "TOOLKIT_OFFLINE": ""},
        )

    def open(self, path, mode="new_episodes"):
        assert self.ask(f"open\t{path}\t{mode}\t{os.environ['XDG_CACHE_HOME']}") == "opened"
        return self

    def ask(self, command):
        """Let the process make a call or run a command, and return its answer."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def process():
    """Yield a process that the tests of this module share, because starting it takes a second."""
    other = Other()
    yield other
    other.kill()


@pytest.fixture
def other(process, path):
    """Return the other process, which records to the test's cassette."""
    process.open(path)
    yield process
    process.ask("close")


@pytest.mark.parametrize(
    ("mode", "other_mode"), [("once", "all"), ("new_episodes", "new_episodes"), ("all", "new_episodes"), ("all", "all")]
)
def test_two_processes(path, process, mode, other_mode):
    """While another process records to a file, a call that would be recorded is refused before it is sent."""
    other = process.open(path, other_mode)
    cassette = tk.Cassette(path, mode)
    assert other.ask("/theirs") == "other"
    sent = []
    with pytest.raises(CassetteBusy, match=r"Another process is recording to .*tour\.yaml") as caught:
        get(cassette, "/ours", answer=sent.append)
    assert sent == []
    assert caught.value.about == "cassette"
    assert "Close the session that is recording or shut down its kernel" in caught.value.next_step
    assert other.ask("close") == "closed"
    assert get(cassette, "/ours") == ["ours"]
    assert other.ask("/more") == "CassetteBusy 1"
    cassette.close()
    assert other.ask("/more") == "other"
    assert other.ask("close") == "closed"
    assert paths_in(path) == (["theirs", "ours", "more"] if mode != "all" else ["ours", "more"])


def test_killed_process(path, recwarn):
    """While a process records, its part and unfinished tail are left alone; once it is killed, they are not."""
    other = Other().open(path, "all")
    other.ask("/theirs")
    tk.Cassette(path)
    second = path.with_name("second.yaml")
    other.open(second)
    other.ask("/theirs")
    whole = second.read_bytes()
    with second.open("ab") as file:
        file.write(b"- request:\n    method")
    assert len(tk.Cassette(second, "none")) == 1
    assert not recwarn.list
    assert second.read_bytes() == whole + b"- request:\n    method"
    other.kill()
    with pytest.warns(UserWarning, match="interrupted recording"):
        tk.Cassette(path)
    with pytest.warns(UserWarning, match="incomplete interaction"):
        tk.Cassette(second, "none")
    assert second.read_bytes() == whole
    assert get(tk.Cassette(second, "new_episodes"), "/theirs", "/ours") == ["other", "ours"]
    assert paths_in(second) == ["theirs", "ours"]


def test_end_of_a_claim(path, process):
    """A claim ends with the last cassette: at close(), at abandon(), or when the cassette is garbage-collected."""
    other = process.open(path)
    for end in (tk.Cassette.close, tk.Cassette.abandon, lambda cassette: None):
        cassette = tk.Cassette(path, "all" if end is not tk.Cassette.abandon else "new_episodes")
        second = tk.Cassette(path, "new_episodes")
        get(cassette if cassette.records else second, new_path())
        get(second, new_path())
        assert other.ask(new_path()).startswith("CassetteBusy")
        end(cassette)
        assert other.ask(new_path()).startswith("CassetteBusy")
        cassette.close()
        del second
        gc.collect()
        assert other.ask(new_path()) == "other"
        assert other.ask("close") == "closed"
        path.unlink()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is POSIX")
def test_forked_child(path, other):
    """A forked child has no part in its parent's claim: it is refused while the parent holds it."""
    cassette = tk.Cassette(path)
    get(cassette, "/parent")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            get(cassette, "/child")
        except CassetteBusy:
            os.write(writer, b"busy")
        finally:
            os._exit(0)
    os.close(writer)
    assert select.select([reader], [], [], 60)[0]
    assert os.read(reader, 10) == b"busy"
    os.close(reader)
    os.waitpid(child, 0)
    get(cassette, "/parent-again")
    assert other.ask("/theirs").startswith("CassetteBusy")
    assert paths_in(path) == ["parent", "parent-again"]


def test_replay_of_what_is_still_recorded(path, caches, process):
    """What another process records is replayed when it is opened again; a replay makes nothing in the cache folder."""
    other = process.open(path)
    assert other.ask("/theirs") == "other"
    cassette = tk.Cassette(path)
    assert get(cassette, "/theirs") == ["other"]
    with pytest.raises(CassetteMiss):
        get(cassette, "/later")
    assert other.ask("/later") == "other"
    assert other.ask("close") == "closed"
    shutil.rmtree(caches)
    assert get(tk.Cassette(path), "/later") == ["other"]
    assert not caches.exists()


def test_busy_after_the_call(path, other):
    """The error says that the call was made if another process got the file only after it was sent."""
    cassette = tk.Cassette(path, "new_episodes")

    def answer(request):
        cassette.close()
        assert other.ask("/theirs") == "other"
        return httpx.Response(200, text="ours")

    with pytest.raises(CassetteBusy, match="so the call was not recorded") as caught:
        get(cassette, "/ours", answer=answer)
    assert "nothing was sent" not in str(caught.value)
    assert "`response`" in caught.value.next_step
    assert caught.value.response.text == "ours"
