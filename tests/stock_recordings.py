"""Recordings with everything that vcrpy's format can hold, for tests beside vcrpy and pytest-recording."""

from __future__ import annotations

import gzip

import yaml

import toolkit as tk
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.core.document import symbolic_address
from toolkit.practice_service import practice

BROKER = symbolic_address("broker_sandbox")
BASE = "https://broker.svc.invalid"


def all_kinds(interaction):
    """Return interactions with repeated calls, repeated headers, compressed and binary bodies, and odd text."""
    compressed = {
        "headers": (("Content-Encoding", "gzip"), ("Content-Length", "21")),
        "body": gzip.compress(b"gzipped"),
    }
    mixed = (("Set-Cookie", "a=1"), ("X-A", "\xe9"), ("Set-Cookie", "b=2"))
    return [
        interaction("/a", b"first"),
        interaction("/a", b"second"),
        interaction("/gzip", response=compressed),
        interaction("/binary", bytes(range(256))),
        interaction("/text", "añ\u2028b\r\n\tc\n".encode()),
        interaction("/mixed", response={"headers": mixed, "status": 418, "reason": "I'm a teapot"}),
        interaction("/post", request={"method": "POST", "body": b'{"a": 1}'}, body=b"posted"),
        interaction("/empty", b"", response={"status": 204, "reason": "No Content"}),
    ]


def write(path, *interactions):
    path.write_bytes(HEADER + b"".join(map(encode, interactions)))


def record_session(path):
    """Record a session with a token request, accounts, quotes and an order; return the path."""
    with practice(accounts=2) as service:
        options = {"credentials": service.credentials["sandbox-key"], "settings": service.settings}
        with tk.Session(**options, cassette=path, mode="once") as session:
            session.accounts()
            session.market_data.get("/v2/practice/quotes", params={"symbols": "ALFA"}).raise_for_status()
            order = {"symbol": "ALFA", "side": "buy", "quantity": "1"}
            session.broker.post("/v1/practice/orders", json=order).raise_for_status()
    return path


def vcrpy_text(*uris, answer="{}", received=None, **request):
    """Return the text of a cassette of stock vcrpy with a call to each URI, with everything in clear."""
    response = {"status": {"code": 200, "message": "OK"}, "headers": received or {}, "body": {"string": answer}}
    sent = [{"method": "GET", "uri": uri, "body": None, "headers": {}, **request} for uri in uris]
    return yaml.dump({"interactions": [{"request": each, "response": response} for each in sent], "version": 1})
