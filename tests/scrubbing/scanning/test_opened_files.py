"""A scan opens what a file holds: archives, compressed bodies, pictures and text in any encoding."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import string
import struct
import tarfile
import zipfile
import zlib

import pytest

from tests.planted_project import fake
from toolkit.scrubbing.scanning import scan_files


def leak():
    """Return a text with a secret in its second line."""
    return f"first\nclient_secret = {fake()}\nlast\n".encode()


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def tarred(name, data, mode="w"):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def png(**texts):
    """Return a picture without pixels that has these texts, by their kind."""
    chunks = [(b"IHDR", bytes(13)), *((kind.encode(), text) for kind, text in texts.items()), (b"IEND", b"")]
    parts = (
        struct.pack(">I", len(text)) + kind + text + struct.pack(">I", zlib.crc32(kind + text)) for kind, text in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def cassette(body):
    """Return a recording whose body starts in the sixth line."""
    lines = base64.encodebytes(body).decode().splitlines()
    text = "interactions:\n- response:\n    headers: {}\n    body:\n      string: !!binary |\n"
    return (text + "".join(f"        {line}\n" for line in lines) + "    status: 200\n").encode()


def found_in(tmp_path, data, name="file.dat"):
    """Return line, part and kind of the findings in a file, and what could not be read."""
    (tmp_path / name).write_bytes(data)
    report = scan_files(tmp_path)
    return [(each.line, each.part, each.kind) for each in report], [each.reason for each in report.unreadable]


HOLDERS = {
    "text": (leak, 2, ""),
    "text like bzip2": (lambda: b"BZhere\n" + leak(), 3, ""),
    "utf-16": (lambda: leak().decode().encode("utf-16"), 2, ""),
    "utf-16-le": (lambda: leak().decode().encode("utf-16-le"), 2, ""),
    "utf-32": (lambda: leak().decode().encode("utf-32"), 2, ""),
    "gzip": (lambda: gzip.compress(leak()), 2, "decompressed"),
    "bzip2": (lambda: bz2.compress(leak()), 2, "decompressed"),
    "xz": (lambda: lzma.compress(leak()), 2, "decompressed"),
    "zip": (lambda: zipped(**{"conf/app.ini": leak()}), 2, "conf/app.ini"),
    "tar": (lambda: tarred("x/.env", leak()), 2, "x/.env"),
    "tar.gz": (lambda: tarred("x/.env", leak(), "w:gz"), 2, "decompressed, x/.env"),
    "tEXt": (lambda: png(tEXt=b"password\0" + fake().encode()), 1, ""),
    "zTXt": (lambda: png(zTXt=b"Source\0\0" + zlib.compress(leak())), 1, "zlib"),
    "body in gzip": (lambda: cassette(gzip.compress(leak())), 6, "base64, decompressed"),
    "body in zlib": (lambda: cassette(zlib.compress(leak())), 6, "base64, zlib"),
    "body of a picture": (lambda: cassette(png(tEXt=b"password\0" + fake().encode())), 6, "base64"),
    "JSON": (
        lambda: json.dumps({"a": base64.b64encode(gzip.compress(leak())).decode()}).encode(),
        1,
        "base64, decompressed",
    ),
    "JSON in lines": (lambda: json.dumps({"a": base64.encodebytes(b"x" * 57 + leak()).decode()}).encode(), 1, "base64"),
    "data URI": (lambda: b"data:;base64," + base64.urlsafe_b64encode(leak()), 1, "base64"),
    "binary data": (lambda: b"\0\1\2\3" * 9 + leak() + bytes(99), 1, ""),
    "zlib in binary data": (lambda: b"\x80\x04\x95\0\0\0" + zlib.compress(leak()) + bytes(40), 1, "zlib"),
    "colours": (lambda: b"\x1b[34mpassword\x1b[39m=\x1b[32m'%b'\x1b[39m" % fake().encode(), 1, ""),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_where_a_secret_is_found(tmp_path, holder):
    """A secret is found in whatever holds it, with the line and the names of what was opened."""
    make, line, part = HOLDERS[holder]
    findings, unreadable = found_in(tmp_path, make())
    assert [finding[:2] for finding in findings] == [(line, part)]
    assert unreadable == []


def test_base64_ends_before_other_text(tmp_path):
    """A line after base64 that has no padding is not a part of it."""
    lines = (leak() + string.ascii_letters[:count].encode() for count in range(52))
    data = next(data for text in lines if len(data := gzip.compress(text)) % 3 == 0)
    findings, unreadable = found_in(tmp_path, cassette(data))
    assert findings[0][:2] == (6, "base64, decompressed")
    assert unreadable == []


def test_base64_that_is_a_secret(tmp_path):
    """A secret in base64 counts as a whole: two with one beginning have fingerprints of their own."""
    values = [base64.b64encode(f"made of {'an invented text ' * 4}{end}".encode()).decode() for end in "ab"]
    (tmp_path / "a.txt").write_text("".join(f"api_key = {value}\n" for value in values))
    assert len({finding.fingerprint for finding in scan_files(tmp_path)}) == len(values)


BROKEN = {
    "gzip": lambda: gzip.compress(os.urandom(9_000) + leak())[:-20],
    "xz": lambda: lzma.compress(os.urandom(9_000) + leak())[:-40],
    "not gzip": lambda: b"\x1f\x8b\x08 no stream",
    "zip": lambda: zipped(a=b"1" * 99, b=leak())[:-60],
    "tar": lambda: tarred("a", os.urandom(20_000))[:9_000],
}


@pytest.mark.parametrize("holder", BROKEN)
def test_what_is_broken(tmp_path, holder):
    """What cannot be opened to its end is named, and what comes before is scanned."""
    findings, unreadable = found_in(tmp_path, BROKEN[holder]())
    assert unreadable == ["an archive or compressed data in it is broken, truncated, or of an unknown kind"]
    assert len(findings) == (holder in {"gzip", "xz"})


def test_a_bomb(tmp_path, monkeypatch):
    """A small file that unpacks to an endless one is given up, by the bytes and not by the clock."""
    monkeypatch.setattr("toolkit.scrubbing.scanning.contents._ALLOWANCE", 1 << 20)
    bomb = gzip.compress(leak() + bytes(1 << 24))
    findings, unreadable = found_in(tmp_path, bomb)
    assert unreadable == ["it contains compressed or encoded data that is too large or too deep to scan"]
    findings, unreadable = found_in(tmp_path, zipped(a=leak(), b=zipped(c=bomb)))
    assert ("a", 2) in {(part, line) for line, part, _ in findings}
    assert len(unreadable) == 1
    many = b"\0\1" + (zlib.compress(bytes(1 << 19)) + b"between") * 30
    assert found_in(tmp_path, many) == ([], unreadable)
