"""A repaired file has complete items, our layout, and no known secret; everything else keeps its bytes.

The same holds for secrets that become known after interactions were written.
"""

from __future__ import annotations

import errno
import os
import threading

import canaries
import pytest
import yaml
from recordings import paths_in

from toolkit.cassettes.format.interactions import HEADER, MARKER, NO_ANSWER, RecordedFailure, decode, encode
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.cassettes.recording.repair import PendingCheck, encode_scrubbed, holds_secret, repaired
from toolkit.core.errors import CassetteCorrupt, CassetteError, SecretLeak
from toolkit.core.secret import Secret
from toolkit.local.files import read_file
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

SECRET = "a-fake-secret-of-a-test"
LATE = "4F9Aq7XkD8" + "lM2zP0vT5w"  # strong enough to be found by its place


@pytest.fixture
def knowing():
    return Scrubber(KnownSecrets([("SECRET", Secret(SECRET))]))


def test_clean_items_keep_their_bytes(interaction, knowing):
    """Only the items with a secret are encoded again, and an incomplete one is cut off."""
    items = [encode(interaction("/0")), encode(interaction("/1", SECRET.encode())), encode(interaction("/2"))]
    edited = items[2].replace(b"  elapsed", b"  # slow\n  elapsed")
    result = repaired(HEADER + items[0] + items[1] + edited + b"- req", knowing, source="x.yaml")
    clean, _ = encode_scrubbed(interaction("/1", SECRET.encode()), knowing)
    assert decode(clean, source="").response.body == b"<SECRET>"
    assert result == HEADER + items[0] + clean + edited
    assert not holds_secret(result, knowing.known)
    assert holds_secret(items[1], knowing.known)


def test_other_layouts_are_encoded_anew(interaction, knowing):
    """A file of another layout becomes one of ours, without the secret."""
    recorded = interaction(body=SECRET.encode())
    flow = MARKER + yaml.safe_dump(yaml.safe_load(HEADER + encode(recorded)), default_flow_style=True).encode()
    assert repaired(flow, knowing, source="x.yaml") == HEADER + encode_scrubbed(recorded, knowing)[0]


@pytest.mark.parametrize("data", [b"", b"\n", HEADER, HEADER + b"- req"])
def test_file_without_interactions(knowing, data):
    """A file without a complete interaction becomes empty."""
    assert repaired(data, knowing, source="x.yaml") == b""


def test_other_files_are_refused(knowing):
    """A file that is not a cassette is not repaired."""
    with pytest.raises(CassetteCorrupt, match=r"x\.yaml"):
        repaired(b"<html>", knowing, source="x.yaml")


def test_messages_of_failures_are_scrubbed(interaction, knowing):
    """The message of a recorded error is scrubbed like a body."""
    failed = interaction(failure=RecordedFailure("ConnectError", f"no route for {SECRET}"), response={"status": 599})
    written = decode(encode_scrubbed(failed, knowing)[0], source="")
    assert written.failure == RecordedFailure("ConnectError", "no route for <SECRET>")
    assert written.response.status == NO_ANSWER.status


@pytest.fixture
def scrubber():
    return Scrubber(KnownSecrets())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tour.yaml"


def holding(interaction, path="/late"):
    return interaction(path, body=f'{{"echo": "{LATE}"}}'.encode())


@pytest.mark.parametrize("anew", [False, True])
def test_secret_is_removed_at_once(path, scrubber, interaction, anew):
    """A secret that becomes known after it was written is removed immediately; every other byte stays."""
    recorder = Recorder(path, scrubber, anew=anew)
    file = recorder.part if anew else path
    recorded = [interaction("/0"), holding(interaction), interaction("/2")]
    for item in recorded:
        recorder.append(item)
    before = file.read_bytes()
    scrubber.known.add("SECRET", Secret(LATE))
    after = file.read_bytes()
    canaries.assert_absent(after, LATE)
    assert after.startswith(HEADER + encode(recorded[0]))
    assert after.endswith(encode(recorded[2]))
    assert b'{"echo": "<SECRET>"}' in after
    assert before.count(b"complete: true") == after.count(b"complete: true")
    recorder.append(holding(interaction, "/3"))
    assert paths_in(file) == ["0", "late", "2", "3"]
    assert os.listdir(path.parent) == [file.name]  # noqa: PTH208 - names are enough


def test_recording_of_an_earlier_run(path, scrubber, interaction):
    """The file of an earlier run is checked when the first interaction is added, and from then on."""
    Recorder(path, scrubber).append(holding(interaction))
    other = Scrubber(KnownSecrets())
    recorder = Recorder(path, other)
    other.known.add("SECRET", Secret(LATE))
    assert LATE in path.read_text()  # nothing is recorded yet, so the file is not touched
    recorder.append(interaction("/1"))
    canaries.assert_absent(path, LATE)
    Recorder(path, Scrubber(KnownSecrets())).append(interaction("/2", body=b"another-fake-token"))
    other.known.add("SECRET", Secret("another-fake-token"))
    canaries.assert_absent(path, "another-fake-token")
    assert paths_in(path) == ["late", "1", "2"]


