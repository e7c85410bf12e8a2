"""Secrets to plant in tests, and a search for them in every form that systems write.

The search shares no code with the scrubber: it writes a secret in the usual forms and looks for those, then undoes
the encodings of the data, layer by layer, and looks for the secret itself.

    secret = canaries.new()
    ...
    canaries.assert_absent(path.read_bytes(), secret)
    canaries.assert_absent(folder, [secret, *canaries.secrets_of(credentials)])
    assert canaries.found_in(repr(value), secret, layers=0) == []
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import html
import json
import quopri
import re
import secrets as random_secrets
import string
import zlib
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote_to_bytes

import yaml

# Characters that URLs, JSON, HTML, YAML or base64 write differently.
AWKWARD = 'fake-Canary/0+"4f9aQ7~xKd8'

# Text as systems write it, for tests that plant a secret in each form.
FORMS = {
    "as it is": lambda text: text,
    "percent-encoded": lambda text: quote(text, safe=""),
    "twice percent-encoded": lambda text: quote(quote(text, safe=""), safe=""),
    "each letter percent-encoded": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "JSON": lambda text: json.dumps({"a": text}),
    "JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": json.dumps([text])})}),
    "each letter escaped": lambda text: '"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"',
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 at an offset": lambda text: base64.b64encode(b"x" + text.encode() + b"yz").decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(b"??" + text.encode()).decode().rstrip("="),
    "base64 of JSON": lambda text: base64.b64encode(json.dumps({"a": text}).encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "capital hex": lambda text: text.encode().hex().upper(),
    "Basic": lambda text: f"Basic {base64.b64encode(b'me:' + text.encode()).decode()}",
}


def new():
    """Return a new random secret, of letters and digits in turn: one of 4,000 URL-safe tokens looks like words."""
    pairs = (random_secrets.choice(string.ascii_letters) + random_secrets.choice(string.digits) for _ in range(16))
    return f"fake-{''.join(pairs)}"


def planted(template, secret):
    """Return a template of dicts, lists and text with the secret in place of `{}`, and of `{base64}` in base64."""
    if isinstance(template, str):
        return template.replace("{}", secret).replace("{base64}", FORMS["Basic"](secret).partition(" ")[2])
    if isinstance(template, dict):
        return {name: planted(value, secret) for name, value in template.items()}
    if isinstance(template, list | tuple):
        return type(template)(planted(value, secret) for value in template)
    return template


def secrets_of(credentials):
    """Return the texts of all secrets in credentials."""
    return [secret.reveal() for _, secret in credentials.secrets()]


def pieces(secret):
    """Return the texts that must not be seen: the secret itself or, of a PEM, each long line and the joined base64."""
    secret = secret.reveal() if hasattr(secret, "reveal") else secret
    if "-----BEGIN" not in secret:
        return [secret]
    lines = [line for line in secret.replace("\\n", "\n").splitlines() if not line.startswith("-----")]
    return ["".join(lines), *(line for line in lines if len(line) >= 16)]


def assert_absent(data, secrets, *, layers=4):
    """Fail if any secret is in the data, in any form; takes what `found_in` takes."""
    hits = found_in(data, secrets, layers=layers)
    if hits:
        raise AssertionError("\n".join(["A secret leaked:", *hits]))


def found_in(data, secrets, *, layers=4):
    """Return where secrets were found, one line for each file or text and secret.

    Args:
        data: text, bytes, the path of a file or of a folder with all that is below it, or several of these.
        secrets: a text or a `Secret`, or several; a PEM stands for each of its lines.
        layers: how many layers of encoding are undone. 0 looks for a secret in its usual forms only, which is quick.
    """
    secrets = [secrets] if isinstance(secrets, str) or hasattr(secrets, "reveal") else secrets
    wanted = list(dict.fromkeys(piece for secret in secrets for piece in pieces(secret)))
    hits = []
    for place, content in _contents(data):
        found = _found(content, wanted, layers)
        hits += [f"{place}: {secret!r}" for secret in wanted if secret in found]
    return hits


def files_with(folder, *secrets, layers=0):
    """Return the paths, below a folder, of the files that hold any of the secrets."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [file.relative_to(folder) for file in files if found_in(file, secrets, layers=layers)]


