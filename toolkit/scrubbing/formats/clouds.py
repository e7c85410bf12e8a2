"""Keys and tokens of clouds and hosts."""

from __future__ import annotations

from typing import Final

from toolkit.scrubbing.formats.form import Format, InnerFormat

_AWS: Final = r"[A-Z2-7]{16}(?![A-Za-z0-9])"

FORMATS: Final = (
    Format("AWS", "API_KEY_ID", "AKIA", _AWS),
    Format("AWS", "API_KEY_ID", "ASIA", _AWS),
    Format("AWS", "API_KEY_ID", "ABIA", _AWS),
    Format("AWS", "API_KEY_ID", "ACCA", _AWS),
    Format("AWS", "SECURITY_TOKEN", "IQoJb3", r"[A-Za-z0-9+/=]{80,4096}+"),
    Format("AWS", "SECURITY_TOKEN", "FwoGZX", r"[A-Za-z0-9+/=]{80,4096}+"),
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
    Format("Scaleway", "API_KEY_ID", "SCW", r"[A-Z0-9]{17}(?![A-Za-z0-9])", is_certain=False),
    Format("DigitalOcean", "ACCESS_TOKEN", "doo_v1_", r"[0-9a-f]{64}"),
    Format("DigitalOcean", "ACCESS_TOKEN", "dop_v1_", r"[0-9a-f]{64}"),
    Format("DigitalOcean", "REFRESH_TOKEN", "dor_v1_", r"[0-9a-f]{64}"),
    Format("Heroku", "API_KEY", "HRKU-", r"[A-Za-z0-9_-]{36,80}+"),
    Format("Fly.io", "ACCESS_TOKEN", "fo1_", r"[A-Za-z0-9_-]{40,100}+"),
    Format("Fly.io", "ACCESS_TOKEN", "fm2_", r"[A-Za-z0-9+/=]{80,2048}+"),
    Format("Fly.io", "ACCESS_TOKEN", "fm1r_", r"[A-Za-z0-9+/=]{80,2048}+"),
    Format("Netlify", "ACCESS_TOKEN", "nfp_", r"[A-Za-z0-9]{36,60}+"),
    Format("Render", "API_KEY", "rnd_", r"[A-Za-z0-9]{28,60}+"),
    Format("Cloudflare", "API_KEY", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    Format("PlanetScale", "ACCESS_TOKEN", "pscale_", r"(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,70}+"),
    Format("Supabase", "ACCESS_TOKEN", "sbp_", r"(?:v0_)?[0-9a-f]{40}"),
    Format("Supabase", "API_SECRET_KEY", "sb_secret_", r"[A-Za-z0-9_-]{20,60}+"),
    Format("Neon", "API_KEY", "napi_", r"[A-Za-z0-9]{40,80}+"),
    Format("Aiven", "PASSWORD", "AVNS_", r"[A-Za-z0-9_-]{16,24}+(?![A-Za-z0-9_-])"),
    Format("MongoDB Atlas", "CLIENT_SECRET", "mdb_sa_sk_", r"[A-Za-z0-9_-]{30,60}+"),
    Format("Databricks", "ACCESS_TOKEN", "dapi", r"[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    Format("Databricks", "CLIENT_SECRET", "dose", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Format("Tailscale", "ACCESS_TOKEN", "tskey-", r"[a-z]{3,20}+-[A-Za-z0-9-]{10,80}+"),
    Format("HashiCorp Vault", "ACCESS_TOKEN", "hvs.", r"[A-Za-z0-9_-]{20,300}+"),
    Format("HashiCorp Vault", "ACCESS_TOKEN", "hvb.", r"[A-Za-z0-9_-]{20,300}+"),
    Format("HashiCorp Vault", "ACCESS_TOKEN", "hvr.", r"[A-Za-z0-9_-]{20,300}+"),
    Format("Doppler", "ACCESS_TOKEN", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,80}+"),
    Format("Pulumi", "ACCESS_TOKEN", "pul-", r"[0-9a-f]{40}(?![A-Za-z0-9])"),
    Format("1Password", "ACCESS_TOKEN", "ops_eyJ", r"[A-Za-z0-9+/_=-]{100,2048}+"),
)
INNER_FORMATS: Final = (
    InnerFormat(
        "Microsoft Entra", "CLIENT_SECRET", "Q~", 4, r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])"
    ),
    InnerFormat("Azure Storage", "API_SECRET_KEY", "+ASt", 76, r"[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    InnerFormat("Azure Cosmos DB", "API_SECRET_KEY", "ACDb", 76, r"[A-Za-z0-9+/]{76}ACDb[A-Za-z0-9+/]{6}=="),
    InnerFormat("Azure Batch", "API_SECRET_KEY", "+ABa", 76, r"[A-Za-z0-9+/]{76}\+ABa[A-Za-z0-9+/]{6}=="),
    InnerFormat("Azure Service Bus", "API_SECRET_KEY", "+ASb", 33, r"[A-Za-z0-9+/]{33}\+ASb[A-Za-z0-9+/]{6}="),
    InnerFormat("Azure Event Hubs", "API_SECRET_KEY", "+AEh", 33, r"[A-Za-z0-9+/]{33}\+AEh[A-Za-z0-9+/]{6}="),
    InnerFormat("Azure IoT Hub", "API_SECRET_KEY", "AIoT", 33, r"[A-Za-z0-9+/]{33}AIoT[A-Za-z0-9+/]{6}="),
    InnerFormat(
        "Azure Container Registry",
        "PASSWORD",
        "+ACR",
        42,
        r"[A-Za-z0-9+/]{42}\+ACR[A-D][A-Za-z0-9+/]{5}(?![A-Za-z0-9])",
    ),
    InnerFormat("Azure Search", "API_KEY", "AzSe", 42, r"[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}(?![A-Za-z0-9])"),
    InnerFormat("Azure Functions", "API_KEY", "AzFu", 44, r"[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]=="),
    InnerFormat("Azure DevOps", "ACCESS_TOKEN", "AZDO", 76, r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    InnerFormat(
        "HCP Terraform",
        "ACCESS_TOKEN",
        ".atlasv1.",
        14,
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}+(?![A-Za-z0-9])",
    ),
)
