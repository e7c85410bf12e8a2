"""The service document's rules as constants: who may call which interface, where, and how callers authenticate.

Section numbers refer to the service document. All other modules take its facts from here. Nothing is assumed about
payloads and rate limits, which it does not describe. RFCs 9110, 6749 and 6750 define the status codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from toolkit.core.errors import as_choice


class Environment(StrEnum):
    """The environments of section 1, one for each kind of account holder."""

    LIVE = "live"
    PAPER = "paper"
    BROKER_LIVE = "broker-live"
    BROKER_SANDBOX = "broker-sandbox"

    @classmethod
    def _missing_(cls, value: object) -> None:
        as_choice(value, map(str, cls), about="environment")

    @property
    def rules(self) -> Access:
        """The interfaces that this environment may call, and the credentials it takes."""
        return ACCESS[self]


class Interface(StrEnum):
    """The four interfaces of section 1."""

    TRADING = "trading"
    MARKET_DATA = "market_data"
    BROKER = "broker"
    AUTH = "auth"

    @classmethod
    def _missing_(cls, value: object) -> None:
        as_choice(value, map(str, cls), about="interface")


class CredentialKind(StrEnum):
    """The kinds of credentials (sections 5.1 and 5.2)."""

    KEY_PAIR = "key pair"
    CLIENT_SECRET = "client secret"  # noqa: S105 - the name of a kind
    CLIENT_KEY = "client key"


class Access(NamedTuple):
    """The access that an environment has, according to section 1.

    Attributes:
        holder: the kind of account holder, in the document's words.
        addresses: the interfaces that it may call, each with the name of its address.
        credentials: the kinds of credentials that it takes.
        real_account: True if calls reach a real account rather than a paper or sandbox account.
        accounts: interface and path of the accounts call shown in section 4.2.
    """

    holder: str
    addresses: Mapping[Interface, str]
    credentials: frozenset[CredentialKind]
    real_account: bool
    accounts: tuple[Interface, str]


# Section 2: the token response. Section 5.1: "valid for 15 minutes".
TOKEN_FIELDS: Final = ("access_token", "expires_in", "token_type")
TOKEN_TYPE: Final = "Bearer"  # noqa: S105
TOKEN_VALIDITY: Final = timedelta(minutes=15)

# Section 4. Version labels are the first path segment (section 9). The document does not show the paths of
# paper and sandbox; they are taken to be the same as for live.
TOKEN_PATH: Final = "/v1/oauth2/token"  # noqa: S105
BROKER_ACCOUNTS_PATH: Final = "/v1/accounts"
TRADING_ACCOUNT_PATH: Final = "/v2/account"
GRANT_TYPE: Final = "client_credentials"

# Section 5.2: header names have a prefix; SVC stands for the service's own.
DEFAULT_HEADER_PREFIX: Final = "SVC"
KEY_ID_HEADER: Final = "API-KEY-ID"
SECRET_KEY_HEADER: Final = "API-SECRET-KEY"  # noqa: S105


def _access(holder: str, *, is_real: bool, **addresses: str) -> Access:
    """Return an Access for addresses keyed by interface; only partners have the broker interface (section 1)."""
    is_partner = "broker" in addresses
    return Access(
        holder=holder,
        addresses={Interface(name): address for name, address in addresses.items()},
        credentials=frozenset(
            {CredentialKind.CLIENT_SECRET, CredentialKind.CLIENT_KEY} if is_partner else {CredentialKind.KEY_PAIR}
        ),
        real_account=is_real,
        accounts=(Interface.BROKER, BROKER_ACCOUNTS_PATH) if is_partner else (Interface.TRADING, TRADING_ACCOUNT_PATH),
    )


# Section 1, rules 1 to 4. The document does not say which flow market data uses; it is taken to be the caller's own.
ACCESS: Final[Mapping[Environment, Access]] = {
    Environment.LIVE: _access("live account", is_real=True, trading="trading_live", market_data="market_data"),
    Environment.PAPER: _access("paper account", is_real=False, trading="trading_paper", market_data="market_data"),
    Environment.BROKER_LIVE: _access(
        "live broker partner", is_real=True, broker="broker", market_data="market_data", auth="auth"
    ),
    Environment.BROKER_SANDBOX: _access(
        "sandbox broker partner",
        is_real=False,
        broker="broker_sandbox",
        market_data="market_data_sandbox",
        auth="auth_sandbox",
    ),
}

# The placeholders at the top of the document, in its order and without `_url`.
ADDRESS_NAMES: Final = tuple(
    dict.fromkeys(each.addresses[name] for name in Interface for each in ACCESS.values() if name in each.addresses)
)


def header_names(prefix: str = DEFAULT_HEADER_PREFIX) -> tuple[str, str]:
    """Return the names of the key ID header and the secret key header (section 5.2) for a prefix."""
    return f"{prefix}-{KEY_ID_HEADER}", f"{prefix}-{SECRET_KEY_HEADER}"


SYMBOLIC_ENDING: Final = ".svc.invalid"  # of the symbolic hosts for the addresses in the settings


def symbolic_address(name: str) -> str:
    """Return the URL that stands for an address in recordings; `.invalid` never resolves (RFC 6761 section 6.4)."""
    return f"https://{name.replace('_', '-')}{SYMBOLIC_ENDING}"


class Placeholder:
    """Strings that replace credentials in recordings, in the style of the document."""

    KEY_ID: Final = "<API_KEY_ID>"
    SECRET_KEY: Final = "<API_SECRET_KEY>"  # noqa: S105
    CLIENT_ID: Final = "<CLIENT_ID>"
    CLIENT_SECRET: Final = "<CLIENT_SECRET>"  # noqa: S105
    ACCESS_TOKEN: Final = "<ACCESS_TOKEN>"  # noqa: S105
    CLIENT_ASSERTION: Final = "<CLIENT_ASSERTION>"
    PRIVATE_KEY: Final = "<PRIVATE_KEY>"
    BASIC: Final = "<API_KEY_ID:API_SECRET_KEY>"
    SECRET: Final = "<SECRET>"  # noqa: S105
