"""Show two forms of one output as a diff, and decide whether they differ in a result or only in how it looks."""

from __future__ import annotations

import base64
import difflib
import hashlib
import html
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from toolkit.verification.normalize import is_markup
from toolkit.verification.verdict import Kind

_END_OF_LINE: Final = re.compile(r">\s*(?=<)|<[^<>]{60,}>\s*")
_TAG: Final = re.compile(r"<[^>]*>")
_STYLE: Final = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_WORD: Final = re.compile(r"[^\s\\|+\-─═│┃━]+(?:-[^\s\\|]+)*|-[\d.][^\s\\|]*")
_REPR: Final = re.compile(r"\s*<.*>\s*", re.DOTALL)
_CONTEXT: Final = 2  # lines
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_INSTANT: Final = re.compile(r"\b(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?\b|\b\d{10}\.\d{3,}\b")
_RECORDING: Final = "live calls, recorded"  # on the card of a session
_UUID: Final = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")


def diff_lines(stored: Any, new: Any, mime_type: str) -> tuple[str, ...]:
    """Return the lines of a diff of two values of a MIME type; None stands for a missing value.

    Text is compared by line, HTML by tag, images by size in bytes and digest, anything else as JSON.
    """
    if _is_image(mime_type) and isinstance(stored or "", str) and isinstance(new or "", str):
        return tuple(f"{sign}{_describe_image(value)}" for sign, value in (("-", stored), ("+", new)) if value)
    if isinstance(stored, str) and isinstance(new, str) and stored.endswith("\n") and new.endswith("\n"):
        stored, new = stored[:-1], new[:-1]
    before, after = (_lines(value, mime_type) for value in (stored, new))
    lines = list(difflib.unified_diff(before, after, "stored", "new", lineterm="", n=_CONTEXT))
    return tuple(line for line in lines[2:] if not line.startswith("@@")) if len(lines) > 2 else ()


def kind_of(stored: Any, new: Any, mime_type: str) -> Kind:
    """Return the kind of difference between two values of a MIME type: in a result, or only in presentation.

    The words and numbers of a text or page are its results. White space, rules, tags and styles are presentation, and
    so are an object's `<repr>` and a form beside the plain text. Two images have a kind of their own, because bytes do
    not show whether a result differs.
    """
    if _is_image(mime_type) and isinstance(stored, str) and isinstance(new, str):
        return Kind.IMAGE
    if not mime_type.startswith("text/") or (mime_type != "text/plain" and (stored is None or new is None)):
        return Kind.PRESENTATION
    if not isinstance(stored, str) or not isinstance(new, str):
        return Kind.DATA
    if mime_type == "text/plain" and _REPR.fullmatch(stored) and _REPR.fullmatch(new):
        return Kind.PRESENTATION
    return Kind.PRESENTATION if _words(stored, mime_type) == _words(new, mime_type) else Kind.DATA


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


def shown_forms(changes: Mapping[str, tuple[Any, Any]]) -> list[tuple[str, ...]]:
    """Group the MIME types of one output whose values changed, so that a table's difference is shown once.

    A page and the plain text beside it are one group if all words that changed in one of them changed in the other.

    Args:
        changes: the stored and the new value by MIME type.

    Returns:
        Groups of MIME types; the first of each shows the whole difference.
    """
    pair = [name for name in ("text/plain", "text/html") if name in changes]
    words = {name: _changed_words(*changes[name], name) for name in pair}
    for first, second in itertools.permutations(pair, 2):
        if words[first] >= words[second] and words[second] and kind_of(*changes[first], first) is Kind.DATA:
            return [(first, second) if name == first else (name,) for name in sorted(changes) if name != second]
    return [(name,) for name in sorted(changes)]


def _changed_words(stored: Any, new: Any, mime_type: str) -> set[tuple[str, object]]:
    """Return the words that are gone and those that are new; empty if a value is missing."""
    if not isinstance(stored, str) or not isinstance(new, str):
        return set()
    before, after = (Counter(_words(text.replace("[", " ").replace("]", " "), mime_type)) for text in (stored, new))
    return {("-", word) for word in before - after} | {("+", word) for word in after - before}


def _words(text: str, mime_type: str) -> list[object]:
    if mime_type == "text/html":
        text = html.unescape(_TAG.sub(" ", _STYLE.sub(" ", text)))
    return [_number_or_word(word) for word in _WORD.findall(text)]


def _number_or_word(word: str) -> object:
    try:
        return float(word)
    except ValueError:
        return word


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


def _is_image(mime_type: str) -> bool:
    return mime_type.startswith("image/") and not mime_type.endswith("+xml")


def _describe_image(encoded: str) -> str:
    try:
        data = base64.b64decode(encoded)
    except ValueError:
        data = encoded.encode()
    return f"{len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()[:16]}"
