"""Recording appends, keeps what is there, and fails loudly with what was recorded intact."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
import threading
from pathlib import Path

import pytest

from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.core.errors import CassetteCorrupt, CassetteError, SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber


@pytest.fixture
def scrubber():
    return Scrubber(KnownSecrets())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "er" / "tour.yaml"


def paths_in(path):
    held = contents.read(path.read_bytes(), source="")
    return [held.interaction(number).request.uri.rpartition("/")[2] for number in range(len(held))]


LATE = "a-fake-token-known-late"


def holding(interaction, path="/late"):
    return interaction(path, body=f'{{"echo": "{LATE}"}}'.encode())


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
    monkeypatch.setattr("toolkit.cassettes.recording.appending.replace_atomically", None)
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
    """Asked to record anew, it records beside the file, over whatever was left there, until it ends well."""
    path.parent.mkdir(parents=True)
    path.write_bytes(b"old")
    recorder = Recorder(path, scrubber, anew=True)
    recorder.part.write_bytes(b"<html>")
    recorder.append(interaction("/0"))
    recorder.append(interaction("/1"))
    assert (paths_in(recorder.part), path.read_bytes()) == (["0", "1"], b"old")
    recorder.finish()
    assert (paths_in(path), recorder.part.exists()) == (["0", "1"], False)
    recorder.append(interaction("/2"))
    recorder.finish()
    assert (paths_in(path), recorder.part.exists()) == (["0", "1", "2"], False)


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


class Leaky(Scrubber):
    """Leaves everything as it is."""

    def exchange(self, request, response):
        return request, response


def test_leak(path, interaction):
    """A secret that scrubbing leaves in what would be written is refused; the file stays as it was, or away."""
    known = KnownSecrets([("SECRET", Secret(LATE))])
    with pytest.raises(SecretLeak, match=r"GET in tour\.yaml would hold the secret that <SECRET> stands for"):
        Recorder(path, Leaky(known)).append(holding(interaction))
    assert not path.parent.exists()
    Recorder(path, Leaky(known)).append(interaction())
    before = path.read_bytes()
    with pytest.raises(SecretLeak):
        Recorder(path, Leaky(known)).append(holding(interaction))
    assert path.read_bytes() == before


def test_leak_in_a_foreign_file(path, interaction):
    """A foreign file with a secret that cannot be scrubbed is not rewritten."""
    known = KnownSecrets([("SECRET", Secret("a-fake-token-1"))])
    path.parent.mkdir(parents=True)
    path.write_bytes(foreign("a"))
    with pytest.raises(SecretLeak, match="as it is rewritten"):
        Recorder(path, Leaky(known)).append(interaction())
    assert path.read_bytes() == foreign("a")


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


@pytest.mark.parametrize(
    "error", [None, OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error")]
)
@pytest.mark.parametrize("recorded", [0, 2])
def test_disk_full(path, scrubber, interaction, writes_that_stop, error, recorded):
    """A write that stops half-way is taken back and told; nothing empty stays, and recording goes on later."""
    recorder = Recorder(path, scrubber)
    for number in range(recorded):
        recorder.append(interaction(f"/{number}"))
    before = path.read_bytes() if recorded else None
    said = f"Cannot record to .*tour.yaml: {error.strerror if error else 'No space'}"
    with writes_that_stop(error), pytest.raises(CassetteError, match=said) as caught:
        recorder.append(interaction("/lost"))
    assert "What was recorded before is intact" in caught.value.next_step
    assert "call again" not in caught.value.next_step  # it was made, and may have been an order
    assert (path.read_bytes() if path.parent.parent.exists() else None) == before
    assert recorder.count == recorded
    recorder.append(interaction("/more"))
    assert paths_in(path) == [*map(str, range(recorded)), "more"]


def test_vanished_folder(path, scrubber, interaction):
    """A folder that is gone is told as such. The call is not to be made again: its answer is at hand."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    shutil.rmtree(path.parent)
    with pytest.raises(CassetteError, match="Cannot record to") as caught:
        recorder.append(interaction("/1"))
    assert "The folder is gone" in caught.value.next_step
    assert "`response`" in caught.value.next_step
    assert "again" not in caught.value.next_step.replace("make it again", "")
    path.parent.mkdir()
    with pytest.warns(UserWarning, match="vanished"):
        recorder.append(interaction("/2"))
    assert paths_in(path) == ["2"]


