"""A player answers requests from a file, notes what it plays, and refuses what would fill the memory."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path

import brotli
import httpx
import pytest
import yaml
import zstandard
from stock_recordings import vcrpy_text

import toolkit as tk
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.interactions import HEADER, MARKER, encode
from toolkit.cassettes.replay.matching import ANYONE
from toolkit.cassettes.replay.player import Player
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.secret import REGISTER, Secret
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
        with pytest.raises(CassetteCorrupt, match=r"^In x\.yaml, .* interaction 2 .*(too large|11 content)"):
            player.play(bomb.request, ANYONE)


def test_a_secret_that_becomes_known_later(tmp_path):
    """A foreign recording with a secret in its URI is found also if others had been played before it was known."""
    path, secret, address = tmp_path / "foreign.yaml", "known-only-later", "https://h.example/"
    received = {"X-Name": ["日本"]}
    path.write_text(vcrpy_text(f"{address}a", f"{address}{secret}", received=received), encoding="utf-8")
    with httpx.Client(transport=tk.Cassette(path, "none").transport(), base_url=address) as client:
        assert client.get("a").headers.raw == [(b"X-Name", "日本".encode())]
        REGISTER.add("SECRET", Secret(secret))
        assert client.get(secret.replace("-", "%2D")).text == "{}"  # as it is written, it is not in the file


# A placeholder or pseudonym of a recording is never sent to a service

ACCOUNT = "7c1f2ab4-5a3e-4a19-9a33-2f6f0a7d1e55"
TOKEN = f"Zx8Kq1{'Vw5Nt3Bs7Hd2Lm9'}"
RULES = tk.Rules(pseudonyms=["account_id"], key="a key of this test")


@pytest.fixture
def path(tmp_path):
    """A recording with a token in a request, and an account number with a pseudonym in an answer."""
    path = tmp_path / "recorded.yaml"
    with tk.Cassette(path, "all", rules=RULES) as cassette:
        client = httpx.Client(transport=cassette.transport(httpx.MockTransport(answer)))
        client.get("https://api.example.com/accounts")
    return path


def answer(request):
    return httpx.Response(200, json={"account_id": ACCOUNT, "access_token": TOKEN, "path": request.url.path})


def refusing(request):
    raise AssertionError("a request was sent")


def add_to(path, transport=refusing):
    return httpx.Client(
        transport=tk.Cassette(path, "new_episodes", rules=RULES).transport(httpx.MockTransport(transport)),
        base_url="https://api.example.com",
    )


def stand_in_of(path):
    with httpx.Client(transport=tk.Cassette(path, "none", rules=RULES).transport()) as client:
        return client.get("https://api.example.com/accounts").json()["account_id"]


@pytest.mark.parametrize(
    "request_of",
    [
        lambda value: {"url": "/x", "headers": {"X-Account": value}},
        lambda value: {"url": "/x", "params": {"account": value}},
        lambda value: {"url": f"/x/{value}/orders"},
        lambda value: {"url": "/x", "data": {"account": value}},
        lambda value: {"url": "/x", "json": {"orders": [{"account": value}]}},
    ],
    ids=["header", "query", "path", "form", "json"],
)
@pytest.mark.parametrize("kind", ["placeholder", "pseudonym"])
def test_refused_before_it_is_sent(path, request_of, kind):
    """Wherever a caller fills in a value from the recording, the error names the place, and nothing goes out."""
    value = "<ACCESS_TOKEN>" if kind == "placeholder" else stand_in_of(path)
    assert value != ACCOUNT
    before = path.read_bytes()
    if kind == "placeholder":
        assert value.encode() in before
    with pytest.raises(tk.AccessError, match=r"recorded\.yaml.*\n.*Nothing was sent") as caught:
        add_to(path).request("POST", **request_of(value))
    assert caught.value.about == "cassette"
    assert path.read_bytes() == before


@pytest.mark.parametrize("note", ["account_id", "'$.['"])
def test_pseudonyms_of_rules_that_are_not_here(path, note):
    """The rules that a recording notes count where the project has none; a note that is no rule is left alone."""
    value = stand_in_of(path)
    path.write_bytes(path.read_bytes().replace(b"- account_id\n", f"- {note}\n".encode()))
    with tk.Cassette(path, "new_episodes") as cassette:
        client = httpx.Client(transport=cassette.transport(httpx.MockTransport(answer)))
        if note == "account_id":
            with pytest.raises(tk.AccessError, match="contains a pseudonym"):
                client.get(f"https://api.example.com/x/{value}")
        else:
            assert client.get(f"https://api.example.com/x/{value}").status_code == 200


def test_other_values_are_sent(path):
    """The real account number, unknown placeholders, and short values pass."""
    client = add_to(path, answer)
    assert client.get(f"/accounts/{ACCOUNT}/orders").status_code == 200
    assert client.post("/x", json={"note": "<SOMETHING_ELSE>", "kind": "<A>"}).status_code == 200
    assert client.post("/x", content=json.dumps("[" * 5000)).status_code == 200
