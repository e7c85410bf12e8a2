"""Secret text, masked wherever Python would print it, and the register of all secrets that this process knows.

Credentials add their secrets to `REGISTER` when they are made, token responses add theirs when they arrive, and a
cassette's `secrets=` argument adds the ones that the user lists. Every recorder, log filter, mask and leak check in the
process reads `REGISTER`. Displays also mask the Secrets that the user's own code creates, which are kept in `HELD`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final, NoReturn, final

MASK = "**********"

SHORTEST_SECRET = 8  # characters; the value of a shorter secret is too common to search for


@final
class Secret:
    """Secret text, such as a key or a token.

    `str`, `repr`, `format` and f-strings show a mask of fixed length; serializing it to JSON or pickling it raises an
    error. `reveal()` is the only way to get the text, and is easy to find in a code review.

    Args:
        text: the secret text, or another Secret.

    Raises:
        TypeError: if `text` is anything else.
    """

    __slots__ = ("__text", "__weakref__")

    def __init__(self, text: str | Secret) -> None:
        if isinstance(text, Secret):
            text = text.reveal()
        wrong = "" if isinstance(text, str) else type(text).__name__
        if wrong:
            del text  # it may contain the secret, and verbose tracebacks show local variables
            raise TypeError(f"a secret must be text, not {wrong}")
        self.__text = text
        # The package also keeps strings in Secrets that may or may not be secret, such as the ID in a profile.
        caller = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001
        if text and caller.partition(".")[0] != "toolkit":
            HELD.setdefault(self)

    def reveal(self) -> str:
        """Return the text. The caller is responsible for where it goes."""
        return self.__text

    def __repr__(self) -> str:
        return f"Secret('{MASK}')"

    def __str__(self) -> str:
        return MASK

    def __format__(self, format_spec: str) -> str:
        return format(MASK, format_spec)

    def __bool__(self) -> bool:
        return bool(self.__text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self.__text == other.__text

    def __hash__(self) -> int:
        return hash((Secret, self.__text))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Secret cannot be pickled: it would reach a disk or another process as plain text")

    def __getstate__(self) -> NoReturn:
        # The default would hand the text to serializers that do not call __reduce_ex__.
        self.__reduce_ex__(2)


class Register:
    """Secrets with their kinds, in the order in which they became known. Threads share it; nothing is ever removed.

    Adding a secret is one dictionary operation, without a lock that could block a finalizer or a forked process.
    """

    def __init__(self) -> None:
        self._kinds: dict[Secret, str] = {}
        self._with_first: Callable[[], None] | None = None  # called when the first secret is added

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, secret: object) -> bool:
        return secret in self._kinds

    def add(self, kind: str, secret: Secret) -> None:
        """Add a secret of a kind such as "ACCESS_TOKEN"; empty and already known secrets are ignored."""
        is_first = not self._kinds
        if secret:
            self._kinds.setdefault(secret, kind)
        if is_first and self._kinds and self._with_first is not None:
            self._with_first()

    def add_all(self, secrets: Iterable[tuple[str, Secret]]) -> None:
        """Add several secrets, each with its kind."""
        for kind, secret in secrets:
            self.add(kind, secret)

    def since(self, count: int) -> list[tuple[str, Secret]]:
        """Return the kind and secret of each entry after the first `count`."""
        entries = self._kinds.copy()  # copied in one step, because other threads may add entries
        return [(kind, secret) for secret, kind in islice(entries.items(), count, None)]

    def kind_of(self, secret: Secret) -> str | None:
        """Return the kind of a secret, or None if it is not known."""
        return self._kinds.get(secret)

    def with_first(self, call: Callable[[], None]) -> None:
        """Call a function when the first secret is added, or now if there already is one."""
        self._with_first = call
        if self._kinds:
            call()


REGISTER: Final = Register()
HELD: Final[dict[Secret, None]] = {}  # in the order in which they were made; never removed
