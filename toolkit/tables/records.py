"""From JSON to columns: strict reading, one column for each path of keys, and what its name says about its values.

The last key of a path decides whether digits in a column are a quantity, or the key before it if the last one is
`value` (`CustomerRef.value`). It is split into words: `accountNumber`, `account_number` and `owner.account-number` all
end in the word `number`. Digits at the end of a word are ignored (`phone_2`), and so are last words that only say that
the value is text (`id_str`). A name can be one of two kinds:

- An identifier (`IDENTIFIER_WORDS`: `order_id`, `sic`, `price_code`): every text of the column stays text.
- A label (`LABEL_WORDS`: `country`, `series`, `expiry`), unless an earlier word says that it is an amount
  (`amount_currency`, `cost_per_user`, `year_to_date`): digits stay text, dates and times are recognised.
"""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NoReturn, TypeAlias

from toolkit.core.errors import TabulationError
from toolkit.core.ledger import refuse_error_status
from toolkit.core.text import excerpt

# Characters that an error shows of a name, or of a body that is not JSON.
SHOWN: Final = 80
_NONE: Final = type(None)
_SCALARS: Final = frozenset({str, int, float, bool, _NONE})
# Levels of nested objects and lists, counted from the record.
MAX_DEPTH: Final = 64
# More cells than this, with fewer than one in `_SPARSE` filled, come from objects with identifiers as keys.
_MANY_CELLS: Final = 20_000_000
_SPARSE: Final = 100
BLOCK: Final = 100  # records that become columns together, while the processor has them at hand

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
# Where a word of camelCase begins: `accountId`, `IDNumber`, but not within the plural `IDs`.
_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_LIST_OF_OBJECTS: Final = re.compile(r"[ \t\n\r]*\[[ \t\n\r]*(?=\{)")
_BETWEEN: Final = re.compile(r"[ \t\n\r]*([,\]]?)[ \t\n\r]*")
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


class NumberText(str):
    """A JSON number as text, digit by digit as the service wrote it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A JSON text that has not been parsed.

    Attributes:
        content: the text in UTF-8, UTF-16 or UTF-32.
        content_type: Content-Type of the response, or "" if it has none; None if there is no response.
    """

    content: bytes = field(repr=False)  # a live answer may repeat a secret, and tracebacks show variables
    content_type: str | None = None

    def parse(self, *, numbers_as_text: bool = False) -> Any:
        """Return the value, with numbers as `NumberText` if `numbers_as_text` is True; errors as in `parts`."""
        return next(self.parts(numbers_as_text=numbers_as_text, size=None))

    def parts(self, *, numbers_as_text: bool = False, size: int | None = BLOCK) -> Iterator[Any]:
        """Yield the value; a list that begins with an object in lists of `size` members, never all of them in memory.

        Raises:
            TabulationError: if the text is not JSON, has a name twice in one object, holds NaN or an infinity, or
                is nested too deeply.
        """
        number = NumberText if numbers_as_text else None
        decoder = json.JSONDecoder(
            object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=number, parse_int=number
        )
        failure = None
        try:
            yield from _values(self.content, decoder, size)
        except RecursionError:
            raise TabulationError("The JSON is nested too deeply to read.", "Tabulate a part of it.") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            failure = self._not_json(error)
        except ValueError:
            # int() refuses more than 4,300 digits.
            raise TabulationError("A number has too many digits.", "numbers='text' keeps it as it is.") from None
        if failure is not None:
            raise failure  # not in the handler: an error of json holds the whole body, which may repeat a secret

    def _not_json(self, error: ValueError) -> TabulationError:
        is_answer = self.content_type is not None
        what = "The answer is not JSON" if is_answer else "This text is not JSON"
        advice = "Pass a response, its JSON as text or bytes, or a value such as a list of dicts."
        if isinstance(error, json.JSONDecodeError):
            what += f" (line {error.lineno}, column {error.colno})"
        if self.content_type:
            what += f"; its content type is {excerpt(self.content_type, SHOWN)!r}"
        if not self.content.strip():
            advice = "A response without a body has no rows: check the method, the path and `response.status_code`."
            return TabulationError(f"{what}; it is empty.", advice)
        if is_answer and "text/csv" in str(self.content_type).lower():
            advice = "pandas reads CSV: pd.read_csv(io.BytesIO(response.content))."
        elif is_answer and re.match(rb"\s*\{.*\}\s*\n\s*\{", self.content[:10_000]):
            advice = "If each line is JSON, pass them one by one: [json.loads(line) for line in response.iter_lines()]."
        elif is_answer:
            advice = "It may be a login page or the page of a proxy: check the address in the settings."
        beginning = self.content[: 4 * SHOWN].decode("utf-8", "replace")
        return TabulationError(f"{what}; it begins with {excerpt(beginning, SHOWN)!r}.", advice)


