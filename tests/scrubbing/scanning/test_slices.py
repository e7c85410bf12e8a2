"""Text of any size is read in slices, and nothing is lost or found twice where they meet."""

from __future__ import annotations

import base64
import gzip
import io
import json
import secrets
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.scrubbing.scanning import scan_files, slices
from toolkit.scrubbing.scanning.slices import encoding_of, slices_of


def fake():
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(32))


@pytest.fixture
def small_slices(monkeypatch):
    """Read in slices of a few hundred characters."""
    for name, value in (("_PIECE", 64), ("_SIZE", 512), ("_LARGEST", 8192), ("_BEFORE", 128), ("_AFTER", 1024)):
        monkeypatch.setattr(slices, name, value)
    monkeypatch.setattr(slices, "_LAST_LINE", 128)


@given(st.text(st.sampled_from("a1é€😀 \n\r=+/"), max_size=4000), st.sampled_from(["utf-8", "utf-16", "utf-32-be"]))
def test_slices_make_the_text(text, encoding):
    """The slices of a text are the text, each with what stands around it and its line."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_PIECE", 37), ("_SIZE", 256), ("_LARGEST", 1024), ("_BEFORE", 40), ("_AFTER", 50)):
            patch.setattr(slices, name, value)
        parts = list(slices_of(io.BytesIO(text.encode(encoding)), encoding))
    assert "".join(part.text for part in parts) == text
    done = 0
    for part in parts:
        assert text[:done].endswith(part.before)
        assert text[done + len(part.text) :].startswith(part.after)
        assert part.line == 1 + text.count("\n", 0, done - len(part.before))
        assert len(part.text) <= 1024 + 37
        done += len(part.text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_encodings(encoding):
    """The encoding of a text is told by its mark or its zeros."""
    found = encoding_of("some text\nof two lines".encode(encoding))
    assert found is not None
    assert "some text\nof two lines".encode(encoding).decode(found) == "some text\nof two lines"


@pytest.mark.parametrize(
    "data", [bytes(50), bytes(range(256)), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x7fELF\2\1\1" + bytes(9)]
)
def test_binary_data(data):
    """Binary data is not text."""
    assert encoding_of(data) is None


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("separator", ["\n", ", "])
def test_many_secrets(tmp_path, separator):
    """Secrets anywhere in a long text are found, each once, wherever the slices meet; also without line breaks."""
    values = [fake() for _ in range(60)]
    fields = [f"{'ab ' * (number % 40)}password={value}" for number, value in enumerate(values)]
    text = separator.join(fields)
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    report = scan_files(tmp_path)
    lines = [finding.line for finding in report.findings]
    assert len(lines) == 60
    assert lines == (list(range(1, 61)) if separator == "\n" else [1] * 60)
    assert len({finding.fingerprint for finding in report.findings}) == 60


@pytest.mark.usefixtures("small_slices")
def test_a_key_across_slices(tmp_path):
    """A private key in many lines is one finding, on the line on which it begins."""
    lines = [base64.b64encode(secrets.token_bytes(48)).decode() for _ in range(12)]
    key = "\n".join(["-----BEGIN " + "PRIVATE KEY-----", *lines, "-----END " + "PRIVATE KEY-----"])
    for before in range(0, 40, 3):
        (tmp_path / "a.txt").write_text("some words here\n" * before + key + "\nafter\n" * 9, encoding="utf-8")
        assert [(each.line, each.kind) for each in scan_files(tmp_path).findings] == [(before + 1, "private key")]


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("width", [76, 100_000])
def test_base64_across_slices(tmp_path, width):
    """A body in base64 that is longer than a slice is decoded as a whole."""
    value = fake()
    body = gzip.compress(secrets.token_bytes(2_000) + f"\npassword={value}\n".encode())
    text = base64.b64encode(body).decode()
    lines = "".join(f"    {text[at : at + width]}\n" for at in range(0, len(text), width))
    (tmp_path / "a.yaml").write_text(f"{'x: 1' * 20}\nbody: !!binary |\n{lines}after: 1\n", encoding="utf-8")
    assert [(each.line, each.part) for each in scan_files(tmp_path).findings] == [(3, "base64, decompressed")]


@pytest.mark.usefixtures("small_slices")
def test_binary_data_after_text(tmp_path):
    """Binary data behind a beginning of text is searched for what is printable in it."""
    data = b"a text\n" * 2_000 + secrets.token_bytes(3_000) + f"\npassword={fake()}\n".encode() + bytes(800)
    (tmp_path / "a.log").write_bytes(data)
    assert [each.kind for each in scan_files(tmp_path).findings] == ["secret field"]


def test_a_long_line_of_json(tmp_path, monkeypatch):
    """A secret behind escapes in a file of one line is found in the slice that has it, once."""
    monkeypatch.setattr(slices, "_SIZE", 1 << 16)
    rows = [{"id": number, "next": "https://h.example/?page=2"} for number in range(9_000)]
    rows[7_000]["next"] = f"https://h.example/?to=https%3A%2F%2Fx.example%2F%3Fapi_key%3D{fake()}%252B{fake()}"
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    assert [(each.line, each.kind) for each in scan_files(tmp_path).findings] == [(1, "secret field")]
