"""Recording appends, keeps what is there, and fails loudly with what was recorded intact."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from toolkit.cassettes import contents
from toolkit.cassettes.format import HEADER, encode
from toolkit.cassettes.recorder import Recorder, replace_atomically
from toolkit.cassettes.scrub import KnownSecrets, Scrubber
from toolkit.errors import CassetteCorrupt, CassetteError, SecretLeak
from toolkit.secret import Secret


@pytest.fixture
def scrubber():
    return Scrubber(KnownSecrets())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "er" / "tour.yaml"


def paths_in(path):
    held = contents.read(path.read_bytes(), source="")
    return [held.interaction(number).request.uri.rpartition("/")[2] for number in range(len(held))]


def test_appends(path, scrubber, interaction):
    """Header and folder come with the first interaction; every further one is added at the end."""
    recorder = Recorder(path, scrubber)
    assert not path.parent.exists()
    for number in range(5):
        before = path.read_bytes() if number else b""
        recorder.append(interaction(f"/{number}"))
        added = path.read_bytes().removeprefix(before)
        assert added == (b"" if number else HEADER) + encode(interaction(f"/{number}"))
        assert recorder.count == number + 1
    assert paths_in(path) == ["0", "1", "2", "3", "4"]


def test_nothing_is_rewritten_even_in_place(path, scrubber, interaction, monkeypatch):
    """An append to a file of ours is one write at its end: no truncation, no replacement."""
    Recorder(path, scrubber).append(interaction("/0"))
    inode = path.stat().st_ino
    monkeypatch.setattr("os.truncate", None)
    monkeypatch.setattr("toolkit.cassettes.recorder.replace_atomically", None)
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/1"))
    recorder.append(interaction("/2"))
    assert path.stat().st_ino == inode
    assert paths_in(path) == ["0", "1", "2"]


def test_two_recorders_of_one_file(path, scrubber, interaction):
    """What another recorder wrote since this one was made stays."""
    one, other = Recorder(path, scrubber), Recorder(path, scrubber)
    one.append(interaction("/0"))
    other.append(interaction("/1"))
    one.append(interaction("/2"))
    late = Recorder(path, scrubber)
    other.append(interaction("/3"))
    late.append(interaction("/4"))
    assert paths_in(path) == ["0", "1", "2", "3", "4"]


def test_torn_anywhere(path, scrubber, interaction):
    """Cut off at any byte of its last item, a file keeps every item before it, and the next one stands behind them."""
    several = [interaction("/0"), interaction("/1", body=b"a\n  complete: true\nb\n")]
    first, whole = HEADER + encode(several[0]), HEADER + b"".join(map(encode, several))
    path.parent.mkdir(parents=True)
    for cut in range(len(HEADER), len(whole)):
        path.write_bytes(whole[:cut])
        Recorder(path, scrubber).append(interaction("/2"))
        kept = whole if cut == len(whole) - 1 else first if cut >= len(first) - 1 else b""
        assert path.read_bytes() == (kept or HEADER) + encode(interaction("/2")), cut


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\t", HEADER, HEADER[:10]])
def test_empty_files(path, scrubber, interaction, data):
    """A file without any interaction begins anew, header first."""
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    Recorder(path, scrubber).append(interaction())
    assert path.read_bytes() == HEADER + encode(interaction())


def test_anew(path, scrubber, interaction):
    """Asked to record anew, what the file held goes with the first interaction, whatever it was."""
    path.parent.mkdir(parents=True)
    path.write_bytes(b"<html>")
    recorder = Recorder(path, scrubber, anew=True)
    assert path.read_bytes() == b"<html>"
    recorder.append(interaction("/0"))
    recorder.append(interaction("/1"))
    assert paths_in(path) == ["0", "1"]


def foreign(*paths):
    items = [
        {
            "request": {"method": "GET", "uri": f"https://api.example.com/{path}", "body": None, "headers": {}},
            "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "a-fake-token-1"}},
        }
        for path in paths
    ]
    return json.dumps({"version": 1, "interactions": items}).encode()


def test_a_foreign_file_is_rewritten_once(path, interaction):
    """A file of stock vcrpy becomes one of ours with the first append, scrubbed, and is appended to from then on."""
    scrubber = Scrubber(
        KnownSecrets([("SECRET", Secret("a-fake-token-1"))]), addresses={"broker": "https://api.example.com"}
    )
    path.parent.mkdir(parents=True)
    path.write_bytes(foreign("a", "b"))
    path.chmod(0o640)
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/c"))
    inode = path.stat().st_ino
    recorder.append(interaction("/d"))
    assert path.stat().st_ino == inode
    assert paths_in(path) == ["a", "b", "c", "d"]
    assert path.read_bytes().startswith(HEADER)
    assert b"a-fake-token-1" not in path.read_bytes()
    assert b"api.example.com" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["tour.yaml"]  # noqa: PTH208 - names are enough


def test_a_file_laid_out_anew_keeps_what_is_ours(path, scrubber, interaction, authorization):
    """A file that a formatter laid out anew is rewritten as we write it, our own keys included."""
    ours = HEADER + encode(interaction(authorized_by=authorization()))
    path.parent.mkdir(parents=True)
    path.write_bytes(
        ours.replace(b"- request:", b"-   request:").replace(b"\n    ", b"\n      ").replace(b"\n  ", b"\n    ")
    )
    assert isinstance(contents.read(path.read_bytes(), source=""), contents.Parsed)
    Recorder(path, scrubber).append(interaction("/1"))
    assert path.read_bytes() == ours + encode(interaction("/1"))


@pytest.mark.parametrize("data", [b"<html>", b"- a\n- b\n", b"\x00\xff", HEADER + b"x: ["])
def test_what_is_no_cassette_is_left_alone(path, scrubber, interaction, data):
    """A file that is no cassette, or became something else meanwhile, keeps its bytes."""
    recorder = Recorder(path, scrubber)
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    for _ in range(2):
        with pytest.raises(CassetteCorrupt):
            recorder.append(interaction())
    assert path.read_bytes() == data
    assert recorder.count == 0


def test_leak(path, interaction):
    """A secret that scrubbing leaves in what would be written is refused; the file stays as it was, or away."""
    known = KnownSecrets([("SECRET", Secret("a-fake-token-1-of-some-length"))])
    leaky = interaction(body=b'{"pem": "YS1mYWtlLXRva2VuLT\\nEtb2Ytc29tZS1sZW5ndGg="}')
    with pytest.raises(SecretLeak, match=r"GET in tour\.yaml would hold the secret that <SECRET> stands for"):
        Recorder(path, Scrubber(known)).append(leaky)
    assert not path.exists()
    Recorder(path, Scrubber(known)).append(interaction())
    before = path.read_bytes()
    with pytest.raises(SecretLeak):
        Recorder(path, Scrubber(known)).append(leaky)
    assert path.read_bytes() == before


def test_leak_in_a_foreign_file(path, interaction):
    """A foreign file with a secret that cannot be scrubbed is not rewritten."""
    known = KnownSecrets([("SECRET", Secret("another-token"))])
    path.parent.mkdir(parents=True)
    data = foreign("a").replace(b"a-fake-token-1", b"YW5vdGhl\\\\nci10b2tlbg==")
    path.write_bytes(data)
    with pytest.raises(SecretLeak, match="as it is rewritten in our layout"):
        Recorder(path, Scrubber(known)).append(interaction())
    assert path.read_bytes() == data


def test_threads(path, scrubber, interaction):
    """Interactions that end at the same time are all recorded, whole."""
    recorder = Recorder(path, scrubber)

    def record(thread):
        for number in range(20):
            recorder.append(interaction(f"/{thread}-{number}", body=b"x" * 5000))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.count == 160
    assert sorted(paths_in(path)) == sorted(f"{thread}-{number}" for thread in range(8) for number in range(20))


# When the disk does not do --------------------------------------------------------------------------------------------


class FailingFile:
    """A file whose write stops half-way: short, or with an error."""

    def __init__(self, file, error):
        self._file = file
        self._error = error

    def write(self, data):
        written = self._file.write(data[: len(data) // 2])
        if self._error is None:
            return written
        raise self._error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __getattr__(self, name):
        return getattr(self._file, name)


@pytest.mark.parametrize(
    "error", [None, OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error")]
)
@pytest.mark.parametrize("recorded", [0, 2])
def test_disk_full(path, scrubber, interaction, monkeypatch, error, recorded):
    """A write that stops half-way is taken back and told; when there is space again, recording goes on."""
    recorder = Recorder(path, scrubber)
    for number in range(recorded):
        recorder.append(interaction(f"/{number}"))
    before = path.read_bytes() if recorded else b""
    opened = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *args, **more: FailingFile(opened(*args, **more), error))
        with pytest.raises(
            CassetteError, match=f"Cannot record to .*tour.yaml: {error.strerror if error else 'No space'}"
        ) as caught:
            recorder.append(interaction("/lost"))
    assert "What was recorded before is intact" in caught.value.next_step
    assert path.read_bytes() == before
    assert recorder.count == recorded
    recorder.append(interaction("/more"))
    assert paths_in(path) == [*map(str, range(recorded)), "more"]


def test_interrupted(path, scrubber, interaction, monkeypatch):
    """An interrupt in the midst of a write leaves no half item."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    opened = Path.open
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *args, **more: FailingFile(opened(*args, **more), KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            recorder.append(interaction("/1"))
    recorder.append(interaction("/2"))
    assert paths_in(path) == ["0", "2"]


FULL = """
import resource, sys
from pathlib import Path
from toolkit.cassettes.format import Interaction, RecordedRequest, RecordedResponse
from toolkit.cassettes.recorder import Recorder
from toolkit.cassettes.scrub import KnownSecrets, Scrubber
from toolkit.errors import CassetteError

path = Path(sys.argv[1])
recorder = Recorder(path, Scrubber(KnownSecrets()))
one = Interaction(RecordedRequest("GET", "https://h.example/"), RecordedResponse(200, body=b"x" * 1000))
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
try:
    while True:
        recorder.append(one)
except CassetteError as error:
    print(recorder.count, error.what)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
recorder.append(one)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_file_size_limit(tmp_path, python):
    """A real limit, met in the midst of a write: every interaction before it is whole, and recording goes on later."""
    path = tmp_path / "tour.yaml"
    count, _, what = python("-c", FULL, path).partition(" ")
    assert "Cannot record to" in what
    held = contents.read(path.read_bytes(), source="")
    assert (len(held), held.is_torn) == (int(count) + 1, False)
    assert 5 < int(count) < 10


def refuse(*_, **__):
    raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize("what", ["pathlib.Path.mkdir", "pathlib.Path.open", "pathlib.Path.read_bytes", "os.truncate"])
def test_no_permission(path, scrubber, interaction, monkeypatch, what):
    """A folder or file that cannot be written or read is told, and keeps what is in it."""
    path.parent.mkdir(parents=True)
    whole = HEADER + encode(interaction("/0"))
    path.write_bytes(whole + b"- req")
    with monkeypatch.context() as patch:
        patch.setattr(what, refuse)
        with pytest.raises(CassetteError, match="Permission denied"):
            Recorder(path, scrubber).append(interaction("/1"))
    assert path.read_bytes().startswith(whole)
    Recorder(path, scrubber).append(interaction("/2"))
    assert paths_in(path) == ["0", "2"]


def test_folder_is_a_file(tmp_path, scrubber, interaction):
    """Where a folder should be, a file is in the way: told, not overwritten."""
    (tmp_path / "cassettes").write_text("mine", encoding="utf-8")
    with pytest.raises(CassetteError, match="Cannot record to"):
        Recorder(tmp_path / "cassettes" / "tour.yaml", scrubber).append(interaction())
    assert (tmp_path / "cassettes").read_text(encoding="utf-8") == "mine"


def test_folder_vanished(path, scrubber, interaction):
    """A folder that is moved away in the midst of a recording is told; what was recorded is where it was moved."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    moved = path.parent.with_name("moved")
    path.parent.rename(moved)
    with pytest.raises(CassetteError, match="No such file"):
        recorder.append(interaction("/1"))
    assert paths_in(moved / "tour.yaml") == ["0"]
    moved.rename(path.parent)
    recorder.append(interaction("/2"))
    assert paths_in(path) == ["0", "2"]


def test_file_vanished(path, scrubber, interaction):
    """A file that is removed in the midst of a recording begins anew as a whole cassette, and that is said."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    path.unlink()
    with pytest.warns(UserWarning, match="begins anew without the 1 interactions"):
        recorder.append(interaction("/1"))
    assert paths_in(path) == ["1"]


def test_replace_atomically(tmp_path, monkeypatch):
    """A replacement that fails leaves the old bytes and no other file."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(PermissionError):
            replace_atomically(path, b"new")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("x.yaml", b"old")]
    replace_atomically(path, b"new")
    replace_atomically(tmp_path / "y.yaml", b"newer")
    assert sorted((one.name, one.read_bytes()) for one in tmp_path.iterdir()) == [
        ("x.yaml", b"new"),
        ("y.yaml", b"newer"),
    ]
