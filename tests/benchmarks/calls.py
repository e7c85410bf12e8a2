"""Compare an authenticated call with one of an `httpx.Client` whose header is already set.

All clients send the same headers, in turn, each over one open connection to a practice service in another process, and
then to a transport within this process, where only the clients take time. Target: at most 8 % more over a connection,
and 8 µs without one. Authlib's client, which has a token that lasts, is measured too if it is installed.

A quick run makes one call of each kind, to see that it works; its ratios mean nothing.
"""

from __future__ import annotations

import secrets
from typing import Any

import httpx

import toolkit as tk
from tests.benchmarks.measuring import IS_QUICK, Table, microseconds, time_in_turn
from tests.benchmarks.peers import authlib_clients, httpx_of, version
from tests.practice_process import practice_process

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


def peers(credentials: tk.KeyPair | tk.ClientSecret, options: dict[str, Any], token: str) -> dict[str, Any]:
    """Return clients that send what the toolkit sends: httpx's with the header set, and Authlib's with the token."""
    if isinstance(credentials, tk.KeyPair):
        key_id, secret = credentials.key_id.reveal(), credentials.secret_key.reveal()
        return {"httpx": httpx.Client(**options, headers={"SVC-API-KEY-ID": key_id, "SVC-API-SECRET-KEY": secret})}
    authlib = authlib_client(options, token)
    plain = httpx.Client(**options, headers={"Authorization": f"Bearer {token}"})
    return {"httpx": plain} | ({} if authlib is None else {"authlib": authlib})


def measure(table: Table, place: str, service: Any, transport: httpx.BaseTransport | None, *, repeats: int) -> None:
    """Print a row for a call with a key pair and one with a token, each client on one open connection."""
    for name, interface, path in (("paper", "trading", "/v2/account"), ("sandbox-secret", "broker", "/v1/accounts")):
        credentials = service.credentials[name]
        session = tk.Session(credentials=credentials, settings=service.settings, transport=transport)
        own = getattr(session, interface)
        own.get(path)
        token = session.token.access_token.reveal() if session.token else ""
        options = {"base_url": str(own.base_url), "transport": transport, "timeout": 30.0}
        given = peers(credentials, options, token)
        clients = {"httpx": given.pop("httpx"), "toolkit": own, **given}
        ways = {name: lambda client=client, path=path: client.get(path) for name, client in clients.items()}
        timings = time_in_turn(ways, rounds=41, repeats=repeats)
        base, ratio = timings.seconds["httpx"], timings.ratios["toolkit"]
        cells = [base, timings.seconds["toolkit"], base * (ratio - 1), max(8e-6, 0.08 * base)]
        peer_cells = (
            [microseconds(timings.seconds["authlib"]), f"{timings.ratios['authlib']:.3f}"] if "authlib" in ways else []
        )
        kind = "key pair" if isinstance(credentials, tk.KeyPair) else "token"
        table.print_row(f"{kind}, {place}", *map(microseconds, cells), f"{ratio:.3f}", *peer_cells)


def main() -> None:
    """Measure calls over a connection to a service in another process, and calls without a network."""
    authlib = f"Authlib {version('authlib') or 'absent'}"
    first = "one call, not measured" if IS_QUICK else "one call"
    table = Table(first, "httpx", "toolkit", "more", "allowed", "ratio", authlib, "ratio")
    with practice_process(accounts=1, token_validity=600) as service:
        measure(table, "over a connection", service, None, repeats=25)
        measure(table, "within the process", service, InstantService(), repeats=200)


if __name__ == "__main__":
    main()
