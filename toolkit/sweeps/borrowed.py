"""Borrowed access: calls with the access tokens of a lender, who keeps the credentials and renews the tokens.

A borrower never sends a token request; the loan brings it the lender's tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import httpx

from toolkit.auth.authorizers import BearerAuthorizer, Grant
from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.single_flight import TokenSource
from toolkit.auth.tokens.token import Token
from toolkit.core.clock import Clock
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.secret import Secret
from toolkit.transport.flow import Flow


class Borrow(Protocol):
    """Gets the lender's newest token.

    Args:
        clock: the borrower's clock.
        refused: a token that the service refused and that needs a replacement, or None.
        was_accepted: True if the service had accepted that token earlier.
    """

    def __call__(self, clock: Clock, *, refused: Token | None, was_accepted: bool) -> Flow[Token]: ...


class BorrowedCredentials(Credentials):
    """The caller whose access tokens are lent. Holds no secret.

    Args:
        environment: environment of the lender's credentials.
        name: name of the lender's profile.
        kind: kind of the lender's credentials; not a key pair, which has no tokens.
        loan: name of the loan.
        destinations: the addresses that the tokens may go to, by their names.
        borrow: gets the lender's newest token.
    """

    def __init__(
        self,
        *,
        environment: Environment | str,
        name: str,
        kind: CredentialKind | str,
        loan: str,
        destinations: Mapping[str, str],
        borrow: Borrow,
    ) -> None:
        self.kind = CredentialKind(kind)
        super().__init__(environment=environment, name=name)
        self.loan = loan
        self.borrow = borrow
        self.note_source("", destinations)

    def borrowing_authorizer(self, clock: Clock, number: Callable[[Token], int]) -> BorrowedAuthorizer:
        return BorrowedAuthorizer(self, clock=clock, number=number)

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return ()

    def proof(self) -> str:
        return self.loan

    def _identity(self) -> tuple[str, ...]:
        return (self.loan,)

    def token_identity(self) -> bytes | None:
        return None


class BorrowedAuthorizer(BearerAuthorizer):
    """Calls with a lender's access token. A 401 gets the lender's newest token once, never a token request from here.

    Args:
        credentials: the caller whose tokens are lent.
        clock: tells whether a token is usable.
        number: returns the number of a token in its session.
    """

    _credentials: BorrowedCredentials

    def __init__(self, credentials: BorrowedCredentials, *, clock: Clock, number: Callable[[Token], int]) -> None:
        super().__init__(credentials, clock=clock, number=number, source=TokenSource())
        self._accepted: Token | None = None
        self._refused: Token | None = None

    def note_answer(self, request: httpx.Request, status: int, grant: Grant, /) -> bool:
        if status == httpx.codes.UNAUTHORIZED:
            self._refused = grant.token
        else:
            self._accepted = grant.token
            if self._refused is not None and _is_same(self._refused, grant.token):
                self._refused = None
        return super().note_answer(request, status, grant)

    def _fetch(self, *, patiently: bool) -> Flow[Token]:  # noqa: ARG002 - a borrower waits when there is none
        refused = self._refused
        was_accepted = refused is not None and _is_same(refused, self._accepted)
        return self._credentials.borrow(self._clock, refused=refused, was_accepted=was_accepted)


def _is_same(token: Token, other: Token | None) -> bool:
    """Check whether two tokens have the same text; a token that is read again is another object."""
    return other is not None and token.access_token == other.access_token
