"""Count what a recording still shows: 105 forms of a known secret, and 434 names of credentials of real services.

Forms: a credentials object of this process holds the secret, and an answer repeats it in the form. Names: a call of an
unknown service carries a strong value under the name that its documentation gives. Each is recorded with a cassette.
A case is in clear if a reader who undoes the form gets the secret, or two thirds of it, from the recorded body. Names
are counted too in a second list of 100, of which only counts are printed.

    python -m tests.benchmarks.coverage [--list] [--quick]

Only public names are used, so the same file counts what an earlier version of the package does.
"""

from __future__ import annotations

import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

import httpx
import yaml

import toolkit as tk
from tests.benchmarks.corpus.forms import FORMS, Form, new_secret
from tests.benchmarks.corpus.names import CASES, Name, cases, new_value
from tests.benchmarks.measuring import IS_QUICK, Table

CLEAR, REPLACED, REFUSED = "in clear", "replaced", "refused"
Credentials = tk.KeyPair | tk.ClientSecret | tk.ClientKey


def credentials_with(kind: str, secret: str) -> Credentials | None:
    """Return credentials that hold a secret; None for a text that no credentials can hold."""
    match kind:
        case "passphrase":
            return None
        case "PEM":
            return tk.ClientKey("client-17", secret, environment="broker-sandbox")
        case "password":
            return tk.ClientSecret("client-17", secret, environment="broker-sandbox")
    return tk.KeyPair("AK" + secret[:6][::-1] + "OWNERKEYID", secret, environment="live")


def record_form(form: Form, folder: Path) -> str:
    """Record an answer with a known secret in a form, and say what became of it."""
    secret = new_secret(form.kind, random.Random(form.name))  # noqa: S311 - the same at each run
    body = form.write(secret)
    if secret.encode() not in form.read(body):
        raise AssertionError(f"the form cannot be read back: {form.name}")
    headers = {"Content-Type": form.media_type} | ({"Content-Encoding": form.encoding} if form.encoding else {})
    path = folder / f"{FORMS.index(form)}.yaml"
    credentials = credentials_with(form.kind, secret)  # the process knows their secret
    texts = () if credentials else (secret,)
    try:
        with tk.Cassette(path, "all", secrets=texts) as cassette:
            service = httpx.MockTransport(lambda _: httpx.Response(200, stream=httpx.ByteStream(body), headers=headers))
            with httpx.Client(transport=cassette.transport(service)) as client:
                client.get("https://shop.example/notes/7")
    except tk.SecretLeak:
        return REFUSED
    return CLEAR if shows(form, secret, body, recorded_bodies(path)[-1]) else REPLACED


def shows(form: Form, secret: str, body: bytes, recorded: bytes) -> bool:
    """Check whether a recorded body still gives most of a secret away."""
    text = secret.encode()
    if recorded == body:
        return True
    if form.encoding:  # a body that changed is kept decoded
        form = Form(form.name, form.kind, form.codes[:-1])
    try:
        readable = form.read(recorded)
    except Exception:  # noqa: BLE001 - any error means that the form is gone
        readable = recorded
    cut = len(text) * 2 // 3
    return any(part in data for part in (text[:cut], text[-cut:]) for data in (readable, recorded))


def interactions(path: Path) -> list[dict[str, Any]]:
    """Return the interactions of a cassette."""
    return list(yaml.load(path.read_text(), yaml.CSafeLoader)["interactions"]) if path.exists() else []


def recorded_bodies(path: Path) -> list[bytes]:
    """Return the bodies of a cassette's responses."""
    bodies = [item["response"]["body"]["string"] for item in interactions(path)]
    return [body.encode() if isinstance(body, str) else body for body in bodies]


def count_forms() -> dict[str, str]:
    """Return what became of each form."""
    with tempfile.TemporaryDirectory() as folder:
        return {form.name: record_form(form, Path(folder)) for form in FORMS[:: 8 if IS_QUICK else 1]}


