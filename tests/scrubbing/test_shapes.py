"""Keys and tokens are recognized by their shape; prose and code are not."""

from __future__ import annotations

import base64
import json
import secrets
from urllib.parse import quote, urlencode

import pytest

from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.recording.recorder import Recorder
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import RecordedRequest, RecordedResponse
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.sharing.saved_secrets import scan


def segment(**fields):
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


def signed_token():
    return f"{segment(alg='none', typ='JWT')}.{segment(sub=secrets.token_hex(8))}.{secrets.token_urlsafe(24)}"


def private_key(label="", line_break="\n"):
    body = base64.b64encode(b"a fake key " + secrets.token_bytes(90)).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return line_break.join([f"-----BEGIN {label}PRIVATE KEY-----", *lines, f"-----END {label}PRIVATE KEY-----"])


def opaque():
    return f"{secrets.token_urlsafe(24)}/X.y=="


MAKERS = {
    "key": (private_key, "{}", "<PRIVATE_KEY>"),
    "RSA key": (lambda: private_key("RSA ", "\r\n"), "{}", "<PRIVATE_KEY>"),
    "token": (opaque, "Bearer {}", "<ACCESS_TOKEN>"),
    "signed token": (signed_token, "{}", "<SIGNED_TOKEN>"),
}
WAYS = {
    "JSON": lambda text: response(json.dumps({"note": text, "n": 1}).encode()),
    "JSON-in-JSON": lambda text: response(json.dumps({"a": [json.dumps({"note": f"see {text}."})]}).encode()),
    "text": lambda text: response(f"see {text}, please".encode()),
    "UTF-8 lines": lambda text: response((json.dumps({"a": 1}) + "\n" + json.dumps(["é", text])).encode()),
    "request's text": lambda text: (request(f"a note: {text}".encode()), RecordedResponse(200)),
    "request's form": lambda text: (request(urlencode({"note": text}).encode()), RecordedResponse(200)),
    "request's JSON": lambda text: (request(json.dumps([text]).encode()), RecordedResponse(200)),
    "query": lambda text: (request(b"", f"?note={quote(text)}"), RecordedResponse(200)),
    "path": lambda text: (request(b"", quote(text, safe="")), RecordedResponse(200)),
}


def request(body, more=""):
    return RecordedRequest("POST", f"https://h.example/{more}", (), body)


def response(body):
    return request(b""), RecordedResponse(200, headers=(), body=body)


def recorded(tmp_path, messages):
    path = tmp_path / "a.yaml"
    recorder = Recorder(path, Scrubber(KnownSecrets()))
    recorder.append(Interaction(*messages))
    recorder.finish()
    return path


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MAKERS)
def test_not_recorded(tmp_path, name, way):
    """A recording has the placeholder instead of the credential, and a scan of it finds nothing."""
    make, template, placeholder = MAKERS[name]
    value = make()
    path = recorded(tmp_path, WAYS[way](template.format(value)))
    text = path.read_text(encoding="utf-8")
    assert placeholder in text or quote(placeholder) in text
    assert value not in text
    assert scan(path, secrets=[value]) == []
