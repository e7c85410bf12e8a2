"""Names of columns: how paths of keys become names, and which names stand for identifiers.

The last key of a path decides whether a column holds identifiers. It is split into words: `accountNumber`,
`account_number` and `owner.account-number` all end in the word `number`. Digits at the end of a word are ignored
(`phone_2`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

# The keys from a record down to a value; empty for a record that is itself a value.
KeyPath: TypeAlias = tuple[str, ...]

# Last words of names that tell records apart.
KEY_WORDS: Final = frozenset("id uuid guid number no account acct symbol ticker cusip isin sedol figi lei iban".split())
# Last words of names with digits that are not a quantity.
IDENTIFIER_WORDS: Final = KEY_WORDS | frozenset(
    "ids cik ein tin ssn bic swift routing zip zipcode postcode postal phone telephone mobile fax "
    "code key reference ref serial sku pin version".split()
)
# A name with one of these words is not a key, even if it ends in a key word (`phone_number`).
_CONTACT_WORDS: Final = frozenset("phone telephone mobile fax tax street house".split())

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN_WORDS = re.compile(r"[\W_]+")


def words(name: str) -> list[str]:
    """Return the words of a key in lower case, without the digits at their ends."""
    parts = (word.rstrip("0123456789") for word in _BETWEEN_WORDS.split(_CAMEL_HUMP.sub("_", name)))
    return [word.lower() for word in parts if word]


def is_identifier(name: str) -> bool:
    """Return True if numeric text with this name stays text: its last word is in `IDENTIFIER_WORDS`."""
    return any(word in IDENTIFIER_WORDS for word in words(name)[-1:])


def is_key(name: str) -> bool:
    """Return True if values with this name tell records apart: account numbers do, phone numbers do not."""
    parts = words(name)
    return bool(parts) and parts[-1] in KEY_WORDS and _CONTACT_WORDS.isdisjoint(parts)


def dotted(path: KeyPath) -> str:
    """Return the keys of a path, joined by dots."""
    return ".".join(path) if path else "value"


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names with numbers after repeated names.

    Of several equal names (`{"a.b": 1, "a": {"b": 2}}`) the first stays as it is. The others become `a.b (2)`,
    `a.b (3)` and so on; names of other columns are skipped.
    """
    taken = set(names)
    seen: set[str] = set()
    result = []
    for name in names:
        chosen, number = name, 2
        if name in seen:
            while (chosen := f"{name} ({number})") in taken:
                number += 1
        taken.add(chosen)
        seen.add(name)
        result.append(chosen)
    return result
