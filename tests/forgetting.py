"""Forget all secrets of this process, which otherwise knows them to its end."""

from __future__ import annotations

from toolkit.core.secret import REGISTER
from toolkit.notebook import masked_values
from toolkit.scrubbing import known


def forget_everything():
    """Empty the register of secrets and everything that is built on it, between tests or hypothesis' examples."""
    for of_register in (REGISTER._entries, REGISTER._kinds):
        of_register.clear()
    for built in (known._REGISTERED, known.PROCESS_SECRETS, masked_values._pieces):
        built.__init__()
    masked_values._beginnings.clear()
    masked_values._count = masked_values._longest_secret = 0
