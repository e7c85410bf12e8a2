"""One process at a time records to a file; within one, sessions and cassettes share it."""

from __future__ import annotations

import gc
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.cassettes.recording import writer_lock
from toolkit.core.errors import CassetteBusy

URL = "https://h.example"
OTHER = """
import sys
import httpx
import toolkit as tk

sent = []

def answer(request):
    sent.append(request)
    return httpx.Response(200, text="other")

cassette = tk.Cassette(sys.argv[1], sys.argv[2])
client = httpx.Client(transport=cassette.transport(httpx.MockTransport(answer)), base_url="https://h.example")
for line in sys.stdin:
    try:
        if line == "close\\n":
            cassette.close()
            print("closed", flush=True)
        else:
            print(client.get(line.strip()).text, flush=True)
    except tk.CassetteError as error:
        print(type(error).__name__, len(sent), flush=True)
"""


class Other:
    """Another process that records to a file: `ask` has it make a call and gives what it got."""

    def __init__(self, path, mode="new_episodes"):
        environment = {**os.environ, "PYTHONPATH": str(Path(tk.__file__).parents[1]), "TOOLKIT_OFFLINE": ""}
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(path), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tour.yaml"


class Counting:
    """A service that counts the requests it got."""

    def __init__(self):
        self.count = 0

    def __call__(self, request):
        self.count += 1
        return httpx.Response(200, text="ours")


def get(cassette, *paths, service=None):
    with httpx.Client(transport=cassette.transport(httpx.MockTransport(service or Counting())), base_url=URL) as client:
        return [client.get(path).text for path in paths]


def paths_in(path):
    held = contents.read(path.read_bytes(), source="")
    return [held.interaction(number).request.uri.removeprefix(URL) for number in range(len(held))]


@pytest.mark.parametrize("other_mode", ["new_episodes", "all"])
@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
def test_two_processes(path, mode, other_mode):
    """While another process records to a file, a call that would be recorded is refused before it is sent."""
    with Other(path, other_mode) as other:
        cassette = tk.Cassette(path, mode)
        assert other.ask("/theirs") == "other"
        service = Counting()
        with pytest.raises(CassetteBusy, match=r"Another process is recording to .*tour\.yaml") as caught:
            get(cassette, "/ours", service=service)
        assert service.count == 0
        assert "Close that session or shut down that kernel" in caught.value.next_step
        assert other.ask("close") == "closed"
        assert get(cassette, "/ours") == ["ours"]
        assert other.ask("/more") == "CassetteBusy 1"
        cassette.close()
        assert other.ask("/more") == "other"
        assert other.ask("close") == "closed"
    assert paths_in(path) == (["/theirs", "/ours", "/more"] if mode != "all" else ["/ours", "/more"])


def test_two_notebooks_that_record_anew(path):
    """Between its cells a notebook keeps the file: another one that records anew is told so, and loses nothing."""
    with Other(path, "all") as other:
        cassette = tk.Cassette(path, "all")
        get(cassette, "/one")
        cassette.finish()  # as the end of a cell does
        assert other.ask("/theirs") == "CassetteBusy 0"
        get(cassette, "/two")
        cassette.finish()
        assert paths_in(path) == ["/one", "/two"]
        cassette.close()
        assert other.ask("/theirs") == "other"


def test_replay_claims_nothing(path):
    """Whoever replays neither keeps others from recording, nor is kept by them."""
    get(tk.Cassette(path), "/a")
    gc.collect()
    cassette = tk.Cassette(path, "new_episodes")
    assert get(cassette, "/a") == ["ours"]
    with Other(path) as other:
        assert [other.ask("/a"), other.ask("/b")] == ["ours", "other"]
        assert get(tk.Cassette(path, "none"), "/a", "/b") == ["ours", "other"]
        assert get(cassette, "/a") == ["ours"]


