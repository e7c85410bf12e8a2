"""Keys and tokens in the formats of standards, whoever issues them."""

from __future__ import annotations

from typing import Final

from toolkit.scrubbing.formats.form import Format

FORMATS: Final = (
    Format("age", "PRIVATE_KEY", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    Format("BIP 32", "PRIVATE_KEY", "xprv", r"[1-9A-HJ-NP-Za-km-z]{107}"),
    Format("PuTTY", "PRIVATE_KEY", "PuTTY-User-Key-File-", r"[0-9]:"),
    Format(
        "RFC 7468",
        "PRIVATE_KEY",
        "-----BEGIN ",
        # Examples in prose and code have dots, brackets or braces in the place of the key.
        r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\{1,8}+[nr]|[\s\"',+#>-]){0,60}+"
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
