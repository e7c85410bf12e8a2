"""Show two forms of one output as a diff, with a hint if they may differ in every run."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import re
from typing import Any, Final

from toolkit.verification.normalize import is_markup

_END_OF_LINE: Final = re.compile(r">\s*(?=<)|<[^<>]{60,}>\s*")
_CONTEXT: Final = 2  # lines
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_INSTANT: Final = re.compile(r"\b(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?\b|\b\d{10}\.\d{3,}\b")
_RECORDING: Final = "live calls, recorded"  # on the card of a session
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")


def diff_lines(stored: Any, new: Any, mime_type: str) -> tuple[str, ...]:
    """Return the lines of a diff of two values of a MIME type; None stands for a missing value.

    Text is compared by line, HTML by tag, images by size in bytes and digest, anything else as JSON.
    """
    if is_image(mime_type) and isinstance(stored or "", str) and isinstance(new or "", str):
        return tuple(f"{sign}{_describe_image(value)}" for sign, value in (("-", stored), ("+", new)) if value)
    if isinstance(stored, str) and isinstance(new, str) and stored.endswith("\n") and new.endswith("\n"):
        stored, new = stored[:-1], new[:-1]
    before, after = (_lines(value, mime_type) for value in (stored, new))
    lines = list(difflib.unified_diff(before, after, "stored", "new", lineterm="", n=_CONTEXT))
    return tuple(line for line in lines[2:] if not line.startswith("@@")) if len(lines) > 2 else ()


def hint_at(stored: Any, new: Any) -> str:
    """Return why two texts may differ in every run; empty if nothing suggests that they do."""
    if not isinstance(stored, str) or not isinstance(new, str):
        return ""
    for pattern, reason in (
        (_ADDRESS, "a memory address, which changes with each run; give the object a repr, or do not show it"),
        (_UUID, "a random identifier, which changes with each run"),
        (_INSTANT, "what looks like the time of the run; session.now() is the time of the recording"),
    ):
        if pattern.search(new) and pattern.sub("", stored) == pattern.sub("", new):
            return f"It contains {reason}."
    if _RECORDING in stored and _RECORDING not in new and "replayed" in new:
        return "It was made while recording. Run the notebook once more and save it, or add --update."
    return ""


def _lines(value: Any, mime_type: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, str):
        return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
    # Split rather than splitlines: two texts that differ only in their last line end must not look the same.
    # A line of markup ends behind each tag that another one follows, and behind long ones, which would hide the text.
    return (_END_OF_LINE.sub(lambda match: f"{match[0].rstrip()}\n", value) if is_markup(mime_type) else value).split(
        "\n"
    )


def is_image(mime_type: str) -> bool:
    """Return True for an image of bytes, unlike SVG."""
    return mime_type.startswith("image/") and not mime_type.endswith("+xml")


def _describe_image(encoded: str) -> str:
    try:
        data = base64.b64decode(encoded)
    except ValueError:
        data = encoded.encode()
    return f"{len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"
