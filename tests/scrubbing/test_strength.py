"""Random values are told from what people write."""

from __future__ import annotations

import base64
import random
import string

import pytest

from toolkit.scrubbing.strength import Strength, grade

LETTERS = string.ascii_letters + string.digits
ALPHABETS = {
    "base62": LETTERS,
    "base64": LETTERS + "+/",
    "base64url": LETTERS + "-_",
    "base32": string.ascii_uppercase + "234567",
    "small letters and digits": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "capital hex": "0123456789ABCDEF",
    "a password": LETTERS + "!#$%&*-_+@",
}


def random_texts(alphabet, length, count=500):
    source = random.Random(f"{alphabet} {length}")  # noqa: S311 - the same in each run
    return ["".join(source.choices(alphabet, k=length)) for _ in range(count)]


@pytest.mark.parametrize("length", [20, 24, 32, 43, 64, 120])
@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
def test_random_texts(alphabet, length):
    """Random texts of 20 characters or more are strong, or look like digests; at most 4 in 100 are missed."""
    weak = [text for text in random_texts(alphabet, length) if grade(text) is Strength.WEAK]
    assert len(weak) <= (20 if length < 24 else 10 if length < 30 else 5)


@pytest.mark.parametrize(
    "text",
    [
        "OPENAI_API_KEY",
        "$PROJECT:de3ad0ae-7a0c-4ca4-9e5f-6d2d7f0f4fd5",
        "${ACCESS_TOKEN}",
        "$ACCESS_TOKEN",
        "{{ access_token }}",
        "<ACCESS_TOKEN>",
        "<your-api-key>",
        "%(password)s",
        "your-api-key-here",
        "YOUR_ACCESS_TOKEN",
        "changeme",
        "[REDACTED]",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
        "************************",
        "process.env.API_TOKEN",
        'os.environ["API_TOKEN"]',
        "required",
        "accounts",
        "must be at least 12 characters long",
        "Das Passwort muss mindestens zwölf Zeichen lang sein.",
        "Geschwindigkeitsbegrenzung",
        "Rechtsschutzversicherungsgesellschaften",
        "パスワードは必須です。もう一度入力してください",
        "authorization_code",
        "client_credentials",
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "org.springframework.security.web.FilterChainProxy",
        "getAccessTokenSilently",
        "application/vnd.api+json",
        "2026-11-22T14:20:00.123456+00:00",
        "1234567890123456789012",
        "-3.141592653589793238462643",
        "https://api.example.com/v1/accounts?page=2&limit=100",
        "/var/lib/kubelet/pods/token",
        "Mozilla/5.0 (X11; Linux x86_64)",
        "secret-key-of-the-test-suite",
        "my-super-secret-password",
        "INSUFFICIENT_PRIVILEGES_OR_EXPIRED",
        "Europe/Berlin",
        "X25519-ML-KEM-768-HKDF-SHA256",
        "image_2026-11-22_final.png",
        "",
        "12345",
    ],
)
def test_written_texts(text):
    """Words, sentences, identifiers, numbers, dates, addresses and stand-ins are weak."""
    assert grade(text) is Strength.WEAK


def fake(alphabet, length):
    return random_texts(alphabet, length, 1)[0]


@pytest.mark.parametrize(
    "text",
    [
        "AKIA" + fake(ALPHABETS["base32"], 16),
        "ghp_" + fake(LETTERS, 36),
        "glpat-" + fake(LETTERS, 20),
        "sk_live_" + fake(LETTERS, 24),
        "xoxb-" + "1" * 12 + "-" + fake(LETTERS, 24),
        "AIza" + fake(LETTERS, 35),
        "-----BEGIN PRIVATE KEY-----\nMC4CAQ",
        "postgres://me:" + fake(LETTERS, 12) + "@db.example/app",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + fake(LETTERS, 86) + "==",
        "Bearer " + fake(LETTERS, 32),
        "XNJ_8ctpXf0RM78ynzDokSpCmCFmnnRq",  # begins like the name of an algorithm
        base64.b64encode(fake(LETTERS, 30).encode()).decode(),
    ],
)
def test_formats(text):
    """Formats of providers, keys, connection strings, values after a scheme and random texts are strong."""
    assert grade(text) is Strength.STRONG
