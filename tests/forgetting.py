"""Forget all secrets of this process, which otherwise knows them to its end."""

from __future__ import annotations

from toolkit.core.secret import HELD, REGISTER
from toolkit.notebook import masking
from toolkit.scrubbing import known


def forget_everything():
    """Empty the register of secrets and everything that is built on it, between tests or hypothesis' examples."""
    for of_register in (REGISTER._kinds, HELD):
        of_register.clear()
    for built in (known._REGISTERED, known.PROCESS_SECRETS, masking._KNOWN):
        built.__init__()