@functools.lru_cache(maxsize=1000)
def forms(secret):
    """Return the usual forms of a secret, as bytes: escaped, percent-encoded, hex, base64 and so on."""
    data = secret.encode("utf-8", "surrogatepass")
    as_json = json.dumps(secret)[1:-1]
    texts = {secret, as_json, as_json.replace("/", "\\/"), repr(secret)[1:-1], repr(data)[2:-1], html.escape(secret)}
    escaped = {quote(data, safe=""), quote_plus(data), "".join(f"%{byte:02X}" for byte in data)}
    escaped |= {text.lower() for text in escaped}
    written = {text.encode("utf-8", "surrogatepass") for text in texts | escaped}
    written |= {*_hex_forms(data), *_base64_forms(data), *_base32_forms(data), quopri.encodestring(data).strip()}
    with contextlib.suppress(UnicodeEncodeError):
        written |= {secret.encode(encoding) for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")}
    return frozenset(written)


def _contents(data):
    """Yield the name and the bytes of each file or text."""
    if isinstance(data, str):
        yield "text", data.encode("utf-8", "surrogatepass")
    elif isinstance(data, bytes | bytearray | memoryview):
        yield "bytes", bytes(data)
    elif not isinstance(data, Path):
        for item in data:
            yield from _contents(item)
    elif data.is_dir():
        yield from _contents(sorted(path for path in data.rglob("*") if path.is_file()))
    else:
        yield str(data), data.read_bytes()


def _found(data, secrets, layers):
    found = {secret for secret in secrets if any(form in data for form in forms(secret))}
    rest = {secret: secret.encode("utf-8", "surrogatepass") for secret in secrets if secret not in found}
    if not layers or not rest:
        return found
    shortest = min(map(len, rest.values()))
    views, seen = {data, *_scalars_of(data)}, set()
    for layer in range(layers + 1):
        found |= {secret for secret, text in rest.items() if any(text in view for view in views)}
        if layer == layers or len(found) == len(secrets):
            return found
        seen |= views
        views = {view for outer in views for view in _decoded(outer, shortest) if len(view) >= shortest} - seen
    return found


def _hex_forms(data):
    for digits in (data.hex(), data.hex().upper()):
        yield from (digits.encode(), *(separator.join(_chunks(digits, 2)).encode() for separator in ":- "))


def _base64_forms(data):
    yield from _cores(data, base64.b64encode, bits=6)
    yield from _cores(data, base64.urlsafe_b64encode, bits=6)


def _base32_forms(data):
    for core in _cores(data, base64.b32encode, bits=5):
        yield from (core, core.lower())


def _cores(data, encode, bits):
    """Yield the characters that depend on the data alone, for each offset at which it may stand."""
    for offset in range(3 if bits == 6 else 5):
        first = -(-offset * 8 // bits)
        yield encode(b"\0" * offset + data)[first : (offset + len(data)) * 8 // bits]


def _chunks(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


_BACKSLASHED = re.compile(rb"\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_BACKSLASHED_BYTE = re.compile(rb"\\x([0-9A-Fa-f]{2})")
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_HEX_SEPARATORS = re.compile(rb"(?:0x|\\x|[:,\s-])+")
_MAGICS = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")


def _decoded(data, shortest):
    """Yield the data with each possible encoding undone."""
    if b"%" in data:
        yield unquote_to_bytes(data)
    if b"+" in data:
        yield data.replace(b"+", b" ")
    if b"\\" in data:
        yield _BACKSLASHED.sub(_unescaped, data)
        yield _BACKSLASHED_BYTE.sub(lambda match: bytes.fromhex(match[1].decode()), data)
    if b"&" in data:
        yield html.unescape(data.decode("latin-1")).encode("latin-1", "replace")
    if b"''" in data:
        yield data.replace(b"''", b"'")
    if b"\0" in data:
        yield data.replace(b"\0", b"")
    if b"=" in data:
        yield quopri.decodestring(data)
    yield b"".join(data.split())
    yield from _runs_decoded(data.translate(_FOR_URLS), rb"[A-Za-z0-9+/]", shortest * 4 // 3, 4, base64.b64decode)
    yield from _runs_decoded(data, rb"[A-Z2-7]", shortest * 8 // 5, 8, base64.b32decode)
    yield from _runs_decoded(data, rb"[a-z2-7]", shortest * 8 // 5, 8, lambda run: base64.b32decode(run.upper()))
    for digits in {data, _HEX_SEPARATORS.sub(b"", data)}:
        yield from _runs_decoded(digits, rb"[0-9A-Fa-f]", shortest * 2, 2, binascii.unhexlify)
    yield from _unpacked(data)


_LAST_GROUPS = {2: (0,), 4: (0, 2, 3), 8: (0, 2, 4, 5, 7)}  # characters that a last group may have
_FOR_URLS = bytes.maketrans(b"-_", b"+/")


def _runs_decoded(data, characters, shortest, group, decode):
    """Yield the decoded runs of an alphabet, for each position at which the first group may begin."""
    runs = re.findall(characters + b"{%d,}" % max(8, shortest), data)
    for offset in range(group if runs else 0):
        decoded = []
        for run in runs:
            piece = run[offset:]
            rest = len(piece) % group
            whole = max(length for length in _LAST_GROUPS[group] if length <= rest)
            piece = piece[: len(piece) - rest + whole]
            decoded.append(decode(piece + b"=" * (-len(piece) % group)))
        yield b"\n".join(decoded)


def _unescaped(match):
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16)).encode("utf-8", "surrogatepass")
    return _LETTERS.get(code, code)


def _unpacked(data):
    """Yield the decompressed data: raw deflate, zlib and gzip."""
    yield from _inflated(data, -zlib.MAX_WBITS)
    for match in _MAGICS.finditer(data):
        yield from _inflated(data[match.start() :], zlib.MAX_WBITS | 32)


def _inflated(data, window_bits):
    with contextlib.suppress(zlib.error):
        yield zlib.decompressobj(window_bits).decompress(data)


def _scalars_of(data):
    """Yield the scalar values of a JSON or YAML document, since YAML folds long lines."""
    for load in (json.loads, lambda text: yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))):  # noqa: S506
        with contextlib.suppress(yaml.YAMLError, ValueError, RecursionError):
            yield from _scalars(load(data))
            return


def _scalars(value):
    if isinstance(value, dict):
        for pair in value.items():
            yield from _scalars(pair)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _scalars(item)
    elif value is not None:
        yield value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
