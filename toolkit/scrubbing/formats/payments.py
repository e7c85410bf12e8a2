"""Keys and tokens of payments, shops and brokers."""

from __future__ import annotations

from typing import Final

from toolkit.scrubbing.formats.form import Format

_STRIPE: Final = r"[A-Za-z0-9]{10,250}+"

FORMATS: Final = (
    *(
        Format("Stripe", "API_KEY", f"{kind}_{mode}_", _STRIPE)  # Clerk, Paystack and others use it too
        for kind in ("sk", "rk")
        for mode in ("live", "test", "prod")
    ),
    Format("Stripe", "SECRET", "whsec_", r"[A-Za-z0-9+/=]{20,100}+"),  # Svix too
    Format("Braintree", "ACCESS_TOKEN", "access_token$", r"(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    Format("Square", "ACCESS_TOKEN", "sq0", r"(?:atp|csp|idp)-[A-Za-z0-9_-]{20,60}+"),
    Format("Square", "ACCESS_TOKEN", "EAAA", r"[A-Za-z0-9_-]{60}(?![A-Za-z0-9_-])", is_certain=False),
    Format("Shopify", "ACCESS_TOKEN", "shp", r"(?:at|ca|pa|ss|tka|ua)_[0-9A-Fa-f]{32}"),
    Format("Razorpay", "API_KEY", "rzp_live_", r"[A-Za-z0-9]{14,32}+"),
    Format("Razorpay", "API_KEY", "rzp_test_", r"[A-Za-z0-9]{14,32}+"),
    Format("Flutterwave", "API_SECRET_KEY", "FLWSECK", r"(?:_TEST)?-[0-9A-Za-z]{32}-X"),
    Format("Mollie", "API_KEY", "live_", r"[A-Za-z0-9]{30,60}+(?![A-Za-z0-9_-])", is_certain=False),
    Format("Mollie", "API_KEY", "test_", r"[A-Za-z0-9]{30,60}+(?![A-Za-z0-9_-])", is_certain=False),
    Format("Plaid", "ACCESS_TOKEN", "access-production-", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    Format("Plaid", "ACCESS_TOKEN", "access-development-", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    Format("Plaid", "ACCESS_TOKEN", "access-sandbox-", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    Format("Mercado Pago", "ACCESS_TOKEN", "APP_USR-", r"[0-9]{10,20}+-[0-9]{6}-[0-9a-f]{32}-[0-9]{5,12}"),
    Format("Paddle", "API_KEY", "pdl_", r"(?:live|sdbx)_apikey_[A-Za-z0-9]{26}_[A-Za-z0-9_]{22,30}+"),
    Format("Klarna", "API_KEY", "klarna_", r"(?:live|test)_[A-Za-z0-9_]{30,200}+"),
    Format("Checkout.com", "API_KEY", "sk_sbox_", r"[A-Za-z0-9]{20,60}+"),
    Format("WooCommerce", "API_KEY", "ck_", r"[0-9a-f]{40}(?![A-Za-z0-9])"),
    Format("WooCommerce", "API_SECRET_KEY", "cs_", r"[0-9a-f]{40}(?![A-Za-z0-9])"),
    Format("EasyPost", "API_KEY", "EZAK", r"[A-Za-z0-9]{54}(?![A-Za-z0-9])"),
    Format("EasyPost", "API_KEY", "EZTK", r"[A-Za-z0-9]{54}(?![A-Za-z0-9])"),
    Format("Shippo", "ACCESS_TOKEN", "shippo_", r"(?:live|test)_[0-9a-f]{40}"),
    Format("Duffel", "ACCESS_TOKEN", "duffel_", r"(?:live|test)_[A-Za-z0-9_=-]{43}"),
)
