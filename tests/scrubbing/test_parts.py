"""Cookies are read, also from carelessly written messages."""

from __future__ import annotations

import pytest

from toolkit.scrubbing.finding.walking import replace_cookies


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
        ("cookie", "a=1 ;  b=2 , c=3 ", "a=X ;  b=X , c=X "),
        pytest.param("cookie", "a=1; " * 60_000, "a=X; " * 60_000, id="long"),
    ],
)
def test_replace_cookies(name, value, replaced):
    """Every value of a cookie is replaced, and everything around it stays."""
    assert replace_cookies(name, value, lambda *_: "X") == replaced