def body_of(data: Any) -> Body | None:
    """Return the JSON text of a response, bytes or text; None for a parsed value.

    Raises:
        ServiceError: if the response has an error status.
        TabulationError: if the data is a table.
    """
    if hasattr(data, "itertuples"):
        raise TabulationError(
            "This is already a table.",
            "Pass the response of the service, or its JSON; records= opens a column of JSON text.",
        )
    if is_response(data):
        refuse_error_status(data)
        return Body(bytes(data.content), str(getattr(data, "headers", {}).get("content-type", "")))
    if isinstance(data, (bytes, bytearray, memoryview)):
        return Body(bytes(data))
    if isinstance(data, str) and not isinstance(data, NumberText):
        return Body(data.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
    return None


def is_response(data: Any) -> bool:
    """Return True for any object with `content` and `json`, such as an `httpx.Response`."""
    return hasattr(data, "content") and hasattr(data, "json")


def _values(content: bytes, decoder: json.JSONDecoder, size: int | None) -> Iterator[Any]:
    text = content.decode(json.detect_encoding(content), "surrogatepass")
    start = _LIST_OF_OBJECTS.match(text) if size else None
    if start is None:
        yield decoder.decode(text)
        return
    scan: Any = decoder.scan_once  # type: ignore[attr-defined]
    at, between, members = start.end(), ",", []
    while between == ",":
        try:
            member, at = scan(text, at)
        except StopIteration as error:
            raise json.JSONDecodeError("Expecting value", text, error.value) from None
        members.append(member)
        found = _BETWEEN.match(text, at)
        between, at = (found[1], found.end()) if found else ("", at)
        if len(members) == size or between == "]":
            yield members
            members = []
    if between != "]" or at < len(text):
        raise json.JSONDecodeError("Extra data" if between else "Expecting ',' delimiter", text, at)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(members)
    if len(result) != len(members):
        twice = next(name for name, count in Counter(name for name, _ in members).items() if count > 1)
        raise TabulationError(
            f"The name {excerpt(twice, SHOWN)!r} appears twice in one object.",
            "To use the last value of each name: tabulate(response.json()).",
        )
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise TabulationError(f"{name} is not a JSON number.", "Parse and clean the JSON first.")


@contextmanager
def paused_collection() -> Iterator[None]:
    """Pause the collection of cycles, which JSON values do not have: it would go through millions of them in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def columns_of(values: Sequence[Any], path: KeyPath = ()) -> dict[KeyPath, Sequence[Any]]:
    """Return the values at each path of some records, with None for a record without a value there.

    Paths come in the order in which they appear, those of an object together. A record that is not an object is the
    value at the empty path, and a list is JSON text. Null and an empty object make a column, unless another record has
    an object with members there.

    Raises:
        TabulationError: if a record is nested deeper than `MAX_DEPTH` or is not JSON, or if there are millions of
            cells and hardly any of them is filled.
    """
    _check_depth(len(path))
    kinds = set(map(type, values))
    objects = {kind for kind in kinds if issubclass(kind, dict)}
    if not objects:
        lists = any(issubclass(kind, (list, tuple)) for kind in kinds)
        return {path: [_leaf(value, path) for value in values] if lists else values} if path or kinds - {_NONE} else {}
    columns: dict[KeyPath, Sequence[Any]] = {}
    if kinds - objects:
        others = [None if isinstance(value, dict) else _leaf(value, path) for value in values]
        values = [value if isinstance(value, dict) else {} for value in values]
        if any(other is not None for other in others):
            columns[path] = others
    for key, members in _members(values).items():
        if set(map(type, members)) <= _SCALARS:
            columns[*path, key] = members
        else:
            columns |= columns_of(members, (*path, key))
    if path and not columns:
        columns[path] = [None] * len(values)
    return columns


def check_filled(columns: int, rows: int, filled: int) -> None:
    """Check that a table has values in many of its cells.

    Raises:
        TabulationError: if there are millions of cells and hardly any of them is filled.
    """
    if columns * rows > _MANY_CELLS and columns * rows > filled * _SPARSE:
        raise TabulationError(
            f"{rows} records with {columns} different keys have hardly any key in common.",
            "If the keys are identifiers, turn the objects into lists first.",
        )


def _leaf(value: Any, path: KeyPath) -> Any:
    return json_text(value, len(path) + 1) if isinstance(value, (list, tuple)) else value


def _members(objects: Sequence[dict[str, Any]]) -> dict[str, Sequence[Any]]:
    """Return the members of objects by key, with None for an object without one."""
    shapes = set(map(tuple, objects))
    if len(shapes) == 1:
        shape = shapes.pop()
        cells = list(chain.from_iterable(map(dict.values, objects)))  # those of an object lie together in memory
        return {_checked_key(key): cells[place :: len(shape)] for place, key in enumerate(shape)}
    keys = dict.fromkeys(chain.from_iterable(objects))
    check_filled(len(keys), len(objects), sum(map(len, objects)))
    return {_checked_key(key): [record.get(key) for record in objects] for key in keys}


def json_text(value: Any, depth: int = 0) -> str:
    """Return a parsed value as JSON text on one line; `NumberText` stays as it is.

    Raises:
        TabulationError: if the value is nested deeper than `MAX_DEPTH`, or is not JSON.
    """
    _check_depth(depth)
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, dict):
        members = (f"{json_text(_checked_key(key))}: {json_text(member, depth + 1)}" for key, member in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([json_text(member, depth + 1) for member in value]) + "]"
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise TabulationError(
            f"A list holds a value of type {type(value).__name__} that JSON does not have.",
            "Convert such values to text or numbers first.",
        ) from None


def _checked_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TabulationError(
            f"A key of an object is of type {type(key).__name__}; the keys of JSON objects are text.",
            "Convert the keys to text first.",
        )
    return key


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TabulationError(f"A record is nested deeper than {MAX_DEPTH} levels.", "Tabulate a part of it.")


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
    return last in LABEL_WORDS and _AMOUNT_WORDS.isdisjoint(before)


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
