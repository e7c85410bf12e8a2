"""The strength of a value: whether it looks like a machine-made secret, or like what people write.

Each pair of neighbouring characters has a price: how surprising it is in words, names and identifiers (English, German,
some other languages, romanized Japanese, source code). Random text costs far more than text that people write. In the
tables below, a letter stands for a number of bits: `a` for 0, `b` for 0.5, and so on up to `z` for 12.5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import chain, pairwise
from operator import itemgetter
from typing import Final

from toolkit.core.secret import SHORTEST_SECRET
from toolkit.core.text import SLICE
from toolkit.scrubbing.formats import FORMATS, SAMPLES, Format


class Strength(Enum):
    """The grade of a value.

    STRONG: random-looking and long enough, or in a format that a provider uses for its credentials. LOOKALIKE: as
    random as a secret, but usually not one: a UUID, a digest, an ETag, a blockchain address. It counts as a secret only
    under a name for which `vocabulary.is_core_name` is True. WEAK: text that people write, such as words, sentences,
    identifiers, numbers, dates and placeholders.
    """

    STRONG = "strong"
    LOOKALIKE = "lookalike"
    WEAK = "weak"


_LONGEST: Final = 16_384  # characters; longer strings are documents
_LOOKED_AT: Final = 40  # characters at the end whose sequence is rated
_LONG_ENOUGH: Final = 16  # characters; a shorter value is strong only if it mixes three classes of characters
_BITS: Final = 9.0  # bits by which a value must be less likely as written text than as random text
_BITS_FOR_LETTERS: Final = 14.0  # for letters in one case only, because long words come close to the limit
_BITS_FOR_SHORT: Final = 14.0

_FOLLOWING: Final = (
    ("nkijlokolplgihsjwgiglnnnlp", "fmlofnqqhjtgpqhnyjkogvsukt", "hpmphoufksijpsfpwkmhkstypp"),
    ("gnokdmpqfqqkqphpxlkkisrqoq", "knjimlmolqnhkgplnfghpmnjnp", "hnmnhhpuevvippfqxhkkittunt"),
    ("hoppdrljhxrknjiqxhilisrvrt", "fstpetvsgrrlmngsyknihuszow", "klijjmjppomijehlskhhrlpnql"),
    ("ftroeqrtgtnqsnfowsirgsmxsr", "gqopeqoogvmlqohowmjkirmygs", "hoqkfgoufuqhqphozskjjpsxlv"),
    ("ekqoetrvhzslknhhsrknjtuxnw", "hpjghkgrirmoqlinwrhfkmswop", "mljinnlomokiifkixfjjjmjppo"),
    ("fqnnfprmizqhsphjuglijsutix", "ntpsosrtossjrqrqqlmjbqpttt", "gomleokrgsnnklhpujiiknqzjp"),
    ("jsjqepqihvmmpqjjrqiejqpwmr", "grmpeptigxqnprhnzhikksqrip", "kjklhlloknlhigoiyhhgoqnqon"),
    ("esnnctrugyyqqsjrzpnqostwpz", "erooftsleyqpskgqyhjnjvormt", "kohnfmtqhysnkrpgxrmdqqsmls"),
    ("gpmlhpnqhqpklkheupiihsmrqq", "gpqqdsqqgsqommhqwrpmgumxlm"),
)  # fmt: skip
_FIRST: Final = "ijhijjkljolkjkkiqjgiklllpo"
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_MARKS: Final = "-_./+~"
# Cost in bits of going from a lower-case letter, a capital, a digit or a mark to each of these classes.
_CLASS_PRICES: Final = ((0.2, 6.0, 6.6, 3.7), (1.3, 1.1, 3.9, 4.1), (3.2, 2.7, 0.6, 3.6), (0.3, 3.0, 5.6, 3.8))
_PRICE_OF_PUNCTUATION: Final = 7.0
_LOWER, _UPPER, _DIGIT, _MARK = range(4)

_SCHEME: Final = re.compile(
    r"(?:basic|bearer|token|dpop|apikey|api-key|key|digest|negotiate|bot|splunk|zoho-oauthtoken|genie_?key|sso-key"
    r"|sha(?:1|256|512)|hmac|v0|v1)[ =:]+",
    re.IGNORECASE,
)
_RANDOM_ALPHABET: Final = re.compile(r"[A-Za-z0-9+/_.~=:%!@#$^&*?,;-]+")
_PARTS: Final = re.compile(r"[=:,;&!@#$^*?]+")
_LOOKALIKE: Final = re.compile(
    r"(?:W/)?\"[^\"]{0,200}\"|"
    r"\{?(?:urn:uuid:)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?|"
    r"(?:sha[0-9]{1,3}|md5)[-:=][A-Za-z0-9+/=]{16,128}|"
    r"0x[0-9a-fA-F]{8,128}|"
    r"01[0-9A-HJKMNP-TV-Z]{24}|"  # ULID
    r"Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,60}|"  # IPFS content identifiers
    r"(?!SK)[A-Z]{2}[0-9a-f]{32}|"  # Twilio identifiers
    r"[a-z][a-z_]{1,30}-[0-9a-f]{32}(?:[0-9a-f]{8})?|"  # cache keys and Dask keys
    r"(?:[0-9a-fA-F]{2}[:-]){5,63}[0-9a-fA-F]{2}|(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}|"
    r"(?:[0-9a-f]{16}|[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})|"
    r"(?:[0-9A-F]{16}|[0-9A-F]{24}|[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{56}|[0-9A-F]{64}|[0-9A-F]{96}|[0-9A-F]{128})"
)
_WORD_CHARACTERS: Final = re.compile(r"[\w./+~-]+")
_DIGIT_IN: Final = re.compile(r"[0-9]")
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_DATE_OR_NUMBER: Final = re.compile(
    r"[0-9TZ:. +,_/-]+|[0-9.+-]+[eE][+-]?[0-9]+|[PR][0-9][0-9TZPYMWDHS:./-]*|PT[0-9HMS.]+"
)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}:/")
_EMAIL: Final = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,10}")
_FILE: Final = re.compile(
    r"[\w./@+=~-]+\.(?:png|jpe?g|gif|svg|webp|ico|avif|heic|pdf|txt|csv|tsv|jsonl?|xml|x?html?|m?js|tsx?|jsx?|css|scss|map"
    r"|zip|gz|tgz|tar|bz2|xz|7z|mp[34]|mov|webm|wav|ogg|md|rst|ya?ml|toml|ini|cfg|log|parquet|xlsx?|docx?|pptx?|py|ipynb"
    r"|rb|go|rs|java|kt|c|h|cpp|cs|php|sh|sql|whl|jar|war|woff2?|ttf|otf|eot|wasm|bin|exe|dll|so|dmg|deb|rpm)",
    re.IGNORECASE,
)
_ALGORITHM: Final = re.compile(
    r"(?:RSA|RSAES|RSASSA|ECDSA|ECDH|AES|HMAC|SHA|PBES2|PBKDF2|DSA|DH|TLS|X25519|X448|XMSS)[A-Z0-9]*"
    r"[-_+/.][\w+/.-]{1,40}"
)
_TINY_PARTS: Final = re.compile(
    r"[A-Za-z0-9^@?=<>]{0,3}(?:[:;,._/|=-]+[A-Za-z0-9^@?=<>]{0,3}){3,}"
)  # such as of a structure or a list
_DRAWING: Final = re.compile(r"[MmLlHhVvCcSsQqTtAaZz0-9.,\s-]+")  # an SVG path
# A part of a path: a word, a number, a UUID, a digest.
_SEGMENT: Final = re.compile(
    r"[A-Za-z]?[a-z]*(?:[_.-][a-z]+)*[_.-]?[0-9]{0,8}|[A-Z]{1,12}|[0-9a-fA-F-]{32,64}|[0-9._:-]{0,24}"
)
# Words at the start of values that people make up. What follows them may still be random.
_DUMMY_START: Final = re.compile(
    r"(?:(?:your|my|some|the|an?|enter|insert|replace|change|put|add|test|fake|dummy|sample|example|placeholder|redacted"
    r"|filtered|masked|hidden|removed|scrubbed|sanitized|invalid|undefined|null|none|todo)(?:[-_ .:]++|\Z)){1,8}+",
    re.IGNORECASE,
)
_DUMMY: Final = re.compile(
    r"\$[({]|\$\$?[A-Za-z_]+(?:[:/.]|\Z)|%[({]|%[A-Za-z_]*%?\Z|[*#]{2}|<"
    r"|_{0,2}[A-Z]{1,20}[0-9]{0,4}(?:[_-]{1,2}(?:[A-Z]{1,20}[0-9]{0,4}|[0-9]{1,4}))+\Z"  # OPENAI_API_KEY
)
_DUMMY_WORD: Final = re.compile(
    r"0123456789|1234567890|abcdefghij|changeme|dummy|example|placeholder|redacted|xxxx|your-|your_"
)


def grade(value: str) -> Strength:
    """Return the strength of a value."""
    length = len(value)
    if length < SHORTEST_SECRET:
        return Strength.WEAK
    if value in SAMPLES:
        return Strength.WEAK
    if has_provider_format(value):
        is_sample = "://" not in value and _DUMMY_WORD.search(value[:64].lower()) is not None
        return Strength.WEAK if is_sample else Strength.STRONG
    return Strength.WEAK if length > _LONGEST else _grade_of_text(value.strip())


def _grade_of_text(value: str) -> Strength:
    scheme = _SCHEME.match(value)
    if scheme is not None and len(value) - scheme.end() >= SHORTEST_SECRET:
        value = value[scheme.end() :].strip()
    if value.isdecimal():
        return Strength.WEAK
    if _LOOKALIKE.fullmatch(value):
        return Strength.WEAK if is_dummy(value) else Strength.LOOKALIKE
    if not _RANDOM_ALPHABET.fullmatch(value):
        return Strength.WEAK
    if _DATE_OR_NUMBER.fullmatch(value) or _URL.match(value) or is_dummy(value):
        return Strength.WEAK
    if _names_something(value) or any(form.fullmatch(value) for form in (_ALGORITHM, _TINY_PARTS, _DRAWING)):
        return Strength.WEAK
    parts = [part for part in _PARTS.split(value[:1024]) if len(part) >= _LONG_ENOUGH]
    if parts and all(map(_LOOKALIKE.fullmatch, parts)):  # t=1492774577,v1=5257a869...
        return Strength.LOOKALIKE
    if _is_random(value) or (parts != [value] and any(map(_is_random, parts[:8]))):
        return Strength.STRONG
    return Strength.WEAK


def _names_something(value: str) -> bool:
    """Check whether a value is a path, a file name or an e-mail address."""
    if "/" in value and all(map(_SEGMENT.fullmatch, value.split("/"))):
        return True
    return (_FILE.fullmatch(value) or _EMAIL.fullmatch(value)) is not None


def is_dummy(value: str) -> bool:
    """Check whether a value is a stand-in such as `your-api-key`, `changeme`, `$TOKEN`, `%s` or `xxxxxxxx`."""
    start = _DUMMY_START.match(value)
    if start is not None:
        value = value[start.end() :]
        if len(value) < _LONG_ENOUGH or not _is_random(value):
            return True
    if _DUMMY.match(value) or len(set(value[:64])) <= 4:
        return True
    return _DUMMY_WORD.search(value[:64].lower()) is not None


def _is_random(value: str) -> bool:
    length = len(value)
    text = value.rstrip("=")[-_LOOKED_AT:]
    size, classes = _alphabet_of(text)
    table, prices = _prices()
    numbers = text.encode("ascii", "replace").translate(table)
    surprise = sum([prices[first][second] for first, second in pairwise(numbers)])
    excess = surprise - (len(text) - 1) * math.log2(size)
    if length >= _LONG_ENOUGH:
        return excess > (_BITS if classes > 1 else _BITS_FOR_LETTERS)
    return classes >= 3 and excess > _BITS_FOR_SHORT


def _alphabet_of(text: str) -> tuple[int, int]:
    """Return the estimated alphabet size of random text like `text`, and the number of character classes in `text`."""
    if _HEX.fullmatch(text):
        return 16, 2
    lower, upper = text.upper() != text, text.lower() != text
    digits = _DIGIT_IN.search(text) is not None
    size = 26 * lower + 26 * upper + 10 * digits
    punctuation = not _WORD_CHARACTERS.fullmatch(text)
    return (size or 10) + 2 + 8 * punctuation, lower + upper + digits + punctuation


@cache
def _prices() -> tuple[bytes, list[list[float]]]:
    """Return a number for each character, and the price in bits of each pair of numbers."""
    following = [row for group in _FOLLOWING for row in group]
    characters = (
        [(letter, _LOWER) for letter in _ALPHABET]
        + [(letter, _UPPER) for letter in _ALPHABET.upper()]
        + [(digit, _DIGIT) for digit in "0123456789"]
        + [(mark, _MARK) for mark in _MARKS]
    )
    numbers = bytearray([len(characters)] * 256)  # any other character is punctuation
    prices = [[_PRICE_OF_PUNCTUATION] * (len(characters) + 1) for _ in range(len(characters) + 1)]
    for number, (first, from_class) in enumerate(characters):
        numbers[ord(first)] = number
        row = following[_ALPHABET.index(first.lower())] if from_class in (_LOWER, _UPPER) else _FIRST
        for other, (second, to_class) in enumerate(characters):
            price = _CLASS_PRICES[from_class][to_class]
            if to_class in (_LOWER, _UPPER):
                starts_word = from_class in (_DIGIT, _MARK) or (from_class == _LOWER and to_class == _UPPER)
                letters = _FIRST if starts_word else row
                price += (ord(letters[_ALPHABET.index(second.lower())]) - ord("a")) / 2
            elif to_class == _DIGIT:
                price += math.log2(10)
            else:
                price += 1.5
            prices[number][other] = price
    return bytes(numbers), prices


# Formats without a literal start: Mailchimp, Telegram, Discord, Twitter. They count as whole values only.
_WHOLE: Final = (
    r"[0-9a-f]{32}-us[0-9]{1,2}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"
    r"|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|A[A-Z]AAA[A-Za-z0-9_-]{20,60}%[A-Za-z0-9%]{20,200}"
)
_BEFORE: Final = "A-Za-z0-9_+/-"  # characters after which a key does not start
_head_of: Final = itemgetter(slice(3))  # the characters of a word that decide whether a key may begin with it
_WORD_BYTES: Final = bytes(byte if re.match(f"[{_BEFORE}]", chr(byte)) else 32 for byte in range(256))
_NOT_BEFORE: Final = re.compile(f"[{_BEFORE}]")
_LONGEST_KEY: Final = 2_048  # characters of a credential that begins at the end of a slice
# Strings that contain a credential among other things: the password of a URL, the key of a connection string.
_URL_WITH_PASSWORD: Final = re.compile(
    r"[a-z][a-z0-9+.-]{1,30}+://[^\s/?#@:\"'<>\\]{0,200}+:([^\s/?#@\"'<>\\]{6,400}+)@"
)
_CONNECTION_STRING: Final = re.compile(
    r"(?:\A|[;\s\"'])(?:AccountKey|SharedAccessKey|SharedAccessSignature|AccessKey|Password|Pwd)[ ]?=[ ]?"
    r"(?![<$*{%]|xxx|your)[^;\s\"'<>]{8,400}+(?:;|\Z)",
    re.IGNORECASE,
)
_SAMPLE_KEY: Final = re.compile(r"example|x{6}|0123456|123456789|abcdefgh|(.)\1{7}", re.IGNORECASE)


@cache
def _starts() -> dict[str, list[tuple[Format, str, re.Pattern[str]]]]:
    """Return each prefix of each format, with its pattern, keyed by the prefix's first two characters."""
    starts: dict[str, list[tuple[Format, str, re.Pattern[str]]]] = {}
    for form in FORMATS:
        for start in form.starts.split():
            starts.setdefault(start[:2], []).append((form, start, re.compile(re.escape(start) + form.rest)))
    return starts


