"""Secret text, masked wherever Python would print it."""

from __future__ import annotations

import hmac
from typing import Any, NoReturn, final

MASK = "**********"

SHORTEST_SECRET = 8  # characters; the value of a shorter secret is too common to search for


@final
class Secret:
    """A secret text, such as a key or a token.

    `str`, `repr`, `format` and f-strings show a mask of fixed length; JSON and pickling are refused. `reveal()` is
    the only way to get the text, and easy to find in a review.

    Args:
        text: the secret text, or another Secret.

    Raises:
        TypeError: if it is neither.
    """

    __slots__ = ("__text", "__weakref__")

    def __init__(self, text: str | Secret) -> None:
        if isinstance(text, Secret):
            text = text.reveal()
        wrong = "" if isinstance(text, str) else type(text).__name__
        if wrong:
            del text  # it may contain the secret, and verbose tracebacks show local variables
            raise TypeError(f"a secret is text, not {wrong}")
        self.__text = text

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
        mine = self.__text.encode("utf-8", "surrogatepass")
        theirs = other.__text.encode("utf-8", "surrogatepass")
        return hmac.compare_digest(mine, theirs)

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
