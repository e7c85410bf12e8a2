"""Replace known secrets in a value of a message: text, bytes, or containers of these.

Every secret that the process knows is replaced by its placeholder, in every form, and so are pieces of a secret
that a display cut short. Everything else passes unchanged.
"""

from __future__ import annotations

import html
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from toolkit.core.secret import REGISTER, SHORTEST_SECRET
from toolkit.core.text import compiled
from toolkit.scrubbing.known import PROCESS_SECRETS, is_secret
from toolkit.scrubbing.pieces import Pieces

UNCHECKED: Final = "<not shown: it could not be checked for secrets>"
# Kinds of secrets that are masked as a whole only, because a piece of them may be public. A private key shares its
# first bytes with every key and its last bytes with its public half; each of its lines is a secret of its own.
# Cookies hold ordinary words and dates.
_MASKED_AS_A_WHOLE: Final = frozenset({"PRIVATE_KEY", "COOKIE"})
_BEGINNING: Final = 4  # characters; a shorter end of a text says little
_COLOUR: Final = r"\x1b\[[0-9;:?]{0,40}[@-~]|\x1b\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)"  # ECMA-48, and links in terminals
_TAG: Final = r"</?[A-Za-z][^<>]{0,400}>"
_pieces: Final = Pieces()
_beginnings: Final[dict[str, list[str]]] = {}
_longest_secret = 0  # characters
_count = 0  # secrets whose pieces were added
_adding: Final = threading.RLock()


def masked(value: Any) -> Any:
    """Return a value without known secrets, or the same object if it does not hold any.

    It never raises: text that cannot be checked is not shown.
    """
    if isinstance(value, Mapping | list | tuple):
        with suppress(Exception):  # then each item is checked by itself
            # Searching all texts at once is many times as fast as searching each.
            texts = "\0".join(dict.fromkeys(_texts_in(value)))
            if _masked_text(texts) == texts:
                return value
    try:
        return _masked(value)
    except RecursionError:  # the value contains itself
        return {} if isinstance(value, Mapping) else []


def _masked(value: Any) -> Any:
    """Return a value of the same type in any case, because content of another type would stop the kernel."""
    if isinstance(value, Mapping):
        return {_masked(key): _masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_masked(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    try:
        if isinstance(value, str):
            return _masked_text(value)
        if isinstance(value, bytes | bytearray):
            return PROCESS_SECRETS.scrub(bytes(value))
    except Exception:  # noqa: BLE001 - a display must not break a cell
        return UNCHECKED
    return value


def secret_beginning(text: str) -> int:
    """Return the length of the longest end of a text that a known secret, or a piece of it, may continue.

    It is 0 below 4 characters. Of secrets that are masked as a whole only, the end is their beginning.
    """
    unfinished = _all_pieces().unfinished(text)
    start = max(0, len(text) - _longest_secret)
    for at in range(start, len(text) - _BEGINNING + 1):
        secrets = _beginnings.get(text[at : at + _BEGINNING])
        if secrets:
            end = text[at:]
            if any(len(secret) > len(end) and secret.startswith(end) for secret in secrets):
                return max(len(end), unfinished)
    return unfinished


def _masked_text(text: str) -> str:
    shown = PROCESS_SECRETS.scrub_text(text)
    for markup, sign in ((_COLOUR, "\x1b"), (_TAG, "<")):
        # A highlighter such as rich's changes colours within a secret. Such text is shown without them.
        if sign in shown:
            plain = compiled(markup).sub("", shown)
            without_secrets = PROCESS_SECRETS.scrub_text(plain)
            if without_secrets != plain:
                shown = without_secrets
    return _all_pieces().replace_in(shown)


def _texts_in(value: Any, texts: list[str] | None = None) -> list[str]:
    """Return every text in a value, appended to `texts`; a list is faster here than nested generators."""
    texts = [] if texts is None else texts
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, bytes | bytearray):
        texts.append(value.decode("utf-8", "surrogateescape"))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _texts_in(key, texts)
            _texts_in(item, texts)
    elif isinstance(value, list | tuple):
        for item in value:
            _texts_in(item, texts)
    return texts


def _all_pieces() -> Pieces:
    """Return the pieces of all secrets that are known, including the latest."""
    global _count, _longest_secret  # noqa: PLW0603 - one for the process
    if _count != len(REGISTER):
        with _adding:
            count = _count
            new = REGISTER.since(count)
            for kind, secret in new:
                if not is_secret(secret):
                    continue
                text = secret.reveal()
                if kind not in _MASKED_AS_A_WHOLE:
                    # Pieces of it as pages, code and JSON write it, too, which is the same for most secrets.
                    for written in (text, html.escape(text), repr(text)[1:-1], json.dumps(text)[1:-1]):
                        _pieces.add(written, f"<{kind}>")
                if len(text) >= SHORTEST_SECRET:
                    _beginnings.setdefault(text[:_BEGINNING], []).append(text)
                    _longest_secret = max(_longest_secret, len(text))
            _count = count + len(new)  # last, so that no other thread searches without the new pieces
    return _pieces
