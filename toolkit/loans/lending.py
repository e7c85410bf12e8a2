"""The parts of a session that a loan takes: its tokens, and the options that travel to other processes."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import httpx

from toolkit.auth.authorizers import TokenAuthorizer
from toolkit.auth.borrowed import BorrowedCredentials
from toolkit.auth.credentials import KeyPair
from toolkit.auth.tokens.token import Token
from toolkit.core.clock import Clock, SystemClock
from toolkit.core.document import CredentialKind, Environment, Interface
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.session.sending import transport_of
from toolkit.session.session import AsyncSession, Session
from toolkit.transport.flow import run
from toolkit.transport.network import Network
from toolkit.transport.pacing import Pace


def session_of(client: httpx.Client | httpx.AsyncClient) -> Session | AsyncSession:
    """Return the session of a client, such as `session.broker`.

    Raises:
        ConfigurationError: if it does not belong to one.
    """
    return cast("Session | AsyncSession", transport_of(client).session)


class SessionTokens:
    """The tokens of a session, for code without an event loop, whatever the session's kind.

    Args:
        authorizer: the session's authorizer.
        network: sends token requests.
    """

    def __init__(self, authorizer: TokenAuthorizer, network: Network) -> None:
        self._authorizer = authorizer
        self._network = network

    def obtain(self) -> Token:
        """Return a usable token; a renewal that is due is requested, once for all users of the session's tokens.

        Raises:
            TokenError, Unreachable: if no token is available.
        """
        token = run(self._authorizer.obtain(), self._network).token
        assert token is not None  # noqa: S101 - a TokenAuthorizer grants tokens
        return token

    def reject(self, token: Token, *, was_accepted: bool) -> bool:
        """Note that the service refused a token to a borrower; see `TokenAuthorizer.reject`."""
        return self._authorizer.reject(token, was_accepted=was_accepted)

    def close(self) -> None:
        """Close the connections."""
        self._network.close()


class Lendable(NamedTuple):
    """The parts of a session that can be lent.

    Attributes:
        keeper: the session's tokens.
        clock: the session's clock.
        environment, profile, kind: who calls.
        addresses: the addresses of the environment's interfaces that are set, without the auth address.
        header_prefix: prefix of the key headers.
        pace: the schedule of all calls with the credentials; workers share its rate.
        options: further arguments of the session that travel: timeout, verify and retry.
    """

    keeper: SessionTokens
    clock: Clock
    environment: Environment
    profile: str
    kind: CredentialKind
    addresses: Mapping[str, str]
    header_prefix: str
    pace: Pace
    options: Mapping[str, Any]


def lendable(session: Session | AsyncSession) -> Lendable:
    """Return the parts of a session that can be lent.

    Raises:
        CredentialsMismatch: if it has a key pair, or has borrowed its tokens.
        ConfigurationError: if it has a cassette, or a transport, clock or TLS context of its own.
        UnsafeAddress: if the credentials are not meant for its addresses.
    """
    if not isinstance(session, Session | AsyncSession):
        raise ConfigurationError(
            f"Only a Session or an AsyncSession can be lent, not {type(session).__name__}.",
            "Open one with tk.Session(environment, credentials).",
            about="session",
        )
    sender, network = session._sender, session._below  # noqa: SLF001
    credentials, clock = session.credentials, sender.clock
    if sender.cassette_in_use() is not None:
        raise ConfigurationError(
            "A session with a cassette cannot be lent: a cassette has one writer, and a replay has no tokens.",
            "Lend a live session. To keep the answers, let the tasks return or write tables.",
            about="cassette",
        )
    if isinstance(credentials, KeyPair):
        raise CredentialsMismatch(
            "A key pair cannot be lent: it has no tokens that expire, so the workers would get the secret key itself.",
            "Only broker partners, who call with access tokens, can lend. Make these calls from this process.",
            about="credentials",
        )
    if credentials is None or isinstance(credentials, BorrowedCredentials):
        raise CredentialsMismatch(
            "This session has no credentials of its own, so it cannot lend.",
            "Lend from the process that holds the credentials; its handle may be passed on.",
            about="credentials",
        )
    if not isinstance(network, Network) or not isinstance(clock, SystemClock):
        name = "clock" if isinstance(network, Network) else "transport"
        raise ConfigurationError(
            f"A session with a {name} of its own cannot be lent: that is an object of this process.",
            f"Leave out {name}=.",
            about=name,
        )
    verify = network.verify
    if isinstance(verify, ssl.SSLContext):
        raise ConfigurationError(
            "A session with an SSLContext cannot be lent: it is an object of this process.",
            'Pass verify="system", or the path of a file with certificate authorities, which every worker has.',
            about="verify",
        )
    authorizer = sender.authorizer()
    assert isinstance(authorizer, TokenAuthorizer)  # noqa: S101 - the only other kind is that of key pairs
    rules, set_addresses = session.environment.rules, session.settings.addresses
    names = [name for interface, name in rules.addresses.items() if interface is not Interface.AUTH]
    return Lendable(
        keeper=SessionTokens(authorizer, Network(is_async=False, verify=verify, proxy=network.proxy)),
        clock=clock,
        environment=session.environment,
        profile=credentials.name,
        kind=credentials.kind,
        addresses={name: set_addresses[name] for name in names if name in set_addresses},
        header_prefix=session.settings.header_prefix,
        pace=sender.pace,
        options={"timeout": sender.timeout, "verify": verify, "retry": session.retry},
    )
