"""Threads, tasks and several sessions play one cassette, each recording as often as it was requested."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import httpx
import pytest
from vcr.request import Request
from vcr.serialize import serialize
from vcr.serializers import yamlserializer

import toolkit as tk
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import HEADER, encode

BASE = "https://broker.svc.invalid"
THREADS = 16
REPEATS = 64


def write(path, several):
    path.write_bytes(HEADER + b"".join(map(encode, several)))


def write_foreign(path, several):
    requests = [Request(interaction.request.method, interaction.request.uri, b"", {}) for interaction in several]
    responses = [
        {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": interaction.response.body}}
        for interaction in several
    ]
    path.write_text(serialize({"requests": requests, "responses": responses}, yamlserializer))


def repeats(interaction, path, count):
    return [interaction(path, b"%d" % number) for number in range(count)]


def in_threads(work, count=THREADS):
    """Return the results of work in several threads, all of which start at the same time."""
    ready = threading.Barrier(count)

    def begin(number):
        ready.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


@pytest.mark.parametrize("write", [write, write_foreign], ids=["ours", "foreign"])
def test_threads_share_repeats(tmp_path, interaction, write):
    """Sixteen threads that ask for the same get each recording once, each thread in the order of the file."""
    path = tmp_path / "a.yaml"
    write(path, [*repeats(interaction, "/a", REPEATS), *repeats(interaction, "/b", REPEATS)])
    cassette = Cassette(path, "none")
    with httpx.Client(transport=cassette.transport(), base_url=BASE) as client:

        def ask(number):
            return [int(client.get("/" + "ab"[number % 2]).text) for _ in range(REPEATS // 8)]

        results = in_threads(ask)
    assert all(bodies == sorted(bodies) for bodies in results)
    for which in (0, 1):
        assert sorted(chain.from_iterable(results[which::2])) == list(range(REPEATS))
    assert cassette.play_count == 2 * REPEATS
    assert cassette.unplayed == []


def test_sessions_share_a_cassette(tmp_path, interaction, authorization):
    """Sessions of different profiles on one cassette object get their own recordings, each in order."""
    base = "https://broker-sandbox.svc.invalid"
    several = [
        interaction(
            "", f"{profile} {number}".encode(), request={"uri": f"{base}/v1/a"}, authorized_by=authorization(profile)
        )
        for number in range(8)
        for profile in ("mine", "yours")
    ]
    path = tmp_path / "a.yaml"
    write(path, several)
    cassette = Cassette(path, "none")

    def session(profile):
        credentials = tk.ClientSecret("id", "x" * 24, environment="broker-sandbox", name=profile)
        return tk.Session(credentials=credentials, cassette=cassette, settings=tk.Settings({}))

    sessions = {profile: session(profile) for profile in ("mine", "yours")}

    def ask(number):
        profile = "mine" if number % 2 else "yours"
        return profile, [sessions[profile].broker.get("/v1/a").text for _ in range(2)]

    results = in_threads(ask, 8)
    for profile in sessions:
        texts = [text for profile_, bodies in results if profile_ == profile for text in bodies]
        assert Counter(texts) == Counter(f"{profile} {number}" for number in range(8))
