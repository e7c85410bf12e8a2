"""Requests of a session on a service within this process, and searches for their secrets; for tests."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime
from urllib.parse import parse_qs, quote

import httpx
from manual_clock import ManualClock

from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.replay.matching import Identity
from toolkit.core.addresses import Address
from toolkit.core.document import Interface, symbolic_address
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.scrubber import Scrubber
from toolkit.session.scope import Scope
from toolkit.session.sending import InterfaceTransport, Sender
from toolkit.transport.pacing import Pace
from toolkit.transport.retry import Retry

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
ADDRESS = "https://broker.example.com"
AUTH = Address.parse("https://auth.example.com", setting="auth")
URL = f"{ADDRESS}/v1/accounts"


class Way:
    """A sender with one set of credentials on a service within this process, and clients on it."""

    def __init__(self, credentials, service, *, cassette=None, store=None):
        self.credentials, self.service = credentials, service
        self.clock = ManualClock(START)
        self.known = cassette.scrubber.known if cassette else KnownSecrets()
        for kind, secret in credentials.secrets():
            self.known.add(kind, secret)
        self.scope = Scope(
            Interface.BROKER,
            own=Address.parse(ADDRESS, setting="broker"),
            symbolic=symbolic_address("broker_sandbox"),
            header_prefix="SVC",
        )
        self.sender = Sender(
            environment=credentials.environment,
            credentials=credentials,
            identity=Identity(credentials.environment, credentials.name),
            cassette=cassette,
            settings=Settings({"broker_sandbox": ADDRESS, "auth_sandbox": str(AUTH)}),
            known=self.known,
            store=store or MemoryTokenStore(),
            clock=self.clock,
            retry=Retry(),
            pace=Pace(),
            jitter=lambda: 1.0,
        )

    def flow(self, request):
        return self.sender.send(self.scope, request)

    def transport(self):
        return InterfaceTransport(self.scope, self.sender, self.service)

    def send(self, method="GET", url=URL, *, is_async=False, client=None, **request):
        """Return the response to a request of a client."""
        shape = {"transport": self.transport(), **(client or {})}
        if not is_async:
            with httpx.Client(**shape) as opened:
                return opened.request(method, url, **request)

        async def main():
            async with httpx.AsyncClient(**shape) as opened:
                return await opened.request(method, url, **request)

        return asyncio.run(main())


def secrets_in(text, way):
    """Return the kinds of the secrets in a text: as they are, percent-encoded, or as Basic credentials."""
    secrets = [*way.credentials.secrets(), *(("ACCESS_TOKEN", Secret(token)) for token in way.service.issued)]
    for body in way.service.bodies:
        secrets += [("ASSERTION", Secret(value)) for value in parse_qs(body.decode()).get("client_assertion", [])]
    pairs = [secret.reveal() for _, secret in way.credentials.secrets()]
    forms = [(kind, secret.reveal()) for kind, secret in secrets]
    forms += [("BASIC", base64.b64encode(":".join(pairs).encode()).decode())]
    return [kind for kind, form in forms if form[:24] in text or quote(form, safe="") in text]


def taped(make_credentials, service, path, mode, *, store=None):
    addresses = {"broker_sandbox": ADDRESS, "auth_sandbox": str(AUTH)}
    cassette = Cassette(path, mode, scrubber=Scrubber(KnownSecrets(), addresses=addresses))
    return Way(make_credentials("broker-sandbox"), service, cassette=cassette, store=store)
