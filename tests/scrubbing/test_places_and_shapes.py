"""Secrets in the answers and requests of many services, as their public documentation shows them, and what is none."""

from __future__ import annotations

import base64
import json
import random
import string
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import toolkit as tk

DATA = Path(__file__).parent / "data"
URL = "https://api.example.com/v1/x"
WEAK = ["hunter2-demo", "admin-token-12", "letmein-2026", "demo-pass-77", "Passw0rd!2026"]


def cases(name: str) -> list[dict[str, Any]]:
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def secret_of(case: dict[str, Any], number: int) -> str:
    """Return a secret of its own for each case: one that a machine made, or one that a person did."""
    if case.get("strength") == "strong":
        return "".join(random.Random(number).choices(string.ascii_letters + string.digits, k=36))  # noqa: S311
    return f"{WEAK[number % len(WEAK)]}{number}"


def is_in_clear(secret: str, recorded: bytes) -> bool:
    forms = (secret, quote(secret, safe=""), base64.b64encode(f"me:{secret}".encode()).decode())
    return any(form.encode() in recorded for form in forms)


def filled(part: Any, secret: str) -> Any:
    pair = base64.b64encode(f"me:{secret}".encode()).decode()
    return json.loads(json.dumps(part).replace("{secret}", secret).replace("{basic}", pair))


def record(path: Path, calls: list[tuple[httpx.Request, httpx.Response]]) -> bytes:
    """Return the file with the recording of calls; a call that is refused is not in it."""
    answers = iter([])

    def answer(_: httpx.Request) -> httpx.Response:
        return next(answers)

    cassette = tk.Cassette(path, "all")
    with cassette, httpx.Client(transport=cassette.transport(httpx.MockTransport(answer))) as client:
        for request, response in calls:
            answers = iter([response])
            client.send(request)
    return path.read_bytes()


def answer_of(case: dict[str, Any]) -> httpx.Response:
    headers = {"Content-Type": case["type"], **case.get("headers", {})}
    codec = "utf-16" if "utf-16" in case["type"] else "utf-8"
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return httpx.Response(case.get("status", 200), headers=raw, content=case["body"].encode(codec))


def request_of(case: dict[str, Any]) -> httpx.Request:
    content = case.get("body", "").encode()
    return httpx.Request(case["method"], case["url"], headers=case.get("headers", {}), content=content)


def left(name: str, folder: Path, strength: str) -> list[str]:
    """Return the names of the cases whose secret is in clear."""
    found = []
    for number, case in enumerate(cases(name)):
        if case["strength"] == strength:
            secret = secret_of(case, number)
            full = filled(case, secret)
            is_answer = name == "answer_shapes"
            request = httpx.Request("GET", URL) if is_answer else request_of(full)
            response = answer_of(full) if is_answer else httpx.Response(200)
            recorded = record(folder / f"{number}.yaml", [(request, response)])
            if is_in_clear(secret, recorded):
                found.append(case["name"])
    return found


@pytest.mark.parametrize("name", ["answer_shapes", "request_places"])
def test_strong_secrets(tmp_path: Path, name: str) -> None:
    """At most one in twenty of the secrets that machines make is left."""
    in_clear = left(name, tmp_path, "strong")
    assert len(in_clear) <= 10, in_clear


@pytest.mark.parametrize("name", ["answer_shapes", "request_places"])
def test_weak_secrets(tmp_path: Path, name: str) -> None:
    """None of the secrets that people make is left under a name that can only be a credential's."""
    assert left(name, tmp_path, "weak") == []


def test_flows(tmp_path: Path) -> None:
    """Of the weak secrets that several calls answer, send and echo, at most one in seven is left."""
    in_clear = []
    for number, flow in enumerate(cases("flows")):
        secret = secret_of({}, number)
        calls = [
            (request_of(call["request"]), answer_of({"type": "", **call["answer"]}))
            for call in filled(flow["calls"], secret)
        ]
        if is_in_clear(secret, record(tmp_path / f"{number}.yaml", calls)):
            in_clear.append(flow["name"])
    assert len(in_clear) <= 5, in_clear


def test_innocent_values(tmp_path: Path) -> None:
    """What only looks like a secret comes back from the recording as it was."""
    changed = []
    for number, case in enumerate(cases("innocent")):
        path, url = tmp_path / f"{number}.yaml", URL + case.get("request", "")
        record(path, [(httpx.Request("GET", url), answer_of(case))])
        with httpx.Client(transport=tk.Cassette(path, "none").transport()) as client:
            replayed = client.get(url)
        headers = {name.lower(): value for name, value in case.get("headers", {}).items()}
        same = replayed.text == case["body"] and headers.items() <= dict(replayed.headers).items()
        if not same or case.get("request", "") not in path.read_text("utf-8"):
            changed.append(case["name"])
    assert changed == []
