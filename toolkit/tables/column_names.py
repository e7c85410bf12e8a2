"""What the name of a column says: whether it holds identifiers, and how paths become names.

The last key of the path decides, read as words: `accountNumber`, `account_number` and
`owner.account-number` all end in the word `number`. Digits at the end do not count (`phone_2`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

# The keys that lead from a record to a value; empty for a record that is itself a value.
Path: TypeAlias = tuple[str, ...]

VALUE_COLUMN: Final = "value"

# Last words of names whose values tell one thing from all others.
KEY_WORDS: Final = frozenset("id uuid guid number no account acct symbol ticker cusip isin sedol figi lei iban".split())
# Last words of names whose digits are no quantity: these values stay text.
IDENTIFIER_WORDS: Final = KEY_WORDS | frozenset(
    "ids cik ein tin ssn bic swift routing zip zipcode postcode postal phone telephone mobile fax "
    "code key reference ref serial sku pin version".split()
)
# With one of these in it, a name ending in a key word tells how to reach somebody, not which record it is.
_CONTACT_WORDS: Final = frozenset("phone telephone mobile fax tax street house".split())

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


def words(name: str) -> list[str]:
    """The words of a key in lower case, without the digits at their ends."""
    found = (word.rstrip("0123456789") for word in _BETWEEN_WORDS.split(_CAMEL_HUMP.sub("_", name)))
    return [word.lower() for word in found if word]


def is_identifier(name: str) -> bool:
    """Whether numeric text under this name stays text: its last word is one of `IDENTIFIER_WORDS`."""
    return words(name)[-1:] != [] and words(name)[-1] in IDENTIFIER_WORDS


def is_key(name: str) -> bool:
    """Whether values under this name tell records apart: an account number does, a phone number does not."""
    found = words(name)
    return bool(found) and found[-1] in KEY_WORDS and _CONTACT_WORDS.isdisjoint(found)


def last_key(name: str) -> str:
    """The key that a column's dotted name ends in."""
    return name.rsplit(".", 1)[-1]


def dotted(path: Path) -> str:
    """The name that a path asks for: its keys, joined by dots."""
    return ".".join(path) if path else VALUE_COLUMN


def distinct(names: Sequence[str]) -> list[str]:
    """The names in their order, each of them once.

    Of several that are the same (`{"a.b": 1, "a": {"b": 2}}`) the first stays as it is and the others
    become `a.b (2)`, `a.b (3)`, past any column that is really called so.
    """
    taken = set(names)
    seen: set[str] = set()
    result = []
    for name in names:
        chosen = name if name not in seen else _next_free(name, taken)
        taken.add(chosen)
        seen.add(name)
        result.append(chosen)
    return result


def _next_free(name: str, taken: Iterable[str]) -> str:
    number = 2
    while f"{name} ({number})" in taken:
        number += 1
    return f"{name} ({number})"
