"""Formats in which providers issue keys and tokens, as their documentation and secret scanners describe them.

A new format goes into `_FORMATS`. Its pattern begins with the literal text beside it and has bounded or possessive
repetitions only, so that a search stays linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from toolkit.core.patterns import compiled, matches_in


class Credential(NamedTuple):
    """A key or token in a provider's format.

    Attributes:
        kind: its kind, such as "ACCESS_TOKEN".
        start: position where it starts in the text.
        end: position where it ends.
    """

    kind: str
    start: int
    end: int


# Kind, literal text at the start, and what follows it.
_FORMATS: Final = (
    ("API_KEY_ID", "AKIA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),  # AWS
    ("API_KEY_ID", "ASIA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("API_KEY_ID", "ABIA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("API_KEY_ID", "ACCA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("ACCESS_TOKEN", "ghp_", r"[A-Za-z0-9]{36,255}+"),  # GitHub
    ("ACCESS_TOKEN", "gho_", r"[A-Za-z0-9]{36,255}+"),
    ("ACCESS_TOKEN", "ghu_", r"[A-Za-z0-9]{36,255}+"),
    ("ACCESS_TOKEN", "ghs_", r"[A-Za-z0-9]{36,255}+"),
    ("ACCESS_TOKEN", "ghr_", r"[A-Za-z0-9]{36,255}+"),
    ("ACCESS_TOKEN", "github_pat_", r"[A-Za-z0-9_]{22,255}+"),
    ("ACCESS_TOKEN", "glpat-", r"[A-Za-z0-9_.=-]{20,300}+"),  # GitLab
    ("ACCESS_TOKEN", "gldt-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glrt-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glptt-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glft-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glsoat-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glagent-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "gloas-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glcbt-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glimt-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "glffct-", r"[A-Za-z0-9_.=-]{20,300}+"),
    ("ACCESS_TOKEN", "xox", r"[abeoprs]-[A-Za-z0-9-]{10,250}+"),  # Slack
    ("ACCESS_TOKEN", "xoxe.xox", r"[bp]-[A-Za-z0-9-]{10,250}+"),
    ("ACCESS_TOKEN", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,250}+"),
    ("API_KEY", "sk_live_", r"[A-Za-z0-9]{10,250}+"),  # Stripe, Clerk and others
    ("API_KEY", "sk_test_", r"[A-Za-z0-9]{10,250}+"),
    ("API_KEY", "sk_prod_", r"[A-Za-z0-9]{10,250}+"),
    ("API_KEY", "rk_live_", r"[A-Za-z0-9]{10,250}+"),
    ("API_KEY", "rk_test_", r"[A-Za-z0-9]{10,250}+"),
    ("API_KEY", "rk_prod_", r"[A-Za-z0-9]{10,250}+"),
    ("SECRET", "whsec_", r"[A-Za-z0-9+/=]{20,100}+"),  # Stripe, Svix
    ("API_KEY", "AIza", r"[A-Za-z0-9_-]{35}"),  # Google
    ("ACCESS_TOKEN", "ya29.", r"[A-Za-z0-9_-]{20,2048}+"),
    ("CLIENT_SECRET", "GOCSPX-", r"[A-Za-z0-9_-]{28}"),
    ("API_KEY", "sk-proj-", r"[A-Za-z0-9_-]{20,250}+"),  # OpenAI, Anthropic, others
    ("API_KEY", "sk-svcacct-", r"[A-Za-z0-9_-]{20,250}+"),
    ("API_KEY", "sk-admin-", r"[A-Za-z0-9_-]{20,250}+"),
    ("API_KEY", "sk-ant-", r"[A-Za-z0-9_-]{20,250}+"),
    ("API_KEY", "sk-or-v1-", r"[A-Za-z0-9_-]{20,250}+"),
    ("API_KEY", "sk-lf-", r"[A-Za-z0-9_-]{20,250}+"),
    ("API_KEY", "sk-", r"[A-Za-z0-9]{20,250}+(?![A-Za-z0-9_-])"),
    ("API_KEY", "SG.", r"[A-Za-z0-9_-]{16,32}+\.[A-Za-z0-9_-]{16,64}+"),  # SendGrid
    ("API_KEY", "SK", r"[0-9a-f]{32}"),  # Twilio
    ("ACCESS_TOKEN", "npm_", r"[A-Za-z0-9]{36}"),
    ("ACCESS_TOKEN", "pypi-", r"[A-Za-z0-9_-]{50,500}+"),
    ("ACCESS_TOKEN", "hf_", r"[A-Za-z0-9]{30,50}+"),  # Hugging Face
    ("ACCESS_TOKEN", "doo_v1_", r"[0-9a-f]{64}"),  # DigitalOcean
    ("ACCESS_TOKEN", "dop_v1_", r"[0-9a-f]{64}"),
    ("ACCESS_TOKEN", "dor_v1_", r"[0-9a-f]{64}"),
    ("ACCESS_TOKEN", "shp", r"(?:at|ca|pa|ss|tka)_[0-9A-Fa-f]{32}"),  # Shopify
    ("ACCESS_TOKEN", "sq0", r"(?:atp|csp|idp)-[A-Za-z0-9_-]{20,60}+"),  # Square
    ("ACCESS_TOKEN", "dapi", r"[0-9a-f]{32}(?:-[0-9])?"),  # Databricks
    ("ACCESS_TOKEN", "lin_", r"(?:api|oauth)_[A-Za-z0-9]{32,80}+"),  # Linear
    ("ACCESS_TOKEN", "secret_", r"[A-Za-z0-9]{43}"),  # Notion
    ("ACCESS_TOKEN", "ntn_", r"[A-Za-z0-9]{40,60}+"),
    ("ACCESS_TOKEN", "figd_", r"[A-Za-z0-9_-]{30,60}+"),  # Figma
    ("ACCESS_TOKEN", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),  # Grafana
    ("API_KEY", "NRAK-", r"[A-Z0-9]{27}"),  # New Relic
    ("API_KEY", "key-", r"[0-9a-f]{32}"),  # Mailgun
    ("ACCESS_TOKEN", "hv", r"[sbr]\.[A-Za-z0-9_-]{20,300}+"),  # Vault
    ("ACCESS_TOKEN", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}+"),  # Doppler
    ("ACCESS_TOKEN", "pul-", r"[0-9a-f]{40}"),  # Pulumi
    ("ACCESS_TOKEN", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    ("ACCESS_TOKEN", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),  # Airtable
    ("ACCESS_TOKEN", "pscale_", r"(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,70}+"),  # PlanetScale
    ("ACCESS_TOKEN", "rubygems_", r"[0-9a-f]{48}"),
    ("ACCESS_TOKEN", "sntr", r"[yu]s_[A-Za-z0-9_=+/-]{40,400}+"),  # Sentry
    ("ACCESS_TOKEN", "ATATT3", r"[A-Za-z0-9_=-]{50,300}+"),  # Atlassian
    ("ACCESS_TOKEN", "ATCTT3", r"[A-Za-z0-9_=-]{50,300}+"),
    ("ACCESS_TOKEN", "dckr_pat_", r"[A-Za-z0-9_-]{20,60}+"),  # Docker
    ("ACCESS_TOKEN", "tskey-", r"[a-z]+-[A-Za-z0-9-]{10,80}+"),  # Tailscale
    ("API_KEY", "gsk_", r"[A-Za-z0-9]{40,60}+"),  # Groq
    ("API_KEY", "xai-", r"[A-Za-z0-9]{60,100}+"),
    ("API_KEY", "pplx-", r"[A-Za-z0-9]{40,60}+"),  # Perplexity
    ("API_KEY", "r8_", r"[A-Za-z0-9]{30,50}+"),  # Replicate
    ("API_KEY", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}+"),  # Resend
    ("API_KEY", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),  # Brevo
    ("ACCESS_TOKEN", "sbp_", r"[0-9a-f]{40}"),  # Supabase
    ("API_KEY", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    ("ACCESS_TOKEN", "EAA", r"[A-Za-z0-9]{60,400}+"),  # Facebook
    ("API_KEY", "phx_", r"[A-Za-z0-9]{40,60}+"),  # PostHog
    ("SIGNED_TOKEN", "eyJ", r"[A-Za-z0-9_-]{8,8192}+\.eyJ[A-Za-z0-9_-]{8,8192}+\.[A-Za-z0-9_-]{8,8192}+"),  # RFC 7519
    (
        "SIGNED_TOKEN",
        "eyJ",
        r"[A-Za-z0-9_-]{8,2048}+\.[A-Za-z0-9_-]{0,2048}+(?:\.[A-Za-z0-9_-]{8,8192}+){3}",
    ),  # RFC 7516
    ("PRIVATE_KEY", "-----BEGIN ", r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),  # RFC 7468
    ("PRIVATE_KEY", "PuTTY-User-Key-File-", r"[0-9]:"),
)
# Formats without a literal start: Mailchimp, Telegram, Discord, Twitter. They count as whole values only.
_WHOLE: Final = (
    r"[0-9a-f]{32}-us[0-9]{1,2}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"
    r"|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|A[A-Z]AAA[A-Za-z0-9_-]{20,60}%[A-Za-z0-9%]{20,200}"
)
# Too short or too common to be looked for anywhere; these count at the start of a value only.
_AT_START_ONLY: Final = frozenset(
    {"SK", "pat", "key-", "hv", "EAA", "secret_", "re_", "r8_", "eyJ", "-----BEGIN ", "dp."}
)
_ANYWHERE: Final = [form for form in _FORMATS if form[1] not in _AT_START_ONLY]
_BEFORE: Final = r"(?<![A-Za-z0-9_+/-])"
_LONGEST: Final = 2_048  # characters of a credential that begins at the end of a slice
# Texts that hold a credential beside other things: the password of a URL, the key of a connection string.
_URL_WITH_PASSWORD: Final = re.compile(
    r"[a-z][a-z0-9+.-]{1,30}+://[^\s/?#@:\"'<>\\]{0,200}+:([^\s/?#@\"'<>\\]{6,400}+)@"
)
_CONNECTION_STRING: Final = re.compile(
    r"(?:\A|[;\s\"'])(?:AccountKey|SharedAccessKey|SharedAccessSignature|AccessKey|Password|Pwd)[ ]?=[ ]?"
    r"(?![<$*{%]|xxx|your)[^;\s\"'<>]{8,400}+(?:;|\Z)",
    re.IGNORECASE,
)
_WEBHOOK: Final = re.compile(
    r"https://(?:hooks\.slack\.com/(?:services|workflows)/T[A-Za-z0-9]+/[A-Za-z0-9/]{10,80}+"
    r"|(?:canary\.|ptb\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]{20,100}+"
    r"|[a-z0-9-]+\.webhook\.office\.com/webhookb2/)"
)


@cache
def _starts() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """Return literal starts and patterns by the first two characters."""
    starts: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for _, literal, rest in _FORMATS:
        starts.setdefault(literal[:2], []).append((literal, re.compile(re.escape(literal) + rest)))
    return starts


def has_provider_format(value: str) -> bool:
    """Check whether a value begins with a key or token in a provider's format, or is text around a credential."""
    for literal, pattern in _starts().get(value[:2], ()):
        if value.startswith(literal) and pattern.match(value):
            return True
    if "://" in value[:40]:
        return bool(_URL_WITH_PASSWORD.match(value) or _WEBHOOK.match(value))
    if "=" in value and ";" in value and _CONNECTION_STRING.search(value[:_LONGEST]):
        return True
    return len(value) <= 300 and compiled(_WHOLE).fullmatch(value) is not None


def provider_credentials(text: str) -> Iterator[Credential]:
    """Yield the keys and tokens in providers' formats anywhere in a text.

    Only formats that cannot be mistaken for anything else are looked for.
    """
    for kind, literal, rest in [form for form in _ANYWHERE if form[1] in text]:
        start = re.escape(literal)
        for match in matches_in(f"{start}{_BEFORE[:-1]}{start}){rest}", text, longest=_LONGEST):
            yield Credential(kind, match.start(), match.end())