def test_interrupted(path, scrubber, interaction, writes_that_stop):
    """An interrupt in the midst of a write leaves no half item."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    with writes_that_stop(KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        recorder.append(interaction("/1"))
    recorder.append(interaction("/2"))
    assert paths_in(path) == ["0", "2"]


FULL = """
import resource, sys
from pathlib import Path
from toolkit.cassettes.format.interactions import Interaction, RecordedRequest, RecordedResponse
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber
from toolkit.core.errors import CassetteError

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
    with pytest.warns(UserWarning, match="begins anew without the interaction that was in it"):
        recorder.append(interaction("/1"))
    assert paths_in(path) == ["1"]
    assert recorder.count == 1


# Secrets that become known late ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("anew", [False, True])
def test_secret_known_late(path, scrubber, interaction, search, anew):
    """A secret that becomes known after it was written is taken out at that moment; all else stays to the byte."""
    recorder = Recorder(path, scrubber, anew=anew)
    file = recorder.part if anew else path
    several = [interaction("/0"), holding(interaction), interaction("/2")]
    for one in several:
        recorder.append(one)
    before = file.read_bytes()
    scrubber.known.add("SECRET", Secret(LATE))
    after = file.read_bytes()
    assert not search(after, LATE)
    assert after.startswith(HEADER + encode(several[0]))
    assert after.endswith(encode(several[2]))
    assert b'{"echo": "<SECRET>"}' in after
    assert before.count(b"complete: true") == after.count(b"complete: true")
    recorder.append(holding(interaction, "/3"))
    assert paths_in(file) == ["0", "late", "2", "3"]
    assert os.listdir(path.parent) == [file.name]  # noqa: PTH208 - names are enough


def test_secret_known_late_of_an_earlier_run(path, scrubber, interaction, search):
    """What an earlier run wrote is looked through, too: when the first interaction is added, and from then on."""
    Recorder(path, scrubber).append(holding(interaction))
    other = Scrubber(KnownSecrets())
    recorder = Recorder(path, other)
    other.known.add("SECRET", Secret(LATE))
    assert search(path.read_bytes(), LATE)  # nothing is recorded, so nothing is touched
    recorder.append(interaction("/1"))
    assert not search(path.read_bytes(), LATE)
    Recorder(path, Scrubber(KnownSecrets())).append(interaction("/2", body=b"another-fake-token"))
    other.known.add("SECRET", Secret("another-fake-token"))
    assert not search(path.read_bytes(), "another-fake-token")
    assert paths_in(path) == ["late", "1", "2"]


def test_secret_that_another_recorder_knows(path, scrubber, interaction, search):
    """A recorder that joins another's recording looks through what that one wrote for the secrets that it knows."""
    first = Recorder(path, scrubber)
    first.append(holding(interaction))
    second = Recorder(path, Scrubber(KnownSecrets([("SECRET", Secret(LATE))])))
    second.append(interaction("/1"))
    assert not search(path.read_bytes(), LATE)
    first.append(interaction("/2"))
    assert paths_in(path) == ["late", "1", "2"]


@pytest.mark.parametrize("kind", ["COOKIE", ""])
def test_what_is_often_new(path, scrubber, interaction, search, kind, monkeypatch):
    """A cookie, or personal data, that turns up new with each answer is looked for in the file once, at the end."""
    looked = []
    monkeypatch.setattr(Recorder, "_check_file", lambda self, file: looked.append(file))
    recorder = Recorder(path, scrubber)
    for number in range(5):
        recorder.append(interaction(f"/{number}"))
        if kind:
            scrubber.known.add(kind, Secret(f"a-fake-cookie-{number}"))
        else:
            scrubber.known.add_stand_ins([(Secret(f"a-fake-name-{number}"), f"x-stand-in-{number}")])
    assert looked == []
    recorder.finish()
    assert looked == [recorder.path]
    scrubber.known.add("ACCESS_TOKEN", Secret(LATE))


def test_cookie_known_late(path, scrubber, interaction, search):
    """One that had come by before, without looking like a cookie, is taken out when the recording ends."""
    recorder = Recorder(path, scrubber)
    recorder.append(holding(interaction))
    scrubber.known.add("COOKIE", Secret(LATE))
    recorder.finish()
    assert not search(path.read_bytes(), LATE)
    assert paths_in(path) == ["late"]


def test_secret_found_by_its_place_later(path, scrubber, interaction, search):
    """A value that is a secret by its place in a later request was one in what came before."""
    recorder = Recorder(path, scrubber)
    recorder.append(holding(interaction))
    recorder.append(interaction("/1", request={"headers": (("Authorization", f"Bearer {LATE}"),)}))
    assert not search(path.read_bytes(), LATE)
    assert paths_in(path) == ["late", "1"]


