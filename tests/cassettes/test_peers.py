"""Recordings in the hands of other tools: stock vcrpy and pytest-recording replay ours, and we replay theirs."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import httpx
import httpx2
import pytest
import vcr
from hypothesis import given
from hypothesis import strategies as st
from stock_recordings import BASE, all_kinds, vcrpy_text, write

import toolkit as tk
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import MARKER
from toolkit.scrubbing.messages import header_bytes


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tour.yaml"


CALLS = [("GET", path) for path in ("/a", "/a", "/gzip", "/binary", "/text", "/mixed", "/empty")] + [("POST", "/post")]


def shown(response):
    """Return what a caller sees of a response; vcrpy records the names of headers in lower case and groups them."""
    headers = sorted((name.lower(), value) for name, value in response.headers.raw)
    return response.status_code, response.reason_phrase, headers, response.content


LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


def body_of(method):
    return b'{"a": 1}' if method == "POST" else b""


# They replay ours


@LIBRARIES
def test_stock_vcrpy_replays_ours(path, interaction, library):
    """Stock vcrpy replays every kind of recording of ours as we do, to a sync and an async client of either library."""
    write(path, *all_kinds(interaction))
    before = path.read_bytes()

    def calls(**options):
        with library.Client(base_url=BASE, **options) as client:
            return [shown(client.request(method, url, content=body_of(method))) for method, url in CALLS]

    async def async_calls():
        async with library.AsyncClient(base_url=BASE) as client:
            return [shown(await client.request(method, url, content=body_of(method))) for method, url in CALLS]

    ours = calls(transport=Cassette(path, "none").transport())
    assert ours[2][3] == b"gzipped"
    with vcr.use_cassette(str(path), record_mode="none") as stock:
        assert calls() == ours
        assert stock.all_played
    with vcr.use_cassette(str(path), record_mode="none"):
        assert asyncio.run(async_calls()) == ours
    assert path.read_bytes() == before


@given(st.data())
def test_stock_vcrpy_replays_anything_of_ours(interactions, data):
    """Whatever a response holds, stock vcrpy replays it as we do."""
    drawn = data.draw(interactions())
    uri = f"{BASE}/a"
    request, response = drawn.request._replace(method="GET", uri=uri), drawn.response._replace(reason="Fine")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tour.yaml"
        whole = drawn._replace(request=request, response=response, failure=None, ended_early=False)
        write(path, whole._replace(token_obtained=None))
        with httpx.Client(transport=Cassette(path, "none", match_on=["uri"]).transport()) as client:
            ours = client.get(uri)
        with vcr.use_cassette(str(path), record_mode="none"), httpx.Client(verify=False) as client:  # noqa: S501
            stock = client.get(uri)
    assert shown(stock) == shown(ours)
    assert ours.headers.raw == [(name.encode(), header_bytes(value)) for name, value in drawn.response.headers]
    assert ours.content == drawn.response.body


# We replay theirs


@LIBRARIES
@pytest.mark.parametrize("serializer", ["yaml", "json"])
def test_ours_replays_stock_vcrpy(server, tmp_path, serializer, library):
    """A recording of stock vcrpy replays here as there, and matches as vcrpy matches, for clients of either library."""
    path = tmp_path / f"stock.{serializer}"
    paths = ["/a?x=1&y=2", "/cookies", "/count", "/count", *(["/gzip", "/binary"] if serializer == "yaml" else [])]
    with vcr.use_cassette(str(path), serializer=serializer), library.Client(base_url=server.url) as client:
        live = [shown(client.get(url)) for url in paths]
        live.append(shown(client.post("/post", content=b"one")))
    sent, before = len(server.paths), path.read_bytes()
    cassette = Cassette(path, "none")
    assert cassette.is_foreign
    with library.Client(transport=cassette.transport(), base_url=server.url) as client:
        ours = [shown(client.get(url)) for url in ["/a?y=2&x=1", *paths[1:]]]
        # vcrpy does not match on bodies by default.
        ours.append(shown(client.post("/post", content=b"two")))
        again = [client.get("/count").json() for _ in range(2)]
    assert ours == live
    assert again == [json.loads(live[3][3])] * 2
    assert (len(server.paths), path.read_bytes()) == (sent, before)


# Recordings that both add to


def client_of(used, server):
    """Return an httpx client on a cassette of ours, or inside the context of one of vcrpy's."""
    transport = {"transport": used.transport()} if isinstance(used, Cassette) else {}
    return httpx.Client(**transport, base_url=server.url)


def test_we_add_to_a_stock_cassette(server, path):
    """A recording of stock vcrpy is rewritten once in our layout, then appended to, and still replays in vcrpy."""
    with vcr.use_cassette(str(path)), httpx.Client(base_url=server.url) as client:
        live = [client.get("/count").json(), client.get("/count").json(), client.post("/post", content=b"one").json()]
    for name in ("/new", "/newer"):
        with client_of(Cassette(path, "new_episodes"), server) as client:
            inodes = []
            for url in ("/count", name, f"{name}-still"):
                client.get(url)
                inodes.append(path.stat().st_ino)
            assert inodes[1] == inodes[2]
    assert path.read_bytes().startswith(MARKER)
    assert server.paths == ["/count", "/count", "/post", "/new", "/new-still", "/newer", "/newer-still"]
    for use in (lambda: vcr.use_cassette(str(path), record_mode="none"), lambda: Cassette(path, "none")):
        used = use()
        with used, client_of(used, server) as client:
            assert [client.get("/count").json(), client.get("/count").json()] == live[:2]
            assert client.post("/post", content=b"one").json() == live[2]
            assert [client.get(url).json()["path"] for url in server.paths[3:]] == server.paths[3:]
    assert len(server.paths) == 7


def test_a_session_adds_to_a_stock_cassette(path, settings, service):
    """A session finds a recording of stock vcrpy by its own addresses, also after having added to it."""
    address = settings.addresses["broker_sandbox"]
    path.write_text(vcrpy_text(f"{address}/v1/accounts", answer='[{"id": "a"}]'), encoding="utf-8")
    options = {"cassette": path, "settings": settings, "transport": service}

    def ids():
        with tk.Session("broker-sandbox", mode="none", **options) as session:
            return session.broker.get("/v1/accounts").json()

    assert ids() == [{"id": "a"}]
    service.answer = lambda request: service.reply({"new": True})
    credentials = tk.ClientSecret("client-1", "an-obviously-fake-secret", environment="broker-sandbox")
    with tk.Session(credentials=credentials, mode="new_episodes", **options) as session:
        assert session.broker.get("/v1/accounts").json() == [{"id": "a"}]
        assert session.broker.get("/v1/other").json() == {"new": True}
    assert path.read_bytes().startswith(MARKER)
    assert ids() == [{"id": "a"}]
    assert address.encode() not in path.read_bytes()
