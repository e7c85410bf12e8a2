"""Looks for a text in all files of a folder, in whatever form it was written; by other means than the toolkit's own."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus


def files_with(folder, *texts):
    """Files below a folder that hold one of these texts in any form, by their paths below it."""
    wanted = set().union(*map(forms, texts))
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.relative_to(folder) for file in files if _holds(file, wanted)]


def forms(text):
    """A text as bytes: as it is, as JSON, percent-encoded, in hexadecimal, in base64 at any offset."""
    data = text.encode()
    plain = {text, json.dumps(text)[1:-1], json.dumps(text)[1:-1].replace("/", "\\/"), data.hex(), data.hex().upper()}
    percent = {quote(text, safe=""), quote_plus(text), "".join(f"%{byte:02X}" for byte in data)}
    return {form.encode() for form in plain | percent | {form.lower() for form in percent} | {*_base64(data)}}


def pem_pieces(pem):
    """What of a private key may be found nowhere: each of its lines, and all of them in one."""
    lines = [line for line in pem.splitlines() if not line.startswith("-----")]
    return ["".join(lines), *(line for line in lines if len(line) >= 16)]


def _base64(data):
    for offset, first in enumerate((0, 2, 3)):  # characters at the ends are mixed with what stands beside the text
        encoded = base64.b64encode(b"\0" * offset + data).decode()
        core = encoded[first : (offset + len(data)) * 8 // 6]
        yield from (core, core.replace("+", "-").replace("/", "_"))


def _holds(file, wanted):
    data = file.read_bytes()
    return any(form in data for form in wanted)
