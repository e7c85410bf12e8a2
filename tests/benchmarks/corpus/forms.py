"""105 forms of a known secret: a kind of secret and the codes that write it, from the secret outward.

`FORMS` is the table. A form can be written and read back, so that a recording shows whether the secret is still in it.
All forms are ones that public formats define and that systems write; the name says where.
"""

from __future__ import annotations

import base64
import random
import string
import zipfile
from dataclasses import dataclass

from tests.benchmarks.corpus import codes as c
from tests.benchmarks.corpus.codes import Code, within

JSON = within(b'{"id": 7, "note": "', b'", "ok": true}')
TEXT = within(b"The value is ", b" as you asked.\n")
XML = within(b'<?xml version="1.0"?><reply><note>', b"</note></reply>")
HTML = within(b"<!DOCTYPE html><html><body><p>", b"</p></body></html>")
SCRIPT = within(b'<script>var note = "', b'";</script>')
URL = within(b'{"next": "https://shop.example/back?state=', b'&page=2"}')
MAIL = within(b"Subject: Hello\r\nContent-Type: text/plain; charset=utf-8\r\n", b"\r\n-- \r\nThe shop\r\n")
PAIR = within(b"account-17:")
NESTED = within(b'{"name": "main", "value": "', b'"}')


@dataclass(frozen=True)
class Form:
    """A form of a secret.

    Attributes:
        kind: of the secret; see `new_secret`.
        codes: from the secret outward.
        media_type: of the body.
        encoding: the body's Content-Encoding.
    """

    name: str
    kind: str
    codes: tuple[Code, ...]
    media_type: str = "text/plain; charset=utf-8"
    encoding: str = ""

    def write(self, secret: str) -> bytes:
        """Return a body that holds the secret in this form."""
        data = secret.encode()
        for code in self.codes:
            data = code.write(data)
        return data

    def read(self, body: bytes) -> bytes:
        """Return what a reader who knows the form gets from a body; an error if it cannot be read."""
        for code in reversed(self.codes):
            body = code.read(body)
        return body


def new_secret(kind: str, numbers: random.Random) -> str:
    """Return a secret: token, hex, uuid, base64, url64, password, passphrase (not ASCII) or PEM."""
    digits = f"{numbers.getrandbits(128):032x}"
    letters = "".join(numbers.choices(string.ascii_letters + string.digits, k=40))
    match kind:
        case "token":
            return letters
        case "hex":
            return digits + f"{numbers.getrandbits(128):032x}"
        case "uuid":
            return c.dashed(digits)
        case "base64":
            return base64.b64encode(b"\xfb\xef\xff" + numbers.randbytes(29)).decode()
        case "url64":
            return base64.urlsafe_b64encode(b"\xfb\xef\xff" + numbers.randbytes(29)).decode().rstrip("=")
        case "password":
            return f"Pa$$\"{letters[:5]}<{letters[5:9]}>&/\\'+%={letters[9:13]}#!"
        case "passphrase":
            return f"Schlüssel für größere Käfige é{letters[:8]}"
        case "PEM":
            return new_private_key(numbers)
    raise ValueError(kind)


