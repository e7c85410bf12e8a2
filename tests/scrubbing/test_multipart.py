"""The parts of a multipart body are found, also in a body that is written carelessly."""

from __future__ import annotations

import httpx
import pytest

from toolkit.scrubbing.multipart import parts_of


def parts(content_type, body):
    return [(part.name, body[part.start : part.end]) for part in parts_of(content_type, body)]


def test_a_body_of_httpx():
    """Names, files, empty values and line breaks in values are read as httpx writes them."""
    request = httpx.Request(
        "POST", "https://h.example", files={"f": ("a.txt", b"file\r\n")}, data={"a": "1", "b": "", "c d": "x\r\n\r\ny"}
    )
    found = dict(parts(request.headers["Content-Type"], request.read()))
    assert found == {"a": b"1", "b": b"", "c d": b"x\r\n\r\ny", "f": b"file\r\n"}


@pytest.mark.parametrize(
    ("content_type", "body", "found"),
    [
        ('multipart/mixed; BOUNDARY="b c"', b"--b c\n\nx\n--b c--", [("", b"x")]),
        ("multipart/mixed", b"--q\r\nX: 1\r\ncontent-disposition: form-data; name=a\r\n\r\nx\r\n--q--", [("a", b"x")]),
        ("multipart/mixed; boundary=wrong", b"--q\n\nx\n--q--", [("", b"x")]),
        ("multipart/form-data; boundary=b", b"--b\r\nC: filename=f; name*=UTF-8''a\r\n\r\nx", [("a", b"x")]),
        ("multipart/form-data; boundary=b", b"--b\r\nno end of the head", []),
        ("multipart/form-data", b"nothing of the kind", []),
    ],
)
def test_bodies_of_any_shape(content_type, body, found):
    """Boundaries may be quoted, wrong or absent, line ends of either kind, and parts without a name or an end."""
    assert parts(content_type, body) == found