@cache
def _certain_starts() -> dict[bytes, list[tuple[Format, str, re.Pattern[str]]]]:
    """Return the formats that cannot be mistaken for anything else, keyed by the first characters of a word."""
    starts: dict[bytes, list[tuple[Format, str, re.Pattern[str]]]] = {}
    for form, start, pattern in chain.from_iterable(_starts().values()):
        if form.is_certain:
            [head, *_] = start.encode().translate(_WORD_BYTES).split()
            starts.setdefault(_head_of(head), []).append((form, start, pattern))
    return starts


def has_provider_format(value: str) -> bool:
    """Check whether a value begins with a key or token in a provider's format, or contains a credential."""
    if any(pattern.match(value) for _, _, pattern in _starts().get(value[:2], ())):
        return True
    if "://" in value[:40]:
        return _URL_WITH_PASSWORD.match(value) is not None
    if "=" in value and ";" in value and _CONNECTION_STRING.search(value[:_LONGEST_KEY]):
        return True
    return len(value) <= 300 and re.compile(_WHOLE).fullmatch(value) is not None


def provider_credentials(text: str) -> Iterator[tuple[int, int, Format]]:
    """Yield the start, end and format of each provider key or token in a string, except samples.

    This covers only formats that cannot be mistaken for anything else.
    """
    heads: set[bytes] = set()
    shadow = text.encode("ascii", "replace")
    for first in range(0, len(shadow), SLICE):  # each step blocks other threads
        part = shadow[max(0, first - _LONGEST_KEY) : first + SLICE]
        heads |= _certain_starts().keys() & map(_head_of, part.translate(_WORD_BYTES).split())
    for head in sorted(heads):
        for form, start, pattern in _certain_starts()[head]:
            yield from _credentials_of(form, start, pattern, text)


def _credentials_of(form: Format, start: str, pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int, Format]]:
    at = text.find(start)
    while at >= 0:
        match = pattern.match(text, at)
        if match is not None and not (at and _NOT_BEFORE.match(text, at - 1)) and not _SAMPLE_KEY.search(match[0]):
            yield *match.span(), form
        at = text.find(start, at + 1 if match is None else match.end())