def test_what_a_secret_costs(path, scrubber, interaction, monkeypatch):
    """A new secret costs one look at the file, and none when nothing was written yet."""
    read = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: (read.append(file.name), read_bytes(file))[1])
    recorder = Recorder(path, scrubber)
    scrubber.known.add("SECRET", Secret("the-first-fake-secret"))
    assert read == []
    recorder.append(interaction("/0"))
    scrubber.known.add("SECRET", Secret("the-second-fake-secret"))
    assert read == ["tour.yaml"]
    recorder.append(interaction("/1"))
    scrubber.known.add("SECRET", Secret("the-second-fake-secret"))
    recorder.release()
    scrubber.known.add("SECRET", Secret("the-third-fake-secret"))
    assert read == ["tour.yaml"]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "tempfile.mkstemp"])
def test_rewriting_that_fails(path, scrubber, interaction, search, monkeypatch, step):
    """A rewriting that fails half-way keeps all that was recorded and says so; it is done before more is added."""

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    recorder = Recorder(path, scrubber)
    recorder.append(holding(interaction))
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.warns(UserWarning, match=r"became known only now, and could not be rewritten: No space"):
            scrubber.known.add("SECRET", Secret(LATE))
        assert path.read_bytes() == before
        with pytest.raises(CassetteError, match="No space left on device"):
            recorder.append(interaction("/1"))
        with pytest.raises(CassetteError, match="No space left on device"):
            recorder.finish()
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == ["tour.yaml"]  # noqa: PTH208 - names are enough
    recorder.append(interaction("/1"))
    assert not search(path.read_bytes(), LATE)
    assert paths_in(path) == ["late", "1"]
    recorder.finish()


def test_secret_that_cannot_be_taken_out(path, interaction):
    """Where scrubbing leaves a secret in what was written, that is told with its line until someone removes it."""
    scrubber = Leaky(KnownSecrets())
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    before = path.read_bytes()
    recorder.append(holding(interaction))
    held = path.read_bytes()
    line = before.count(b"\n") + 1
    with pytest.warns(UserWarning, match=rf"tour\.yaml, line {line}: the interaction there holds a secret"):
        scrubber.known.add("SECRET", Secret(LATE))
    with pytest.raises(SecretLeak, match=f"line {line}"):
        recorder.append(interaction("/2"))
    assert path.read_bytes() == held
    path.write_bytes(before)
    recorder.append(interaction("/2"))
    assert paths_in(path) == ["0", "2"]


def test_secret_known_while_it_is_written(path, scrubber, interaction, search, monkeypatch):
    """A secret that becomes known between the check of an interaction and its writing is taken out of it."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    checked = recorder._checked

    def late(one):
        result = checked(one)
        scrubber.known.add("SECRET", Secret(LATE))
        return result

    monkeypatch.setattr(recorder, "_checked", late)
    recorder.append(holding(interaction))
    assert not search(path.read_bytes(), LATE)
    assert paths_in(path) == ["0", "late"]


def test_secrets_in_threads(path, interaction, search):
    """Whatever becomes known while threads record, no secret stays in what they wrote."""
    known = KnownSecrets()
    texts = [f"a-fake-secret-{number}-of-many" for number in range(12)]
    start = threading.Barrier(4)

    def record(thread):
        recorder = Recorder(path, Scrubber(known))
        start.wait()
        for number, text in enumerate(texts):
            recorder.append(interaction(f"/{thread}-{number}", body=f"{thread} {text}".encode()))
            if number % 4 == thread:
                known.add("SECRET", Secret(text))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    data = path.read_bytes()
    assert not any(search(data, text) for text in texts)
    assert len(paths_in(path)) == 48


def test_left_of_a_killed_rewriting(path, scrubber, interaction):
    """What a process left that was killed in the midst of rewriting is cleared away by the next recording."""
    path.parent.mkdir(parents=True)
    for name in (".tour.yaml.abc123.rewritten", ".other.yaml.abc123.rewritten", ".tour.yaml.mine"):
        (path.parent / name).write_bytes(b"half")
    Recorder(path, scrubber).append(interaction())
    left = {".other.yaml.abc123.rewritten", ".tour.yaml.mine", "tour.yaml"}
    assert set(os.listdir(path.parent)) == left  # noqa: PTH208 - names are enough


def test_changed_by_someone_else(path, scrubber, interaction):
    """A file that an editor or vcrpy changes in the midst of a recording is appended to as it is by then."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    path.write_bytes(foreign("a"))
    recorder.append(interaction("/1"))
    assert paths_in(path) == ["a", "1"]
    path.write_bytes(path.read_bytes()[:-1] + b"\n- req")
    recorder.append(interaction("/2"))
    assert paths_in(path) == ["a", "1", "2"]
