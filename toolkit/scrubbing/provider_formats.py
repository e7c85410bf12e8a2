"""Formats in which providers issue keys and tokens, as their documentation and secret scanners describe them.

A new format goes into `_FORMATS`: a pattern that begins with a text that is rare elsewhere, with bounded or possessive
repetitions only, so that a search stays linear.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

# Kind and pattern. Each pattern begins with literal characters.
_FORMATS: Final = (
    ("API_KEY_ID", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),  # AWS
    ("ACCESS_TOKEN", r"gh[pousr]_[A-Za-z0-9]{36,255}+"),  # GitHub
    ("ACCESS_TOKEN", r"github_pat_[A-Za-z0-9_]{22,255}+"),
    ("ACCESS_TOKEN", r"gl(?:pat|dt|rt|ptt|ft|soat|agent|oas|cbt|imt|ffct)-[A-Za-z0-9_.=-]{20,300}+"),  # GitLab
    ("ACCESS_TOKEN", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}+"),  # Slack
    ("ACCESS_TOKEN", r"xoxe\.xox[bp]-[A-Za-z0-9-]{10,250}+"),
    ("ACCESS_TOKEN", r"xapp-[0-9]-[A-Za-z0-9-]{10,250}+"),
    ("API_KEY", r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,250}+"),  # Stripe, Clerk and others
    ("SECRET", r"whsec_[A-Za-z0-9+/=]{20,100}+"),  # Stripe, Svix
    ("API_KEY", r"AIza[A-Za-z0-9_-]{35}"),  # Google
    ("ACCESS_TOKEN", r"ya29\.[A-Za-z0-9_-]{20,2048}+"),
    ("CLIENT_SECRET", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("API_KEY", r"sk-(?:proj-|svcacct-|admin-|ant-|or-v1-|lf-)?[A-Za-z0-9_-]{20,250}+"),  # OpenAI, Anthropic, others
    ("API_KEY", r"SG\.[A-Za-z0-9_-]{16,32}+\.[A-Za-z0-9_-]{16,64}+"),  # SendGrid
    ("API_KEY", r"SK[0-9a-f]{32}"),  # Twilio
    ("ACCESS_TOKEN", r"npm_[A-Za-z0-9]{36}"),
    ("ACCESS_TOKEN", r"pypi-[A-Za-z0-9_-]{50,500}+"),
    ("ACCESS_TOKEN", r"hf_[A-Za-z0-9]{30,50}+"),  # Hugging Face
    ("ACCESS_TOKEN", r"do[opr]_v1_[0-9a-f]{64}"),  # DigitalOcean
    ("ACCESS_TOKEN", r"shp(?:at|ca|pa|ss|tka)_[0-9A-Fa-f]{32}"),  # Shopify
    ("ACCESS_TOKEN", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,60}+"),  # Square
    ("ACCESS_TOKEN", r"EAAA[A-Za-z0-9_-]{60,250}+"),
    ("ACCESS_TOKEN", r"dapi[0-9a-f]{32}(?:-[0-9])?"),  # Databricks
    ("ACCESS_TOKEN", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}+"),  # Linear
    ("ACCESS_TOKEN", r"secret_[A-Za-z0-9]{43}"),  # Notion
    ("ACCESS_TOKEN", r"ntn_[A-Za-z0-9]{40,60}+"),
    ("ACCESS_TOKEN", r"figd_[A-Za-z0-9_-]{30,60}+"),  # Figma
    ("ACCESS_TOKEN", r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),  # Grafana
    ("API_KEY", r"NRAK-[A-Z0-9]{27}"),  # New Relic
    ("API_KEY", r"key-[0-9a-f]{32}"),  # Mailgun
    ("API_KEY", r"[0-9a-f]{32}-us[0-9]{1,2}(?![0-9a-z])"),  # Mailchimp
    ("ACCESS_TOKEN", r"hv[sbr]\.[A-Za-z0-9_-]{20,300}+"),  # Vault
    ("ACCESS_TOKEN", r"dop_v1_[0-9a-f]{64}"),
    ("ACCESS_TOKEN", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}+"),  # Doppler
    ("ACCESS_TOKEN", r"pul-[0-9a-f]{40}"),  # Pulumi
    ("ACCESS_TOKEN", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),  # Postman
    ("ACCESS_TOKEN", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),  # Airtable
    ("ACCESS_TOKEN", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,70}+"),  # PlanetScale
    ("ACCESS_TOKEN", r"rubygems_[0-9a-f]{48}"),
    ("ACCESS_TOKEN", r"sntr[yu]s_[A-Za-z0-9_=+/-]{40,400}+"),  # Sentry
    ("ACCESS_TOKEN", r"ATATT3[A-Za-z0-9_=-]{50,300}+"),  # Atlassian
    ("ACCESS_TOKEN", r"ATCTT3[A-Za-z0-9_=-]{50,300}+"),
    ("ACCESS_TOKEN", r"dckr_pat_[A-Za-z0-9_-]{20,60}+"),  # Docker
    ("ACCESS_TOKEN", r"tskey-[a-z]+-[A-Za-z0-9-]{10,80}+"),  # Tailscale
    ("API_KEY", r"gsk_[A-Za-z0-9]{40,60}+"),  # Groq
    ("API_KEY", r"xai-[A-Za-z0-9]{60,100}+"),
    ("API_KEY", r"pplx-[A-Za-z0-9]{40,60}+"),  # Perplexity
    ("API_KEY", r"r8_[A-Za-z0-9]{30,50}+"),  # Replicate
    ("API_KEY", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}+"),  # Resend
    ("API_KEY", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),  # Brevo
    ("ACCESS_TOKEN", r"sbp_[0-9a-f]{40}"),  # Supabase
    ("API_KEY", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("ACCESS_TOKEN", r"EAA[A-Za-z0-9]{60,400}+"),  # Facebook
    ("ACCESS_TOKEN", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),  # Telegram
    ("ACCESS_TOKEN", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])"),  # Discord
    ("ACCESS_TOKEN", r"A[A-Z]AAA[A-Za-z0-9_-]{20,60}+%[A-Za-z0-9%]{20,200}+"),  # Twitter
    ("API_KEY", r"phx_[A-Za-z0-9]{40,60}+"),  # PostHog
    ("SIGNED_TOKEN", r"eyJ[A-Za-z0-9_-]{8,8192}+\.eyJ[A-Za-z0-9_-]{8,8192}+\.[A-Za-z0-9_-]{8,8192}+"),  # RFC 7519
    ("SIGNED_TOKEN", r"eyJ[A-Za-z0-9_-]{8,2048}+\.[A-Za-z0-9_-]{0,2048}+(?:\.[A-Za-z0-9_-]{8,8192}+){3}"),  # RFC 7516
    ("PRIVATE_KEY", r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),  # RFC 7468
    ("PRIVATE_KEY", r"PuTTY-User-Key-File-[0-9]:"),
)
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
def _format() -> re.Pattern[str]:
    return re.compile("(?:" + "|".join(pattern for _, pattern in _FORMATS) + ")")


def has_provider_format(value: str) -> bool:
    """Check whether a value begins with a key or token in a provider's format, or is text around a credential."""
    if _format().match(value):
        return True
    if "://" in value[:40] and (_URL_WITH_PASSWORD.match(value) or _WEBHOOK.match(value)):
        return True
    return "=" in value and ";" in value and _CONNECTION_STRING.search(value[:2048]) is not None
