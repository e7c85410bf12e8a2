"""The choice of what authorizes a session's calls, by the kind of its credentials."""

from __future__ import annotations

from toolkit.auth.authorizers import Authorizer, KeyPairAuthorizer, TokenAuthorizer
from toolkit.auth.borrowed import BorrowedAuthorizer, BorrowedCredentials
from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.auth.destination_memory import check_destinations
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.auth.tokens.store import TokenStore
from toolkit.core.document import Interface
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings
from toolkit.session.sending import Sender
from toolkit.session.token_requests import TokenExchange
from toolkit.transport.family import httpx


def make_authorizer(
    credentials: Credentials | None,
    *,
    settings: Settings,
    sender: Sender,
    store: TokenStore | MemoryTokenStore,
    timeout: float | httpx.Timeout | None,
) -> Authorizer:
    """Return the authorizer of a session, after a check that its credentials may go where the settings say.

    Raises:
        UnsafeAddress: if the settings would send the credentials elsewhere.
        ConfigurationError: if the session has no credentials, or the auth address is not set.
    """
    if credentials is not None:
        check_destinations(credentials, settings)  # nothing was sent yet, token requests included
    if isinstance(credentials, KeyPair):
        return KeyPairAuthorizer(credentials, header_prefix=settings.header_prefix)
    if not isinstance(credentials, ClientSecret | ClientKey | BorrowedCredentials):
        raise ConfigurationError(
            "This session replays without credentials, so it cannot send anything.",
            "Give the session credentials, or replay only recorded calls.",
            about="credentials",
        )
    address_name = credentials.environment.rules.addresses[Interface.AUTH]
    exchange = TokenExchange(sender, credentials, address_name)
    if isinstance(credentials, BorrowedCredentials):
        return BorrowedAuthorizer(credentials, clock=sender.clock, number=exchange.number)
    return TokenAuthorizer(
        credentials,
        auth_address=settings.address(address_name),
        clock=sender.clock,
        store=store,
        exchange=exchange,
        number=exchange.number,
        timeout=timeout,
    )
