"""What the names of fields say about their values: which tell records apart, and where digits are not a quantity.

The last word of a name decides: `accountNumber`, `account_number` and `owner.account-number` all end in `number`.
Digits at the end of a word are ignored (`phone_2`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

# The keys from a record down to a value; empty for a record that is itself a value.
KeyPath: TypeAlias = tuple[str, ...]

# Last words of names that tell records apart.
_KEY_WORDS: Final = frozenset("id uuid guid number no account acct symbol ticker cusip isin figi iban".split())
# Last words of names of codes, texts, classes and days, with digits that are not a quantity.
_CODE_WORDS: Final = _KEY_WORDS | frozenset(
    "ids nbr nr code key reference ref serial version prefix suffix hash checksum signature pin ssn tin cik lei bic "
    "swift routing zip zipcode postcode postal phone telephone mobile fax barcode upc ean isbn token cursor name title "
    "label description comment note username country state city address street type kind category class status sector "
    "series exchange currency contract branch revision release expiry expiration maturity".split()
)
# A name with one of these words is not a key, even if it ends in a key word (`phone_number`).
_CONTACT_WORDS: Final = frozenset("phone telephone mobile fax tax street house".split())
_LAST_FOUR: Final = ("last4", "last_4", "last_four")  # digits that are cut from a longer number
_WORD_BOUNDARY: Final = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


def words(name: str) -> list[str]:
    """Return the words of a name in lower case, without the digits at their ends."""
    parts = (word.rstrip("0123456789") for word in _WORD_BOUNDARY.split(name))
    return [word.lower() for word in parts if word]


def is_code(name: str) -> bool:
    """Return True if digits with this name are not a quantity: it ends in a word for a code, a text or a day."""
    return name.lower().endswith(_LAST_FOUR) or not _CODE_WORDS.isdisjoint(words(name)[-1:])


def is_key(name: str) -> bool:
    """Return True if values with this name tell records apart: account numbers do, phone numbers do not."""
    parts = words(name)
    return not _KEY_WORDS.isdisjoint(parts[-1:]) and _CONTACT_WORDS.isdisjoint(parts)


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names with ` (2)`, ` (3)` and so on after repeated ones: `{"a.b": 1, "a": {"b": 2}}` has `a.b (2)`."""
    taken = set(names)
    result: dict[str, None] = {}
    for name in names:
        chosen, number = name, 2
        while chosen in result or (chosen != name and chosen in taken):
            chosen, number = f"{name} ({number})", number + 1
        result[chosen] = None
    return list(result)
