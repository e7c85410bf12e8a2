"""What an authenticated call costs over a raw httpx.Client with the header already set.

All on the same in-process transport, in one run. Target: at most 8 % or 8 µs, whichever is more. Beside them
Authlib's client of the same kind, with a token that lasts, where Authlib is installed.
"""

from __future__ import annotations

import secrets
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.pairs import in_turn
from tests.benchmarks.peers import authlib_clients, httpx_of, version

BODY = httpx.ByteStream(b'{"id":"1"}')
HEADERS = [(b"Content-Type", b"application/json"), (b"Content-Length", b"10")]


class InProcess(httpx.BaseTransport):
    """Answers at once; to the token endpoint with a token."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/oauth2/token":
            reply = {"access_token": secrets.token_urlsafe(32), "expires_in": 899, "token_type": "Bearer"}
            return httpx.Response(200, json=reply)
        return httpx.Response(200, headers=HEADERS, stream=BODY)


def authlib_client(shape: dict[str, Any], access_token: str) -> Any:
    """Authlib's client with a token in hand, as its own documentation sets it up; None where it is absent."""
    if version("authlib") is None:
        return None
    token = {"access_token": access_token, "token_type": "Bearer", "expires_in": 86_400}
    client = authlib_clients().OAuth2Client(
        "client", secrets.token_urlsafe(30), token_endpoint=f"{shape['base_url']}/v1/oauth2/token", token=token, **shape
    )
    return client if httpx_of(client) is httpx else None


def main() -> None:
    """Print the figures."""
    address = "https://service.example"
    names = ("trading_paper", "broker_sandbox", "auth_sandbox")
    settings = tk.Settings(dict.fromkeys(names, address))
    key_id, secret = secrets.token_hex(10), secrets.token_urlsafe(30)
    shape = {"base_url": address, "transport": InProcess(), "timeout": 30.0}
    callers = {
        "key pair, headers": (
            httpx.Client(**shape, headers={"SVC-API-KEY-ID": key_id, "SVC-API-SECRET-KEY": secret}),
            tk.KeyPair(key_id, secret, environment="paper"),
            "/v2/account",
        ),
        "client secret, bearer token": (
            httpx.Client(**shape, headers={"Authorization": f"Bearer {secret}"}),
            tk.ClientSecret("client", secret, environment="broker-sandbox"),
            "/v1/accounts",
        ),
    }
    print(f"{'one call':30}{'raw httpx':>12}{'toolkit':>12}{'more':>12}{'ratio':>8}{'allowed':>10}", end="")
    print(f"{'Authlib ' + (version('authlib') or 'absent'):>18}{'ratio':>8}")
    for name, (raw, credentials, path) in callers.items():
        session = tk.Session(credentials=credentials, settings=settings, transport=InProcess())
        client = session.trading if credentials.environment == "paper" else session.broker
        ways = {
            "raw": lambda raw=raw, path=path: raw.get(path),
            "ours": lambda client=client, path=path: client.get(path),
        }
        peer = authlib_client(shape, secret) if isinstance(credentials, tk.ClientSecret) else None
        if peer is not None:
            ways["authlib"] = lambda peer=peer, path=path: peer.get(path)
        figures = in_turn(ways, rounds=41, repeats=200)
        raw_us, ours_us = figures.seconds["raw"] * 1e6, figures.seconds["ours"] * 1e6
        allowed = max(8.0, 0.08 * raw_us)
        more = raw_us * (figures.ratios["ours"] - 1)
        line = f"{name:30}{raw_us:9.1f} µs{ours_us:9.1f} µs{more:9.1f} µs{figures.ratios['ours']:8.3f}{allowed:7.1f} µs"
        if peer is not None:
            line += f"{figures.seconds['authlib'] * 1e6:15.1f} µs{figures.ratios['authlib']:8.3f}"
        print(line)


if __name__ == "__main__":
    main()
