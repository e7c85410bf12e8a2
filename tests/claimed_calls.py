"""Calls through cassettes that claim a file, and what they recorded."""

from __future__ import annotations

import secrets

import httpx

from toolkit.cassettes.format import contents

URL = "https://h.example"


class CountingService:
    """A service that counts its requests."""

    def __init__(self):
        self.count = 0

    def __call__(self, request):
        self.count += 1
        return httpx.Response(200, text="ours")


def get(cassette, *paths, service=None):
    transport = cassette.transport(httpx.MockTransport(service or CountingService()))
    with httpx.Client(transport=transport, base_url=URL) as client:
        return [client.get(path).text for path in paths]


def recorded_paths(path):
    opened = contents.read(path.read_bytes(), source="")
    return [opened.interaction(number).request.uri.removeprefix(URL) for number in range(len(opened))]


def new_path():
    return f"/{secrets.token_hex(4)}"
