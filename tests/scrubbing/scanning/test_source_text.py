"""Secrets are found in files however people, programs and services write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.planted_project import fake
from toolkit.scrubbing.scanning.source_text import secrets_in

# Texts around a secret, by the kind of the finding.
WRITTEN = {
    "credentials on a command line": [
        "curl -u admin:{} https://h.example/v1",
        "curl -sSfLu 'admin:{}' https://h.example/v1",
        'subprocess.run(["curl", "--proxy-user", "admin:{}", url])',
        "curl -X POST \\\n  --oauth2-bearer \\\n  {}",
        "deploy --client-secret '{}' --region eu",
    ],
    "password of a login": ["db.internal:5432:main:app:{}", "*:*:main:app:{}\nlocalhost:5432:*:me:changeme\n"],
    "password in a URL": ["postgresql://app:{}@db.internal/main", "redis://:{}@cache:6379/0"],
    "address of a webhook": ["https://hooks.slack.com/services/T0A1B2C3D/B0A1B2C3D/{}"],
    "credentials in a call": [
        'tk.KeyPair("AK7Q2M", "{}", environment="paper")',
        'tk.ClientSecret(\n    "partner-1",\n    "{}",\n)',
        'auth=("me", "{}")',
        "requests.get(url, auth=HTTPBasicAuth('me', '{}'))",
        'client.set_token("{}")',
        'keyring.set_password("service", "me", "{}")',
    ],
    "secret field": [
        "machine h.example\n  login app\n  password {}\n",
        'os.environ.setdefault("API_TOKEN", "{}")',
        'token = os.getenv("TOKEN") or "{}"',
        'api_key: str = "{}"',
        'password = """\\\n  {}\\\n  """',
        'let secret: &\'static str = "{}";',
        "- **API key**: `{}`",
        "const apiKey: string = '{}';",
        'token <- "{}"',
        "password: |\n  {}\n",
        "ENV API_TOKEN {}",
        "requirepass {}",
        "| client_secret | {} |",
        "Secret access key: {}",
        "the password is {}.",
        '#define API_KEY "{}"',
        "headers = [(b'X-Api-Key', b'{}')]",
        '<entry key="db.password">{}</entry>',
        "Server=db;Database=main;User Id=app;Password={};",
        "host=db user=app password={} dbname=main",
        "env:\n- name: DB_PASSWORD\n  value: {}\n",
        "user,api_key,active\nbob,{},1\n",
        '<input type="password" id="a" value="{}">',
        '{{"auths": {{"registry.example": {{"auth": "{}"}}}}}}',
        "x-finnhub-token:\n- {}",
        "authorization:\n      - Basic {}",
        '{{"name": "X-Plex-Token", "value": "{}"}}',
        "GET /v1?next=https%3A%2F%2Fh.example%2F%3Fhapikey%3D{}%26a%3D1",
        '{{\\"refresh_token\\": \\"{}\\"}}',
        "{{&quot;access_token&quot;: &quot;{}&quot;}}",
        "{{\\u0022: 1, \\u0061ccess_token: {}}}",
    ],
    "bearer token": ['"Authorization": "Bearer " + "{}"', "Authorization: Bearer {}"],
    "private key": ["-----BEGIN RSA PRIVATE KEY-----\n{}"],
    "cookie": [
        "Cookie: theme=dark; sid={}; lang=en",
        "set-cookie:\n- a=1; Path=/\n- session={}; Path=/",
        '"set-cookie": ["a=1", "connect.sid={}; Secure"]',
        '"Set-Cookie": [\n  "a=1; Path=/",\n  "remember={}"\n ]',
        '{{"name":"Set-Cookie","value":"sid={}; Path=/"}}',
    ],
}


def kinds(text):
    return [kind for _, kind, _ in sorted(secrets_in(text))]


@pytest.mark.parametrize("kind", WRITTEN)
def test_each_way_to_write_a_secret(kind):
    """A secret is found where people and programs write it."""
    for template in WRITTEN[kind]:
        secret = fake(24)
        text = template.format(*[secret] * template.count("{}"))
        assert kinds(text) == [kind], template


@pytest.mark.parametrize("word", ["changeme", "your-password", "<password>", "$PASSWORD", "required", "********"])
def test_words_in_the_place_of_secrets(word):
    """Stand-ins and words are no findings in any of these places."""
    for template in (each for group in WRITTEN.values() for each in group):
        assert kinds(template.format(*[word] * template.count("{}"))) == [], template


@pytest.mark.parametrize(
    "text",
    [
        "key=h:i:j:k:l:m:n:o:p:q:r:v:w:",
        "Key('add-8f6e709446674bad78ea8aeecfee188e')",
        "Algorithm('key', 'RSAES-PKCS1-v1_5')",
        "'-----BEGIN EC PRIVATE KEY-----\\n<key bytes>\\n-----END EC PRIVATE KEY-----'",
        'if token is None or password != "x": raise AuthError("token authentication failed for user")',
        "12:34:5678:error:something: in the log",
        '{"next_page_token": "%s", "token_type": "Bearer"}',
        '{"public_key": "%s"}',
        "-----BEGIN PUBLIC KEY-----\n%s",
        "etag: %s",
        "set OPENAI_API_KEY=$OPENAI_API_KEY or OPENAI_API_KEY=your-key-here",
        "token=$PROJECT:0f8fad5b-d9cb-469f-a165-70867728950e",
        '{"errors": {"password": "required", "api_key": "must be a string"}}',
        "Cookie: theme=dark; lang=en; consent=2026-11-22",
        "SharedAccessKey=<your key>;Password=********;",
        "grant_type=client_credentials&client_id=%3CCLIENT_ID%3E&client_secret=%3CCLIENT_SECRET%3E",
        '"{\\"access_token\\":\\"<ACCESS_TOKEN-2>\\"}"',
        'WWW-Authenticate: Bearer authorization_uri="https://h.example/", error="invalid_token"',
        'client_secret=os.environ["CLIENT_SECRET"]',
        "tk.ClientSecret(client_id, client_secret=client_secret, environment=environment)",
        "passwords are not stored; a password is asked for.",
    ],
)
def test_ordinary_text(text):
    """Code, documentation, cursors, public keys, identifiers and stand-ins are no findings."""
    text = text.replace("%s", fake(40))
    assert kinds(text) == kinds(json.dumps(text)) == []


def test_passwords_that_people_make():
    """Passwords that people make up are found in source and settings, under names that can only be a credential's."""
    lines = (Path(__file__).parents[1] / "data" / "made_by_people.txt").read_text("utf-8").splitlines()
    missed = [line for line in lines if kinds(line.replace("\\n", "\n") + "\n") != ["secret field"]]
    assert len(missed) <= len(lines) / 12, missed


def test_lines():
    """Each finding has the line of its value, also behind escaped line breaks; an escaped value is found once."""
    lines = [
        "a%0Ab",
        f"password={fake(24)}",
        "x-api-key:",
        f"  - {fake(24)}",
        "",
        f"?to=https%3A%2F%2Fh%2F%3Fapi_key%3D{fake(24)}",
    ]
    places = sorted(secrets_in("\n".join(lines)))
    assert [place[:2] for place in places] == [(line, "secret field") for line in (2, 4, 6)]