def new_private_key(numbers: random.Random) -> str:
    """Return a private key as PEM text."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.derive_private_key(numbers.getrandbits(250), ec.SECP256R1())
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


J, B = "application/json", "application/octet-stream"
H, X = "text/html; charset=utf-8", "application/xml"
SHEET = ("[Content_Types].xml", "xl/workbook.xml", "xl/sharedStrings.xml")

FORMS = [
    # Plain text and charsets
    Form("plain token in text", "token", (TEXT,)),
    Form("plain password in text", "password", (TEXT,)),
    Form("plain passphrase, UTF-8", "passphrase", (TEXT,)),
    Form("passphrase, ISO-8859-1", "passphrase", (TEXT, c.charset("latin-1")), "text/plain; charset=iso-8859-1"),
    Form("UTF-16LE", "token", (TEXT, c.charset("utf-16-le")), B),
    Form("UTF-16LE with mark", "passphrase", (TEXT, c.charset("utf-16-le", b"\xff\xfe")), "text/csv; charset=utf-16"),
    Form("UTF-16BE", "token", (TEXT, c.charset("utf-16-be")), B),
    Form("UTF-16BE with mark", "token", (TEXT, c.charset("utf-16-be", b"\xfe\xff")), "text/plain; charset=utf-16"),
    Form("UTF-32LE", "token", (TEXT, c.charset("utf-32-le")), B),
    Form("UTF-32BE with mark", "token", (TEXT, c.charset("utf-32-be", b"\0\0\xfe\xff")), B),
    Form("PEM with line ends escaped in JSON", "PEM", (c.JSON, JSON), J),
    Form("PEM with CRLF", "PEM", (c.replaced("\n", "\r\n"),)),
    Form("PEM on one line, spaces for line ends", "PEM", (c.PEM_BODY, TEXT)),
    Form("event stream", "token", (within(b'event: note\ndata: {"note": "', b'"}\n\n'),), "text/event-stream"),
    Form("YAML, folded", "passphrase", (c.YAML_FOLDED,), "text/yaml"),
    Form("CSV, quotes doubled", "password", (c.replaced('"', '""'), within(b'id,note\n7,"', b'"\n')), "text/csv"),
    Form("NDJSON", "token", (within(b'{"id": 1}\n{"note": "', b'"}\n{"id": 3}\n'),), "application/x-ndjson"),
    # Percent
    Form("percent", "password", (c.PERCENT, URL), J),
    Form("percent, lower hex", "password", (c.PERCENT_LOWER, URL), J),
    Form("percent, every letter", "token", (c.PERCENT_EACH, URL), J),
    Form("percent twice", "password", (c.PERCENT, c.PERCENT, URL), J),
    Form("form with +", "passphrase", (c.FORM, within(b"a=1&note=")), "application/x-www-form-urlencoded"),
    Form("JavaScript escape()", "passphrase", (c.JAVASCRIPT_ESCAPE, TEXT)),
    Form("URL in URL", "base64", (within(b"https://b.example/?k="), c.PERCENT, within(b"/go?u="), c.PERCENT, URL), J),
    # JSON and scripts
    Form("JSON", "password", (c.JSON, JSON), J),
    Form(r"JSON, \/", "base64", (c.JSON_SLASH, JSON), J),
    Form(r"JSON, \uXXXX for every letter", "token", (c.JSON_EACH, JSON), J),
    Form(r"JSON, \uXXXX in capitals", "passphrase", (c.JSON_EACH_UPPER, JSON), J),
    Form(r"JSON, \uXXXX for some letters", "token", (c.JSON_SOME, JSON), J),
    Form(r"JSON, \uXXXX for what is not ASCII", "passphrase", (c.JSON_ASCII, JSON), J),
    Form("JSON, safe in HTML", "password", (c.JSON_HTML_SAFE, JSON), J),
    Form("JSON in JSON", "password", (c.JSON, NESTED, c.JSON, JSON), J),
    Form("JSON in JSON in JSON", "password", (c.JSON, NESTED, c.JSON, NESTED, c.JSON, JSON), J),
    Form(r"script, \xHH", "token", (c.SCRIPT_HEX, SCRIPT), H),
    Form(r"script, \xHH in capitals", "token", (c.SCRIPT_HEX_UPPER, SCRIPT), H),
    Form(r"script, \u{H}", "passphrase", (c.SCRIPT_BRACES, SCRIPT), H),
    Form("octal escapes", "token", (c.OCTAL, TEXT)),
    Form("octal escapes of UTF-8, as git quotes paths", "passphrase", (c.OCTAL_FOREIGN, TEXT)),
    Form("repr of bytes in Python", "passphrase", (c.BYTES_REPR, TEXT)),
    # HTML and XML
    Form("HTML, decimal entities", "token", (c.HTML_DECIMAL, HTML), H),
    Form("HTML, hex entities", "token", (c.HTML_HEX, HTML), H),
    Form("HTML, hex entities with zeros", "token", (c.HTML_HEX_ZEROS, HTML), H),
    Form("HTML, named entities", "password", (c.HTML_NAMED, HTML), H),
    Form("HTML, named letters", "passphrase", (c.HTML_LATIN, HTML), H),
    Form("HTML, escaped", "password", (c.HTML_ESCAPE, HTML), H),
    Form("HTML, escaped twice", "password", (c.HTML_ESCAPE, c.HTML_ESCAPE, HTML), H),
    Form("XML, CDATA", "password", (within(b"<![CDATA[", b"]]>"), XML), X),
    # Mail
    Form("quoted-printable with soft line breaks", "token", (c.QUOTED_PRINTABLE_SOFT, MAIL), "message/rfc822"),
    Form("quoted-printable, passphrase", "passphrase", (c.QUOTED_PRINTABLE, MAIL), "message/rfc822"),
    Form("quoted-printable, base64 with =", "base64", (c.QUOTED_PRINTABLE, MAIL), "message/rfc822"),
    Form("mail with a base64 body", "token", (TEXT, c.BASE64, c.columns(76, b"\r\n"), MAIL), "message/rfc822"),
    Form(
        "multipart with a base64 part",
        "token",
        (
            c.BASE64,
            within(
                b"--b1\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n",
                b"\r\n--b1--\r\n",
            ),
        ),
        "multipart/mixed; boundary=b1",
    ),
    # base64
    Form("base64", "token", (c.BASE64, JSON), J),
    Form("base64, offset 1", "token", (within(b"x"), c.BASE64, JSON), J),
    Form("base64, offset 2", "token", (within(b"xy", b" and more"), c.BASE64, JSON), J),
    Form("base64 of user and password", "password", (PAIR, c.BASE64, JSON), J),
    Form("base64url without padding", "password", (within(b"??>"), c.BASE64_URL, JSON), J),
    Form("base64 of a PEM in 76 columns", "PEM", (c.BASE64, c.columns(76), TEXT)),
    Form("base64 in 64 columns, CRLF", "token", (NESTED, c.BASE64, c.columns(64, b"\r\n"), TEXT)),
    Form(
        "base64 in 60 columns, line ends escaped in JSON", "token", (NESTED, c.BASE64, c.columns(60, b"\\n"), JSON), J
    ),
    Form("base64 twice", "token", (c.BASE64, c.BASE64, JSON), J),
    Form("base64 of hex", "token", (c.HEX, c.BASE64, JSON), J),
    Form("hex of base64", "token", (c.BASE64, c.HEX, JSON), J),
    Form("base64 of UTF-16LE", "token", (c.charset("utf-16-le"), c.BASE64, JSON), J),
    Form("base64 of UTF-16BE", "token", (c.charset("utf-16-be"), c.BASE64, JSON), J),
    Form("base64, percent-encoded", "password", (PAIR, c.BASE64, c.PERCENT, URL), J),
    Form(r"base64, \/ in JSON", "password", (within(b"\xff\xff?"), c.BASE64, c.JSON_SLASH, JSON), J),
    Form("base64 of percent", "password", (c.PERCENT, c.BASE64, JSON), J),
    Form("JSON in base64 in JSON", "token", (NESTED, c.BASE64, JSON), J),
    Form("base64 in JSON in base64", "token", (c.BASE64, NESTED, c.BASE64, TEXT)),
    Form("JWT payload", "token", (NESTED, c.BASE64_URL, within(b"eyJhbGciOiJFUzI1NiJ9.", b".c2ln"), JSON), J),
    Form("data: URI", "token", (TEXT, c.BASE64, within(b"data:text/plain;base64,"), JSON), J),
    Form("settings of Kubernetes", "password", (c.BASE64, within(b"kind: Secret\ndata:\n  a: ", b"\n")), "text/yaml"),
    Form("LDIF with folded base64", "token", (NESTED, c.BASE64, c.columns(60, b"\n "), within(b"d: x\na:: ", b"\n"))),
    # Hex
    Form("hex", "token", (c.HEX, JSON), J),
    Form("hex in capitals", "token", (c.HEX_UPPER, JSON), J),
    Form("hex with colons", "token", (c.hex_with(":"), JSON), J),
    Form("hex with spaces", "token", (c.hex_with(" "), TEXT)),
    Form("hex after 0x", "token", (c.HEX, within(b"0x"), JSON), J),
    Form(r"hex after \x, as PostgreSQL writes bytea", "token", (c.HEX, within(b"\\\\x"), JSON), J),
    # base32
    *(Form(f"base32, offset {offset}", "token", (within(b"wxyz"[:offset]), c.BASE32, JSON), J) for offset in range(5)),
    Form("base32 in lower case without padding", "token", (c.BASE32_LOWER, JSON), J),
    # Arrays of bytes
    Form("array of 0x bytes", "token", (c.HEX_ARRAY, within(b"{", b"};"))),
    # Compression
    Form("gzip, Content-Encoding", "token", (JSON, c.GZIP), J, "gzip"),
    Form("brotli, Content-Encoding", "token", (JSON, c.BROTLI), J, "br"),
    Form("zstd, Content-Encoding", "token", (JSON, c.ZSTD), J, "zstd"),
    Form("gzip", "token", (TEXT, c.GZIP), B),
    Form("gzip in several members", "token", (TEXT, c.GZIP_MEMBERS), B),
    Form("zlib", "token", (TEXT, c.ZLIB), B),
    Form("zstd", "token", (TEXT, c.ZSTD), B),
    Form("gzip in base64 in JSON", "token", (TEXT, c.GZIP, c.BASE64, JSON), J),
    # Archives and documents
    Form("zip, stored", "token", (TEXT, c.archive("a.txt", method=zipfile.ZIP_STORED)), "application/zip"),
    Form("zip, deflated", "token", (TEXT, c.archive("a.txt")), "application/zip"),
    Form("zip in base64 in JSON", "token", (TEXT, c.archive("a.txt"), c.BASE64, JSON), J),
    Form("tar.gz", "token", (TEXT, c.tar(":gz")), "application/gzip"),
    Form("sheet (xlsx)", "token", (within(b"<sst><si><t>", b"</t></si></sst>"), c.archive(*SHEET)), B),
    # A secret that is hex, a UUID or base64 itself
    Form("UUID in capitals", "uuid", (c.UPPER, JSON), J),
    Form("UUID without hyphens", "uuid", (c.UUID_PLAIN, JSON), J),
    Form("hex secret in capitals", "hex", (c.UPPER, JSON), J),
    Form("base64 secret as base64url", "base64", (c.TO_URL_ALPHABET, JSON), J),
    Form("base64url secret as base64", "url64", (c.TO_BASE64_ALPHABET, JSON), J),
]
