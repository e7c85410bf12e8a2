"""A secret is found in every code that systems write it in, and a secret of words only as it is."""

from __future__ import annotations

import base64
import quopri
import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.secret import Secret
from toolkit.scrubbing.codes import bytes_behind, patterns_of
from toolkit.scrubbing.known import KnownSecrets

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def fake(seed, length=32):
    return "".join(random.Random(seed).choices(LETTERS, k=length))  # noqa: S311 - the same on every run


def scrubbed(secret, data):
    known = KnownSecrets()
    known.add_stand_ins([(Secret(secret), "<SECRET>")])
    return known.scrub(data)


def arrays(form, separator=", "):
    return lambda data: separator.join(form.format(byte) for byte in data).encode()


CODES = {
    "base64 twice": lambda data: base64.b64encode(base64.b64encode(data)),
    "base64 of base64 for URLs": lambda data: base64.b64encode(base64.urlsafe_b64encode(data)),
    "base64 of hex": lambda data: base64.b64encode(data.hex().encode()),
    "base64 of capital hex": lambda data: base64.b64encode(data.hex().upper().encode()),
    "hex of base64": lambda data: base64.b64encode(data).hex().encode(),
    "base64 of UTF-16": lambda data: base64.b64encode(data.decode().encode("utf-16")),
    "base64 of UTF-16BE": lambda data: base64.b64encode(data.decode().encode("utf-16-be")),
    "hex of UTF-16": lambda data: data.decode().encode("utf-16-le").hex().encode(),
    "base32": base64.b32encode,
    "base32 in small letters": lambda data: base64.b32encode(data).lower().rstrip(b"="),
    "hex with colons": lambda data: data.hex(":").encode(),
    "hex with spaces in lines": lambda data: data.hex(" ", 8).replace(" ", "\n  ").encode(),
    "decimal array": arrays("{}"),
    "array of 0x bytes": arrays("0x{:02X}"),
    "octal array": arrays("0{:o}"),
    "octal escapes": arrays("\\{:03o}", ""),
    "quoted-printable": lambda data: quopri.encodestring(b"k=3D " + data * 3),
    "every letter quoted-printable": arrays("={:02X}", ""),
    "base64 in lines": base64.encodebytes,
}


@pytest.mark.parametrize("write", CODES.values(), ids=CODES.keys())
@pytest.mark.parametrize("offset", range(5))
def test_a_random_secret_in_any_code(write, offset):
    """Nothing of a random secret is left in any code, at any offset."""
    secret = fake(f"{offset}")
    data = b"before " + write(("?" * offset + secret + "??").encode()) + b" after"
    known = KnownSecrets()
    known.add_stand_ins([(Secret(secret), "<SECRET>")])
    assert known.may_hold(data)
    result = known.scrub(data)
    assert b"<SECRET>" in result
    assert len(result) < max(60, len(data) // 2)
    assert known.find(result) is None


def dumped(data, line):
    """Return a hex dump, with a line for 16 bytes."""
    parts = [(at, data[at : at + 16]) for at in range(0, len(data), 16)]
    return "".join(line(at, part.hex(" "), part.decode()) for at, part in parts).encode()


@pytest.mark.parametrize(
    "line",
    [
        lambda at, digits, text: f"{at:08x}  {digits:47}  |{text}|\n",
        lambda at, digits, text: f"{at:08x}: {digits.replace(' ', ''):32}  {text}\n",
    ],
    ids=["hexdump -C", "xxd"],
)
def test_a_hex_dump(line):
    """A secret in a hex dump is replaced with the text beside it; the lines before and after stay."""
    secret = fake("dump", 40)
    data = dumped(f"{'-' * 24}{secret}{'+' * 24}".encode(), line)
    result = scrubbed(secret, data).decode()
    assert result.startswith("00000000")
    assert result.count("<SECRET>") == 1
    assert result.endswith(data.decode()[-30:])
    assert not any(secret[at : at + 4] in result for at in range(len(secret) - 3))


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_stays_wide_text(codec):
    """The placeholder is written in the encoding of the text around it."""
    secret = fake(codec)
    assert scrubbed(secret, f'{{"a": "{secret}"}}'.encode(codec)).decode(codec) == '{"a": "<SECRET>"}'
    assert scrubbed(secret, secret.encode(codec)).decode(codec) == "<SECRET>"


def test_a_secret_that_is_hex_or_base64_itself():
    """A UUID is found without hyphens and in capitals, and what stands behind it in base64 and as numbers."""
    number = uuid.UUID(int=random.Random(1).getrandbits(128))  # noqa: S311 - the same on every run
    written = [
        number.hex,
        str(number).upper(),
        base64.b64encode(b"ab" + number.bytes).decode(),
        str(list(number.bytes)),
    ]
    for text in written:
        assert b"<SECRET>" in scrubbed(str(number), text.encode())
    key = base64.b64encode(random.Random(2).randbytes(32)).decode()  # noqa: S311
    for text in (key.translate(str.maketrans("+/", "-_")).rstrip("="), base64.b64decode(key).hex()):
        assert scrubbed(key, f'"{text}"'.encode()) == b'"<SECRET>"'
    assert bytes_behind("no code") == []


@pytest.mark.parametrize(
    ("secret", "other"),
    [
        ("development-key", "the development key"),
        ("development-key", "Development-Key"),
        ("correct horse battery", "correct-horse-battery"),
        ("pass-word", "password"),
        ("(password)", "password"),
        ("hunter-2", "hunter2"),
    ],
)
def test_words_are_a_secret_only_as_they_are(secret, other):
    """A secret of words is not found in other words with the same letters."""
    assert scrubbed(secret, other.encode()) == other.encode()
    assert scrubbed(secret, f"{other} {secret}!".encode()) == f"{other} <SECRET>!".encode()
    assert b"<SECRET>" in scrubbed(secret, base64.b64encode(b"?" + secret.encode()))


@given(st.text(LETTERS, min_size=8, max_size=60), st.text(min_size=8, max_size=60))
def test_patterns_have_one_form_each(random_text, text):
    """No two patterns of a secret are the same, whatever the secret is."""
    for secret in (random_text, text):
        patterns = patterns_of(secret)
        assert len({(pattern.normal, pattern.exact) for pattern in patterns}) == len(patterns)
        assert len(patterns_of(secret, plain_only=True)) < len(patterns_of(secret, fewer=True)) < len(patterns)


def test_a_long_secret():
    """A long secret is found whole, and not where only a part of it stands."""
    secret = fake("long", 16_000)
    assert scrubbed(secret, f"a {secret} b".encode()) == b"a <SECRET> b"
    assert scrubbed(secret, secret[:-1].encode()) == secret[:-1].encode()
    assert scrubbed(secret, base64.b64encode(secret.encode())) == b"<SECRET>"
