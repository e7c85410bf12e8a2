"""Files with one planted secret each, as scanners of repositories know them, and neighbours without a secret.

The secrets are random, in the formats that services document. A neighbour has the same names with a placeholder, or
random-looking text that is not a secret: identifiers, digests, public keys.
"""

from __future__ import annotations

import base64
import hashlib
import json
import string
import uuid
from collections.abc import Callable
from random import Random
from urllib.parse import quote

ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
Files = dict[str, Callable[[Random], str]]  # text of a file, by name


def letters(random: Random, count: int, alphabet: str = ALPHANUMERIC) -> str:
    """Return random letters and digits, at least one of each kind that the alphabet has."""
    while True:
        text = "".join(random.choices(alphabet, k=count))
        if any(each.isdigit() for each in text) and any(each.isalpha() for each in text):
            return text


def base64_of(random: Random, count: int) -> str:
    """Return random bytes as base64."""
    return base64.b64encode(random.randbytes(count)).decode()


def jwt(random: Random) -> str:
    """Return a signed token with random claims."""
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": letters(random, 8), "iat": random.randrange(10**9, 2 * 10**9)}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, letters(random, 43)])


def pem(random: Random, kind: str) -> str:
    """Return random bytes as a PEM of a kind."""
    lines = "\n".join(base64_of(random, 48) for _ in range(8))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"


def notebook(source: str, output: str) -> str:
    """Return a notebook with one cell."""
    out = {"output_type": "stream", "name": "stdout", "text": [output + "\n"]}
    cell = {"cell_type": "code", "id": "a1", "metadata": {}, "execution_count": 1, "source": [source], "outputs": [out]}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def docker_config(auth: str) -> str:
    """Return Docker's file of logins."""
    return json.dumps({"auths": {"https://registry.example/v1/": {"auth": auth}}}, indent=2)


def kubeconfig(user: str) -> str:
    """Return a Kubernetes client's settings with these lines for the user."""
    return (
        "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: https://10.0.0.1:6443\n  name: main\n"
        f"users:\n- name: admin\n  user:\n    {user}\n"
    )


