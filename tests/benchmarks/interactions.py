"""Cassettes for the benchmarks of replay and recording: distinct requests whose JSON responses have about 0.5 KB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from toolkit.cassettes.format.interactions import HEADER, Interaction, encode
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.ledger import Authorization
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse

CLIENT_ADDRESS = "https://service.example"
SESSION_ADDRESS = "https://broker-sandbox.svc.invalid"  # as recordings of sessions write it
_START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
_AUTHORIZATION = Authorization(
    CredentialKind.CLIENT_SECRET, Environment.BROKER_SANDBOX, "default", 1, _START, _START + timedelta(seconds=899)
)


def path_of(number: int) -> str:
    """Return path and query of a request."""
    return f"/v1/accounts/{number:06}/orders?page={number % 7}&status=open"


def body_of(number: int) -> bytes:
    """Return the body of a response: an account as a service might send it."""
    account = {
        "id": f"{number * 7919:032x}",
        "account_number": f"{number:09}",
        "status": "ACTIVE",
        "currency": "USD",
        "created_at": (_START + timedelta(seconds=number)).isoformat(),
        "contact": {"email": f"a{number}@example.com", "city": "Lisbon", "postal_code": f"{number % 99_999:05}"},
        "amounts": {f"amount_{index}": f"{(number * 31 + index * 977) % 10**7 / 100:.2f}" for index in range(10)},
    }
    return json.dumps(account).encode()


def headers_of(body: bytes) -> tuple[tuple[str, str], ...]:
    """Return the headers of a response."""
    return (
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Date", "Tue, 12 May 2026 09:30:00 GMT"),
    )


def interactions(count: int, *, is_session: bool = False) -> Iterator[Interaction]:
    """Yield the interactions of a session, or of a client without one."""
    address = SESSION_ADDRESS if is_session else CLIENT_ADDRESS
    headers = (("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate"), ("Connection", "keep-alive"))
    for number in range(count):
        body = body_of(number)
        yield Interaction(
            RecordedRequest("GET", address + path_of(number), headers),
            RecordedResponse(200, "OK", headers_of(body), body, "HTTP/1.1"),
            recorded_at=_START + timedelta(seconds=number),
            elapsed=timedelta(milliseconds=3),
            authorized_by=_AUTHORIZATION if is_session else None,
        )


def write_cassette(path: Path, count: int, *, is_session: bool = False) -> None:
    """Write a cassette as the toolkit does."""
    path.write_bytes(HEADER + b"".join(map(encode, interactions(count, is_session=is_session))))


def write_vcrpy_cassette(path: Path, count: int) -> None:
    """Write a cassette as stock vcrpy does."""
    from vcr.request import Request
    from vcr.serialize import serialize
    from vcr.serializers import yamlserializer

    requests, responses = [], []
    for interaction in interactions(count):
        request, response = interaction.request, interaction.response
        requests.append(Request(request.method, request.uri, b"", dict(request.headers)))
        headers = {name: [value] for name, value in response.headers}
        status = {"code": response.status, "message": response.reason}
        responses.append({"status": status, "headers": headers, "body": {"string": response.body}})
    path.write_text(serialize({"requests": requests, "responses": responses}, yamlserializer))
