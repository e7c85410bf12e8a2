"""A project of 20 files with 40 planted secrets: recordings, notebooks, archives, logs, settings and source.

The texts are in `planted_project.yaml`; what is encoded or packed is built here. Each file holds two secrets, and each
of them can be replaced by a placeholder: with one secret left, a scanner has to flag the file; with none, it must not.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import string
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import yaml

from toolkit.scrubbing.strength import Strength, grade

HEX = "0123456789abcdef"
PLACEHOLDER = "<PASSWORD>"  # as a recorder writes it


@dataclass(frozen=True)
class PlantedFile:
    """A file of the project.

    Attributes:
        name: path within the project.
        makers: functions that make its secrets.
        build: makes the content from one text for each secret.
    """

    name: str
    makers: tuple[Callable[[Random], str], ...]
    build: Callable[..., bytes]

    def secrets(self, random: Random) -> list[str]:
        """Return new secrets."""
        return [make(random) for make in self.makers]

    def write(self, folder: Path, secrets: Sequence[str]) -> Path:
        """Write the file below a folder with these secrets, and return its path."""
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.build(*secrets))
        return path

    def variants(self, secrets: Sequence[str]) -> list[list[str]]:
        """Return the secrets with one of them left each time, the others being placeholders."""
        alone = range(len(secrets))
        return [[text if at == left else PLACEHOLDER for at, text in enumerate(secrets)] for left in alone]

    def without_secrets(self) -> list[str]:
        """Return a placeholder for each secret."""
        return [PLACEHOLDER] * len(self.makers)


def write_project(folder: Path, random: Random) -> list[str]:
    """Write all files with all their secrets, and return the secrets."""
    secrets: list[str] = []
    for file in PROJECT:
        texts = file.secrets(random)
        file.write(folder, texts)
        secrets += texts
    return secrets


def letters(random: Random, count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    """Return random letters and digits, at least one of each kind that the alphabet has."""
    while True:
        text = "".join(random.choices(alphabet, k=count))
        if any(each.isdigit() for each in text) and any(each.isalpha() for each in text):
            return text


_CHANCE = Random(20261122)  # noqa: S311


def fake(length: int = 32) -> str:
    """Return a random text that a scan takes for a secret: about one in ten thousand looks like words."""
    texts = iter(lambda: letters(_CHANCE, length), "")
    return next(text for text in texts if grade(text) is Strength.STRONG)


def jwt(random: Random) -> str:
    """Return a signed token with random claims."""
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": letters(random, 8), "iat": random.randrange(10**9, 2 * 10**9)}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, letters(random, 43)])


def password(random: Random) -> str:
    """Return a generated password of 20 letters and digits."""
    return letters(random, 20)


def key(random: Random) -> str:
    """Return a generated key of 40 letters and digits."""
    return letters(random, 40)


def hex_key(random: Random) -> str:
    """Return a generated key of 32 hexadecimal digits."""
    return letters(random, 32, HEX)


def png(**texts: str) -> bytes:
    """Return a picture of one pixel with these texts: plain ones, and compressed if their name begins with "z"."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    notes = [
        chunk(b"zTXt", name.encode() + b"\0\0" + zlib.compress(text.encode()))
        if name.startswith("z")
        else chunk(b"tEXt", name.encode() + b"\0" + text.encode())
        for name, text in texts.items()
    ]
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(notes) + pixels + chunk(b"IEND", b"")


def cell(source: str, *outputs: dict[str, Any], kind: str = "code", **more: Any) -> dict[str, Any]:
    """Return a notebook's cell."""
    code = {"execution_count": 1, "outputs": list(outputs)} if kind == "code" else {}
    return {"cell_type": kind, "id": "a1", "metadata": {}, "source": source.splitlines(keepends=True), **code, **more}


def display(**data: Any) -> dict[str, Any]:
    """Return a cell's displayed output; a type is written with `__` for "/" and `_` for "+"."""
    bundle = {name.replace("__", "/").replace("_", "+"): value for name, value in data.items()}
    return {"output_type": "display_data", "metadata": {}, "data": bundle}


def notebook_of(*cells: dict[str, Any], **metadata: Any) -> bytes:
    """Return a notebook, as JupyterLab writes it."""
    content = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def cassette(*interactions: dict[str, Any]) -> bytes:
    """Return a cassette in vcrpy's format; a body of bytes is written as `!!binary`."""
    return yaml.safe_dump({"interactions": list(interactions), "version": 1}).encode()


def interaction(
    request_headers: dict[str, str], body: bytes, response_headers: dict[str, str], path: str = "/v1/things"
) -> dict[str, Any]:
    """Return a recorded GET."""
    request = {
        "method": "GET",
        "uri": f"https://api.service.example{path}",
        "body": None,
        "headers": {name: [value] for name, value in request_headers.items()},
    }
    headers = {name: [value] for name, value in response_headers.items()}
    return {
        "request": request,
        "response": {"status": {"code": 200, "message": "OK"}, "headers": headers, "body": {"string": body}},
    }


