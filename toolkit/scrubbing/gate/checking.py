"""The check: take bytes through layers of encodings, and look for the known secrets in each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolkit.core.errors import SecretLeak
from toolkit.core.secret import Secret
from toolkit.scrubbing.content_encodings import AFTER_THE_CALL
from toolkit.scrubbing.gate import decoders, escapes
from toolkit.scrubbing.gate.budget import CHUNK, Budget, TooMuchError
from toolkit.scrubbing.gate.index import Known, known_of
from toolkit.scrubbing.gate.text_codes import SHORTEST_RUN
from toolkit.scrubbing.known import KnownSecrets

DEEPEST: Final = 5  # layers below the bytes: one for the file, in which a body may be base64, and four in the body
_BY_CHANCE: Final = 200  # bytes that random data may give when it is decompressed
_BETWEEN: Final = b"\n\xff\n"  # parts of a view; the normal form keeps the byte in the middle


class _View(NamedTuple):
    data: bytes
    forms: tuple[str, ...]  # the layers that were undone, outermost first
    is_final: bool = True  # False for a text in which more escapes can be undone
    parts: tuple[bytes, ...] = ()  # what the data is joined from

    def decoded(self, name: str, result: bytes) -> _View:
        return _View(result, (*self.forms, name))


def check(data: bytes, known: KnownSecrets, *, where: str) -> None:
    """Refuse bytes that hold a known secret in any form, or that cannot be checked.

    Args:
        data: the bytes about to be written.
        known: the secrets.
        where: what the bytes are, for the message.

    Raises:
        SecretLeak: if they hold a secret, or are too large or too deep; names the secret's kind and form, not its text.
    """
    try:
        hit = _search(data, known_of(known))
    except TooMuchError:
        raise SecretLeak(
            f"{where} would hold compressed or encoded data, too large or too deep to check for secrets; "
            "nothing was written.",
            f"{AFTER_THE_CALL} ask for less at a time, or make it without a cassette.",
        ) from None
    if hit is not None:
        secret, forms = _named(data, known_of(known)) or hit
        form = " in ".join(dict.fromkeys(reversed(forms)))
        stand_in = known.placeholder_of(secret) or "<SECRET>"
        value = f"a secret ({stand_in})" if stand_in.startswith("<") else f"a value that is replaced by {stand_in!r}"
        raise SecretLeak(
            f"{where} would hold {value}, {f'in {form}' if form else 'as it is'}; nothing was written.",
            f"{AFTER_THE_CALL} ask for it in a plain form, or make it without a cassette.",
        )


def holds_secret(data: bytes, known: KnownSecrets) -> bool:
    """Return True if bytes hold a known secret in any form, or cannot be checked."""
    try:
        return _search(data, known_of(known)) is not None
    except TooMuchError:
        return True


def _named(data: bytes, sought: Known) -> tuple[Secret, tuple[str, ...]] | None:
    """Search again, one code after the other, to tell in which form the secret is."""
    try:
        return _search(data, sought, is_joined=False)
    except TooMuchError:
        return None


def _search(data: bytes, sought: Known, *, is_joined: bool = True) -> tuple[Secret, tuple[str, ...]] | None:
    """Return a secret with the layers around it, outermost first, or None.

    Args:
        is_joined: True to search what different codes make of a small text together, which is several times as fast.
    """
    if not sought:
        return None
    budget = Budget(len(data))
    waiting = deque([_View(data, ())])
    seen = {data}
    while waiting:
        view = waiting.popleft()
        budget.spend(len(view.data))
        secret = sought.secret_in(view.data)
        if secret is not None:
            return secret, view.forms
        for inner in _inner(view, sought, budget, is_joined=is_joined):
            if inner.data not in seen:
                seen.add(inner.data)
                waiting.append(inner)
    return None


def _inner(view: _View, sought: Known, budget: Budget, *, is_joined: bool) -> Iterator[_View]:
    """Yield what a view holds, decoded by one layer.

    Raises:
        TooMuchError: if there is compressed data within the last layer.
    """
    is_last = len(view.forms) >= DEEPEST
    for name, result in decoders.containers(view.data, budget):
        if is_last and len(result) >= _BY_CHANCE:
            raise TooMuchError
        yield view.decoded(name, result)
    if is_last:
        return
    is_unescaped = view.forms[-1:] == ("escapes",)
    for name, result in decoders.beginnings(view.data, budget, is_unescaped=is_unescaped):
        yield view.decoded(name, result)
    text = decoders.text_of(view.parts or (view.data,))
    if len(text) < SHORTEST_RUN:
        return
    for name, result in decoders.notations(text, budget):
        yield view.decoded(name, result)
    if not view.is_final:
        return
    levels = list(escapes.unescaped(text, budget, with_signs=sought.has_signs))
    for level in levels:
        yield view.decoded("escapes", level)._replace(is_final=level is levels[-1])
    # In text, the codes are undone after the escapes. Printable runs of other data may look escaped by chance.
    if not levels or len(text) < len(view.data):
        yield from _codes(view, text, budget, is_joined=is_joined)


def _codes(view: _View, text: bytes, budget: Budget, *, is_joined: bool) -> Iterator[_View]:
    results = decoders.codes(text, budget)
    if is_joined and len(text) < CHUNK:
        parts = tuple(dict.fromkeys(result for _, result in results))
        yield view.decoded("a code", _BETWEEN.join(parts))._replace(parts=parts)
    else:
        yield from (view.decoded(name, result) for name, result in results)
    yield from (view.decoded(name, result) for name, result in decoders.headerless_opened(text, budget))
