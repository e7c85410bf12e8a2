"""Log records hold no secrets, whatever is logged and wherever it goes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.server
import importlib
import io
import logging
import logging.config
import logging.handlers
import re
import secrets
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from recordings import serve

from toolkit.core.secret import Secret
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.log_filter import LOGGERS, install

LIBRARIES = ["httpx", "httpx2", "httpcore", "httpcore2", "hpack", "h2", "h11", "hyperframe", "socksio"]


@pytest.fixture
def secret():
    return secrets.token_urlsafe(24) + "+/=%\\'\""


@pytest.fixture
def known(secret):
    """Return the secrets of the process, kept out of the logs."""
    install()
    return KnownSecrets([("ACCESS_TOKEN", Secret(secret))])


@pytest.fixture
def log():
    """Return the text that a handler of the root logger writes, with every logger at DEBUG."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    root, levels = logging.getLogger(), {name: logging.getLogger(name).level for name in LOGGERS}
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.NOTSET)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def answering(*headers):
    """Return a handler that answers each request with these headers."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            for name, value in (*headers, ("Content-Length", "0")):
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler


@pytest.fixture(params=["httpx", "httpx2"])
def library(request):
    """Return httpx, and then httpx2."""
    return importlib.import_module(request.param)


async def get(library, url, **options):
    async with library.AsyncClient(trust_env=False, **options) as client:
        return await client.get(url)


def call(library, url, *, is_async=False, headers=None, **options):
    if is_async:
        return asyncio.run(get(library, url, headers=headers, **options))
    with library.Client(trust_env=False, headers=headers, **options) as client:
        return client.get(url)


def core_of(library):
    return library.__name__.replace("httpx", "httpcore")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_http(known, log, secret, library, is_async):
    """Records of either library and its core hold no known secret of a call, from its URL or from the response."""
    echoed = [("X-Echo", secret), ("X-Coded", base64.b64encode(b"ab" + secret.encode()).decode())]
    with serve(answering(*echoed, ("Location", f"/next?token={quote(secret)}"))) as server:
        url = f"{server.url}/{quote(secret)}?q={quote(secret, safe='')}"
        call(library, url, is_async=is_async, headers={"Authorization": f"Bearer {secret}"})
    text = log.getvalue()
    assert f"{library.__name__} HTTP Request: GET http://127.0.0.1" in text
    assert f"{core_of(library)}.http11 receive_response_headers.complete" in text
    assert "<ACCESS_TOKEN>" in text
    assert known.find(text.encode()) is None


def test_places(known, log, library):
    """Cookies and credentials that a server repeats in headers are masked even if their values are unknown."""
    names = ["Set-Cookie", "Authorization", "SVC-API-KEY-ID", "svc-api-secret-key", "X-Api-Key", "DD-API-KEY"]
    values = {name: secrets.token_urlsafe(24) for name in names}
    with serve(answering(*values.items(), ("X-Plain", "kept"))) as server:
        address = server.url.replace("://", f"://user:{values['Authorization']}@")
        call(library, f"{address}/?access_token=abc123&hapikey=abc123&key=shown")
    text = log.getvalue()
    assert "(b'Set-Cookie', b'<COOKIE>')" in text
    assert "(b'SVC-API-KEY-ID', b'<API_KEY_ID>')" in text
    assert "(b'X-Plain', b'kept')" in text
    assert "abc123" not in text
    assert "key=shown" in text
    assert not any(value in text for value in values.values())


def test_socks(known, log):
    """The login to a SOCKS proxy, which httpcore logs in plain text, is not shown."""
    logging.getLogger("httpcore.socks").debug("setup_socks5_connection.started auth=(b'user', b'quux')")
    assert log.getvalue().endswith("auth=<not shown>\n")


HEADERS = [(b":path", b"/v1/accounts"), (b"authorization", b"Bearer qux-quux"), (b"svc-api-key-id", b"AK 'quux'")]


def test_hpack(known, log, secret):
    """Headers that hpack logs are masked one by one, and compressed blocks of headers are not shown."""
    hpack = pytest.importorskip("hpack")
    encoder, decoder = hpack.Encoder(), hpack.Decoder()
    headers = [*HEADERS, (b"x-echo", secret.encode())]
    for _ in range(2):  # the second time they are in the table
        assert decoder.decode(encoder.encode(headers), raw=True) == headers
    encoder.header_table_size = 64
    text = log.getvalue()
    assert "b':path'" in text
    assert "Adding b'authorization'=b'<AUTHORIZATION>' to the header table" in text
    assert "Decoded (b'svc-api-key-id', b'<API_KEY_ID>')" in text
    assert "Evicting b'authorization': b'<AUTHORIZATION>' from the header table" in text
    assert "Encoded header block to <not shown>" in text
    assert "Decoding <not shown>" in text
    assert "quux" not in text
    assert known.find(text.encode()) is None


def test_every_logger_of_the_libraries():
    """The filter is on every logger that the sources of the libraries and of the toolkit create."""
    made = set()
    for name in [*LIBRARIES, "toolkit"]:
        with contextlib.suppress(ImportError):
            folder = Path(importlib.import_module(name).__file__).parent
            for path in folder.rglob("*.py"):
                module = ".".join([name, *path.relative_to(folder).with_suffix("").parts])
                for argument in re.findall(r"getLogger\(([^)]+)\)", path.read_text(encoding="utf-8")):
                    made.add(module if argument == "__name__" else argument.strip("\"'"))
    made -= {"toolkit.scrubbing.logs", "name"}  # the code that installs the filter
    assert made >= {"httpx", "httpx2", "httpcore.http11", "httpcore2.http11"}
    assert made <= set(LOGGERS)


@pytest.mark.parametrize("write", [str, lambda text: base64.b64encode(b"x" + text.encode()).decode()])
@pytest.mark.parametrize(
    "arguments",
    [
        lambda text: (text,),
        lambda text: (f"before {text} after",),
        lambda text: ("%s", text),
        lambda text: ("%r", [text]),
        lambda text: ("%(a)s", {"a": text}),
        lambda text: ("%.3s", text),
        lambda text: ("%d and %s", text),
        lambda text: (ValueError(text),),
    ],
)
def test_forms_and_arguments(known, log, secret, capsys, write, arguments):
    """A handler sees no secret in any form or any part of a record."""
    seen = []
    handler = logging.Handler()
    handler.emit = seen.append
    logger = logging.getLogger("toolkit")
    logger.addHandler(handler)
    try:
        logger.debug(*arguments(write(secret)), extra={"more": write(secret), "others": [write(secret)]})
    finally:
        logger.removeHandler(handler)
    (record,) = seen
    everything = [log.getvalue(), str(vars(record)), *map(str, capsys.readouterr())]
    assert all(known.find(text.encode()) is None for text in everything)


def test_a_record_without_secrets_stays(known):
    """A record without secrets keeps its format, arguments, error and extra attributes."""
    try:
        raise ValueError("harmless")  # noqa: TRY301
    except ValueError:
        error = sys.exc_info()
    before = logging.makeLogRecord(
        {"name": "httpx", "msg": "a %s", "args": (1,), "exc_info": error, "more": {"b": 2}, "levelno": 10}
    )
    after = logging.makeLogRecord(vars(before))
    assert logging.getLogger("httpx").filter(after)
    assert vars(after) == vars(before)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no repr")


def test_a_record_that_cannot_be_read(known, log, capsys):
    """A record that cannot be formatted neither breaks the call nor makes logging print its arguments."""
    logging.getLogger("toolkit").debug("%s", Unprintable())
    assert "cannot be checked" in log.getvalue()
    assert capsys.readouterr().err == ""


def test_a_process_that_only_makes_credentials(tmp_path):
    """Logs are clean from the moment credentials exist. The scrubber is loaded with the first record, not before."""
    program = """
import io, logging, sys
import toolkit
written = io.StringIO()
logging.basicConfig(level=logging.DEBUG, stream=written)
pair = toolkit.KeyPair("fake-key-id-4711", "fake-secret-key-0815", environment="paper")
assert not any(name.startswith("toolkit.scrubbing.") and "log_filter" not in name for name in sys.modules), sys.modules
logging.getLogger("httpcore.http11").debug("%s", pair.secret_key.reveal())
print(written.getvalue())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.strip() == "DEBUG:httpcore.http11:<API_SECRET_KEY>", done.stderr
