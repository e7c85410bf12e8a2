"""The search that the tests of this folder rely on finds what is there, however it was written."""

from __future__ import annotations

import base64
import json
import secrets
import sqlite3
from pathlib import Path
from urllib.parse import quote

import pytest
from disk_search import files_with, pem_pieces

TEXT = f"{secrets.token_hex(12)}+/=é?\n{secrets.token_hex(12)}"


@pytest.mark.parametrize(
    "written",
    [
        lambda data: data,
        lambda data: json.dumps({"value": data.decode()}).encode(),
        lambda data: json.dumps({"value": data.decode()}).replace("/", "\\/").encode(),
        lambda data: quote(data, safe="").encode(),
        lambda data: quote(data, safe="").lower().encode(),
        lambda data: data.hex().encode(),
        lambda data: data.hex().upper().encode(),
        *(lambda data, offset=n: base64.b64encode(b"x" * offset + data + b"y" * 4) for n in range(4)),
        *(lambda data, offset=n: base64.urlsafe_b64encode(b"x" * offset + data + b"y" * 5) for n in range(4)),
    ],
)
def test_a_text_is_found_in_every_form(tmp_path, written):
    """In hidden folders, too; another text is not found."""
    file = tmp_path / ".hidden" / "saved"
    file.parent.mkdir()
    file.write_bytes(b"before " + written(TEXT.encode()) + b" after")
    assert files_with(tmp_path, TEXT) == [Path(".hidden/saved")]
    assert files_with(tmp_path, secrets.token_hex(20)) == []


def test_a_text_is_found_in_a_database(tmp_path):
    """The history of IPython is one."""
    with sqlite3.connect(tmp_path / "history.sqlite") as database:
        database.execute("create table history (source)")
        database.execute("insert into history values (?)", [f"print({TEXT!r})"])
        database.execute("insert into history values (?)", [TEXT])
    database.close()
    assert files_with(tmp_path, TEXT) == [Path("history.sqlite")]


def test_a_key_is_looked_for_by_its_lines():
    """They may be apart, or joined; what stands above and below them is no secret."""
    pem = "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnopqrst\nuvwxyzabcdefghijklmn\nop==\n-----END PRIVATE KEY-----\n"
    first, second = "abcdefghijklmnopqrst", "uvwxyzabcdefghijklmn"
    assert pem_pieces(pem) == [f"{first}{second}op==", first, second]
