"""Helpers for the tests of this folder: requests to a practice service."""

from __future__ import annotations

import base64
import json
import secrets

from toolkit.auth.kinds import ClientSecret, KeyPair
from toolkit.auth.private_keys import ASSERTION_TYPE, client_assertion

# Section 1 of the service document, written out by hand: the addresses that each caller may use.
ALLOWED = {
    "live": {"trading_live", "market_data"},
    "live-2": {"trading_live", "market_data"},
    "paper": {"trading_paper", "market_data"},
    "paper-2": {"trading_paper", "market_data"},
    "broker-secret": {"broker", "market_data", "auth"},
    "broker-2": {"broker", "market_data", "auth"},
    "broker-key": {"broker", "market_data", "auth"},
    "sandbox-secret": {"broker_sandbox", "market_data_sandbox", "auth_sandbox"},
    "sandbox-2": {"broker_sandbox", "market_data_sandbox", "auth_sandbox"},
    "sandbox-key": {"broker_sandbox", "market_data_sandbox", "auth_sandbox"},
}
PATHS = {
    "trading_live": "/v2/account",
    "trading_paper": "/v2/account",
    "market_data": "/v2/practice/quotes",
    "market_data_sandbox": "/v2/practice/quotes",
    "broker": "/v1/accounts",
    "broker_sandbox": "/v1/accounts",
}
TOKEN_PATH = "/v1/oauth2/token"
KEY_PAIRS = [name for name in ALLOWED if name.startswith(("live", "paper"))]
CLIENTS = [name for name in ALLOWED if name not in KEY_PAIRS]


def url_of(service, address):
    return service.settings.addresses[address]


def auth_address(credentials):
    return "auth" if credentials.environment == "broker-live" else "auth_sandbox"


def signed(credentials, claims, **header):
    """Return a JWT with any claims and header, signed with the key of the credentials."""
    parts = [{"alg": credentials.algorithm, "typ": "JWT", **header}, claims]
    text = b".".join(encoded(json.dumps(part).encode()) for part in parts)
    return b".".join((text, encoded(credentials.private_key.sign(text)))).decode()


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def claims_for(service, credentials, clock, **changes):
    now = int(clock.now().timestamp())
    claims = {
        "iss": credentials.client_id,
        "sub": credentials.client_id,
        "aud": url_of(service, auth_address(credentials)) + TOKEN_PATH,
        "iat": now,
        "exp": now + 60,
        "jti": secrets.token_hex(8),
        **changes,
    }
    return {name: value for name, value in claims.items() if value is not None}


def assertion_form(credentials, assertion, **changes):
    fields = {
        "grant_type": "client_credentials",
        "client_id": credentials.client_id,
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": assertion,
        **changes,
    }
    return {name: value for name, value in fields.items() if value is not None}


def token_form(service, credentials, clock):
    """Return the form of a valid token request."""
    if isinstance(credentials, ClientSecret):
        return {
            "grant_type": "client_credentials",
            "client_id": credentials.client_id,
            "client_secret": credentials.client_secret.reveal(),
        }
    audience = url_of(service, auth_address(credentials)) + TOKEN_PATH
    assertion = client_assertion(
        credentials.private_key,
        client_id=credentials.client_id,
        audience=audience,
        now=clock.now(),
        new_jti=lambda: secrets.token_hex(8),
    )
    return assertion_form(credentials, assertion.reveal())


def ask_token(http, service, credentials, clock):
    return http.post(
        url_of(service, auth_address(credentials)) + TOKEN_PATH, data=token_form(service, credentials, clock)
    )


def own_headers(http, service, credentials, clock):
    """Return the headers of a call in the flow of the credentials."""
    if isinstance(credentials, KeyPair):
        return {
            "SVC-API-KEY-ID": credentials.key_id.reveal(),
            "SVC-API-SECRET-KEY": credentials.secret_key.reveal(),
        }
    token = ask_token(http, service, credentials, clock).json()["access_token"]
    return {"Authorization": f"Bearer {token}"}


def basic(credentials, *, secret_key=None):
    text = f"{credentials.key_id.reveal()}:{secret_key or credentials.secret_key.reveal()}"
    return "Basic " + base64.b64encode(text.encode()).decode()


def get(http, service, name, clock, address, *, path=None, **options):
    headers = own_headers(http, service, service.credentials[name], clock)
    return http.get(url_of(service, address) + (path or PATHS[address]), headers=headers, **options)
