"""The search for canaries finds a secret in whatever form it was written, and nothing where there is none."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import quopri
import re
import sqlite3
import zipfile
import zlib
from urllib.parse import quote

import canaries
import pytest

TEXT = f"{canaries.AWKWARD}é?\n{canaries.new()}"


def zipped(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"nothing")
        archive.writestr("b.txt", data)
    return file.getvalue()


ENCODED = {
    **{name: lambda data, write=write: write(data.decode()).encode() for name, write in canaries.FORMS.items()},
    "JSON with escaped slashes": lambda data: json.dumps(data.decode()).replace("/", "\\/").encode(),
    "small percent signs": lambda data: re.sub("%..", lambda escape: escape[0].lower(), quote(data, safe="")).encode(),
    "repr": lambda data: repr(data.decode()).encode(),
    "repr of bytes": lambda data: repr(data).encode(),
    "HTML": lambda data: b"".join(b"&#x%x;" % byte for byte in data),
    "base64 in lines": lambda data: base64.encodebytes(b"x" * 40 + data),
    **{f"base64 after {n}": lambda data, n=n: base64.b64encode(b"x" * n + data + b"y") for n in range(4)},
    **{f"base32 after {n}": lambda data, n=n: base64.b32encode(b"x" * n + data + b"y") for n in range(6)},
    "small base32": lambda data: base64.b32encode(data).lower(),
    "hex with colons": lambda data: data.hex(":").encode(),
    "hex of C": lambda data: ", ".join(f"0x{byte:02X}" for byte in data).encode(),
    "quoted-printable": lambda data: quopri.encodestring(data, quotetabs=True),
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "UTF-32": lambda data: data.decode().encode("utf-32-be"),
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": zipped,
}


@pytest.mark.parametrize("form", ENCODED)
def test_a_secret_is_found_in_every_form(form):
    """Also within another form, and beside other data."""
    encode = ENCODED[form]
    text = canaries.AWKWARD if form.startswith(("UTF", "HTML")) else TEXT
    data = encode(text.encode())
    assert canaries.found_in(b"before " + data + b" after" if not data.startswith(b"\xff\xfe") else data, text)
    assert canaries.found_in(json.dumps({"a": base64.b64encode(data).decode()}), text, layers=5)
    assert canaries.found_in(base64.b32encode(gzip.compress(data)), text, layers=5)
    canaries.assert_absent(encode(canaries.new().encode()), text)


@pytest.mark.parametrize("secret", [canaries.AWKWARD, canaries.new()], ids=["awkward", "random"])
def test_usual_forms_need_no_decoding(secret):
    """Each usual form of a secret is found without undoing any layer."""
    for form in canaries.forms(secret):
        assert canaries.found_in(b"\x01" + form + b"\x02", secret, layers=0)
    canaries.assert_absent(canaries.new(), secret, layers=0)


def test_files(tmp_path):
    """Files of a folder are searched at any depth, hidden ones and databases included."""
    secret = canaries.new()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden/saved").write_text(secret)
    (tmp_path / "innocent").write_text("nothing")
    with sqlite3.connect(tmp_path / "history.sqlite") as database:
        database.execute("create table history (source)")
        database.execute("insert into history values (?)", [f"print({secret!r})"])
    database.close()
    assert list(map(str, canaries.files_with(tmp_path, canaries.new(), secret))) == [".hidden/saved", "history.sqlite"]
    with pytest.raises(AssertionError, match="saved"):
        canaries.assert_absent(tmp_path, secret)
    canaries.assert_absent([tmp_path / "innocent", "text"], [secret])


def test_a_key_is_looked_for_by_its_lines():
    """They may be apart, or joined; what stands above and below them is not secret."""
    first, second = "abcdefghijklmnopqrst", "uvwxyzabcdefghijklmn"
    pem = f"-----BEGIN PRIVATE KEY-----\n{first}\n{second}\nop==\n-----END PRIVATE KEY-----\n"
    assert canaries.pieces(pem) == [f"{first}{second}op==", first, second]
    assert canaries.found_in(f"['{second}']", pem)
    canaries.assert_absent("-----BEGIN PRIVATE KEY-----", pem)
