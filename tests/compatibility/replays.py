"""Replay a recording as a notebook would, and describe the outcome as JSON.

The stored outcome is that of the earlier version; the test compares it with that in this version. Only public names of
the toolkit are used here.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
from typing import Any

import httpx

import toolkit as tk

_IGNORED_HEADERS = frozenset({"content-length", "date", "server"})
_CALLS = ("when", "interface", "method", "path", "status", "elapsed", "token")
_TOKENS = ("profile", "environment", "issued", "expires", "lifetime", "remaining", "state", "calls")
_RECORDINGS = ("recorded", "method", "uri", "status", "elapsed", "size", "profile")
_LONGEST = 40  # characters of a text that is stored as it is


async def replayed(path: Any, plan: dict[str, Any], *, is_async: bool = False, strict: bool = True) -> dict[str, Any]:
    """Return the answers to the calls of a plan, and the tables of the sessions that made them.

    The plan has `parts`, each the calls of one session or client, and `cassette`, further arguments of `tk.Cassette`.
    """
    cassette = open_cassette(path, plan["cassette"], strict=strict)
    parts = [await _played(cassette, part, is_async=is_async) for part in plan["parts"]]
    cassette.close()
    return {"parts": parts, "recordings": described(cassette.table(), _RECORDINGS)}


def open_cassette(path: Any, arguments: dict[str, Any], *, mode: str = "none", strict: bool = False) -> tk.Cassette:
    """Return a cassette; `arguments` are those of `tk.Cassette`, with rules as a dictionary."""
    rules = {"rules": tk.Rules(**arguments["rules"])} if "rules" in arguments else {}
    return tk.Cassette(path, mode, strict=strict, **{**arguments, **rules})


def open_client(cassette: tk.Cassette, *, is_async: bool = False, inner: Any = None) -> Any:
    """Return an httpx client without a session that uses a cassette, and sends no headers of its own accord."""
    transport = cassette.transport(inner)
    client = httpx.AsyncClient(transport=transport) if is_async else httpx.Client(transport=transport)
    client.headers.clear()
    return client


async def _played(cassette: tk.Cassette, part: dict[str, Any], *, is_async: bool) -> dict[str, Any]:
    if part["who"] is None:
        client = open_client(cassette, is_async=is_async)
        return {"answers": [await answer(client, call) for call in part["calls"]]}
    session: Any = (tk.AsyncSession if is_async else tk.Session)(*part["who"], cassette=cassette)
    answers = [await answer(session, call) for call in part["calls"]]
    token, calls = session.token, session.calls()  # which earlier versions showed to the second
    return {
        "answers": answers,
        "environment": str(session.environment),
        "calls": described(calls.assign(when=calls["when"].dt.floor("s")), _CALLS),
        "tokens": described(session.tokens(), _TOKENS),
        "now": str(session.now()),
        "token": token and f"{token.access_token.reveal()}, {token.issued_at} to {token.expires_at}",
    }


async def answer(caller: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one call of a session or a client: a response, a table of accounts, or an error of httpx."""
    request = dict(call)
    if "accounts" in request:
        return {"accounts": described(await _result(caller.accounts(**request["accounts"])))}
    interface = request.pop("interface", None)
    client = getattr(caller, interface) if interface else caller
    try:
        response = await _result(client.request(**_as_httpx_takes_them(request)))
    except httpx.TransportError as error:
        return {"error": type(error).__name__, "message": str(error)}
    headers = [f"{name}: {value}" for name, value in response.headers.multi_items() if name not in _IGNORED_HEADERS]
    status = f"{response.http_version} {response.status_code} {response.reason_phrase}"
    described_headers = {"headers": "\n".join(headers)} if headers else {}
    return {"status": status, **described_headers, "body": _described_body(response.content)}


async def _result(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _as_httpx_takes_them(request: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of a request: JSON has neither bytes nor tuples."""
    arguments = dict(request)
    if "content" in arguments:
        arguments["content"] = arguments["content"].encode("latin-1")
    if "files" in arguments:
        arguments["files"] = {name: tuple(file) for name, file in arguments["files"].items()}
    if isinstance(arguments.get("headers"), list):
        arguments["headers"] = [tuple(pair) for pair in arguments["headers"]]
    return arguments


def _described_body(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return "base64 " + base64.b64encode(body).decode()


def described(table: Any, columns: tuple[str, ...] | None = None) -> str:
    """Return a table as text: the names and types of these columns, as there may be more now, and its rows."""
    table = table if columns is None else table[list(columns)]
    table = table.reset_index()
    heads = [f"{name} ({dtype})" for name, dtype in table.dtypes.items()]
    rows = [[str(cell) for cell in row] for row in table.itertuples(index=False)]
    return "\n".join(" | ".join(row) for row in [heads, *rows])


def shortened(value: Any) -> Any:
    """Return a description with digests in place of long texts, as they are stored."""
    if isinstance(value, dict):
        return {name: shortened(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value]
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"sha256 {hashlib.sha256(value.encode()).hexdigest()[:12]}"
    return value