def request_with(case: Name, value: str) -> tuple[httpx.Request, httpx.Response]:
    """Return a call of an unknown service with a value in its place; JSON and cookies by turns in both messages."""
    url, in_answer = "https://api.shop.example/v1/things", case.number % 2 == 1
    answer = httpx.Response(200, json={"id": 7, "name": "a thing"})
    match case.place:
        case "header":
            return httpx.Request("GET", url, headers={case.name: value}), answer
        case "query":
            return httpx.Request("GET", url, params={"page": "2", case.name: value}), answer
        case "form":
            return httpx.Request("POST", url, data={"name": "a thing", case.name: value}), answer
        case "cookie" if in_answer:
            headers = {"Set-Cookie": f"{case.name}={value}; Path=/; HttpOnly"}
            return httpx.Request("GET", url), httpx.Response(200, json={"id": 7}, headers=headers)
        case "cookie":
            return httpx.Request("GET", url, headers={"Cookie": f"theme=dark; {case.name}={value}"}), answer
    shapes: list[dict[str, Any]] = [{case.name: value}, {"data": {"id": 7, case.name: value}}]
    document = {"name": "a thing"} | shapes[case.number // 2 % 2]
    if in_answer:
        return httpx.Request("GET", url), httpx.Response(200, json=document)
    return httpx.Request("POST", url, json=document), answer


def record_name(case: Name, value: str, parts: list[str], folder: Path) -> str:
    """Record a call with a credential, and say what became of it."""
    path = folder / "recorded.yaml"
    path.unlink(missing_ok=True)
    request, answer = request_with(case, value)
    try:
        with tk.Cassette(path, "all") as cassette:
            transport = cassette.transport(httpx.MockTransport(lambda _: answer))
            httpx.Client(transport=transport).send(request)
    except tk.SecretLeak:
        return REFUSED
    texts = list(all_texts(interactions(path)))
    return CLEAR if any(part in text for part in parts for text in texts) else REPLACED


def all_texts(data: Any) -> Iterator[str]:
    """Return each text in a cassette, as it is and with its percent-encoding undone."""
    if isinstance(data, dict):
        data = [*data.keys(), *data.values()]
    if isinstance(data, list):
        for item in data:
            yield from all_texts(item)
    elif isinstance(data, bytes | str):
        text = data.decode(errors="replace") if isinstance(data, bytes) else data
        yield from (text, unquote_plus(text), unquote(text), text.replace('\\"', '"'))


def count_names(names: list[Name]) -> dict[str, str]:
    """Return what became of each name."""
    recorded = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in names[:: 8 if IS_QUICK else 1]:
            value, parts = new_value(case.format, random.Random(f"{case.place} {case.name}"))  # noqa: S311
            label = f"{case.place} {case.name} ({case.service})"
            recorded[label] = record_name(case, value, parts, Path(folder))
    return recorded


def print_counts(table: Table, label: str, results: dict[str, str], *, is_listed: bool = True) -> None:
    """Print a row, and with `--list` the names of the cases that are in clear."""
    counts = Counter(results.values())
    table.print_row(label, str(len(results)), *(str(counts[outcome]) for outcome in (CLEAR, REPLACED, REFUSED)))
    if "--list" in sys.argv and is_listed:
        for name in [name for name, outcome in results.items() if outcome == CLEAR]:
            print(f"    {name}")


def main() -> None:
    """Count forms, and names by place."""
    warnings.simplefilter("ignore")
    table = Table("known secrets", "forms", CLEAR, REPLACED, REFUSED)
    print_counts(table, "in an answer", count_forms())
    print()
    table = Table("credentials by name", "names", CLEAR, REPLACED, REFUSED)
    rows: dict[str, list[Name]] = {}
    for case in CASES:
        rows.setdefault(case.place, []).append(case)
    places = list(rows)
    for label, names in (rows | {"all": CASES, "100 that nobody looked at": cases("held_out.txt")}).items():
        print_counts(table, label, count_names(names), is_listed=label in places)


if __name__ == "__main__":
    main()
