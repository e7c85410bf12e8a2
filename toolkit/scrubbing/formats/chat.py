"""Keys and tokens of chat, mail and telephony."""

from __future__ import annotations

from typing import Final

from toolkit.scrubbing.formats.form import Format

FORMATS: Final = (
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
    Format("Beamer", "API_KEY", "b_", r"[A-Za-z0-9=_/-]{44}(?![A-Za-z0-9])", is_certain=False),
    Format("ElevenLabs", "API_KEY", "sk_", r"[0-9a-f]{48}(?![A-Za-z0-9])"),
)
