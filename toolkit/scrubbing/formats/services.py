"""Keys and tokens of data, monitoring, language models and other services."""

from __future__ import annotations

from typing import Final

from toolkit.scrubbing.formats.form import Format

_UUID: Final = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_LONG: Final = r"[A-Za-z0-9_-]{20,250}+"

FORMATS: Final = (
    # Language models
    Format("OpenAI", "API_KEY", "sk-proj-", _LONG),
    Format("OpenAI", "API_KEY", "sk-svcacct-", _LONG),
    Format("OpenAI", "API_KEY", "sk-admin-", _LONG),
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
    Format("Tavily", "API_KEY", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9]{30,60}+"),
    Format("Jina", "API_KEY", "jina_", r"[0-9a-f]{32}[A-Za-z0-9_-]{20,40}+"),
    Format("Fireworks", "API_KEY", "fw_", r"[A-Za-z0-9]{22,24}+(?![A-Za-z0-9_])", is_certain=False),
    # Monitoring
    Format("Grafana", "ACCESS_TOKEN", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    Format("Grafana", "ACCESS_TOKEN", "glc_", r"[A-Za-z0-9+/]{32,400}+={0,2}"),
    Format("New Relic", "API_KEY", "NRAK-", r"[A-Z0-9]{27}"),
    Format("New Relic", "API_KEY", "NRII-", r"[A-Za-z0-9_-]{32}"),
    Format("Sentry", "ACCESS_TOKEN", "sntr", r"[yu]s_[A-Za-z0-9_=+/-]{40,400}+"),
    Format("Dynatrace", "ACCESS_TOKEN", "dt0", r"[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Format("Honeycomb", "API_KEY", "hca", r"[iw][kc]_[a-z0-9]{58}"),
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
    Format("Typeform", "ACCESS_TOKEN", "tfp_", r"[A-Za-z0-9_.=-]{40,80}+"),
    Format("ReadMe", "API_KEY", "rdme_", r"[a-z0-9]{70}"),
    Format("Mapbox", "ACCESS_TOKEN", "sk.eyJ", r"[A-Za-z0-9_-]{20,200}+\.[A-Za-z0-9_-]{20,60}+"),
    Format("Apify", "ACCESS_TOKEN", "apify_api_", r"[A-Za-z0-9]{30,50}+"),
    Format("WakaTime", "API_KEY", "waka_", _UUID),
    Format("Frame.io", "ACCESS_TOKEN", "fio-u-", r"[A-Za-z0-9_=-]{64}"),
    Format("Adobe", "CLIENT_SECRET", "p8e-", r"[A-Za-z0-9_-]{32}(?![A-Za-z0-9_-])"),
    Format("Zuplo", "API_KEY", "zpka_", r"[A-Za-z0-9]{30,40}+_[0-9a-f]{8}"),
    Format("Ubidots", "ACCESS_TOKEN", "BBFF-", r"[A-Za-z0-9]{30}"),
)
