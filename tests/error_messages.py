"""Random error messages about credentials, in English and Japanese, that hold no secret.

Services talk about passwords, tokens and keys all the time: in sentences, in JSON under the very names of credentials,
in HTML forms, in settings to copy. A recording keeps such answers as they are. Each message is drawn with a seed,
so that a failure can be repeated, from the words and sentences in `error_messages.yaml`.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import yaml

WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
FIELDS, CODES, STATES, TYPES, PATHS, DUMMIES, USERS = (
    WORDS[name].split() for name in ("fields", "codes", "states", "types", "paths", "dummies", "users")
)
LANGUAGES = ("en", "ja")


@dataclass(frozen=True)
class Message:
    """An error answer without a secret."""

    body: bytes
    content_type: str
    headers: dict[str, str] = field(default_factory=dict)


def sentence(random: Random, language: str) -> str:
    """Return a random sentence about credentials."""
    words = WORDS[language]
    thing = random.choice(words["thing"])
    return random.choice(words["sentence"]).format(
        thing=thing,
        Thing=thing[0].upper() + thing[1:],
        state=random.choice(words["state"]),
        advice=random.choice(words["advice"]),
        field=random.choice(FIELDS),
        code=random.choice(CODES),
        type=random.choice(TYPES),
        other_type=random.choice(TYPES),
        number=random.choice([4, 6, 8, 12, 30, 60, 90, 100, 128, 500, 1000, 3600]),
        path=random.choice(PATHS),
        user=random.choice(USERS),
        dummy=random.choice(DUMMIES),
    )


def json_error(random: Random, language: str) -> Any:
    """Return a random JSON error, in one of the shapes that frameworks send."""
    text, name, code = sentence(random, language), random.choice(FIELDS), random.choice(CODES)
    state, path = random.choice(STATES), random.choice(PATHS)
    request_id = f"{random.getrandbits(128):032x}"
    names = random.sample(FIELDS, random.randint(1, 5))
    shapes: list[Any] = [
        {"message": text, "code": code},
        {"error": code, "error_description": text},
        {"errors": {name: state}},
        {"errors": {each: [sentence(random, language)] for each in names}},
        {each: random.choice(STATES) for each in names},
        {each: [sentence(random, language)] for each in names},
        {"errors": [{"field": name, "message": text, "code": code}], "request_id": request_id},
        {"detail": [{"loc": ["body", name], "msg": text, "type": "value_error.missing"}]},
        {"error": {"message": text, "type": "invalid_request_error", "param": name, "code": code}},
        {"errors": [{"message": text, "path": ["login", name], "extensions": {"code": code}}], "data": None},
        {"success": False, "error": text, "timestamp": 1_700_000_000 + random.randrange(10**8), "path": path},
        {"schema": {name: {"type": random.choice(TYPES), "required": True, "minLength": 8, "description": text}}},
        {"parameters": {each: random.choice(TYPES) for each in names}, "message": text},
        {"example": {each: random.choice(DUMMIES) for each in names}, "message": text},
        {"status": 401, "reason": code, "fields": names, "trace_id": request_id, name: text},
        {"type": f"https://errors.example{path}", "title": text, "status": 403, "detail": text, "instance": path},
        {"fault": {"faultstring": text, "detail": {"errorcode": f"keymanagement.service.{code}"}}},
        {name: {"code": code, "message": text}, "next": path, "locale": language},
    ]
    return random.choice(shapes)


def settings(random: Random) -> str:
    """Return lines of settings to copy, with dummies for values."""
    separator = random.choice(["=", ": ", " = ", ":"])
    return "\n".join(f"{name}{separator}{random.choice(DUMMIES + STATES)}" for name in random.sample(FIELDS, 3)) + "\n"


def page(random: Random, language: str) -> str:
    """Return an HTML error page, with a form to sign in."""
    name, text = random.choice(FIELDS), html.escape(sentence(random, language))
    hint, label = html.escape(sentence(random, language)), html.escape(sentence(random, language))
    return (
        f"<!doctype html><html lang={language}><head><title>401 {text}</title></head><body><h1>{text}</h1>"
        f'<form action="{random.choice(PATHS)}" method="post"><label for="{name}">{label}</label>'
        f'<input type="password" id="{name}" name="{name}" placeholder="{hint}" required autocomplete="off">'
        f"<button>{html.escape(random.choice(STATES))}</button></form><code>{html.escape(settings(random))}</code></body></html>"
    )


def message(random: Random) -> Message:
    """Return a random error answer in a random language and form."""
    language = random.choice(LANGUAGES)
    text = sentence(random, language)
    form = random.choices(["json", "problem", "text", "settings", "html", "xml", "header"], [10, 1, 3, 1, 2, 1, 1])[0]
    if form in {"json", "problem"}:
        body = json.dumps(
            json_error(random, language), ensure_ascii=random.random() < 0.3, indent=random.choice([None, None, 2])
        )
        return Message(body.encode(), "application/problem+json" if form == "problem" else "application/json")
    if form == "text":
        return Message(text.encode(), "text/plain; charset=utf-8")
    if form == "settings":
        return Message(f"{text}\n\n{settings(random)}".encode(), "text/plain; charset=utf-8")
    if form == "html":
        return Message(page(random, language).encode(), "text/html; charset=utf-8")
    code = random.choice(CODES)
    if form == "xml":
        name = random.choice(["Token", "Password", "ApiKey", "Field", "Session"])
        parts = f"<Code>{code}</Code><Message>{html.escape(text)}</Message><{name}>{random.choice(STATES)}</{name}>"
        return Message(f"<?xml version='1.0' encoding='UTF-8'?><Error>{parts}</Error>".encode(), "application/xml")
    description = sentence(random, "en").replace('"', "'").encode("ascii", "ignore").decode()
    challenge = f'Bearer realm="{random.choice(PATHS)}", error="{code}", error_description="{description}"'
    return Message(json.dumps({"message": text}).encode(), "application/json", {"WWW-Authenticate": challenge})
