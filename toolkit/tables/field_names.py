"""What the names of fields say about their values: which tell records apart, and where digits are not a quantity.

A name is split into words: `accountNumber`, `account_number` and `owner.account-number` all end in the word `number`.
Digits at the end of a word are ignored (`phone_2`), and so are last words that only say that the value is text
(`id_str`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

# The keys from a record down to a value; empty for a record that is itself a value.
KeyPath: TypeAlias = tuple[str, ...]

# Last words of names that tell records apart.
_KEY_WORDS: Final = frozenset(
    "id uuid guid number no account acct symbol ticker cusip isin sedol figi lei iban".split()
)
# Last words of names of codes, things, classes and days, with digits that are not a quantity.
_CODE_WORDS: Final = _KEY_WORDS | frozenset(
    "ids identifier ident nbr nr cd code key reference ref serial sku version pin prefix suffix hash checksum digest "
    "fingerprint signature sha md etag commit "
    # companies, instruments and industries
    "cik ein tin itin ssn nif abn acn siren siret duns eori sic naics nace isic sitc mcc mic cfi ric wkn valor valoren "
    "cins conid permid gvkey "
    # banks and cards
    "bic swift routing aba bsb clabe ifsc bin iin pan mask "
    # places and means of contact
    "zip zipcode postcode postal plz cep fips geoid huc icao iata squawk callsign "
    "phone telephone mobile fax ext mnc imei imsi iccid msisdn asn "
    # goods and publications
    "barcode upc ean gtin gln sscc asin vin hs hts ndc npi isbn issn doi orcid pmid "
    # things, classes and days
    "name title label description comment memo note username login handle alias country nationality region state city "
    "district street address type kind category class status industry sector form series edition issue exchange venue "
    "currency language locale instrument security contract station branch token cursor licence license passport "
    "release revision build color colour expiry expiration maturity dob birthday digits".split()
)
# Last words that only say that the value is text.
_TEXT_WORDS: Final = frozenset("str string text txt".split())
# A name with one of these words is not a key, even if it ends in a key word (`phone_number`).
_CONTACT_WORDS: Final = frozenset("phone telephone mobile fax tax street house".split())
# Last words, or two, that are a code only together: `order_num`, `orderno`, `txid`.
_TOGETHER: Final = re.compile(
    "(?:account|acct|area|asset|bank|card|case|check|cheque|client|company|contract|country|currency|customer|deal|"
    "device|document|entity|event|exec|file|fund|group|invoice|item|loan|message|object|order|ord|plan|policy|position|"
    "post|postal|product|rec|ref|request|routing|serial|session|site|sort|station|swift|tax|trade|transaction|txn|tx|"
    "unique|user|zip)(?:id|no|nbr|code|number|num|key|ref)|[ugpocst]id"
)
# Digits that are cut from a longer number, such as the last four of a card.
_CUT_OUT: Final = re.compile(r"(?:^|_)(?:last_?(?:4|four)|first_?(?:6|six)|plus_?4)$")
# Where a word of camelCase begins: `accountId`, `IDNumber`, but not within the plural `IDs`.
_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def words(name: str) -> list[str]:
    """Return the words of a name in lower case, without the digits at their ends."""
    parts = (word.rstrip("0123456789") for word in _BETWEEN_WORDS.split(_CAMEL_HUMP.sub("_", name)))
    return [word.lower() for word in parts if word]


def is_code(name: str) -> bool:
    """Return True if digits with this name are not a quantity: it ends in a word for a code, a thing or a day."""
    parts = words(name)
    if len(parts) > 1 and parts[-1] in _TEXT_WORDS:
        parts.pop()
    last = parts[-1] if parts else ""
    return (
        last in _CODE_WORDS
        or any(map(_TOGETHER.fullmatch, (last, "".join(parts[-2:]))))
        or _CUT_OUT.search(_CAMEL_HUMP.sub("_", name).lower()) is not None
    )


def is_key(name: str) -> bool:
    """Return True if values with this name tell records apart: account numbers do, phone numbers do not."""
    parts = words(name)
    return bool(parts) and parts[-1] in _KEY_WORDS and _CONTACT_WORDS.isdisjoint(parts)


def telling_key(path: KeyPath) -> str:
    """Return the key of a path that tells what its value is: the last one, or the one before a mere `value`."""
    if len(path) > 1 and path[-1].lower() in ("value", *_TEXT_WORDS):
        return path[-2]
    return path[-1] if path else ""


def dotted(path: KeyPath) -> str:
    """Return the keys of a path, joined by dots."""
    return ".".join(path) if path else "value"


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
