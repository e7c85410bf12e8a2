"""Threads, tasks and several sessions play one cassette, each recording as often as it was requested."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import toolkit as tk
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import HEADER, encode

THREADS = 16


def write(path, several):
    path.write_bytes(HEADER + b"".join(map(encode, several)))


def in_threads(work, count=THREADS):
    """Return the results of work in several threads, all of which start at the same time."""
    ready = threading.Barrier(count)

    def begin(number):
        ready.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


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
