"""Cassettes: record modes, strict, what sessions record, damaged and stale files, misses."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime

import canaries
import httpx
import httpx as stock_httpx
import pytest
import vcr
from recordings import recorded_bodies
from stock_recordings import vcrpy_text, write

import toolkit as tk
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cassettes.selection import MODES
from toolkit.core.errors import CassetteError, CassetteMiss, ConfigurationError
from toolkit.local.settings import Settings

BASE = "https://broker.svc.invalid"


class Counting:
    """A service that answers with the path and the number of requests so far."""

    def __init__(self):
        self.count = 0

    def __call__(self, request):
        self.count += 1
        return httpx.Response(200, content=f"{request.url.path} {self.count}".encode())


@pytest.fixture
def counting():
    return Counting()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tour.yaml"


def get(cassette, service, *paths):
    """Return the bodies of calls through a cassette; None for a miss."""
    bodies = []
    with httpx.Client(transport=cassette.transport(httpx.MockTransport(service)), base_url=BASE) as client:
        for path in paths:
            try:
                bodies.append(client.get(path).text)
            except CassetteMiss:
                bodies.append(None)
    return bodies


# Record modes


def test_none(path, counting):
    """Mode none replays; it sends and writes nothing."""
    with pytest.raises(CassetteMiss, match=r"The cassette .* does not exist"):
        Cassette(path, "none")
    with pytest.raises(ConfigurationError, match="recordings are YAML"):
        Cassette(path.with_suffix(".json"))
    get(Cassette(path), counting, "/a")
    before = path.read_bytes()
    assert get(Cassette(path, "none"), counting, "/a", "/b", "/a") == ["/a 1", None, "/a 1"]
    assert (counting.count, path.read_bytes()) == (1, before)


def test_once(path, counting):
    """Mode once records a new file, repeats included, and only replays an existing file."""
    assert get(Cassette(path), counting, "/a", "/a", "/b") == ["/a 1", "/a 2", "/b 3"]
    before = path.read_bytes()
    assert get(Cassette(path), counting, "/a", "/b", "/c", "/a", "/a") == ["/a 1", "/b 3", None, "/a 2", "/a 2"]
    assert (counting.count, path.read_bytes()) == (3, before)


def test_new_episodes(path, counting):
    """Mode new_episodes replays what is recorded and adds the rest, without changing what is there."""
    assert get(Cassette(path, "new_episodes"), counting, "/a") == ["/a 1"]
    before = path.read_bytes()
    assert get(Cassette(path, "new_episodes"), counting, "/a", "/b", "/a") == ["/a 1", "/b 2", "/a 1"]
    assert path.read_bytes().startswith(before)
    assert recorded_bodies(path) == (["/a 1", "/b 2"], None)


def test_all_that_failed(path, counting):
    """After an exception the old file stays; the next opening names the part, the next recording replaces it."""
    get(Cassette(path), counting, "/a")
    failed = Cassette(path, "all")

    def fail():
        with failed:
            get(failed, counting, "/b", "/b")
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert recorded_bodies(path) == (["/a 1"], ["/b 2", "/b 3"])
    with pytest.warns(
        UserWarning, match=r"tour\.part\.yaml was left by an interrupted recording .* rename it to tour\.yaml"
    ):
        again = Cassette(path, "all")
    get(again, counting, "/c")
    assert recorded_bodies(path) == (["/a 1"], ["/c 4"])
    again.close()
    assert recorded_bodies(path) == (["/c 4"], None)


# Strict


def test_strict(path, interaction, counting):
    """With strict, each recording plays once; a second request misses, and close() lists what was not played."""
    write(path, interaction("/a", b"1"), interaction("/a", b"2"), interaction("/b", b"b"), interaction("/c", b"c"))
    cassette = Cassette(path, "none", strict=True)
    assert get(cassette, counting, "/a", "/a", "/a", "/b", "/a") == ["1", "2", None, "b", None]
    assert miss(cassette, f"{BASE}/a").what.startswith("Every recording of GET ")
    assert not miss(cassette, f"{BASE}/d").what.startswith("Every recording of GET ")
    with pytest.raises(CassetteError, match=rf"strict, but 1 of .*\n  GET {BASE}/c\n"):
        cassette.close()
    assert get(cassette, counting, "/c") == ["c"]
    cassette.close()


# What a session records


@pytest.mark.parametrize(
    ("environment", "kind"),
    [("live", "headers"), ("paper", "basic"), ("broker-live", "secret"), ("broker-sandbox", "key")],
)
def test_a_session_records_no_secret(path, settings, service, make_credentials, environment, kind):
    """Credentials and tokens that the service echoes are not in the file in any form; the caller sees them."""
    credentials = make_credentials(environment, kind)
    texts = [secret.reveal() for _, secret in credentials.secrets()]
    interface = "trading" if environment in ("live", "paper") else "broker"

    def answer(request):
        sent = dict(request.headers)
        return service.reply({"echo": sent, "deep": json.dumps(sent), "texts": texts, "tokens": service.issued})

    service.answer = answer
    with tk.Session(credentials=credentials, cassette=path, settings=settings, transport=service) as session:
        live = getattr(session, interface).get("/v1/echo", params={"a": texts[0]}).json()
        assert live["texts"] == texts
        texts += service.issued
    data = path.read_bytes()
    canaries.assert_absent(data, texts, layers=3)
    assert tk.scan(path, secrets=texts) == []
    assert not any(address.encode() in data for address in settings.addresses.values())
    with vcr.use_cassette(str(path), record_mode="none", match_on=["path"]), stock_httpx.Client() as client:
        assert client.get(f"{BASE}/v1/echo").status_code == 200


# Torn files, and files that are not cassettes


@pytest.mark.parametrize("mode", MODES)
def test_torn(path, interaction, counting, mode):
    """If writing an item was interrupted, the next opening says so, removes it and keeps the items before it."""
    write(path, interaction("/a", b"a"), interaction("/b", b"b"))
    torn = path.read_bytes()[:-40]
    path.write_bytes(torn)
    with pytest.warns(UserWarning, match=r"incomplete interaction; the 1 before it are complete"):
        cassette = Cassette(path, mode)
    assert path.read_bytes() == HEADER + encode(interaction("/a", b"a"))
    assert recorded_bodies(path) == (["a"], None)
    if mode != "all":
        assert get(cassette, counting, "/a", "/b") == ["a", "/b 1" if mode == "new_episodes" else None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Cassette(path, "none")


# Misses


def miss(cassette, url, **request):
    with pytest.raises(CassetteMiss) as caught, httpx.Client(transport=cassette.transport()) as client:
        client.request(request.pop("method", "GET"), url, **request)
    return caught.value


def test_nearest(path, settings, make_credentials, interaction, authorization):
    """The nearest recording is shown with the parts that differ and those that match."""
    write(
        path,
        interaction("/v2/far", request={"method": "DELETE"}),
        interaction("/v1/accounts?page=1"),
        interaction("/v1/accounts?page=2", authorized_by=authorization("mine")),
        interaction("/v1/orders?page=2"),
    )
    credentials = make_credentials("broker-sandbox", name="yours")
    with (
        tk.Session(credentials=credentials, cassette=path, mode="none", settings=settings) as session,
        pytest.raises(CassetteMiss) as caught,
    ):
        session.broker.get("/v1/accounts?page=2")
    [shown] = caught.value.nearest
    assert shown.splitlines() == [
        f"GET {BASE}/v1/accounts?page=2",
        "  credentials: recorded by mine (broker-sandbox), requested by yours (broker-sandbox)",
        "  host: recorded broker.svc.invalid, requested broker-sandbox.svc.invalid",
        "  the same: method, scheme, port, path, query, body",
    ]
    [shown] = miss(Cassette(path, "none"), f"{BASE}/v1/accounts?page=3").nearest
    assert shown.splitlines()[:2] == [f"GET {BASE}/v1/accounts?page=1", "  query: page: recorded 1, requested 3"]


def test_json_by_path(path, interaction):
    """Each difference in JSON has its path, and missing values are shown too."""
    recorded = {"odd key": True, "legs": [{"side": "buy"}, 1], "same": [1]}
    sent = {"odd key": 1, "legs": [{"side": "sell"}], "more": None, "same": [1]}
    request = {"method": "POST", "headers": (("Content-Type", "application/json"),)}
    write(path, interaction("/v1/orders", request={**request, "body": json.dumps(recorded).encode()}))
    error = miss(Cassette(path, "none"), f"{BASE}/v1/orders", method="POST", json=sent)
    [shown] = [line for line in error.nearest[0].splitlines() if line.startswith("  body: ")]
    assert shown.removeprefix("  body: ").split("; ") == [
        '$["odd key"]: recorded true, requested 1',
        "$.legs[1]: recorded 1, not requested",
        '$.legs[0].side: recorded "buy", requested "sell"',
        "$.more: not recorded, requested null",
    ]
    error = miss(Cassette(path, "none"), f"{BASE}/v1/orders", method="POST", data={"a": "b"})
    assert error.nearest[0].splitlines()[1].endswith("requested a=b")  # of different types, the bodies as they are


def test_missing_file_and_other_environment(path, settings, interaction, authorization, monkeypatch):
    """The error gives the full path and whether recording is possible now, or the environments of the cassette."""
    write(path, interaction(authorized_by=authorization()))
    with (
        tk.Session("paper", cassette=path, mode="none", settings=settings) as session,
        pytest.raises(CassetteMiss, match="calls made in broker-sandbox, but this session is for paper") as caught,
    ):
        session.trading.get("/v2/account")
    assert "leave the environment out" in caught.value.next_step
    write(path, interaction("/token", token_obtained=authorization()))
    assert miss(Cassette(path, "none"), f"{BASE}/v1/a").what.endswith("No calls are recorded in it.")
    path.unlink()
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    with pytest.raises(CassetteMiss) as caught:
        Cassette(path)
    assert caught.value.what == f"The cassette {path} does not exist."
    assert "TOOLKIT_OFFLINE" in caught.value.next_step


# What else a cassette promises


def test_counts_and_repr(path, counting, interaction):
    """A cassette tells its length, how much was played and what was not, and shows it all in its repr."""
    write(path, interaction("/a", b"a"), interaction("/b", b"b"))
    cassette = Cassette(path, "new_episodes")
    assert (len(cassette), cassette.play_count, bool(cassette)) == (2, 0, True)
    get(cassette, counting, "/a", "/a", "/new")
    assert (len(cassette), cassette.play_count, cassette.unplayed) == (3, 2, [f"GET {BASE}/b"])
    assert repr(cassette) == "<Cassette tour.yaml: replaying and adding to 3 interactions, recorded 12 May 2026>"
    assert repr(Cassette(path, "none")) == "<Cassette tour.yaml: replaying 3 interactions, recorded 12 May 2026>"
    assert repr(Cassette(path.with_name("new.yaml"))) == "<Cassette new.yaml: recording, 0 interactions>"
    assert bool(Cassette(path.with_name("new.yaml")))
    assert str(cassette.recorded_at) == "2026-05-12 09:30:00+00:00"
    assert "2 times; 1 interaction not played yet" in cassette._repr_html_()
    for opened in (cassette, Cassette(path, "none")):
        assert opened.table()["uri"].tolist() == [f"{BASE}/a", f"{BASE}/b", f"{BASE}/new"]
    assert Cassette(path, "none").play_count == 0


def test_miss_without_secrets(path, interaction):
    """A miss shows no secret of the request, its headers, or a foreign recording."""
    secret = "an-obviously-fake-token"
    write(path, interaction("/v1/accounts?page=1", request={"headers": (("X-Echo", "<SECRET>"),)}))
    request = {
        "params": {"token": secret, "password": "by-its-place"},
        "headers": {"X-Echo": secret, "Authorization": f"Bearer {secret}"},
        "json": {"a": secret},
        "method": "POST",
    }
    cassette = Cassette(path, "none", secrets=secret, match_on=["uri", "method", "headers", "body"])
    error = miss(cassette, f"{BASE}/v1/accounts", **request)
    assert secret not in str(error)
    assert "by-its-place" not in str(error)
    path.write_text(vcrpy_text(f"{BASE}/v1?api_key=in-the-foreign-file", method="POST"), encoding="utf-8")
    error = miss(Cassette(path, "none", secrets=secret), f"{BASE}/v1", **request)
    assert "api_key" in str(error)
    assert "in-the-foreign-file" not in str(error)
    assert secret not in str(error)


def test_a_script_is_warned(tmp_path, interaction):
    """Whoever replays a stale recording is told, unless it is being recorded again."""
    file = tmp_path / "a.yaml"
    file.write_bytes(HEADER + encode(interaction()._replace(recorded_at=datetime(2001, 1, 2, tzinfo=UTC))))

    def warnings_at_opening(mode="none", stale_after="1d"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Cassette(file, mode, settings=Settings(project=tmp_path, stale_after=stale_after)).close()
        return [str(warning.message) for warning in caught]

    [text] = warnings_at_opening()
    assert text.startswith("a.yaml was recorded on 2 January 2001")
    assert 'mode="all"' in text
    assert warnings_at_opening("all") == []
    assert warnings_at_opening(stale_after=None) == []
    assert warnings_at_opening(stale_after="99999d") == []
