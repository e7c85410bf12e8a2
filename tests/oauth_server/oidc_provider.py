"""Run npm's oidc-provider, an OpenID Certified server, in a process of its own."""

from __future__ import annotations

import json
import queue
import secrets
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

HERE = Path(__file__).parent
PATIENCE = 30  # seconds to wait for a line from the server
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
ALGORITHMS = (*CURVES, "EdDSA", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
SCOPES = ("accounts:read", "orders:write")
CLIENT = {
    "grant_types": ["client_credentials"],
    "response_types": [],
    "redirect_uris": [],
    "token_endpoint_auth_method": "client_secret_post",
    "scope": SCOPES[0],
}


class Broker(httpx.HTTPTransport):
    """Answers every call to the broker with an empty list, keeps its token, and sends token requests to the server."""

    def __init__(self):
        super().__init__()
        self.bearers = []

    def handle_request(self, request):
        if request.url.host != "broker.example.com":
            return super().handle_request(request)
        self.bearers.append(request.headers["Authorization"].removeprefix("Bearer "))
        return httpx.Response(200, json=[])


class OAuthServer:
    """A running server with one client for each algorithm, named like it, and one with a secret, named "secret"."""

    def __init__(self, node: str, installed: Path) -> None:
        self.client_secret = secrets.token_urlsafe(30)
        self.keys = private_keys()
        self._process = subprocess.Popen(
            [node, str(HERE / "server.mjs"), str(installed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: queue.Queue[dict[str, str]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        configuration = {"clients": list(self._clients()), "scopes": SCOPES}
        self._process.stdin.write(json.dumps(configuration) + "\n")
        self._process.stdin.flush()
        self.issuer = self._next("issuer")

    def why_refused(self) -> str:
        return self._next("refused")

    def other_refusals(self) -> list[str]:
        return [self._next("refused") for _ in range(self._lines.qsize())]

    def introspect(self, access_token: str) -> dict[str, Any]:
        form = {"token": access_token, "client_id": "secret", "client_secret": self.client_secret}
        return httpx.post(f"{self.issuer}/introspection", data=form).raise_for_status().json()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self._process.stdout.close()

    def _clients(self) -> list[Mapping[str, Any]]:
        with_secret = {**CLIENT, "client_id": "secret", "client_secret": self.client_secret}
        with_keys = [
            {
                **CLIENT,
                "client_id": algorithm,
                "token_endpoint_auth_method": "private_key_jwt",
                "token_endpoint_auth_signing_alg": algorithm,
                "jwks": {"keys": [public_jwk(key, algorithm)]},
            }
            for algorithm, key in self.keys.items()
        ]
        return [with_secret, *with_keys]

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith("{"):  # other lines are notices to the operator
                self._lines.put(json.loads(line))

    def _next(self, name: str) -> str:
        return self._lines.get(timeout=PATIENCE)[name]


def private_keys() -> dict[str, Any]:
    of_curves = {algorithm: ec.generate_private_key(curve) for algorithm, curve in CURVES.items()}
    for_rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    rest = {algorithm: for_rsa for algorithm in ALGORITHMS if algorithm[:2] in ("RS", "PS")}
    return {**of_curves, "EdDSA": ed25519.Ed25519PrivateKey.generate(), **rest}


def public_jwk(private_key: Any, algorithm: str) -> dict[str, str]:
    public = jwt.get_algorithm_by_name(algorithm).to_jwk(private_key.public_key(), as_dict=True)
    return {**public, "kid": f"{algorithm}-1", "use": "sig"}
