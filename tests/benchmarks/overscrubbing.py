"""Count what a recording changes although it is not a secret: real JSON bodies, and error messages about credentials.

    python -m tests.benchmarks.overscrubbing FOLDER               # each JSON file as an answer and as a request's body
    python -m tests.benchmarks.overscrubbing --messages 10000 --seed 7

For each changed file it prints the JSON names under which values changed, never the values; for an error message the
message, as such a message holds no secret.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import httpx
import yaml

import toolkit as tk
from tests.benchmarks.measuring import IS_QUICK, Table
from tests.error_messages import Message, message
from tests.forgetting import forget_everything

ADDRESS = "https://api.service.example/v1/things"
Interaction = dict[str, Any]


def recorded(exchanges: Sequence[tuple[httpx.Request, httpx.Response]], folder: Path) -> list[Interaction | None]:
    """Record requests and their answers, and return the interactions as the file holds them; None for a refused one."""
    answers = iter([answer for _, answer in exchanges])
    path = Path(tempfile.mkdtemp(dir=folder)) / "recorded.yaml"
    refused = set()
    forget_everything()  # otherwise the secrets of one file would be replaced in the next
    with tk.Cassette(path, "all") as cassette:
        transport = cassette.transport(httpx.MockTransport(lambda _: next(answers)))
        with httpx.Client(transport=transport) as client:
            for number, (request, _) in enumerate(exchanges):
                try:
                    client.send(request)
                except tk.SecretLeak:
                    refused.add(number)
    if len(refused) == len(exchanges):
        return [None] * len(exchanges)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    interactions = iter(yaml.load(path.read_bytes(), loader)["interactions"])  # noqa: S506 - a safe loader
    return [None if number in refused else next(interactions) for number in range(len(exchanges))]


def as_bytes(body: Any) -> bytes:
    """Return a recorded body as bytes."""
    if isinstance(body, dict):
        body = body.get("string")
    return body if isinstance(body, bytes) else (body or "").encode()


def changed_names(before: Any, after: Any, name: str = "(top)") -> Iterator[str]:
    """Yield the JSON name of each value that differs; list items go by the name of their list."""
    if isinstance(before, dict) and isinstance(after, dict):
        if list(before) != list(after):
            yield f"names in {name}"
        for key in before.keys() & after.keys():
            yield from changed_names(before[key], after[key], key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for left, right in zip(before, after, strict=True):
            yield from changed_names(left, right, name)
    elif before != after:
        yield name


def changes(before: bytes, after: bytes) -> str:
    """Return the JSON names under which values changed, as text."""
    if before == after:
        return ""
    try:
        names = sorted(set(changed_names(json.loads(before), json.loads(after))))
    except ValueError:
        return "not JSON any more"
    return ", ".join(names) or "only its spelling"


def changed_by_recording(body: bytes, folder: Path) -> tuple[str, str]:
    """Return what recording changes in a JSON body: as an answer, and as the body of a request."""
    json_type = {"Content-Type": "application/json"}
    get = httpx.Request("GET", ADDRESS), httpx.Response(200, headers=json_type, content=body)
    post = httpx.Request("POST", ADDRESS, headers=json_type, content=body), httpx.Response(200, json={})
    found = []
    for exchange, side in ((get, "response"), (post, "request")):
        [interaction] = recorded([exchange], folder)
        found.append(changes(body, as_bytes(interaction[side]["body"])) if interaction else "refused: SecretLeak")
    return found[0], found[1]


def messages(count: int, seed: int) -> list[Message]:
    """Return random error messages."""
    random = Random(seed)  # noqa: S311 - the same messages in each run
    return [message(random) for _ in range(count)]


def exchange_of(each: Message, number: int) -> tuple[httpx.Request, httpx.Response]:
    """Return a request and an error message as its answer."""
    headers = {"Content-Type": each.content_type, **each.headers}
    return httpx.Request("GET", f"{ADDRESS}/{number}"), httpx.Response(401, headers=headers, content=each.body)


def is_changed(each: Message, interaction: Interaction | None) -> bool:
    """Check whether a recording holds other text than the message, in the body or in a header, or refused it."""
    if interaction is None:
        return True
    response = interaction["response"]
    headers = {name.lower(): "".join(values) for name, values in response["headers"].items()}
    return as_bytes(response["body"]) != each.body or any(
        headers.get(name.lower()) != value for name, value in each.headers.items()
    )


def changed_messages(several: Sequence[Message], folder: Path, at_once: int = 20) -> list[Message]:
    """Return the messages that a recording changes or refuses; `at_once` of them share a recording."""
    changed: list[Message] = []
    for start in range(0, len(several), at_once):
        batch = several[start : start + at_once]
        try:
            interactions = recorded([exchange_of(each, number) for number, each in enumerate(batch)], folder)
        except tk.SecretLeak:  # at the end, about the whole file
            changed += batch if at_once == 1 else changed_messages(batch, folder, 1)
        else:
            changed += [each for each, one in zip(batch, interactions, strict=True) if is_changed(each, one)]
    return changed


def print_files(paths: Sequence[Path], folder: Path) -> None:
    """Record each file, and print what changed."""
    found = {path.name: changed_by_recording(path.read_bytes(), folder) for path in paths}
    table = Table(f"{len(paths)} JSON bodies", "changed", label_width=30)
    for position, side in enumerate(("as answers", "as bodies of requests")):
        table.print_row(side, str(sum(bool(each[position]) for each in found.values())))
        for name, each in found.items():
            if each[position]:
                print(f"    {name}: {each[position]}")


def print_messages(count: int, seed: int, folder: Path) -> None:
    """Record random error messages, and print how many changed and a few of them."""
    several = messages(count, seed)
    changed = changed_messages(several, folder)
    table = Table(f"{count} error messages, seed {seed}", "different", "changed", label_width=40)
    table.print_row("as answers", str(len({each.body for each in several})), str(len(changed)))
    for each in sorted(changed, key=lambda each: len(each.body))[:8]:
        print(f"    {each.body.decode()[:300]}", *each.headers.values())


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="a folder of JSON files")
    parser.add_argument("--messages", type=int, default=100 if IS_QUICK else 10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.folder:
            print_files(sorted(arguments.folder.rglob("*.json")), Path(name))
        else:
            print_messages(arguments.messages, arguments.seed, Path(name))


if __name__ == "__main__":
    main()
