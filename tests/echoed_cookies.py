"""Recordings in which a service names a value before it sets it as a cookie, so that it is removed at the end."""

from __future__ import annotations

import httpx

import toolkit as tk
from toolkit.local.user_folders import cache_folder


def served(cookie):
    """Return a transport that names a value first and sets it as a cookie in the second answer."""

    def answer(request):
        if request.url.path == "/second":
            return httpx.Response(200, headers={"Set-Cookie": f"visit={cookie}"}, json={})
        return httpx.Response(200, json={"echo": cookie})

    return httpx.MockTransport(answer)


def record(path, cookie, *, mode="once"):
    cassette = tk.Cassette(path, mode)
    client = httpx.Client(transport=cassette.transport(served(cookie)), base_url="https://api.example.com")
    client.get("/first")
    client.get("/second")
    return cassette


def journals():
    return list((cache_folder() / "recording").glob("*.journal"))
