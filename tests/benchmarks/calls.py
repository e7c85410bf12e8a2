"""Compare an authenticated call with one of an `httpx.Client` whose header is already set.

All clients use the same transport within the process. Target: at most 8 % or 8 µs more, whichever is more. Authlib's
client, which has a token that lasts, is measured too if it is installed.
"""

from __future__ import annotations

import secrets
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.measuring import Table, microseconds, time_in_turn
from tests.benchmarks.peers import authlib_clients, httpx_of, version

BODY = httpx.ByteStream(b'{"id":"1"}')
HEADERS = [(b"Content-Type", b"application/json"), (b"Content-Length", b"10")]
ADDRESS = "https://service.example"


class InstantService(httpx.BaseTransport):
    """A service within this process that answers at once: token requests with a token, all others with a short body."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/oauth2/token":
            token = {"access_token": secrets.token_urlsafe(32), "expires_in": 899, "token_type": "Bearer"}
            return httpx.Response(200, json=token)
        return httpx.Response(200, headers=HEADERS, stream=BODY)


def authlib_client(options: dict[str, Any], access_token: str) -> Any:
    """Return Authlib's client with a token in hand, or None if Authlib is absent or builds on another httpx."""
    if version("authlib") is None:
        return None
    token = {"access_token": access_token, "token_type": "Bearer", "expires_in": 86_400}
    client = authlib_clients().OAuth2Client(
        "client", secrets.token_urlsafe(30), token_endpoint=f"{ADDRESS}/v1/oauth2/token", token=token, **options
    )
    return client if httpx_of(client) is httpx else None


def main() -> None:
    """Measure a call with a key pair and one with a bearer token."""
    settings = tk.Settings(dict.fromkeys(("trading_paper", "broker_sandbox", "auth_sandbox"), ADDRESS))
    key_id, secret = secrets.token_hex(10), secrets.token_urlsafe(30)
    options = {"base_url": ADDRESS, "transport": InstantService(), "timeout": 30.0}
    cases = {
        "key pair in headers": (
            httpx.Client(**options, headers={"SVC-API-KEY-ID": key_id, "SVC-API-SECRET-KEY": secret}),
            tk.KeyPair(key_id, secret, environment="paper"),
            "/v2/account",
        ),
        "client secret, bearer token": (
            httpx.Client(**options, headers={"Authorization": f"Bearer {secret}"}),
            tk.ClientSecret("client", secret, environment="broker-sandbox"),
            "/v1/accounts",
        ),
    }
    authlib = f"Authlib {version('authlib') or 'absent'}"
    table = Table("one call", "httpx", "toolkit", "more", "allowed", "ratio", authlib, "ratio")
    for name, (plain, credentials, path) in cases.items():
        session = tk.Session(credentials=credentials, settings=settings, transport=InstantService())
        client = session.trading if credentials.environment == "paper" else session.broker
        clients = {"httpx": plain, "toolkit": client}
        if isinstance(credentials, tk.ClientSecret) and (peer := authlib_client(options, secret)):
            clients["authlib"] = peer
        ways = {name: lambda client=client, path=path: client.get(path) for name, client in clients.items()}
        timings = time_in_turn(ways, rounds=41, repeats=200)
        base, ratio = timings.seconds["httpx"], timings.ratios["toolkit"]
        cells = [base, timings.seconds["toolkit"], base * (ratio - 1), max(8e-6, 0.08 * base)]
        peer_cells = (
            [microseconds(timings.seconds["authlib"]), f"{timings.ratios['authlib']:.3f}"] if "authlib" in ways else []
        )
        table.print_row(name, *map(microseconds, cells), f"{ratio:.3f}", *peer_cells)


if __name__ == "__main__":
    main()
