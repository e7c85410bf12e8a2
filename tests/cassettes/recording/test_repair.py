"""A repaired file has complete items, our layout, and no known secret; everything else keeps its bytes."""

from __future__ import annotations

import pytest
import yaml

from toolkit.cassettes.format.interactions import HEADER, MARKER, NO_ANSWER, RecordedFailure, decode, encode
from toolkit.cassettes.recording.appending import repaired, scrub
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber

SECRET = "a-fake-secret-of-a-test"


@pytest.fixture
def knowing():
    return Scrubber(KnownSecrets([("SECRET", Secret(SECRET))]))


def test_clean_items_keep_their_bytes(interaction, knowing):
    """Items are encoded again if one holds a secret, and an incomplete one is cut off."""
    items = [encode(interaction("/0")), encode(interaction("/1", SECRET.encode())), encode(interaction("/2"))]
    edited = items[2].replace(b"  elapsed", b"  # slow\n  elapsed")
    assert repaired(HEADER + edited + b"- req", knowing, source="x.yaml") == HEADER + edited
    result = repaired(HEADER + items[0] + items[1] + edited + b"- req", knowing, source="x.yaml")
    clean = encode(scrub(interaction("/1", SECRET.encode()), knowing))
    assert decode(clean, source="").response.body == b"<SECRET>"
    assert result == HEADER + items[0] + clean + items[2]


def test_other_layouts_are_encoded_anew(interaction, knowing):
    """A file of another layout becomes one of ours, without the secret."""
    recorded = interaction(body=SECRET.encode())
    flow = MARKER + yaml.safe_dump(yaml.safe_load(HEADER + encode(recorded)), default_flow_style=True).encode()
    assert repaired(flow, knowing, source="x.yaml") == HEADER + encode(scrub(recorded, knowing))


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
    written = decode(encode(scrub(failed, knowing)), source="")
    assert written.failure == RecordedFailure("ConnectError", "no route for <SECRET>")
    assert written.response.status == NO_ANSWER.status
