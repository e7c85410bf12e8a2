"""Replace known secrets in a value of a message: text, bytes, or containers of these.

Every secret that the process knows is replaced by its placeholder, in every form, and so are pieces of a secret
that a display cut short. Everything else passes unchanged.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from toolkit.scrubbing.known import PROCESS_SECRETS
from toolkit.scrubbing.pieces import Pieces

UNCHECKED: Final = "<not shown: it could not be checked for secrets>"
# Kinds of secrets that are masked as a whole only, because a piece of them may be public. A private key shares its
# first bytes with every key and its last bytes with its public half; each of its lines is a secret of its own.
# Cookies hold ordinary words and dates.
_MASKED_AS_A_WHOLE: Final = frozenset({"PRIVATE_KEY", "COOKIE"})
_pieces: Final = Pieces()
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


def _masked_text(text: str) -> str:
    return _all_pieces().replace_in(PROCESS_SECRETS.scrub_text(text))


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
    global _count  # noqa: PLW0603 - one for the process
    if _count != len(PROCESS_SECRETS):
        with _adding:
            count = _count
            new = PROCESS_SECRETS.since(count)
            for secret, kind in new:
                if kind not in _MASKED_AS_A_WHOLE:
                    _pieces.add(secret.reveal(), f"<{kind}>")
            _count = count + len(new)  # last, so that no other thread searches without the new pieces
    return _pieces