PLANTED: Files = {
    "github.py": lambda r: f'client = Github("ghp{"_"}{letters(r, 36)}")\n',
    "gitlab.yml": lambda r: f"variables:\n  CI_TOKEN: glpat{'-'}{letters(r, 20)}\n",
    "stripe.js": lambda r: f"const stripe = require('stripe')('sk_live{'_'}{letters(r, 24)}');\n",
    "slack.py": lambda r: f'slack = WebClient("xoxb{"-"}{r.randrange(10**11, 10**12)}-{letters(r, 24)}")\n',
    "slack-webhook.txt": lambda r: (
        f"https://hooks.slack.com/services{'/'}T{letters(r, 8).upper()}/B{letters(r, 8).upper()}/{letters(r, 24)}\n"
    ),
    "aws-credentials.ini": lambda r: (
        f"[default]\naws_access_key_id = AKIA{letters(r, 16, string.ascii_uppercase + '234567')}\n"
        f"aws_secret_access_key = {base64_of(r, 30)}\n"
    ),
    "google.html": lambda r: f'<script src="https://maps.example/api/js?key=AIza{letters(r, 35)}"></script>\n',
    "google-account.json": lambda r: json.dumps({"type": "service_account", "private_key": pem(r, "PRIVATE " + "KEY")}),
    "openai.py": lambda r: f'openai.api_key = "sk-proj{"-"}{letters(r, 48)}"\n',
    "anthropic.sh": lambda r: f"export ANTHROPIC_API_KEY=sk-ant{'-'}api03-{letters(r, 93)}AA\n",
    "sendgrid.rb": lambda r: f"SendGrid::API.new(api_key: 'SG{'.'}{letters(r, 22)}.{letters(r, 43)}')\n",
    "npmrc.txt": lambda r: f"//registry.example/:_authToken=npm{'_'}{letters(r, 36)}\n",
    "pypirc.ini": lambda r: f"[pypi]\nusername = __token__\npassword = pypi{'-'}AgEIcHlwaS5vcmc{letters(r, 120)}\n",
    "telegram.py": lambda r: f'TELEGRAM_BOT_TOKEN = "{r.randrange(10**9, 10**10)}:AA{letters(r, 33)}"\n',
    "shopify.env": lambda r: f"SHOPIFY_TOKEN=shpat{'_'}{letters(r, 32, HEX)}\n",
    "postgres.py": lambda r: f'engine = create_engine("postgresql://app:{letters(r, 20)}@db.internal:5432/main")\n',
    "mongo.yaml": lambda r: f"uri: mongodb+srv://app:{letters(r, 20)}@cluster0.example.net/main?retryWrites=true\n",
    "azure-storage.config": lambda r: (
        '<add name="Storage" connectionString="DefaultEndpointsProtocol=https;AccountName=main;AccountKey='
        f'{base64_of(r, 64)};EndpointSuffix=core.windows.net" />\n'
    ),
    "sql-server.json": lambda r: json.dumps(
        {"ConnectionStrings": {"Main": f"Server=db;Database=main;User Id=app;Password={letters(r, 20)};"}}
    ),
    "sas.txt": lambda r: (
        "https://main.blob.core.windows.net/a/b?sv=2024-08-04&se=2027-01-01&sp=r"
        f"&sig={quote(base64_of(r, 32), safe='')}\n"
    ),
    "curl-bearer.md": lambda r: (
        f'```sh\ncurl https://api.service.example -H "Authorization: Bearer {letters(r, 40)}"\n```\n'
    ),
    "curl-user.sh": lambda r: f"curl -u admin:{letters(r, 20)} https://api.service.example/v1/things\n",
    "curl-key.sh": lambda r: f"curl 'https://api.service.example/v1/things?api_key={letters(r, 32)}&lang=en'\n",
    ".netrc": lambda r: f"machine api.service.example\n  login app\n  password {letters(r, 20)}\n",
    ".env": lambda r: f"DEBUG=1\nDATABASE_PASSWORD={letters(r, 24)}\nPORT=8000\n",
    "secret.toml": lambda r: f'[auth]\nclient_secret = "{letters(r, 40)}"\n',
    "output.ipynb": lambda r: notebook("print(reply.json())", f"{{'access_token': '{letters(r, 40)}'}}"),
    "source.ipynb": lambda r: notebook(f'api_key = "{letters(r, 32)}"', "done"),
    "kubeconfig.yaml": lambda r: kubeconfig(f"token: {jwt(r)}"),
    "kube-key.yaml": lambda r: kubeconfig(
        "client-key-data: " + base64.b64encode(pem(r, "RSA PRIVATE " + "KEY").encode()).decode()
    ),
    "docker-config.json": lambda r: docker_config(base64.b64encode(f"app:{letters(r, 24)}".encode()).decode()),
    "jwt.log": lambda r: f"2026-01-02 03:04:05 INFO token {jwt(r)} accepted\n",
    "id_rsa": lambda r: pem(r, "OPENSSH PRIVATE " + "KEY"),
    "server.key": lambda r: pem(r, "EC PRIVATE " + "KEY"),
    "session.har": lambda r: json.dumps(
        {"log": {"entries": [{"request": {"headers": [{"name": "X-Api-Key", "value": letters(r, 32)}]}}]}}
    ),
    "terraform.tfvars": lambda r: f'db_password = "{letters(r, 20)}"\nregion = "eu-west-1"\n',
}

