"""The gate reads the columns of data files, and refuses files that it cannot read."""

from __future__ import annotations

import io
import random
import string
import zlib

import httpx
import pyarrow as pa
import pytest
from forgetting import forget_everything
from pyarrow import orc, parquet

import toolkit as tk
from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing import gate
from toolkit.scrubbing.known import KnownSecrets

SECRET = "".join(random.Random(11).choices(string.ascii_letters + string.digits, k=40))  # noqa: S311


def table(note):
    return pa.table({"number": [1, 2, 3], "note": ["first", note, "third"]})


def as_parquet(note):
    file = io.BytesIO()
    parquet.write_table(table(note), file, compression="brotli")
    return file.getvalue()


def as_orc(note):
    file = io.BytesIO()
    orc.write_table(table(note), file, compression="zlib")
    return file.getvalue()


def number(value):
    """Return a small number as Avro writes it."""
    value *= 2
    return bytes([value]) if value < 128 else bytes([value % 128 | 128, value // 128])


def text(value):
    return number(len(value)) + value


def as_avro(note):
    """Return an Avro file of two blocks in deflate, of which the second has the note."""
    mark = random.Random(12).randbytes(16)  # noqa: S311
    pairs = ((b"avro.schema", b'"string"'), (b"avro.codec", b"deflate"))
    data = b"Obj\x01" + number(2) + b"".join(text(part) for pair in pairs for part in pair) + b"\0"
    for value in ("first", note):
        compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        block = compressor.compress(text(value.encode())) + compressor.flush()
        data += mark + number(1) + number(len(block)) + block
    return data + mark


FILES = {"Parquet": as_parquet, "ORC": as_orc, "Avro": as_avro}


@pytest.fixture
def known():
    forget_everything()
    return KnownSecrets([("API_KEY", Secret(SECRET))])


@pytest.mark.parametrize("name", FILES)
def test_data_files(known, name):
    """A secret in a compressed column is found, and another value is not."""
    with pytest.raises(SecretLeak):
        gate.check(FILES[name](SECRET), known, where="The recording")
    gate.check(FILES[name]("another note"), known, where="The recording")


@pytest.mark.parametrize("name", ["Parquet", "ORC"])
def test_a_file_that_cannot_be_read(known, name):
    """A file whose statistics were replaced cannot be read; its columns may still hold the secret."""
    file = FILES[name](SECRET).replace(SECRET.encode(), b"<API_KEY>")
    with pytest.raises(SecretLeak, match="too deep to check"):
        gate.check(file, known, where="The recording")


@pytest.mark.parametrize("name", FILES)
def test_recording_a_data_file(known, tmp_path, name):
    """A data file with a secret is not recorded, although its statistics could be rewritten."""
    content = FILES[name](SECRET)
    with tk.Cassette(tmp_path / "file.yaml") as cassette:
        transport = cassette.transport(httpx.MockTransport(lambda request: httpx.Response(200, content=content)))
        with httpx.Client(transport=transport) as client, pytest.raises(SecretLeak):
            client.get("https://files.example/data")
    assert len(cassette) == 0
