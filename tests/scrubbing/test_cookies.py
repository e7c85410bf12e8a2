"""The value of a cookie is a credential; its name and attributes are not."""

from __future__ import annotations

import pytest

from toolkit.scrubbing.cookies import cookie_values, replace_cookies


@pytest.mark.parametrize(
    ("name", "value", "replaced"),
    [
        ("cookie", "a=1; b=2", "a=X; b=X"),
        ("cookie", 'a="1 2";b=', 'a="X";b='),
        ("cookie", "a=b=c", "a=X"),
        ("cookie", "nameless", "X"),
        ("cookie", "path=1; expires=2", "path=X; expires=X"),
        ("cookie", "", ""),
        ("set-cookie", "a=1; Path=/; HttpOnly", "a=X; Path=/; HttpOnly"),
        ("set-cookie", "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "a=X; Expires=Wed, 21 Oct 2026 07:28:00 GMT"),
        ("set-cookie", "a=1; Path=/, b=2; SameSite=Lax", "a=X; Path=/, b=X; SameSite=Lax"),
        ("set-cookie", "a=; Max-Age=0", "a=; Max-Age=0"),
        ("set-cookie", "path=1; Path=/", "path=X; Path=/"),
        ("set-cookie", "a=1; odd=2", "a=X; odd=X"),
    ],
)
def test_replace_cookies(name, value, replaced):
    """Every value is replaced, and everything around it stays."""
    assert replace_cookies(name, value, lambda _: "X") == replaced


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("a=1234567a; b=123456a", ["1234567a"]),
        ('a="quoted value"', ["quoted value"]),
        ("seen=2026-05-12; at=2026-05-12T10:00:00Z; consent=accepted", []),
        ("a=abcdefghijkl", ["abcdefghijkl"]),
        ("seen=1716200000123; rate=0.00000000; account=12345678", []),
        ("session=1234567890123456", ["1234567890123456"]),
        ("tz=America/Argentina/Buenos_Aires; region=us-east-1; locale=zh-Hant-TW; choice=variant-b; at=California", []),
        (
            "a=aGVsbGb-WqhdkT; b=us-east-1-us-east-1; c=correct-horse7",
            ["aGVsbGb-WqhdkT", "us-east-1-us-east-1", "correct-horse7"],
        ),
    ],
)
def test_cookie_values(value, found):
    """Long values count, unless they are dates, numbers or words."""
    assert list(cookie_values("cookie", value)) == found
