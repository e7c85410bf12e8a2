"""Encodings with their inverses, as public formats define them, to build forms of a secret from.

A code writes bytes and reads them back. Nothing here is shared with `toolkit.scrubbing`.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import html
import io
import json
import quopri
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from html.entities import codepoint2name, html5
from typing import Any
from urllib.parse import quote, quote_plus, unquote_to_bytes

import yaml


@dataclass(frozen=True)
class Code:
    """A way to write bytes as other bytes, and its inverse."""

    write: Callable[[bytes], bytes]
    read: Callable[[bytes], bytes]


def text_code(write: Callable[[str], str], read: Callable[[str], str]) -> Code:
    """Return a code of text in UTF-8."""
    return Code(lambda data: write(data.decode()).encode(), lambda data: read(data.decode()).encode())


def within(before: bytes, after: bytes = b"") -> Code:
    """Return a code that puts data between two texts."""

    def read(data: bytes) -> bytes:
        if not (data.startswith(before) and data.endswith(after)):
            raise ValueError
        return data[len(before) : len(data) - len(after)]

    return Code(lambda data: before + data + after, read)


def each(write: Callable[[int], str], separator: str, number: Callable[[str], int]) -> Code:
    """Return a code that writes each byte on its own."""
    return Code(
        lambda data: separator.join(write(byte) for byte in data).encode(),
        lambda data: bytes(number(item) & 255 for item in data.decode().split(separator)),
    )


def each_match(write: Callable[[str], str], pattern: str, read: Callable[[str], str]) -> Code:
    """Return a code that writes each character on its own, and is read by matches of a pattern."""
    return text_code(
        lambda text: "".join(map(write, text)),
        lambda text: re.sub(pattern, lambda match: read(match.group(1)), text),
    )


def utf16_units(text: str) -> list[int]:
    """Return the numbers of a text in UTF-16."""
    return [unit for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be"))]


def charset(name: str, mark: bytes = b"") -> Code:
    """Return the code that turns UTF-8 into another charset, with a byte order mark or without."""
    return Code(lambda data: mark + data.decode().encode(name), lambda data: data[len(mark) :].decode(name).encode())


def padded(data: bytes, unit: int) -> bytes:
    """Return base64 or base32 text with its padding again."""
    return data + b"=" * (-len(data) % unit)


# Percent-encoding and escapes
PERCENT = text_code(lambda text: quote(text, safe=""), lambda text: unquote_to_bytes(text).decode())
PERCENT_LOWER = Code(
    lambda data: re.sub(rb"%..", lambda match: match.group().lower(), PERCENT.write(data)), PERCENT.read
)
PERCENT_EACH = Code(lambda data: "".join(f"%{byte:02X}" for byte in data).encode(), PERCENT.read)
FORM = text_code(quote_plus, lambda text: unquote_to_bytes(text.replace("+", " ")).decode())
JAVASCRIPT_ESCAPE = each_match(
    lambda letter: letter if letter.isascii() and letter.isalnum() else f"%u{ord(letter):04X}",
    "%u([0-9A-F]{4})",
    lambda digits: chr(int(digits, 16)),
)
JSON = text_code(lambda text: json.dumps(text, ensure_ascii=False)[1:-1], lambda text: json.loads(f'"{text}"'))
JSON_ASCII = text_code(lambda text: json.dumps(text)[1:-1], lambda text: json.loads(f'"{text}"'))
JSON_SLASH = text_code(lambda text: json.dumps(text)[1:-1].replace("/", "\\/"), lambda text: json.loads(f'"{text}"'))
JSON_EACH = text_code(
    lambda text: "".join(f"\\u{unit:04x}" for unit in utf16_units(text)), lambda text: json.loads(f'"{text}"')
)
JSON_EACH_UPPER = text_code(
    lambda text: "".join(f"\\u{unit:04X}" for unit in utf16_units(text)), lambda text: json.loads(f'"{text}"')
)
JSON_HTML_SAFE = text_code(
    lambda text: re.sub("[<>&'+]", lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text)[1:-1]),
    lambda text: json.loads(f'"{text}"'),
)
JSON_SOME = text_code(
    lambda text: "".join(letter if at % 3 else f"\\u{ord(letter):04x}" for at, letter in enumerate(text)),
    lambda text: json.loads(f'"{text}"'),
)
SCRIPT_HEX = Code(
    lambda data: "".join(f"\\x{byte:02x}" for byte in data).encode(),
    lambda data: binascii.unhexlify(data.replace(b"\\x", b"")),
)
SCRIPT_HEX_UPPER = Code(lambda data: "".join(f"\\x{byte:02X}" for byte in data).encode(), SCRIPT_HEX.read)
SCRIPT_BRACES = each_match(
    lambda letter: f"\\u{{{ord(letter):x}}}", r"\\u\{([0-9a-f]+)\}", lambda digits: chr(int(digits, 16))
)
BYTES_REPR = Code(
    lambda data: repr(data)[2:-1].encode(),
    lambda data: data.decode().encode("latin-1").decode("unicode_escape").encode("latin-1"),
)
OCTAL = Code(
    lambda data: "".join(f"\\{byte:03o}" for byte in data).encode(),
    lambda data: bytes(int(digits, 8) for digits in re.findall(rb"\\([0-7]{3})", data)),
)
OCTAL_FOREIGN = Code(
    lambda data: b"".join(bytes([byte]) if byte < 128 else b"\\%03o" % byte for byte in data),
    lambda data: re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match.group(1), 8)]), data),
)
HTML_DECIMAL = text_code(lambda text: "".join(f"&#{ord(letter)};" for letter in text), html.unescape)
HTML_HEX = text_code(lambda text: "".join(f"&#x{ord(letter):X};" for letter in text), html.unescape)
HTML_HEX_ZEROS = text_code(lambda text: "".join(f"&#x{ord(letter):06x};" for letter in text), html.unescape)
_NAMES = {value: name for name, value in html5.items() if name.endswith(";") and len(value) == 1 and name[0].islower()}
HTML_NAMED = text_code(
    lambda text: "".join(
        letter if letter.isalnum() and letter.isascii() else f"&{_NAMES[letter]}" if letter in _NAMES else letter
        for letter in text
    ),
    html.unescape,
)
HTML_LATIN = text_code(
    lambda text: "".join(
        f"&{codepoint2name[ord(letter)]};" if ord(letter) in codepoint2name else letter for letter in text
    ),
    html.unescape,
)
HTML_ESCAPE = text_code(html.escape, html.unescape)


# YAML and mail
YAML_FOLDED = text_code(
    lambda text: yaml.safe_dump({"note": f"A value is said to be {text} by the shop"}, width=24),
    lambda text: str(yaml.safe_load(text)["note"]),
)
QUOTED_PRINTABLE = Code(quopri.encodestring, quopri.decodestring)
QUOTED_PRINTABLE_SOFT = Code(
    lambda data: b"=\r\n".join(data[at : at + 11] for at in range(0, len(data), 11)).replace(b"+", b"=2B"),
    quopri.decodestring,
)

# base64, base32, hex, arrays
BASE64 = Code(base64.b64encode, base64.b64decode)
BASE64_URL = Code(
    lambda data: base64.urlsafe_b64encode(data).rstrip(b"="), lambda data: base64.urlsafe_b64decode(padded(data, 4))
)
BASE32 = Code(base64.b32encode, base64.b32decode)
BASE32_LOWER = Code(
    lambda data: base64.b32encode(data).lower().rstrip(b"="),
    lambda data: base64.b32decode(padded(data.upper(), 8)),
)
HEX = Code(binascii.hexlify, binascii.unhexlify)
HEX_UPPER = Code(lambda data: data.hex().upper().encode(), binascii.unhexlify)


def columns(width: int, end: bytes = b"\n") -> Code:
    """Return a code that breaks text into lines of one width."""
    return Code(
        lambda data: end.join(data[at : at + width] for at in range(0, len(data), width)),
        lambda data: data.replace(end, b""),
    )


def hex_with(separator: str) -> Code:
    """Return hex with a separator between bytes."""
    return Code(
        lambda data: data.hex(separator).encode(), lambda data: bytes.fromhex(data.decode().replace(separator, ""))
    )


HEX_ARRAY = each(lambda byte: f"0x{byte:02X}", ", ", lambda item: int(item, 16))

# Compression and archives
GZIP = Code(lambda data: gzip.compress(data, mtime=0), gzip.decompress)
GZIP_MEMBERS = Code(
    lambda data: b"".join(gzip.compress(data[at : at + 9], mtime=0) for at in range(0, len(data), 9)), gzip.decompress
)
ZLIB = Code(zlib.compress, zlib.decompress)


def _brotli(data: bytes) -> bytes:
    import brotli

    return bytes(brotli.compress(data))


def _unbrotli(data: bytes) -> bytes:
    import brotli

    return bytes(brotli.decompress(data))


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


def _unzstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


BROTLI, ZSTD = Code(_brotli, _unbrotli), Code(_zstd, _unzstd)


def archive(*names: str, method: int = zipfile.ZIP_DEFLATED) -> Code:
    """Return a zip archive whose last member holds the data."""

    def write(data: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as file:
            for name in names[:-1]:
                file.writestr(name, b'<?xml version="1.0"?><Types/>')
            file.writestr(names[-1], data)
        return buffer.getvalue()

    return Code(write, lambda data: zipfile.ZipFile(io.BytesIO(data)).read(names[-1]))


def tar(mode: Any) -> Code:
    """Return a tar archive, compressed as its mode says."""

    def write(data: bytes) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=f"w{mode}") as file:
            member = tarfile.TarInfo("settings.txt")
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
        return buffer.getvalue()

    def read(data: bytes) -> bytes:
        with tarfile.open(fileobj=io.BytesIO(data), mode=f"r{mode}") as file:
            member = file.extractfile("settings.txt")
            assert member is not None
            return member.read()

    return Code(write, read)


# The secret itself in another form
def dashed(digits: str) -> str:
    """Return 32 hex digits as a UUID."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


UPPER = text_code(str.upper, str.lower)
UUID_PLAIN = text_code(lambda text: text.replace("-", ""), dashed)
TO_URL_ALPHABET = text_code(
    lambda text: text.replace("+", "-").replace("/", "_").rstrip("="),
    lambda text: padded(text.replace("-", "+").replace("_", "/").encode(), 4).decode(),
)
TO_BASE64_ALPHABET = text_code(
    lambda text: padded(text.replace("-", "+").replace("_", "/").encode(), 4).decode(),
    lambda text: text.replace("+", "-").replace("/", "_").rstrip("="),
)
PEM_BODY = text_code(
    lambda text: "".join(text.splitlines()[1:-1]),
    lambda text: (
        "-----BEGIN PRIVATE KEY-----\n"
        + "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
        + "\n-----END PRIVATE KEY-----\n"
    ),
)


def replaced(old: str, new: str) -> Code:
    """Return a code that writes one text instead of another."""
    return text_code(lambda text: text.replace(old, new), lambda text: text.replace(new, old))
