"""Access tokens: reading one from a reply, sharing one among everyone who has the credentials."""

from toolkit.tokens.token import EARLY_AT_MOST, EARLY_SHARE, LONGEST_LIFETIME, Token  # noqa: F401
