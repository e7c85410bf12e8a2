"""Formats of the keys and tokens that providers issue, as described by their documentation and secret scanners.

This module contains only data, so that it can be reviewed line by line. Add a new format to the table of its family:
clouds, code (code, package and deployment hosting), chat (and mail), payments (and shops), services (data, monitoring,
language models and others) and keys (standard formats). SAMPLES has example keys from documentation, which are not
secrets. `strength` searches for all formats.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Format(NamedTuple):
    """The format of a provider's keys or tokens.

    Attributes:
        provider: the name of the issuer.
        kind: the kind of secret, as in placeholders.
        starts: the literal prefixes, separated by spaces; each key begins with one of them.
        rest: pattern for the text after the prefix, with only bounded or possessive repetitions, for linear time.
        is_certain: False if the prefix is so short or common that it is recognized only at the start of a value.
    """

    provider: str
    kind: str
    starts: str
    rest: str
    is_certain: bool = True


_AWS: Final = r"[A-Z2-7]{16}(?![A-Za-z0-9])"

_CLOUDS: Final = (
    Format("AWS", "API_KEY_ID", "AKIA ASIA ABIA ACCA", _AWS),
    Format("AWS", "SECURITY_TOKEN", "IQoJb3 FwoGZX", r"[A-Za-z0-9+/=]{80,4096}+"),
    Format("AWS", "API_KEY", "ABSK", r"[A-Za-z0-9+/]{109,269}={0,2}"),
    Format("AWS", "API_KEY", "bedrock-api-key-", r"[A-Za-z0-9+/=]{40,2048}+"),
    Format("Google", "API_KEY", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    Format("Google", "ACCESS_TOKEN", "ya29.", r"[A-Za-z0-9_-]{20,2048}+"),
    Format("Google", "REFRESH_TOKEN", "1//0", r"[A-Za-z0-9_-]{40,200}+"),
    Format("Google", "CLIENT_SECRET", "GOCSPX-", r"[A-Za-z0-9_-]{28}"),
    Format("Alibaba Cloud", "API_KEY_ID", "LTAI", r"[A-Za-z0-9]{12,26}+(?![A-Za-z0-9])", is_certain=False),
    Format("Tencent Cloud", "API_KEY_ID", "AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Format("Yandex Cloud", "API_KEY", "AQVN", r"[A-Za-z0-9_-]{35,38}+(?![A-Za-z0-9_-])"),
    Format("Yandex", "ACCESS_TOKEN", "y0_", r"[A-Za-z0-9_-]{50,80}+"),
    Format("DigitalOcean", "ACCESS_TOKEN", "doo_v1_ dop_v1_", r"[0-9a-f]{64}"),
    Format("DigitalOcean", "REFRESH_TOKEN", "dor_v1_", r"[0-9a-f]{64}"),
    Format("Heroku", "API_KEY", "HRKU-", r"[A-Za-z0-9_-]{36,80}+"),
    Format("Fly.io", "ACCESS_TOKEN", "fo1_", r"[A-Za-z0-9_-]{40,100}+"),
    Format("Fly.io", "ACCESS_TOKEN", "fm2_ fm1r_", r"[A-Za-z0-9+/=]{80,2048}+"),
    Format("Netlify", "ACCESS_TOKEN", "nfp_", r"[A-Za-z0-9]{36,60}+"),
    Format("Cloudflare", "API_KEY", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    Format("PlanetScale", "ACCESS_TOKEN", "pscale_", r"(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,70}+"),
    Format("Supabase", "ACCESS_TOKEN", "sbp_", r"(?:v0_)?[0-9a-f]{40}"),
    Format("Supabase", "API_SECRET_KEY", "sb_secret_", r"[A-Za-z0-9_-]{20,60}+"),
    Format("MongoDB Atlas", "CLIENT_SECRET", "mdb_sa_sk_", r"[A-Za-z0-9_-]{30,60}+"),
    Format("Databricks", "ACCESS_TOKEN", "dapi", r"[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    Format("Databricks", "CLIENT_SECRET", "dose", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Format("Tailscale", "ACCESS_TOKEN", "tskey-", r"[a-z]{3,20}+-[A-Za-z0-9-]{10,80}+"),
    Format("HashiCorp Vault", "ACCESS_TOKEN", "hvs. hvb. hvr.", r"[A-Za-z0-9_-]{20,300}+"),
    Format("Doppler", "ACCESS_TOKEN", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}+"),
    Format("Pulumi", "ACCESS_TOKEN", "pul-", r"[0-9a-f]{40}(?![A-Za-z0-9])"),
    Format("1Password", "ACCESS_TOKEN", "ops_eyJ", r"[A-Za-z0-9+/_=-]{100,2048}+"),
)

_CODE: Final = (
    Format("GitHub", "ACCESS_TOKEN", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,255}+"),
    Format("GitHub", "ACCESS_TOKEN", "github_pat_", r"[A-Za-z0-9_]{22,255}+"),
    Format(
        "GitLab",
        "ACCESS_TOKEN",
        "glpat- gldt- glrt- glptt- glft- glsoat- glagent- gloas- glcbt- glimt- glffct- glrtr- glwt-",
        r"[A-Za-z0-9_.=-]{20,300}+",
    ),
    Format("GitLab", "ACCESS_TOKEN", "GR1348941", r"[A-Za-z0-9_-]{20}(?![A-Za-z0-9_-])"),
    Format("Bitbucket", "PASSWORD", "ATBB", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Format("Atlassian", "ACCESS_TOKEN", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{50,300}+"),
    Format("npm", "ACCESS_TOKEN", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    Format("PyPI", "ACCESS_TOKEN", "pypi-", r"[A-Za-z0-9_-]{50,500}+"),
    Format("RubyGems", "ACCESS_TOKEN", "rubygems_", r"[0-9a-f]{48}"),
    Format("NuGet", "API_KEY", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    Format("crates.io", "ACCESS_TOKEN", "cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])", is_certain=False),
    Format("Docker", "ACCESS_TOKEN", "dckr_pat_ dckr_oat_", r"[A-Za-z0-9_-]{20,60}+"),
    Format("Artifactory", "API_KEY", "AKCp", r"[A-Za-z0-9]{60,80}+"),
    Format("Artifactory", "ACCESS_TOKEN", "cmVmdGtuO", r"[A-Za-z0-9]{50,70}+"),
    Format("CircleCI", "ACCESS_TOKEN", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{15,30}+_[0-9a-f]{40}"),
    Format("SonarQube", "ACCESS_TOKEN", "squ_ sqp_ sqa_", r"[0-9a-f]{40}"),
    Format("Sourcegraph", "ACCESS_TOKEN", "sgp_", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    Format("Postman", "API_KEY", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    Format("Prefect", "API_KEY", "pnu_ pnb_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
)

_CHAT: Final = (
    Format("Slack", "ACCESS_TOKEN", "xox", r"[abdeoprs]-[A-Za-z0-9-]{10,250}+"),
    Format("Slack", "ACCESS_TOKEN", "xoxe.xox", r"[bp]-[A-Za-z0-9-]{10,250}+"),
    Format("Slack", "ACCESS_TOKEN", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,250}+"),
    Format("SendGrid", "API_KEY", "SG.", r"[A-Za-z0-9_-]{16,32}+\.[A-Za-z0-9_-]{16,64}+"),
    Format("Twilio", "API_KEY", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])", is_certain=False),
    Format("Mailgun", "API_KEY", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])", is_certain=False),
    Format("Mailchimp Transactional", "API_KEY", "md-", r"[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])", is_certain=False),
    Format("Brevo", "API_KEY", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    Format("Brevo", "PASSWORD", "xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    Format("Resend", "API_KEY", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}+", is_certain=False),
    Format("Facebook", "ACCESS_TOKEN", "EAA", r"[A-Za-z0-9]{60,400}+", is_certain=False),
    Format("ElevenLabs", "API_KEY", "sk_", r"[0-9a-f]{48}(?![A-Za-z0-9])"),
)

_PAYMENTS: Final = (
    # Clerk, Paystack and others use it too.
    Format("Stripe", "API_KEY", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", r"[A-Za-z0-9]{10,250}+"),
    Format("Stripe", "SECRET", "whsec_", r"[A-Za-z0-9+/=]{20,100}+"),  # Svix too
    Format("Braintree", "ACCESS_TOKEN", "access_token$", r"(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    Format("Square", "ACCESS_TOKEN", "sq0", r"(?:atp|csp|idp)-[A-Za-z0-9_-]{20,60}+"),
    Format("Square", "ACCESS_TOKEN", "EAAA", r"[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])", is_certain=False),
    Format("Shopify", "ACCESS_TOKEN", "shp", r"(?:at|ca|pa|ss|tka|ua)_[0-9A-Fa-f]{32}"),
    Format("Razorpay", "API_KEY", "rzp_live_ rzp_test_", r"[A-Za-z0-9]{14,32}+"),
    Format("Mollie", "API_KEY", "live_ test_", r"[A-Za-z0-9]{30,60}+(?![A-Za-z0-9_-])", is_certain=False),
    Format(
        "Plaid",
        "ACCESS_TOKEN",
        "access-production- access-development- access-sandbox-",
        r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    ),
    Format("Mercado Pago", "ACCESS_TOKEN", "APP_USR-", r"[0-9]{10,20}+-[0-9]{6}-[0-9a-f]{32}-[0-9]{5,12}"),
    Format("Checkout.com", "API_KEY", "sk_sbox_", r"[A-Za-z0-9]{20,60}+"),
    Format("WooCommerce", "API_KEY", "ck_", r"[0-9a-f]{40}(?![A-Za-z0-9])"),
    Format("WooCommerce", "API_SECRET_KEY", "cs_", r"[0-9a-f]{40}(?![A-Za-z0-9])"),
)

_UUID: Final = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_LONG: Final = r"[A-Za-z0-9_-]{20,250}+"

_SERVICES: Final = (
    # Language models
    Format("OpenAI", "API_KEY", "sk-proj- sk-svcacct- sk-admin-", _LONG),
    Format("Anthropic", "API_KEY", "sk-ant-", _LONG),
    Format("OpenRouter", "API_KEY", "sk-or-v1-", _LONG),
    Format("Langfuse", "API_SECRET_KEY", "sk-lf-", _LONG),
    Format("OpenAI", "API_KEY", "sk-", r"[A-Za-z0-9]{20,250}+(?![A-Za-z0-9_-])"),  # DeepSeek and others too
    Format("Hugging Face", "ACCESS_TOKEN", "hf_", r"[A-Za-z0-9]{30,50}+(?![A-Za-z0-9_])"),
    Format("Groq", "API_KEY", "gsk_", r"[A-Za-z0-9]{40,60}+"),
    Format("xAI", "API_KEY", "xai-", r"[A-Za-z0-9]{60,100}+"),
    Format("Perplexity", "API_KEY", "pplx-", r"[A-Za-z0-9]{40,60}+"),
    Format("Replicate", "API_KEY", "r8_", r"[A-Za-z0-9]{30,50}+", is_certain=False),
    Format("NVIDIA", "API_KEY", "nvapi-", r"[A-Za-z0-9_-]{60,80}+"),
    Format("Together AI", "API_KEY", "tgp_v1_", r"[A-Za-z0-9_-]{30,60}+"),
    Format("Pinecone", "API_KEY", "pcsk_", r"[A-Za-z0-9_]{40,90}+"),
    Format("LangSmith", "API_KEY", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Format("Fireworks", "API_KEY", "fw_", r"[A-Za-z0-9]{22,24}+(?![A-Za-z0-9_])", is_certain=False),
    # Monitoring
    Format("Grafana", "ACCESS_TOKEN", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    Format("Grafana", "ACCESS_TOKEN", "glc_", r"[A-Za-z0-9+/]{32,400}+={0,2}"),
    Format("New Relic", "API_KEY", "NRAK-", r"[A-Z0-9]{27}"),
    Format("New Relic", "API_KEY", "NRII-", r"[A-Za-z0-9_-]{32}"),
    Format("Sentry", "ACCESS_TOKEN", "sntr", r"[yu]s_[A-Za-z0-9_=+/-]{40,400}+"),
    Format("Dynatrace", "ACCESS_TOKEN", "dt0", r"[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Format("PostHog", "API_KEY", "phx_", r"[A-Za-z0-9]{40,60}+"),
    Format("LaunchDarkly", "API_KEY", "sdk-", _UUID),
    Format("LaunchDarkly", "ACCESS_TOKEN", "api-", _UUID),
    # Documents, designs and data
    Format("Linear", "ACCESS_TOKEN", "lin_", r"(?:api|oauth)_[A-Za-z0-9]{32,80}+"),
    Format("Notion", "ACCESS_TOKEN", "secret_", r"[A-Za-z0-9]{43}(?![A-Za-z0-9])", is_certain=False),
    Format("Notion", "ACCESS_TOKEN", "ntn_", r"[A-Za-z0-9]{40,60}+"),
    Format("Figma", "ACCESS_TOKEN", "figd_", r"[A-Za-z0-9_-]{30,60}+"),
    Format("Airtable", "ACCESS_TOKEN", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Format("HubSpot", "ACCESS_TOKEN", "pat-", rf"(?:na|eu|ap|au)[0-9]-{_UUID}"),
    Format("Contentful", "ACCESS_TOKEN", "CFPAT-", r"[A-Za-z0-9_-]{43}"),
)

_KEYS: Final = (
    Format("age", "PRIVATE_KEY", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    Format("BIP 32", "PRIVATE_KEY", "xprv", r"[1-9A-HJ-NP-Za-km-z]{107}"),
    Format(
        "RFC 7468",
        "PRIVATE_KEY",
        "-----BEGIN",
        # Examples in prose and code have dots, brackets or braces instead of the key.
        r" (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\{1,8}+[nr]|[\s\"',+#>-]){0,60}+"
        r"(?:[A-Za-z0-9+/]{6}|Proc-Type:|DEK-Info:|Version:|Comment:)",
        is_certain=False,
    ),
    Format(
        "RFC 7519",
        "SIGNED_TOKEN",
        "eyJ",
        r"[A-Za-z0-9_-]{8,8192}+\.eyJ[A-Za-z0-9_-]{8,8192}+\.[A-Za-z0-9_-]{8,8192}+",
        is_certain=False,
    ),
    Format(
        "RFC 7516",
        "SIGNED_TOKEN",
        "eyJ",
        r"[A-Za-z0-9_-]{8,2048}+\.[A-Za-z0-9_-]{0,2048}+(?:\.[A-Za-z0-9_-]{8,8192}+){3}",
        is_certain=False,
    ),
)

FORMATS: Final[tuple[Format, ...]] = (
    *_CLOUDS,
    *_CODE,
    *_CHAT,
    *_PAYMENTS,
    *_SERVICES,
    *_KEYS,
)
SAMPLES: Final = frozenset(
    (
        # RFC 6749 and 6750 (OAuth 2.0)
        " 2YotnFZFEjr1zCsicMWpAA tGzv3JOkF0XG5Qx2TlKWIA SplxlOBeZQQYbYS6WxSbIA mF_9.B5f-4.1JqM"
        # RFC 7519 and jwt.io
        " SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        # Emulators: Azurite, Cosmos DB
        " Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
        " C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
    ).split()
)