CLEAN: Files = {
    "github.py": lambda r: 'client = Github(os.environ["GITHUB_TOKEN"])\n',
    "gitlab.yml": lambda r: "variables:\n  CI_TOKEN: $CI_JOB_TOKEN\n",
    "stripe.js": lambda r: "const stripe = require('stripe')('sk_test_...');  // your secret key\n",
    "aws-credentials.ini": lambda r: "[default]\naws_access_key_id = YOUR_KEY_ID\naws_secret_access_key = <secret>\n",
    "openai.py": lambda r: 'openai.api_key = os.getenv("OPENAI_API_KEY")  # starts with sk-\n',
    "npmrc.txt": lambda r: "//registry.example/:_authToken=${NPM_TOKEN}\n",
    "postgres.py": lambda r: 'engine = create_engine("postgresql://user:password@localhost:5432/main")\n',
    "sql-server.json": lambda r: json.dumps(
        {"ConnectionStrings": {"Main": "Server=db;User Id=app;Password={your_password};"}}
    ),
    "curl-bearer.md": lambda r: 'curl https://api.service.example -H "Authorization: Bearer $TOKEN"\n',
    "curl-user.sh": lambda r: "curl -u username:password https://api.service.example/v1/things\n",
    "curl-key.sh": lambda r: "curl 'https://api.service.example/v1/things?api_key=YOUR_API_KEY&lang=en'\n",
    ".netrc": lambda r: "machine api.service.example\n  login app\n  password changeme\n",
    ".env": lambda r: "DATABASE_PASSWORD=\nSECRET_KEY=change-me-in-production\nTOKEN_LIFETIME=3600\n",
    "ids.json": lambda r: json.dumps(
        {"id": str(uuid.UUID(int=r.getrandbits(128))), "request_id": letters(r, 32, HEX), "trace": letters(r, 32, HEX)}
    ),
    "package-lock.json": lambda r: json.dumps(
        {"packages": {"node_modules/a": {"version": "1.0.0", "integrity": f"sha512-{base64_of(r, 64)}"}}}, indent=2
    ),
    "requirements.txt": lambda r: f"a==1.0 --hash=sha256:{hashlib.sha256(r.randbytes(8)).hexdigest()}\n",
    "go.sum": lambda r: f"golang.example/x/crypto v0.1.0 h1:{base64_of(r, 32)}\n",
    "cargo.lock": lambda r: f'[[package]]\nname = "tokenizers"\nchecksum = "{letters(r, 64, HEX)}"\n',
    "commits.log": lambda r: f"{letters(r, 40, HEX)} Rotate the API key\n",
    "public.pem": lambda r: pem(r, "PUBLIC KEY"),
    "certificate.pem": lambda r: pem(r, "CERTIFICATE"),
    "authorized_keys": lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{letters(r, 43)} me@host\n",
    "etag.json": lambda r: json.dumps({"etag": f'"{letters(r, 32, HEX)}"', "next_page_token": letters(r, 40)}),
    "image.md": lambda r: f"![chart](data:image/png;base64,iVBORw0KGgo{base64_of(r, 90)})\n",
    "key-names.json": lambda r: json.dumps(
        {"key": "customer-accounts", "sort_key": "created_at", "token_type": "bearer"}
    ),
    "s3.json": lambda r: json.dumps(
        {"Contents": [{"Key": f"photos/2026/{letters(r, 12)}.jpg", "ETag": letters(r, 32, HEX)}]}
    ),
    "messages.json": lambda r: json.dumps({"errors": {"password": "must have 8 characters", "token": "required"}}),
    "messages.po": lambda r: 'msgid "Password"\nmsgstr "Passwort"\nmsgid "secret"\nmsgstr "Geheimnis"\n',
    "test_login.py": lambda r: 'def test_login():\n    login("bob", password="hunter2-example")\n',
    "openapi.yaml": lambda r: (
        "token:\n  type: string\n  description: The access token\n  example: your-token-here\n"
        "password:\n  type: string\n"
    ),
    "jwks.json": lambda r: json.dumps(
        {"keys": [{"kty": "RSA", "kid": letters(r, 20), "n": letters(r, 342), "e": "AQAB"}]}
    ),
    "kubeconfig.yaml": lambda r: kubeconfig("exec: {command: aws, args: [eks, get-token]}"),
    "docker-config.json": lambda r: json.dumps(
        {"auths": {"https://registry.example/v1/": {}}, "credsStore": "desktop"}
    ),
    "placeholder.ipynb": lambda r: notebook('api_key = getpass("API key: ")', "API key: ········"),
    "recording.yaml": lambda r: "headers:\n  Authorization:\n  - Bearer <ACCESS_TOKEN>\n",
    "code.py": lambda r: "token = next(tokens)\npassword = form.password.data\nsecret = Secret(value)\n",
}