def test_secret_of_another_recorder(path, scrubber, interaction):
    """A recorder that joins a recording checks what is there for the secrets that only it knows."""
    first = Recorder(path, scrubber)
    first.append(holding(interaction))
    second = Recorder(path, Scrubber(KnownSecrets([("SECRET", Secret(LATE))])))
    second.append(interaction("/1"))
    canaries.assert_absent(path, LATE)
    first.append(interaction("/2"))
    assert paths_in(path) == ["late", "1", "2"]


@pytest.mark.parametrize("kind", ["COOKIE", ""])
def test_frequently_new_secrets_wait(path, scrubber, interaction, kind, monkeypatch):
    """The file is checked once, at the end, for cookies and personal data that are new with each response."""
    checked = []
    monkeypatch.setattr(PendingCheck, "_check", lambda self, file, claim: checked.append(file))
    recorder = Recorder(path, scrubber)
    for number in range(5):
        recorder.append(interaction(f"/{number}"))
        if kind:
            scrubber.known.add(kind, Secret(f"a-fake-cookie-{number}"))
        else:
            scrubber.known.add_stand_ins([(Secret(f"a-fake-name-{number}"), f"x-stand-in-{number}")])
    assert checked == []
    recorder.finish()
    assert checked == [recorder.path]


def test_cookie_is_removed_at_the_end(path, scrubber, interaction):
    """A cookie that an earlier response echoed is removed when the recording finishes."""
    recorder = Recorder(path, scrubber)
    recorder.append(holding(interaction))
    scrubber.known.add("COOKIE", Secret(LATE))
    recorder.finish()
    canaries.assert_absent(path, LATE)
    assert paths_in(path) == ["late"]


def test_secret_found_by_its_place(path, scrubber, interaction):
    """A value that stands in the place of a secret in a later request is removed from earlier interactions."""
    recorder = Recorder(path, scrubber)
    recorder.append(holding(interaction))
    recorder.append(interaction("/1", request={"headers": (("Authorization", f"Bearer {LATE}"),)}))
    canaries.assert_absent(path, LATE)
    assert paths_in(path) == ["late", "1"]


def test_cost_of_a_new_secret(path, scrubber, interaction, monkeypatch):
    """The file is read once for each new secret, and not at all before something is written."""
    read = []

    def counting(file, **options):
        read.append(file.name)
        return read_file(file, **options)

    monkeypatch.setattr("toolkit.cassettes.recording.repair.read_file", counting)
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


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "os.open"])
def test_failed_rewrite(path, scrubber, interaction, monkeypatch, step):
    """A failed rewrite keeps the old file and warns; it is tried again before anything is added."""

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    recorder = Recorder(path, scrubber)
    recorder.append(holding(interaction))
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(step, fail)
        with pytest.warns(UserWarning, match=r"only now become known, and could not be rewritten: No space"):
            scrubber.known.add("SECRET", Secret(LATE))
        assert path.read_bytes() == before
        with pytest.raises(CassetteError, match="No space left on device"):
            recorder.append(interaction("/1"))
        with pytest.raises(CassetteError, match="No space left on device"):
            recorder.finish()
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == ["tour.yaml"]  # noqa: PTH208 - names are enough
    recorder.append(interaction("/1"))
    canaries.assert_absent(path, LATE)
    assert paths_in(path) == ["late", "1"]
    recorder.finish()


def test_secret_that_cannot_be_removed(path, interaction, monkeypatch):
    """If scrubbing does not remove a secret, the warning and later errors name the line until somebody does."""
    scrubber = Scrubber(KnownSecrets())
    monkeypatch.setattr(
        scrubber, "exchange", lambda request, response, replaced: (request, response, len(scrubber.known))
    )
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    before = path.read_bytes()
    recorder.append(holding(interaction))
    written = path.read_bytes()
    line = before.count(b"\n") + 1
    with pytest.warns(UserWarning, match=rf"tour\.yaml, line {line}: the interaction there contains a secret"):
        scrubber.known.add("SECRET", Secret(LATE))
    with pytest.raises(SecretLeak, match=f"line {line}"):
        recorder.append(interaction("/2"))
    assert path.read_bytes() == written
    path.write_bytes(before)
    recorder.append(interaction("/2"))
    assert paths_in(path) == ["0", "2"]


def test_secret_known_between_check_and_write(path, scrubber, interaction, monkeypatch):
    """A secret that becomes known between the check of an interaction and its write is removed from it."""
    recorder = Recorder(path, scrubber)
    recorder.append(interaction("/0"))
    encode_checked = recorder._encode_checked

    def learn_late(item):
        result = encode_checked(item)
        scrubber.known.add("SECRET", Secret(LATE))
        return result

    monkeypatch.setattr(recorder, "_encode_checked", learn_late)
    recorder.append(holding(interaction))
    canaries.assert_absent(path, LATE)
    assert paths_in(path) == ["0", "late"]


def test_secrets_in_threads(path, interaction):
    """No secret that becomes known while threads record stays in what they wrote."""
    known = KnownSecrets()
    texts = [f"a-fake-secret-{number}-of-many" for number in range(8)]
    start = threading.Barrier(3)

    def record(thread):
        recorder = Recorder(path, Scrubber(known))
        start.wait()
        for number, text in enumerate(texts):
            recorder.append(interaction(f"/{thread}-{number}", body=f"{thread} {text}".encode()))
            if number % 3 == thread:
                known.add("SECRET", Secret(text))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    canaries.assert_absent(path, texts)
    assert len(paths_in(path)) == 24