def test_killed_process(path):
    """The claim of a killed process is gone with it."""
    with Other(path) as other:
        other.ask("/theirs")
        other.kill()
        assert get(tk.Cassette(path, "new_episodes"), "/theirs", "/ours") == ["other", "ours"]
    assert paths_in(path) == ["/theirs", "/ours"]


@pytest.mark.parametrize("mode", ["once", "all"])
def test_end_of_a_claim(path, mode):
    """It ends with close, abandon, or when nobody has the cassette any more; not before the last of several."""
    with Other(path) as other:
        for end in (tk.Cassette.close, tk.Cassette.abandon, lambda cassette: None):
            cassette = tk.Cassette(path, mode if end is not tk.Cassette.abandon else "new_episodes")
            second = tk.Cassette(path, "new_episodes")
            get(cassette, f"/{os.urandom(4).hex()}") if cassette.records else get(second, f"/{os.urandom(4).hex()}")
            get(second, f"/{os.urandom(4).hex()}")
            assert other.ask(f"/{os.urandom(4).hex()}").startswith("CassetteBusy")
            end(cassette)
            assert other.ask(f"/{os.urandom(4).hex()}").startswith("CassetteBusy")
            cassette.close()
            del second
            gc.collect()
            assert other.ask(f"/{os.urandom(4).hex()}") == "other"
            assert other.ask("close") == "closed"
            path.unlink()


def test_rerun_cell(path):
    """A cell that opens a session and runs again takes its recording over, and what both record is there."""
    first = tk.Cassette(path, "new_episodes")
    get(first, "/a")
    second = tk.Cassette(path, "new_episodes")
    get(second, "/b")
    get(first, "/c")
    second.close()
    get(first, "/d")
    assert paths_in(path) == ["/a", "/b", "/c", "/d"]


def test_several_in_threads(path):
    """Several cassettes of one process append to one file from threads; nothing is lost or interleaved."""
    several = [tk.Cassette(path, "new_episodes") for _ in range(4)]

    def record(number):
        get(several[number % 4], *(f"/{number}-{call}" for call in range(10)))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(paths_in(path)) == sorted(f"/{number}-{call}" for number in range(8) for call in range(10))


def test_two_that_record_anew(path):
    """Two sessions of a cell that both record anew share what replaces the file at the end."""
    get(tk.Cassette(path), "/old")
    one, other = tk.Cassette(path, "all"), tk.Cassette(path, "all")
    get(one, "/a")
    get(other, "/b")
    get(one, "/c")
    one.close()
    get(other, "/d")
    other.close()
    assert paths_in(path) == ["/a", "/b", "/c", "/d"]
    assert [one.name for one in path.parent.iterdir()] == ["tour.yaml"]


def test_part_of_another_process(path, recwarn):
    """What another process is recording anew just now is not taken for what an interrupted recording left."""
    with Other(path, "all") as other:
        other.ask("/theirs")
        tk.Cassette(path)
        assert not recwarn.list
        other.kill()
        with pytest.warns(UserWarning, match="left of a recording"):
            tk.Cassette(path)


def test_torn_by_a_process_that_writes(path, recwarn):
    """A tail that another process is writing just now is neither cut off nor told to be torn."""
    with Other(path) as other:
        other.ask("/theirs")
        whole = path.read_bytes()
        with path.open("ab") as file:
            file.write(b"- request:\n    method")
        assert len(tk.Cassette(path, "none")) == 1
        assert not recwarn.list
        assert path.read_bytes() == whole + b"- request:\n    method"
        other.kill()
        with pytest.warns(UserWarning, match="not written to its end"):
            tk.Cassette(path, "none")
        assert path.read_bytes() == whole


def test_links_and_spellings(path, tmp_path):
    """However a file is named, it is the same file."""
    link, folder = tmp_path / "link.yaml", tmp_path / "folder"
    link.symlink_to(path)
    folder.symlink_to(tmp_path)
    get(tk.Cassette(path, "new_episodes"), "/a")
    with Other(link) as other:
        assert other.ask("/b") == "other"
        for name in (path, link, folder / "tour.yaml", tmp_path / "." / "x" / ".." / "tour.yaml"):
            with pytest.raises(CassetteBusy):
                get(tk.Cassette(name, "new_episodes"), "/c")
        get(tk.Cassette(tmp_path / "second.yaml", "new_episodes"), "/c")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is POSIX")
