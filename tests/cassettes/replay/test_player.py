"""A player answers requests from a file, notes what it plays, and refuses what would fill the memory."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import brotli
import httpx
import pytest
import yaml
import zstandard

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.cassettes.replay import player as play_log
from toolkit.cassettes.replay.matching import ANYONE
from toolkit.cassettes.replay.player import Player, read_play_log
from toolkit.core.errors import CassetteCorrupt
from toolkit.scrubbing.scrubber import KnownSecrets, Scrubber

ENCODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("layout", ["ours", "ours, edited", "foreign"])
@pytest.mark.parametrize("names", ["gzip", "gzip,gzip", "deflate", "br", "zstd", "gzip,br", ",".join(["gzip"] * 11)])
def test_decompression_bomb(interaction, layout, names):
    """A body that would fill the memory when decompressed is refused by item, in every format; others are played."""
    body = bytes(5 << 20)
    for name in names.split(","):
        body = ENCODERS[name](body)
    bomb = interaction("/bomb", response={"headers": (("content-encoding", names),), "body": body})
    data = HEADER + encode(interaction("/a")) + encode(bomb)
    if layout != "ours":
        is_ours = layout != "foreign"
        data = MARKER * is_ours + yaml.safe_dump(yaml.safe_load(data), default_flow_style=is_ours).encode()
    player = Player(contents.read(data, source="x.yaml"), Scrubber(KnownSecrets()), file=Path("x.yaml"))
    assert player.play(interaction("/a").request, ANYONE) is not None
    for _ in range(2):
        with pytest.raises(CassetteCorrupt, match=r"^In x\.yaml, .* interaction 2 .*(too many|11 content)"):
            player.play(bomb.request, ANYONE)


@pytest.fixture
def cassette(tmp_path, interaction):
    """Return the file of a cassette with the calls /a, /b, /b."""
    path = tmp_path / "x.yaml"
    path.write_bytes(HEADER + b"".join(encode(interaction(call)) for call in ("/a", "/b", "/b")))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Let the test log what is played in a folder that does not exist yet."""
    folder = tmp_path / "logs" / "run"
    monkeypatch.setenv(play_log.VARIABLE, str(folder))
    return folder


def get(cassette, *paths):
    """Replay GET requests from the cassette in a file."""
    with httpx.Client(transport=Cassette(cassette, "none").transport()) as client:
        for path in paths:
            client.get(f"https://broker.svc.invalid{path}")


def test_processes_are_read_together(cassette, folder, python):
    """Each process has a file of its own, links to the cassette are resolved, and half a line does not count."""
    link = cassette.with_name("link.yaml")
    link.symlink_to(cassette)
    get(link, "/a")
    script = f"""
import httpx, toolkit as tk
with httpx.Client(transport=tk.Cassette({str(cassette)!r}, "none").transport()) as client:
    client.get("https://broker.svc.invalid/b")
"""
    python("-c", script)
    assert len(list(folder.iterdir())) == 2
    with (folder / f"{os.getpid()}.plays").open("ab") as stream:
        stream.write(b'["/other.yaml", 1')
    (folder / "notes.txt").write_text('["/other.yaml", 1]')
    assert read_play_log(folder) == {cassette.resolve(): {0, 1}}
