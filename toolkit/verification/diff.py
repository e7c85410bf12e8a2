"""Two forms of one output, as lines that show what differs, and whether that is a result or how it looks."""

from __future__ import annotations

import base64
import difflib
import hashlib
import html
import json
import re
from importlib.util import find_spec
from io import BytesIO
from typing import Any, Final

from toolkit.verification.verdict import Kind

_TAG: Final = re.compile(r"<[^>]*>")
_STYLE: Final = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_WORD: Final = re.compile(r"[^\s\\|+\-─═│┃━]+(?:-[^\s\\|]+)*|-[\d.][^\s\\|]*")
_REPR: Final = re.compile(r"\s*<.*>\s*", re.DOTALL)
_CONTEXT: Final = 2  # lines
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_INSTANT: Final = re.compile(r"\b(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?\b|\b\d{10}\.\d{3,}\b")
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")


def diff_lines(stored: Any, now: Any, form: str) -> tuple[str, ...]:
    """What differs between two values of a MIME type, "-" stored and "+" now; None stands for one that is not there.

    Text by lines, HTML by tags, pictures by size and pixels, anything else as JSON.
    """
    if _is_picture(form) and isinstance(stored or "", str) and isinstance(now or "", str):
        return _picture_lines(stored, now)
    if isinstance(stored, str) and isinstance(now, str) and stored.endswith("\n") and now.endswith("\n"):
        stored, now = stored[:-1], now[:-1]
    before, after = (_lines(value, form) for value in (stored, now))
    lines = list(difflib.unified_diff(before, after, "stored", "now", lineterm="", n=_CONTEXT))
    return tuple(line for line in lines[2:] if not line.startswith("@@")) if len(lines) > 2 else ()


def kind_of(stored: Any, now: Any, form: str) -> Kind:
    """Whether two values of a MIME type differ in what they say, or only in how they show it.

    The words and numbers of a text or page are what it says; space, rules, tags and styles are not, nor is
    an object's `<repr>`, or whether a form is there besides the plain text. Of two pictures nobody can tell.
    """
    if _is_picture(form) and isinstance(stored, str) and isinstance(now, str):
        return _kind_of_pictures(stored, now)
    if not form.startswith("text/") or (form != "text/plain" and (stored is None or now is None)):
        return Kind.PRESENTATION
    if not isinstance(stored, str) or not isinstance(now, str):
        return Kind.DATA
    if form == "text/plain" and _REPR.fullmatch(stored) and _REPR.fullmatch(now):
        return Kind.PRESENTATION
    return Kind.PRESENTATION if _words(stored, form) == _words(now, form) else Kind.DATA


def hint_at(stored: Any, now: Any) -> str:
    """Why two texts may differ at every run, in words; empty when nothing tells."""
    if not isinstance(stored, str) or not isinstance(now, str):
        return ""
    for pattern, what in (
        (_ADDRESS, "a memory address, which is another one in each run; give the object a repr, or do not show it"),
        (_UUID, "a random identifier, which is another one in each run"),
        (_INSTANT, "the time of the run, it seems; session.now() is the recording's"),
    ):
        if pattern.search(now) and pattern.sub("", stored) == pattern.sub("", now):
            return f"It holds {what}."
    return ""


def _words(text: str, form: str) -> list[object]:
    if form == "text/html":
        text = html.unescape(_TAG.sub(" ", _STYLE.sub(" ", text)))
    return [_value(word) for word in _WORD.findall(text)]


def _value(word: str) -> object:
    try:
        return float(word)
    except ValueError:
        return word


def _lines(value: Any, form: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, str):
        return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
    by_tags = form == "text/html" or form.endswith("+xml")
    # A text's last line end shows as a line of its own, or two texts that differ in it alone would look the same.
    return (re.sub(r">\s*<", ">\n<", value) if by_tags else value).split("\n")


def _is_picture(form: str) -> bool:
    return form.startswith("image/") and not form.endswith("+xml")


def _picture_lines(stored: str | None, now: str | None) -> tuple[str, ...]:
    lines = [f"{sign}{_portrait(value)}" for sign, value in (("-", stored), ("+", now)) if value is not None]
    if stored is not None and now is not None:
        lines.append(f" {_pixels(stored, now)}")
    return tuple(lines)


def _portrait(encoded: str) -> str:
    data = _decoded(encoded)
    size = "" if (picture := _opened(data)) is None else f"{picture.width}x{picture.height} pixels, "
    return f"{size}{len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"


def _kind_of_pictures(stored: str, now: str) -> Kind:
    before, after = (_opened(_decoded(each)) for each in (stored, now))
    if before is None or after is None:
        return Kind.PRESENTATION if find_spec("PIL") is None else Kind.DATA
    return Kind.PRESENTATION if before.size == after.size and not _changed_pixels(before, after) else Kind.PICTURE


def _pixels(stored: str, now: str) -> str:
    if find_spec("PIL") is None:
        return "the pixels cannot be compared: Pillow is not installed"
    before, after = (_opened(_decoded(each)) for each in (stored, now))
    if before is None or after is None:
        return f"what {'is stored' if before is None else 'came out now'} is no picture that can be opened"
    if before.size != after.size:
        return "the sizes differ"
    count, total = _changed_pixels(before, after), before.width * before.height
    return f"{count:,} of {total:,} pixels differ" if count else "no pixel differs: the same picture, packed otherwise"


def _changed_pixels(before: Any, after: Any) -> int:
    """How many pixels differ between two pictures of one size."""
    from PIL import ImageChops  # comes with matplotlib, which is an extra

    difference = ImageChops.difference(before.convert("RGBA"), after.convert("RGBA"))
    bands = [band.point(lambda level: 255 if level else 0) for band in difference.split()]
    changed = bands[0]
    for band in bands[1:]:
        changed = ImageChops.lighter(changed, band)
    return int(changed.histogram()[255])


def _opened(data: bytes) -> Any:
    """A picture, or None."""
    try:
        from PIL import Image  # comes with matplotlib, which is an extra

        picture = Image.open(BytesIO(data), formats=["PNG", "JPEG", "GIF", "WEBP"])
        picture.load()
    except Exception:  # noqa: BLE001 - a broken picture raises whatever its format's reader does
        return None
    return picture


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded)
    except ValueError:
        return encoded.encode()