def test_forked_child(path):
    """A forked child has no part in its parent's claim: it is refused while the parent has it."""
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
    with Other(path) as other:
        assert other.ask("/theirs").startswith("CassetteBusy")
    assert paths_in(path) == ["/parent", "/parent-again"]


FORKING = """
import os
import sys
from pathlib import Path
from toolkit.cassettes.recording import writer_lock

claim = writer_lock.acquire(Path("tour.yaml").absolute(), claims)
if os.fork() == 0:
    sys.exit()
print(os.wait()[1], len(list(Path(sys.argv[1]).iterdir())), claim.is_held)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking is POSIX")
def test_forked_child_ends(python, caches):
    """A child that ends leaves its parent's claim as it is."""
    assert python("-c", FORKING, caches / "recording") == "0 1 True\n"


def test_claim_that_has_ended(path):
    """A claim that somebody keeps after its end, such as a traceback, is not taken for one in force."""
    users = [threading.Event(), threading.Event()]
    first = writer_lock.acquire(path, users[0])
    assert writer_lock.acquire(path, users[1]) is first
    for user in users:
        assert first.is_held
        writer_lock.release(first, user)
    assert not first.is_held
    second = writer_lock.acquire(path, users[0])
    assert second.is_held
    assert second is not first


def test_no_litter(path, caches):
    """Nothing is beside the cassette, and nothing stays in the cache folder."""
    cassette = tk.Cassette(path)
    get(cassette, "/a")
    locks = caches / "recording"
    assert [one.name for one in path.parent.iterdir()] == ["tour.yaml"]
    assert [(len(one.name), one.read_bytes()) for one in locks.iterdir()] == [(32, b"")]
    cassette.close()
    assert list(locks.iterdir()) == []


def test_cache_folder_that_cannot_be_used(path, caches):
    """Where no lock can be had, recording goes on without one."""
    caches.parent.mkdir()
    caches.write_text("a file", encoding="utf-8")
    with Other(path) as other:
        assert other.ask("/theirs") == "other"
        assert get(tk.Cassette(path, "new_episodes"), "/ours") == ["ours"]
        assert other.ask("/more") == "other"
    assert paths_in(path) == ["/theirs", "/ours", "/more"]
    assert not writer_lock.is_held_elsewhere(path)


class Knot:
    """A user in a reference cycle, as a session is."""

    def __init__(self):
        self.itself = self


def test_users_that_nobody_has_any_more(path):
    """What only a reference cycle keeps, such as the session of a cell that ran again, keeps no claim."""
    gc.disable()
    try:
        lost, last, other = Knot(), Knot(), Knot()
        claim = writer_lock.acquire(path, lost)
        for user in (last, other):
            writer_lock.acquire(path, user)
        del lost
        writer_lock.release(claim, last)
        assert claim.is_held  # by the other, which is in use
        assert list(claim.users) == [other]
        rerun = Knot()
        writer_lock.acquire(path, rerun)
        del other, user
        writer_lock.release(claim, rerun)
        assert not claim.is_held
    finally:
        gc.enable()


def test_busy_after_the_call(path):
    """A call that was made by the time that another process has the file is not said to be unsent."""
    cassette = tk.Cassette(path, "new_episodes")
    with Other(path) as other:

        def answer(request):
            cassette.close()
            assert other.ask("/theirs") == "other"
            return httpx.Response(200, text="ours")

        with pytest.raises(CassetteBusy, match="the call was made, and is not recorded") as caught:
            get(cassette, "/ours", service=answer)
    assert "nothing was sent" not in str(caught.value)
    assert "`response`" in caught.value.next_step
    assert caught.value.response.text == "ours"