def archive(**members: str) -> bytes:
    """Return a ZIP file; `__` in a name is a dot."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(zipfile.ZipInfo(name.replace("__", ".")), text, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def tar_xz(**members: str) -> bytes:
    """Return a compressed TAR file; `__` in a name is a dot."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as file:
        for name, text in members.items():
            info = tarfile.TarInfo(f"backup/{name.replace('__', '.')}")
            info.size = len(text.encode())
            file.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


def gzipped(text: str) -> bytes:
    """Return compressed text, the same in each run."""
    return gzip.compress(text.encode(), mtime=0)


def coded(text: str | bytes) -> str:
    """Return text or bytes in base64."""
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def har(headers: dict[str, str], content: str) -> bytes:
    """Return a browser's archive of one call, its answer in base64."""
    request = {
        "method": "GET",
        "url": "https://api.service.example/v1/things",
        "headers": [{"name": name, "value": value} for name, value in headers.items()],
    }
    response = {
        "status": 200,
        "content": {"mimeType": "application/json", "encoding": "base64", "text": coded(content)},
    }
    log = {"version": "1.2", "entries": [{"request": request, "response": response}]}
    return json.dumps({"log": log}, indent=2).encode()


MAKERS = {
    "password": password,
    "key": key,
    "hex_key": hex_key,
    "jwt": jwt,
    "slack_path": lambda random: f"T{letters(random, 8).upper()}/B{letters(random, 8).upper()}/{letters(random, 24)}",
    "stripe_key": lambda random: letters(random, 24),
    "quoted_key": lambda random: quote(letters(random, 30) + "+/" + letters(random, 8), safe=""),
}
_TEXTS: dict[str, str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_MARK = re.compile(r"\{\{(\w+)\}\}")


def _text_file(name: str, text: str) -> PlantedFile:
    """Return a file whose text names the kind of each secret in its place."""

    def build(*secrets: str) -> bytes:
        left = iter(secrets)
        return _MARK.sub(lambda _: next(left), text).encode()

    return PlantedFile(name, tuple(MAKERS[kind] for kind in _MARK.findall(text)), build)


PROJECT = (
    *(_text_file(name, text) for name, text in _TEXTS.items()),
    PlantedFile(
        "cassettes/gzip.yaml",
        (key, key),
        lambda a, b: cassette(
            interaction(
                {"X-Api-Key": a},
                gzipped(json.dumps({"access_token": b, "expires_in": 900})),
                {"Content-Type": "application/json", "Content-Encoding": "gzip"},
            )
        ),
    ),
    PlantedFile(
        "cassettes/deflate.yaml",
        (key, hex_key),
        lambda a, b: cassette(
            interaction(
                {"Accept": "*/*"},
                zlib.compress(json.dumps({"data": {"refresh_token": a}}).encode()),
                {"Content-Encoding": "deflate", "Set-Cookie": f"session={b}; Path=/; HttpOnly"},
            )
        ),
    ),
    PlantedFile(
        "notebooks/rich-outputs.ipynb",
        (key, key),
        lambda a, b: notebook_of(
            cell("reply", display(text__html=[f"<pre>Authorization: Bearer {a}</pre>\n"], text__plain=["..."])),
            cell("figure", display(image__png=coded(png(Title="Balances", zSource=f"client_secret={b}")))),
        ),
    ),
    PlantedFile(
        "notebooks/attachments.ipynb",
        (key, password),
        lambda a, b: notebook_of(
            cell(
                "![screen](attachment:screen.png) [note](attachment:note.txt)",
                kind="markdown",
                attachments={
                    "screen.png": {"image/png": coded(png(Comment=f"curl -H 'Authorization: Bearer {a}'"))},
                    "note.txt": {"text/plain": coded(f"login: app\npassword: {b}\n")},
                },
            ),
        ),
    ),
    PlantedFile(
        "session.har",
        (key, key),
        lambda a, b: har({"Accept": "*/*", "Authorization": f"Bearer {a}"}, json.dumps({"user": {"refreshToken": b}})),
    ),
    PlantedFile(
        "backup.zip",
        (key, password),
        lambda a, b: archive(
            readme__txt="A backup.\n" * 20,
            keys__json=json.dumps({"apiKey": a}),
            settings__ini=f"[db]\npassword = {b}\n",
        ),
    ),
    PlantedFile(
        "logs/old.log.gz",
        (hex_key, key),
        lambda a, b: gzipped(
            "2026-01-02 started\n" * 20 + f"Cookie: session={a}\n"
            f"GET https://api.service.example/v1/things?api_key={b}&page=2\n"
        ),
    ),
    PlantedFile(
        "export.ini",
        (password, key),
        lambda a, b: f"[service]\r\nuser = app\r\npassword = {a}\r\nSecretKey={b}\r\n".encode("utf-16"),
    ),
    PlantedFile(
        "backup.tar.xz",
        (password, password),
        lambda a, b: tar_xz(
            netrc=f"machine api.service.example\n  login app\n  password {a}\n",
            __pgpass=f"db.internal:5432:main:app:{b}\n",
        ),
    ),
)
