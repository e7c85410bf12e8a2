"""Names of columns: how paths of keys become names, and which names stand for codes rather than quantities.

The last key of a path decides whether digits in a column are a quantity, or the key before it if the last one is
`value` (`CustomerRef.value`). It is split into words: `accountNumber`,
`account_number` and `owner.account-number` all end in the word `number`. Digits at the end of a word are ignored
(`phone_2`), and so are last words that only say that the value is text (`id_str`).

A name can be one of two kinds:

- An identifier (`IDENTIFIER_WORDS`: `order_id`, `sic`, `price_code`): every text of the column stays text.
- A label (`LABEL_WORDS`: `country`, `series`, `expiry`), unless an earlier word says that it is an amount
  (`amount_currency`, `cost_per_user`, `year_to_date`): digits stay text, dates and times are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

# The keys from a record down to a value; empty for a record that is itself a value.
KeyPath: TypeAlias = tuple[str, ...]

# Last words of names that tell records apart.
KEY_WORDS: Final = frozenset("id uuid guid number no account acct symbol ticker cusip isin sedol figi lei iban".split())
# Last words of names of codes, with digits that are not a quantity.
IDENTIFIER_WORDS: Final = KEY_WORDS | frozenset(
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
    "barcode upc ean gtin gln sscc asin vin hs hts ndc npi isbn issn doi orcid pmid".split()
)
# Last words of names of things, classes, versions and days: digits are not a quantity, unless it is an amount of them.
LABEL_WORDS: Final = frozenset(
    "name title label discriminator description comment memo note slug username login handle alias "
    "country nationality region state province county city district tract ward street address "
    "type kind category class subclass status industry sector subindustry form act series edition issue "
    "exchange venue currency language locale customer client user owner member merchant vendor supplier partner issuer "
    "counterparty instrument security underlying contract station branch token cursor extension digit digits "
    "license licence passport permit plate release revision rev build batch color colour hex rgb "
    "date expiry expiration maturity dob birthday".split()
)
# Words that make a quantity of a label that follows: `amount_currency`, `cost_per_user`, `year_to_date`.
_AMOUNT_WORDS: Final = frozenset(
    "amount amt balance value price cost fee fees tax rate total sum subtotal count qty quantity volume size weight "
    "cash income revenue commission interest dividend gain loss profit pnl margin equity reserve exposure percent pct "
    "ratio average avg mean median min max net gross per by to in".split()
)
# Last words that only say that the value is text.
_TEXT_WORDS: Final = frozenset("str string text txt".split())
# A name with one of these words is not a key, even if it ends in a key word (`phone_number`).
_CONTACT_WORDS: Final = frozenset("phone telephone mobile fax tax street house".split())
# Words in front of `num`, and words that services write together with the last word: `order_num`, `orderno`, `txid`.
_OWNERS: Final = (
    "account|acct|area|asset|bank|card|case|check|cheque|client|company|contract|country|currency|customer|deal|device|"
    "document|entity|event|exec|file|fund|group|invoice|item|loan|message|object|order|ord|plan|policy|position|post|postal|"
    "product|rec|ref|request|routing|serial|session|site|sort|station|swift|tax|trade|transaction|txn|tx|unique|user|zip"
)
_TOGETHER: Final = re.compile(f"(?:{_OWNERS})(?:id|no|nbr|code|number|num|key|ref)|[ugpocst]id")
_BEFORE_NUM: Final = frozenset(_OWNERS.split("|"))
# Digits that are cut from a longer number, such as the last four of a card.
_CUT_OUT: Final = re.compile(r"(?:.*_)?(?:last_?(?:4|four)|first_?(?:6|six)|plus_?4)(?:_digits)?")
# Times of a day such as 0930, and parts of a date such as 05.
_CLOCK_WORDS: Final = frozenset("open close start end begin".split())
_CLOCK_PAIRS: Final = frozenset({(word, "time") for word in "open close opening closing".split()} | {("year", "end")})
_CALENDAR_WORDS: Final = frozenset("exp expiry expiration birth calendar fiscal statement".split())

# Where a word of camelCase begins: `accountId`, `IDNumber`, but not within the plural `IDs`.
_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def words(name: str) -> list[str]:
    """Return the words of a key in lower case, without the digits at their ends."""
    parts = (word.rstrip("0123456789") for word in _BETWEEN_WORDS.split(_CAMEL_HUMP.sub("_", name)))
    return [word.lower() for word in parts if word]


def is_identifier(name: str) -> bool:
    """Return True if text with this name stays text: it ends in a word for a code, or in digits cut from a number."""
    *before, last = _words_without_text(name) or [""]
    if last in IDENTIFIER_WORDS or _TOGETHER.fullmatch(last) or (last == "num" and not _BEFORE_NUM.isdisjoint(before)):
        return True
    return bool(_CUT_OUT.fullmatch("_".join(_BETWEEN_WORDS.split(_CAMEL_HUMP.sub("_", name))).lower()))


def is_label(name: str) -> bool:
    """Return True if digits with this name are not a quantity: it ends in a word for a thing, a class or a time."""
    *before, last = _words_without_text(name) or [""]
    if last in LABEL_WORDS:
        return _AMOUNT_WORDS.isdisjoint(before)
    if last in ("month", "day"):
        return not before or not _CALENDAR_WORDS.isdisjoint(before)
    return (last in _CLOCK_WORDS and "session" in before) or (*before[-1:], last) in _CLOCK_PAIRS


def _words_without_text(name: str) -> list[str]:
    parts = words(name)
    return parts[:-1] if len(parts) > 1 and parts[-1] in _TEXT_WORDS else parts


def telling_key(path: KeyPath) -> str:
    """Return the key of a path that tells what its value is: the last one, or the one before a mere `value`."""
    if len(path) > 1 and path[-1].lower() in ("value", *_TEXT_WORDS):
        return path[-2]
    return path[-1] if path else ""


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
