"""Credentials in shapes of answers and places of requests are not recorded in clear; innocent values are kept."""

import base64
import json
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import canaries
import httpx
import pytest
import yaml

import toolkit as tk

DATA = Path(__file__).with_name("data")
SHARED = 40  # cases that share a cassette
MOST_LEFT = 11  # of about 250 cases; these stand where nothing tells that they are credentials
FEW_NAMES = 60


def load(name: str) -> list[dict[str, Any]]:
    """Return the cases of a data file."""
    cases: list[dict[str, Any]] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return cases


def secret_of(case: dict[str, Any], number: int) -> str:
    """Return a secret that no other case has."""
    source = random.Random(f"{case['name']} {number}")  # noqa: S311 - the same in each run
    if case["strength"] == "digits":
        return str(source.randrange(10**17, 10**18))
    if case["strength"] == "weak-core":
        return f"admin-token-{1000 + number}"
    return "".join(source.choices(string.ascii_letters + string.digits, k=36))


def in_clear(secret: str, data: bytes) -> bool:
    """Say whether a file holds a secret in a usual form, also across lines."""
    return bool(canaries.found_in([data, b"".join(data.split())], secret, layers=0))


def filled(value: Any, secret: str) -> Any:
    """Return a case's part with the secret in place of its marks."""
    if isinstance(value, list):
        return [filled(item, secret) for item in value]
    if not isinstance(value, str):
        return value
    basic = base64.b64encode(f"bob:{secret}".encode()).decode()
    return value.replace("{secret}", secret).replace("{basic}", basic)


def send(path: Path, calls: list[tuple[list[Any], list[Any]]], mode: str = "new_episodes") -> Iterator[httpx.Response]:
    """Send requests through a cassette, each answered as its case says."""
    answers = iter([answer for _, answer in calls])

    def answer(_: httpx.Request) -> httpx.Response:
        status, headers, body = next(answers)
        pairs = [(name.encode(), value.encode()) for name, value in headers]
        return httpx.Response(status, headers=pairs, content=body.encode())

    cassette = tk.Cassette(path, mode)
    with cassette, httpx.Client(transport=cassette.transport(httpx.MockTransport(answer))) as client:
        for (method, url, headers, body), _ in calls:
            pairs = [(name.encode(), value.encode()) for name, value in headers]
            yield client.request(method, url, headers=pairs, content=body.encode() or None)
        assert len(cassette) == len(calls)


def case_call(case: dict[str, Any], number: int) -> tuple[list[Any], list[Any]]:
    """Return the request and the answer of a shape or a place."""
    request = [case.get("method", "GET"), case.get("url", f"https://case.example.com/{number}"), [], ""]
    answer = [200, [["Content-Type", "application/json"]], '{"ok": true}']
    if "status" in case:
        answer = [case["status"], case["headers"], case["body"]]
    else:
        # A host of its own: otherwise an earlier recording of the same request would be replayed instead.
        request[1] = request[1].replace("case.example.com", f"case{number}.example.com")
        request[2:] = [case["headers"], case["body"]]
    return filled(request, secret_of(case, number)), filled(answer, secret_of(case, number))


@pytest.mark.parametrize("name", ["answer_shapes.json", "request_places.json"])
def test_credentials_are_not_recorded_in_clear(name: str, tmp_path: Path) -> None:
    cases = list(enumerate(load(name)))
    left: list[str] = []
    for start in range(0, len(cases), SHARED):
        part, path = cases[start : start + SHARED], tmp_path / f"{start}.yaml"
        for _ in send(path, [case_call(case, number) for number, case in part]):
            pass
        data = path.read_bytes()
        left += [
            f"{case['strength']} {case['name']}" for number, case in part if in_clear(secret_of(case, number), data)
        ]
    strong = [case for case in left if not case.startswith("weak-core")]
    weak = [case for case in left if case.startswith("weak-core")]
    if weak or len(strong) > MOST_LEFT:
        pytest.fail(
            "\n".join([f"left in clear: {len(strong)} strong, {len(weak)} weak", *left[:FEW_NAMES]]), pytrace=False
        )


def test_weak_secrets_of_flows_are_rarely_recorded(tmp_path: Path) -> None:
    flows, left = load("weak_flows.json"), []
    for number, flow in enumerate(flows):
        path = tmp_path / f"{number}.yaml"
        for _ in send(
            path,
            [(filled(request, flow["secret"]), filled(answer, flow["secret"])) for request, answer in flow["calls"]],
        ):
            pass
        if in_clear(flow["secret"], path.read_bytes()):
            left.append(flow["name"])
    if len(left) > 5:
        pytest.fail("\n".join(["left in clear:", *left]), pytrace=False)


def test_innocent_values_are_replayed_unchanged(tmp_path: Path) -> None:
    changed = []
    for number, case in enumerate(load("innocent.json")):
        path, call = tmp_path / f"{number}.yaml", (case["request"], case["answer"])
        list(send(path, [call]))
        (played,) = send(path, [call], "none")
        status, headers, body = case["answer"]
        same = (played.status_code, played.text) == (status, body) and all(
            pair[1] in played.headers.get_list(pair[0]) for pair in headers
        )
        recorded = json.dumps(yaml.safe_load(path.read_bytes()), ensure_ascii=False, default=str)
        if not same or case.get("kept", "") not in recorded:
            changed.append(case["name"])
    if changed:
        pytest.fail("\n".join(["changed:", *changed[:FEW_NAMES]]), pytrace=False)
